//! How many slots were missed, where that can be told from outside: no edit, no wrong clock, a
//! deadline, and a policy under which the latest slot is the one that counts.
//!
//! A slot without a run is a miss if its deadline had passed when a later slot was started: whoever
//! started that one has seen it. If it had not, the slot was overtaken and is not counted. Between
//! the two lies the time that the start took, so what is known is a least and a most.

use punctual_api::ConcurrencyPolicy::{Allow, Forbid};

use super::Case;
use super::life::{Life, NEVER, Stretch};
use super::oracle::{Oracle, Seconds};
use super::weather::SLACK;
use crate::scenario::Millis;

pub(super) fn judge(case: &mut Case<'_>, life: &Life) {
    let Some((_, status)) = life.statuses.last() else { return };
    let Some((least, most)) = bounds(case, life) else { return };
    let said = status.missed_runs;
    if said < least || said > most {
        let what = format!("missedRuns is {said}, not {least} to {most}");
        case.accuse(life, case.end, "missed", &what);
    }
}

/// How many misses there are at least, and at most; none if it cannot be told.
fn bounds(case: &Case<'_>, life: &Life) -> Option<(i64, i64)> {
    let stretch = only_stretch(life)?;
    let deadline = stretch.spec.deadline? * 1000;
    let oracle = case.oracle(&stretch.spec)?;
    let is_told = matches!(oracle, Oracle::Fields(..))
        && matches!(stretch.spec.policy, Allow | Forbid)
        && stretch.spec.jitter == 0
        && !case.clocks.were_wrong_before(case.end);
    let slots =
        is_told.then(|| oracle.slots(life.creation, case.second(stretch.to.min(case.end))))?;
    let (mut least, mut most) = (0, 0);
    // Nobody can tell a Job that a user deleted before it was written down from one that never was.
    let is_unseen = |slot: Seconds| life.run_for(slot).is_none_or(|run| run.is_unwanted);
    for slot in slots.iter().filter(|slot| is_unseen(**slot)) {
        let expiry = case.millis(*slot) + deadline;
        let (surely, at_most) = looked_at(case, life, stretch, &slots, *slot);
        // A name that was taken is a miss whatever the time is.
        let is_taken = is_taken(case, life, *slot);
        let has_run = life.run_for(*slot).is_some();
        least += i64::from(expiry <= surely && !is_taken && !has_run);
        most += i64::from(expiry <= at_most || is_taken);
    }
    Some((least, most))
}

/// The one stretch in which the CronJob was not suspended, if it was there from the beginning.
fn only_stretch(life: &Life) -> Option<&Stretch> {
    match life.stretches.as_slice() {
        [only] => Some(only),
        [first, last] if last.spec.is_suspended && last.spec.has_schedule_of(&first.spec) => {
            Some(first)
        }
        _ => None,
    }
    .filter(|only| !only.spec.is_suspended)
}

/// Until when somebody looked at a slot for certain, and until when at most, before it was overtaken.
fn looked_at(
    case: &Case<'_>,
    life: &Life,
    stretch: &Stretch,
    slots: &[Seconds],
    slot: Seconds,
) -> (Millis, Millis) {
    let overtaker =
        life.runs.iter().filter(|run| run.slot > Some(slot)).map(|run| run.created_at).min();
    let stop = stretch.to.min(case.end);
    match overtaker {
        Some(at) => (at - case.weather.lag(at), at),
        // Every later slot of which there was a calm while to look at is a look.
        None => {
            let looks = slots.iter().map(|later| case.millis(*later));
            let is_look = |at: &Millis| *at + SLACK < stop && case.weather.is_calm(*at, at + SLACK);
            (looks.filter(is_look).max().unwrap_or(-NEVER), stop + case.weather.lag(stop))
        }
    }
}

fn is_taken(case: &Case<'_>, life: &Life, slot: Seconds) -> bool {
    let key = life.job_key(slot);
    case.facts.foreign(life).any(|run| *run.key == *key)
}
