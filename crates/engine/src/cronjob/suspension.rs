//! Resumes a CronJob at the end of its suspension, and skips the slots that were due meanwhile.
//!
//! Like Kubernetes, the latest of them starts when the CronJob is resumed. With the policy `CatchUp` all
//! of them start. The others are skipped, not missed: the user asked for it. With the annotation
//! `punctual.dev/resume-missed: drop` none of them starts; with `all` they start one after another, whatever the
//! policy is.

use jiff::Timestamp;
use punctual_api::well_known::annotations;
use punctual_api::{ConcurrencyPolicy, CronJob, Time};

use super::{
    Observed, Timetable,
    ledger::{self, SlotSpan},
    pending_slots::{count_expired_slots, missed_until, slots_between},
    plan::{Plan, StartDecision},
    skipped_slots::{self, SkippedSlots},
};

/// A change of a CronJob because of its suspension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SuspensionChange {
    /// Resume it, and remove the annotations about the suspension.
    Resume,
    /// Remove the annotations about a suspension that is over.
    ClearAnnotations,
}

/// The value of [`annotations::RESUME_MISSED`] with which no slot of a suspension starts.
const DROP: &str = "drop";
/// The value with which all slots of a suspension start, as with the policy `CatchUp`.
const ALL: &str = "all";

/// Resumes the CronJob if its suspension is over, or wakes up when it is.
pub(crate) fn plan_resume(observed: &Observed<'_>, plan: &mut Plan, now: Timestamp) {
    let cron_job = observed.cron_job;
    if cron_job.metadata.deletion_timestamp.is_some() || !cron_job.is_suspended() {
        return;
    }
    let Some(until) = suspension_end(cron_job) else { return };
    if until <= now {
        plan.suspension_change = Some(SuspensionChange::Resume);
    } else {
        plan.wake_at = Some(until);
    }
}

/// Removes the annotations about a suspension that is over: the user's choice about its slots, which the
/// status of this plan applies, and an end that would cut a later suspension short.
pub(crate) fn clear_annotations(
    observed: &Observed<'_>,
    now: Timestamp,
) -> Option<SuspensionChange> {
    let cron_job = observed.cron_job;
    if runs_all_slots_of_suspension(cron_job) {
        return None;
    }
    let has_choice = cron_job.metadata.annotation(annotations::RESUME_MISSED).is_some();
    let has_past_end = suspension_end(cron_job).is_some_and(|until| until <= now);
    let is_active = !cron_job.is_suspended() && cron_job.metadata.deletion_timestamp.is_none();
    let is_over = is_active && (has_choice || has_past_end);
    is_over.then_some(SuspensionChange::ClearAnnotations)
}

/// Whether all slots of a suspension that is over have to run, and some may be left.
pub(crate) fn runs_all_slots_of_suspension(cron_job: &CronJob) -> bool {
    let choice = cron_job.metadata.annotation(annotations::RESUME_MISSED);
    let is_active = !cron_job.is_suspended() && cron_job.metadata.deletion_timestamp.is_none();
    is_active && choice == Some(ALL)
}

/// Removes the annotations of a suspension whose slots all have to run, once the last of them starts.
pub(crate) fn clear_annotations_after_last_slot(observed: &Observed<'_>, plan: &mut Plan) {
    let is_starting = matches!(plan.start_decision, StartDecision::Due { .. });
    let slots_left = plan.pending_slots.saturating_sub(u64::from(is_starting));
    if runs_all_slots_of_suspension(observed.cron_job) && slots_left == 0 {
        plan.suspension_change = Some(SuspensionChange::ClearAnnotations);
    }
}

/// Returns when a suspension ends. Malformed text counts as absent: a CronJob that stays suspended is
/// safer than one that starts.
fn suspension_end(cron_job: &CronJob) -> Option<Timestamp> {
    cron_job.metadata.annotation(annotations::SUSPENDED_UNTIL)?.parse().ok()
}

/// Records when the CronJob was suspended. The record is removed when it is resumed, in the write that
/// skips the slots of the suspension.
pub(crate) fn update_suspended_since(observed: &Observed<'_>, plan: &mut Plan, now: Timestamp) {
    let since = plan.observed_status.suspended_since;
    let is_suspended = observed.cron_job.is_suspended();
    plan.status.suspended_since = is_suspended.then(|| since.unwrap_or(Time::new(now)));
}

/// Returns when the CronJob was suspended, if it was resumed after the last status write.
pub(crate) fn ended_suspension(observed: &Observed<'_>) -> Option<Timestamp> {
    let since = observed.cron_job.status.suspended_since?;
    (!observed.cron_job.is_suspended()).then(|| since.timestamp())
}

/// What is known about the slots when a CronJob was resumed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Resume {
    /// Only slots after this time count.
    pub(crate) anchor: Timestamp,
    /// When the controller looked for slots to start.
    pub(crate) now: Timestamp,
    /// The slot that it started then, if there is one.
    pub(crate) started: Option<Timestamp>,
}

/// Skips the slots of a suspension that has ended, except those that may still start. Returns the time
/// after which slots are pending or missed.
///
/// A schedule with a single slot has nothing to skip.
pub(crate) fn skip_suspended_slots(
    observed: &Observed<'_>,
    timetable: &Timetable,
    resume: Resume,
    plan: &mut Plan,
) -> Timestamp {
    let Resume { anchor, now, started } = resume;
    let is_over = |since: &mut Timestamp| started.is_none_or(|started| started >= *since);
    let Some(since) = plan.ended_suspension.take_if(is_over) else { return anchor };
    if timetable.is_single() {
        return anchor;
    }
    let before_since = ledger::before(since);
    let missed_until = missed_until(observed, now);
    let missed_before = missed_until.map(|until| until.min(before_since));
    let after = count_expired_slots(timetable, anchor, missed_before, plan);
    let until = match started {
        Some(slot) => Some(ledger::before(slot)),
        None => {
            let expired =
                missed_until.and_then(|until| slots_between(timetable, after, after, until).latest);
            expired.max(superseded_until(observed, timetable, after, now))
        }
    };
    let Some(until) = until else { return after };
    // Slots from before the suspension that are still pending are superseded by those that follow.
    let earlier = slots_between(timetable, after, after, before_since).range();
    let since_slot = earlier.map_or(after, |range| range.latest);
    let Some(suspended) = SlotSpan::find(timetable, since_slot, until) else { return after };
    let mut records =
        earlier.map_or_else(Vec::new, |range| ledger::superseded(range, timetable, None));
    records.push(ledger::suspended(suspended));
    let skipped = SkippedSlots {
        oldest: earlier.unwrap_or(suspended).oldest,
        latest: suspended.latest,
        count: suspended.count + earlier.map_or(0, |range| range.count),
        records,
    };
    skipped_slots::count_suspended(&skipped, plan);
    suspended.latest
}

/// Returns the last instant before the latest pending slot: the slots until then do not start. With the
/// policy `CatchUp` all of them start, unless the user chose that none of them does.
fn superseded_until(
    observed: &Observed<'_>,
    timetable: &Timetable,
    after: Timestamp,
    now: Timestamp,
) -> Option<Timestamp> {
    let latest = slots_between(timetable, after, after, now).latest;
    if observed.cron_job.metadata.annotation(annotations::RESUME_MISSED) == Some(DROP) {
        return latest;
    }
    if observed.gates.concurrency_policy(observed.cron_job) == ConcurrencyPolicy::CatchUp {
        return None;
    }
    latest.map(ledger::before)
}
