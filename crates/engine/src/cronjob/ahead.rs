//! What comes next: when to look again, and what the status says of it.

use jiff::Timestamp;
use punctual_api::{ConcurrencyPolicy, Time};

use super::{
    Observed, Timetable,
    plan::{Plan, Verdict},
    unmet::Unmet,
};

/// Sets when to look again and when the next run will be.
pub(crate) fn look(
    seen: &Observed<'_>,
    timetable: &Timetable,
    waiting: &Unmet,
    plan: &mut Plan,
    now: Timestamp,
) {
    let anchor = match &plan.verdict {
        Verdict::Due { slot } | Verdict::Adopted { slot } => *slot,
        _ => waiting.anchor,
    };
    plan.wake_at = next_effective(timetable, anchor, now);
    let catches_up = seen.cron_job.concurrency_policy() == ConcurrencyPolicy::CatchUp;
    // What was put off is next, however long ago it was due.
    let put_off = match &plan.verdict {
        Verdict::Blocked { slot } if catches_up => Some(timetable.effective(*slot)),
        Verdict::Due { slot } if catches_up && waiting.count > 1 => {
            timetable.schedule().next_after(*slot).map(|slot| timetable.effective(slot))
        }
        _ => None,
    };
    plan.status.next_schedule_time = put_off.or(plan.wake_at).map(Time::new);
    if matches!(plan.verdict, Verdict::Postponed { .. }) {
        plan.wake_at = Some(now);
    }
}

/// When the first slot after `now` takes effect. An interval counts from the anchor.
fn next_effective(timetable: &Timetable, anchor: Timestamp, now: Timestamp) -> Option<Timestamp> {
    let schedule = timetable.schedule();
    let passed = match timetable.interval() {
        Some(_) => schedule.latest_in(anchor, now),
        None => timetable.latest_effective(now),
    };
    // A slot can be past and not yet in effect, so the search begins at the last that is.
    let from = passed.map_or(anchor, |slot| slot.max(anchor));
    let mut ahead =
        schedule.after(from).map(|slot| timetable.effective(slot)).filter(|at| *at > now);
    ahead.next()
}
