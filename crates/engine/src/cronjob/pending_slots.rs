//! Finds the pending slots (scheduled times that are due and not started), and counts the missed
//! ones, whose deadline has passed.

use jiff::{SignedDuration, Timestamp};
use punctual_api::{ConcurrencyPolicy, Time};

use super::{
    Observed, Timetable, active_jobs, conditions,
    ledger::{self, SlotSpan},
    plan::{MissReason, MissedSlots, Plan},
    replacement,
    skipped_slots::{self, SkippedSlots},
    suspension::{self, Resume},
};
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
    /// Only slots after this time are pending; the others after `anchor` are missed.
    pub(crate) after: Timestamp,
}

impl PendingSlots {
    /// All of them; `None` if there are none.
    pub(crate) fn range(&self) -> Option<SlotSpan> {
        Some(SlotSpan { oldest: self.oldest?, latest: self.latest?, count: self.count })
    }
}

/// Finds the pending slots. Slots whose deadline has passed are counted as missed.
pub(crate) fn find_pending_slots(
    observed: &Observed<'_>,
    timetable: &Timetable,
    plan: &mut Plan,
    now: Timestamp,
) -> PendingSlots {
    let anchor = anchor(observed, plan, plan.status.last_schedule_time, now);
    // The deadline does not pass while a slot waits for the Pods of replaced runs.
    let waiting_since = replacement::waiting_since(observed, &plan.status, now);
    let missed_until = missed_until(observed, waiting_since.unwrap_or(now));
    if conditions::one_shot_outcome(observed, plan).is_some() {
        return PendingSlots { oldest: None, latest: None, count: 0, anchor, after: anchor };
    }
    let resume = Resume { anchor, now, started: None };
    let after = suspension::skip_suspended_slots(observed, timetable, resume, plan);
    let after = count_expired_slots(timetable, after, missed_until, plan);
    let pending = slots_between(timetable, anchor, after, now);
    match catch_up_limit(observed) {
        Some(limit) if pending.count > limit => {
            let after = count_slots_beyond_limit(&pending, limit, timetable, plan);
            slots_between(timetable, anchor, after, now)
        }
        _ => pending,
    }
}

/// Returns how many of the newest pending slots start; `None` unless the policy is `CatchUp`.
fn catch_up_limit(observed: &Observed<'_>) -> Option<u64> {
    let policy = observed.gates.concurrency_policy(observed.cron_job);
    if policy != ConcurrencyPolicy::CatchUp {
        return None;
    }
    u64::try_from(observed.cron_job.catch_up_limit()).ok()
}

/// Counts the pending slots as missed that are older than the newest `limit` ones. Returns the time
/// after which slots are pending.
fn count_slots_beyond_limit(
    pending: &PendingSlots,
    limit: u64,
    timetable: &Timetable,
    plan: &mut Plan,
) -> Timestamp {
    let newest = usize::try_from(limit - 1).unwrap_or(usize::MAX);
    let mut older = pending.latest.into_iter().flat_map(|slot| timetable.schedule().before(slot));
    let Some(latest) = older.nth(newest).filter(|slot| *slot > pending.after) else {
        return pending.after;
    };
    let reason = MissReason::CatchUpLimitExceeded;
    let count = pending.count.saturating_sub(limit);
    let oldest = pending.oldest.unwrap_or(latest);
    count_missed(plan, MissedSlots { oldest, latest, count, reason });
    let message = format!(
        "Missed {count} slots up to {latest}: more than {limit} slots were pending with policy \
         CatchUp, and only the newest {limit} run"
    );
    plan.events.push(PendingEvent::warning(reason.as_str(), message));
    latest
}

/// Counts the missed and skipped slots that precede Jobs that were created but not recorded before a
/// crash.
///
/// Recording the slot of such a Job moves the anchor past those slots, so they would be lost.
pub(crate) fn count_slots_before_unrecorded_jobs(
    observed: &Observed<'_>,
    timetable: &Timetable,
    plan: &mut Plan,
    now: Timestamp,
) {
    let recorded = plan.observed_status.last_schedule_time;
    let mut anchor = anchor(observed, plan, recorded, now);
    for (slot, created_at) in active_jobs::unrecorded_slots(observed, recorded) {
        // The slot has a Job, so only slots before it can be missed.
        let before_slot = slot.checked_sub(SignedDuration::from_secs(1)).unwrap_or(slot);
        let resume = Resume { anchor, now: created_at, started: Some(slot) };
        let after = suspension::skip_suspended_slots(observed, timetable, resume, plan);
        let missed_until = missed_until(observed, created_at).map(|until| until.min(before_slot));
        let after = count_expired_slots(timetable, after, missed_until, plan);
        let blocked_until = ledger::blocked_until(observed, plan);
        if let Some(skipped) =
            skipped_slots::slots_superseded_by(slot, after, timetable, blocked_until)
        {
            count_superseded(observed, &skipped, slot, plan);
        }
        anchor = anchor.max(slot);
    }
}

/// Counts the slots before an unrecorded Job. `CatchUp` starts slots in order, so those that it passed
/// over exceeded its limit.
fn count_superseded(
    observed: &Observed<'_>,
    skipped: &SkippedSlots,
    slot: Timestamp,
    plan: &mut Plan,
) {
    if catch_up_limit(observed).is_none() {
        return skipped_slots::count_skipped(skipped, slot, plan);
    }
    let SkippedSlots { oldest, latest, count, .. } = *skipped;
    let reason = MissReason::CatchUpLimitExceeded;
    count_missed(plan, MissedSlots { oldest, latest, count, reason });
}

/// Returns the time up to which slots are missed at `now`; `None` without a deadline.
pub(crate) fn missed_until(observed: &Observed<'_>, now: Timestamp) -> Option<Timestamp> {
    let deadline = observed.cron_job.spec.starting_deadline_seconds?;
    Some(now.checked_sub(SignedDuration::from_secs(deadline)).unwrap_or(Timestamp::MIN))
}

/// Counts the slots after `anchor` that are missed. Returns the time after which slots are pending.
pub(crate) fn count_expired_slots(
    timetable: &Timetable,
    anchor: Timestamp,
    missed_until: Option<Timestamp>,
    plan: &mut Plan,
) -> Timestamp {
    let Some(missed_until) = missed_until else { return anchor };
    let missed = slots_between(timetable, anchor, anchor, missed_until);
    count_misses(&missed, plan);
    match (timetable.interval(), missed.latest) {
        // Like Kubernetes, count an interval from the deadline once its first slot is missed. If
        // the interval is longer than the deadline, no slot is pending then. The next reconcile
        // counts from the miss, so it must follow at once.
        (Some(_), Some(_)) => missed_until,
        _ => missed.latest.unwrap_or(anchor).max(anchor),
    }
}

/// Returns the time after which slots count: the last recorded slot, the last missed or skipped slot, the
/// creation of the CronJob, the last change of its schedule or the last switch of the feature gate
/// `TimeZone`, whichever is latest.
pub(crate) fn anchor(
    observed: &Observed<'_>,
    plan: &Plan,
    recorded: Option<Time>,
    now: Timestamp,
) -> Timestamp {
    let created = observed.cron_job.metadata.creation_timestamp.map_or(now, Time::timestamp);
    let last = recorded.map_or(created, Time::timestamp);
    let missed = plan.status.last_missed_time.map_or(last, Time::timestamp);
    let skipped = plan.status.last_skipped_time.map_or(last, Time::timestamp);
    let since = plan.schedule_effective_since.unwrap_or(last);
    let zone_since = plan.zone_gate.map_or(last, |record| record.since);
    last.max(missed).max(skipped).max(since).max(zone_since)
}

/// Returns the slots in `(after, until]` whose effective time is at or before `until`.
pub(crate) fn slots_between(
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
        return PendingSlots { oldest: None, latest, count: 0, anchor, after };
    };
    let count = schedule.count_in(after, latest);
    PendingSlots { oldest: schedule.next_after(after), latest: Some(latest), count, anchor, after }
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
    let reason = MissReason::DeadlinePassed;
    let oldest = missed.oldest.unwrap_or(latest);
    count_missed(plan, MissedSlots { oldest, latest, count: missed.count, reason });
    let slot = latest.strftime("%a, %d %b %Y %H:%M:%S +0000");
    let message = format!("Missed scheduled time to start a job: {slot}");
    plan.events.push(PendingEvent::warning(reason.as_str(), message));
}

/// Counts missed slots as failed runs.
pub(crate) fn count_missed(plan: &mut Plan, missed: MissedSlots) {
    let status = &mut plan.status;
    let count = i64::try_from(missed.count).unwrap_or(i64::MAX);
    status.last_missed_time = status.last_missed_time.max(Some(Time::new(missed.latest)));
    status.missed_runs = status.missed_runs.saturating_add(count);
    status.failed_runs = status.failed_runs.saturating_add(count);
    status.failures_since_success = status.failures_since_success.saturating_add(count);
    ledger::add_missed(plan, &missed);
    plan.missed_slots.push(missed);
}
