//! Finds the pending slots, and counts the missed ones.

use jiff::{SignedDuration, Timestamp};
use punctual_api::{Time, cronjob::CronJobStatus};

use super::{Observed, Timetable, active_jobs, plan::Plan, reasons};
use crate::PendingEvent;

/// The pending slots: their effective time and not their deadline has passed, and they are not
/// started.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PendingSlots {
    /// The first of them.
    pub(crate) oldest: Option<Timestamp>,
    /// The last of them.
    pub(crate) latest: Option<Timestamp>,
    /// How many there are, exactly.
    pub(crate) count: u64,
    /// Only slots after this time count. The slots of an interval are counted from here.
    pub(crate) anchor: Timestamp,
}

/// Finds the pending slots. Slots whose deadline has passed are counted as missed.
pub(crate) fn find_pending_slots(
    observed: &Observed<'_>,
    timetable: &Timetable,
    plan: &mut Plan,
    now: Timestamp,
) -> PendingSlots {
    let anchor = anchor(observed, plan, plan.status.last_schedule_time, now);
    let deadline = observed.cron_job.spec.starting_deadline_seconds;
    let Some(deadline) = deadline else {
        return slots_between(timetable, anchor, anchor, now);
    };
    let missed_until = now.checked_sub(SignedDuration::from_secs(deadline));
    let missed_until = missed_until.unwrap_or(Timestamp::MIN);
    count_misses_before_unrecorded_jobs(observed, timetable, plan, deadline, now);
    let missed = slots_between(timetable, anchor, anchor, missed_until);
    count_misses(&missed, plan);
    let earliest = match (timetable.interval(), missed.latest) {
        // Like Kubernetes, count an interval from the deadline once its first slot is missed. If
        // the interval is longer than the deadline, no slot is pending then. The next reconcile
        // counts from the miss, so it must follow at once.
        (Some(_), Some(_)) => missed_until,
        _ => missed.latest.unwrap_or(anchor).max(anchor),
    };
    slots_between(timetable, anchor, earliest, now)
}

/// Counts the misses that precede Jobs that were created but not recorded before a crash.
///
/// Recording the slot of such a Job moves the anchor past those misses, so they would be lost.
fn count_misses_before_unrecorded_jobs(
    observed: &Observed<'_>,
    timetable: &Timetable,
    plan: &mut Plan,
    deadline: i64,
    now: Timestamp,
) {
    let recorded = plan.observed_status.last_schedule_time;
    let mut anchor = anchor(observed, plan, recorded, now);
    for slot in active_jobs::unrecorded_slots(observed, recorded) {
        let missed_until = slot.checked_sub(SignedDuration::from_secs(deadline));
        let missed_until = missed_until.unwrap_or(Timestamp::MIN);
        let missed = slots_between(timetable, anchor, anchor, missed_until);
        count_misses(&missed, plan);
        anchor = anchor.max(slot);
    }
}

/// Returns the time after which slots count: the last recorded slot, the last missed slot, the
/// creation of the CronJob or the last change of its schedule, whichever is latest.
fn anchor(
    observed: &Observed<'_>,
    plan: &Plan,
    recorded: Option<Time>,
    now: Timestamp,
) -> Timestamp {
    let created = observed.cron_job.metadata.creation_timestamp.map_or(now, Time::timestamp);
    let last = recorded.map_or(created, Time::timestamp);
    let missed = plan.status.last_missed_time.map_or(last, Time::timestamp);
    let since = plan.schedule_since.unwrap_or(last);
    last.max(missed).max(since)
}

/// Returns the slots in `(after, until]` whose effective time is at or before `until`.
fn slots_between(
    timetable: &Timetable,
    anchor: Timestamp,
    after: Timestamp,
    until: Timestamp,
) -> PendingSlots {
    let schedule = timetable.schedule();
    let latest = match timetable.interval() {
        Some(_) => latest_of_interval(timetable, after, until),
        None => timetable.latest_effective_slot(until).filter(|slot| *slot > after),
    };
    let Some(latest) = latest else {
        return PendingSlots { oldest: None, latest, count: 0, anchor };
    };
    let count = schedule.count_in(after, latest);
    PendingSlots { oldest: schedule.next_after(after), latest: Some(latest), count, anchor }
}

/// Returns the latest slot of an interval, counted from `after`, whose effective time is at or before
/// `until`.
fn latest_of_interval(
    timetable: &Timetable,
    after: Timestamp,
    until: Timestamp,
) -> Option<Timestamp> {
    let latest = timetable.schedule().latest_in(after, until)?;
    if timetable.effective_time(latest) <= until {
        return Some(latest);
    }
    timetable.schedule().before(latest).next().filter(|slot| *slot > after)
}

/// Counts missed slots and records one event for all of them.
fn count_misses(missed: &PendingSlots, plan: &mut Plan) {
    let Some(latest) = missed.latest else { return };
    count_missed(&mut plan.status, latest, missed.count);
    let slot = latest.strftime("%a, %d %b %Y %H:%M:%S +0000");
    let message = format!("Missed scheduled time to start a job: {slot}");
    plan.events.push(PendingEvent::warning(reasons::MISS_SCHEDULE, message));
}

/// Counts missed slots, of which `latest` is the last, as failed runs.
pub(crate) fn count_missed(status: &mut CronJobStatus, latest: Timestamp, count: u64) {
    let count = i64::try_from(count).unwrap_or(i64::MAX);
    status.last_missed_time = status.last_missed_time.max(Some(Time::new(latest)));
    status.missed_runs = status.missed_runs.saturating_add(count);
    status.failed_runs = status.failed_runs.saturating_add(count);
    status.failures_since_success = status.failures_since_success.saturating_add(count);
}
