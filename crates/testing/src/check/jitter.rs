//! Checks that jitter spreads the starts. The checker cannot know the offset of a slot, but not all
//! starts may be immediate.

use super::CheckContext;
use super::calm_periods::REACTION_MAX;
use super::cron_job_history::{CronJobHistory, JobRun};
use crate::scenario::Millis;

/// A start within this time of its slot counts as not delayed.
const IMMEDIATE: Millis = 200;
/// A less probable coincidence is a violation.
const PROBABILITY_MIN: f64 = 1e-9;

pub(super) fn check(context: &mut CheckContext<'_>, cron_job: &CronJobHistory) {
    if cron_job.periods.iter().all(|period| period.spec.jitter == 0) {
        return;
    }
    let mut probability = 1.0;
    for run in &cron_job.runs {
        let Some(Delay { actual, most }) = delay(context, cron_job, run) else { continue };
        if actual > IMMEDIATE {
            return;
        }
        probability *= IMMEDIATE as f64 / most.max(IMMEDIATE) as f64;
    }
    if probability < PROBABILITY_MIN {
        let text = "all runs start at their slots despite jitter";
        context.report_for(cron_job, context.end, "unspread", text);
    }
}

/// The delay of a start and its maximum.
struct Delay {
    actual: Millis,
    most: Millis,
}

/// None where a fault or a wrong clock influenced the delay.
fn delay(context: &CheckContext<'_>, cron_job: &CronJobHistory, run: &JobRun) -> Option<Delay> {
    let slot = run.slot?;
    let at = context.millis(slot);
    let spec = &cron_job.visible_at(run.created_at, REACTION_MAX).next()?.spec;
    let is_undisturbed = context.calm_periods.is_calm(at - REACTION_MAX, run.created_at)
        && !context.clocks.were_wrong_before(run.created_at);
    if !is_undisturbed {
        return None;
    }
    // The smaller of the gaps before and after the slot counts.
    let next = context.oracle(spec)?.slots(slot, slot + 3_600).into_iter().next();
    let most_after = next.map_or(Some(Millis::MAX), |next| context.jitter_max(spec, next))?;
    let most = context.jitter_max(spec, slot)?.min(most_after);
    Some(Delay { actual: run.created_at - at, most })
}
