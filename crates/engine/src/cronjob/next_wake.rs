//! Sets when to reconcile the CronJob again, and `status.nextScheduleTime`.

use jiff::Timestamp;
use punctual_api::{ConcurrencyPolicy, Time};

use super::{
    Observed, Timetable,
    pending_slots::PendingSlots,
    plan::{Plan, StartDecision},
};

/// Sets when to reconcile again and when the next Job starts.
pub(crate) fn set_next_wake(
    observed: &Observed<'_>,
    timetable: &Timetable,
    pending: &PendingSlots,
    plan: &mut Plan,
    now: Timestamp,
) {
    let anchor = match &plan.start_decision {
        StartDecision::Due { slot }
        | StartDecision::Adopted { slot }
        | StartDecision::NameTaken { slot } => *slot,
        _ => pending.anchor,
    };
    plan.wake_at = next_effective_time(timetable, anchor, now);
    // The next Job runs for the slot that waits for the active run, or with CatchUp for the oldest slot that
    // stays pending, even if its time has passed.
    let policy = observed.gates.concurrency_policy(observed.cron_job);
    let catches_up = policy == ConcurrencyPolicy::CatchUp;
    let still_pending = match &plan.start_decision {
        StartDecision::Blocked { slot } | StartDecision::WaitingForPods { slot, .. } => {
            Some(timetable.effective_time(*slot))
        }
        StartDecision::Due { slot } if catches_up && pending.count > 1 => {
            timetable.schedule().next_after(*slot).map(|slot| timetable.effective_time(slot))
        }
        _ => None,
    };
    plan.status.next_schedule_time = still_pending.or(plan.wake_at).map(Time::new);
    if let StartDecision::WaitingForPods { until: Some(until), .. } = &plan.start_decision {
        plan.wake_at = Some(plan.wake_at.map_or(*until, |wake_at| wake_at.min(*until)));
    }
    // A postponed slot starts as soon as this reconcile has written the status.
    if matches!(plan.start_decision, StartDecision::Postponed { .. }) {
        plan.wake_at = Some(now);
    }
}

/// Returns the first effective time after `now`. Slots of an interval are counted from `anchor`.
fn next_effective_time(
    timetable: &Timetable,
    anchor: Timestamp,
    now: Timestamp,
) -> Option<Timestamp> {
    let schedule = timetable.schedule();
    // With jitter, the effective time of a slot before `now` can be after `now`, so the search starts
    // before the latest slot, or at the latest one whose effective time has passed.
    let latest = match timetable.interval() {
        Some(interval) => {
            schedule.latest_in(anchor, now).and_then(|slot| slot.checked_sub(interval).ok())
        }
        None => timetable.latest_effective_slot(now),
    };
    let from = latest.map_or(anchor, |slot| slot.max(anchor));
    let effective_times = schedule.after(from).map(|slot| timetable.effective_time(slot));
    let mut upcoming = effective_times.filter(|time| *time > now);
    upcoming.next()
}
