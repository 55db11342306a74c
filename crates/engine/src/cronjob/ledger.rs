//! Writes the slot records: what was decided about each slot (scheduled time), and how its run ended.
//!
//! A record is added by the function that counts its slots, so the records and the counters of the
//! status are always in one write and always agree.

use jiff::Timestamp;
use punctual_api::cronjob::CronJobStatus;
use punctual_api::slot_record::{RunResult, SlotDecision, SlotJob, SlotRecord, reason};
use punctual_api::{ConcurrencyPolicy, Time};

use super::{
    Observed, Timetable,
    job_view::{JobResult, JobView},
    manual_jobs,
    plan::{MissReason, MissedSlots, Plan},
    reasons::{condition_reason, condition_type},
};

/// A longer message is cut.
const MESSAGE_LENGTH_MAX: usize = 256;

/// How many slot records the status keeps, besides those of active runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RecordRetention {
    /// All of them. The server moves older ones into its archive.
    #[default]
    Archived,
    /// The newest ones, because the server has no archive.
    Newest(usize),
}

impl RecordRetention {
    /// Whether the server keeps the records that the status does not have.
    pub(crate) fn has_archive(self) -> bool {
        self == RecordRetention::Archived
    }

    /// Whether records are kept at all.
    pub(crate) fn keeps_records(self) -> bool {
        self != RecordRetention::Newest(0)
    }
}

/// Consecutive slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SlotSpan {
    pub(crate) oldest: Timestamp,
    pub(crate) latest: Timestamp,
    pub(crate) count: u64,
}

impl SlotSpan {
    /// The slots of a schedule in `(after, until]`; none if there are none.
    pub(crate) fn find(
        timetable: &Timetable,
        after: Timestamp,
        until: Timestamp,
    ) -> Option<SlotSpan> {
        let schedule = timetable.schedule();
        let oldest = schedule.next_after(after).filter(|oldest| *oldest <= until)?;
        let count = schedule.count_in(after, until);
        let latest = schedule.latest_in(after, until)?;
        Some(SlotSpan { oldest, latest, count })
    }

    fn record(self, decision: SlotDecision, reason: &str) -> SlotRecord {
        let SlotSpan { oldest, latest, count } = self;
        let is_range = count > 1;
        SlotRecord {
            slot: Some(Time::new(oldest)),
            through: is_range.then(|| Time::new(latest)),
            count: is_range.then(|| i64::try_from(count).unwrap_or(i64::MAX)),
            decision,
            reason: reason.to_owned(),
            ..SlotRecord::default()
        }
    }
}

/// Adds the record of missed slots.
pub(crate) fn add_missed(plan: &mut Plan, missed: &MissedSlots) {
    let MissedSlots { oldest, latest, count, .. } = *missed;
    let range = SlotSpan { oldest, latest, count };
    let rejection = rejection_message(&plan.observed_status);
    let record = match (missed.reason, rejection) {
        (MissReason::DeadlinePassed, Some(message)) => SlotRecord {
            message: truncate(message),
            ..range.record(SlotDecision::Missed, reason::CREATE_REJECTED)
        },
        (MissReason::DeadlinePassed, None) => {
            range.record(SlotDecision::Missed, reason::DEADLINE_EXCEEDED)
        }
        (MissReason::NameTaken, _) => range.record(SlotDecision::Missed, reason::NAME_TAKEN),
        (MissReason::CatchUpLimitExceeded, _) => {
            range.record(SlotDecision::Missed, reason::CATCH_UP_LIMIT_EXCEEDED)
        }
    };
    plan.status.slots.push(record);
}

/// Returns the server's message if it rejected the Job of the latest pending slot.
fn rejection_message(status: &CronJobStatus) -> Option<&str> {
    let settled = status.conditions.iter().find(|found| {
        found.condition_type == condition_type::SETTLED
            && found.reason == condition_reason::RECONCILE_ERROR
    });
    settled.map(|condition| condition.message.as_str())
}

/// Returns the records of slots that a later slot supersedes. Those during which another run was active
/// have a reason of their own under the policy `Forbid`.
pub(crate) fn superseded(
    range: SlotSpan,
    timetable: &Timetable,
    blocked_until: Option<Timestamp>,
) -> Vec<SlotRecord> {
    let forbidden =
        |range: SlotSpan| range.record(SlotDecision::Skipped, reason::CONCURRENCY_FORBIDDEN);
    let superseded = |range: SlotSpan| range.record(SlotDecision::Skipped, reason::SUPERSEDED);
    match blocked_until {
        Some(until) if until >= range.latest => vec![forbidden(range)],
        // The slots of an interval cannot be counted from within a range.
        Some(until) if until >= range.oldest && timetable.interval().is_none() => {
            let blocked = SlotSpan::find(timetable, before(range.oldest), until);
            let others = SlotSpan::find(timetable, until, range.latest);
            blocked.map(forbidden).into_iter().chain(others.map(superseded)).collect()
        }
        _ => vec![superseded(range)],
    }
}

/// Returns the record of slots that were due while the CronJob was suspended.
pub(crate) fn suspended(range: SlotSpan) -> SlotRecord {
    range.record(SlotDecision::Skipped, reason::SUSPENDED)
}

/// Returns until when the last recorded run or manual Job was active, if the policy is `Forbid`.
pub(crate) fn blocked_until(observed: &Observed<'_>, plan: &Plan) -> Option<Timestamp> {
    if observed.gates.concurrency_policy(observed.cron_job) != ConcurrencyPolicy::Forbid {
        return None;
    }
    let ends = plan.status.slots.iter().filter_map(|record| record.completion_time);
    ends.max().map(Time::timestamp).max(manual_jobs::last_end(observed))
}

/// Returns the record of a slot that starts. [`Plan`] has it until its Job is created.
pub(crate) fn started(
    observed: &Observed<'_>,
    timetable: Option<&Timetable>,
    slot: Timestamp,
    job: &str,
    created_at: Timestamp,
) -> SlotRecord {
    let effective = timetable.map_or(slot, |timetable| timetable.effective_time(slot));
    let later = timetable.and_then(|timetable| {
        let later = timetable.schedule().next_after(slot)?;
        Some(timetable.effective_time(later))
    });
    let policy = observed.gates.concurrency_policy(observed.cron_job);
    let is_caught_up =
        policy == ConcurrencyPolicy::CatchUp && later.is_some_and(|later| later <= created_at);
    let reason = if is_caught_up { reason::CAUGHT_UP } else { reason::SCHEDULED };
    SlotRecord {
        slot: Some(Time::new(slot)),
        decision: SlotDecision::Started,
        reason: reason.to_owned(),
        job: Some(SlotJob { name: job.to_owned(), uid: String::new() }),
        effective_time: (effective != slot).then(|| Time::new(effective)),
        created_time: Some(Time::new(created_at)),
        result: Some(RunResult::Running),
        ..SlotRecord::default()
    }
}

/// Returns the record of a requested run. It has no effective time, because jitter is about the schedule.
pub(crate) fn requested(
    slot: Timestamp,
    job: &str,
    request: &str,
    created_at: Timestamp,
) -> SlotRecord {
    SlotRecord {
        slot: Some(Time::new(slot)),
        decision: SlotDecision::Started,
        reason: reason::REQUESTED.to_owned(),
        job: Some(SlotJob { name: job.to_owned(), uid: String::new() }),
        request: request.to_owned(),
        created_time: Some(Time::new(created_at)),
        result: Some(RunResult::Running),
        ..SlotRecord::default()
    }
}

/// Returns the record of a requested Job that was created and not recorded, for example before a crash.
pub(crate) fn requested_before(job: &JobView) -> Option<SlotRecord> {
    let request = job.request.as_ref()?;
    let slot = job.slot?;
    Some(requested(slot, &job.name, &request.name, job.created_at.unwrap_or(slot)))
}

/// Adds the record of a slot whose Job was created, unless there is one already.
pub(crate) fn add_started(status: &mut CronJobStatus, mut record: SlotRecord, uid: &str) {
    if find_run(status, uid).is_some() {
        return;
    }
    if let Some(job) = &mut record.job {
        uid.clone_into(&mut job.uid);
    }
    status.slots.push(record);
}

/// Returns the record of a Job that was created and not recorded, for example before a crash.
pub(crate) fn started_before(
    observed: &Observed<'_>,
    job: &JobView,
    slot: Timestamp,
) -> SlotRecord {
    let timetable = observed.timetable.as_ref().ok();
    started(observed, timetable, slot, &job.name, job.created_at.unwrap_or(slot))
}

/// Records how a run ended. A run that an earlier version started without a record gets one.
pub(crate) fn end_run(observed: &Observed<'_>, plan: &mut Plan, job: &JobView, result: JobResult) {
    if find_run(&mut plan.status, &job.uid).is_none() {
        let slot = job.slot_for(&observed.cron_job.metadata.name);
        let scheduled = slot.map(|slot| started_before(observed, job, slot));
        let Some(record) = requested_before(job).or(scheduled) else { return };
        add_started(&mut plan.status, record, &job.uid);
    }
    let Some(record) = find_run(&mut plan.status, &job.uid) else { return };
    record.start_time = job.started_at.map(Time::new);
    record.completion_time = job.finished_at.map(Time::new);
    record.result = Some(match result {
        JobResult::Complete => RunResult::Succeeded,
        JobResult::Failed => RunResult::Failed,
    });
    record.failure_reason.clone_from(&job.failure_reason);
    record.attempts = (job.ended_pods > 0).then_some(job.ended_pods);
}

/// Records that a Job was deleted before it ended.
pub(crate) fn end_run_without_result(
    status: &mut CronJobStatus,
    uid: &str,
    result: RunResult,
    at: Option<Timestamp>,
) {
    if let Some(record) = find_run(status, uid) {
        record.result = Some(result);
        record.completion_time = at.map(Time::new);
    }
}

fn find_run<'a>(status: &'a mut CronJobStatus, uid: &str) -> Option<&'a mut SlotRecord> {
    status.slots.iter_mut().find(|record| record.is_of_job(uid))
}

/// Sorts the records by slot and removes those that the status does not keep. Returns those that are new
/// or have changed since they were observed. The records of `unreleased_runs` are kept: they tell that a run was
/// counted.
pub(crate) fn finish(
    status: &mut CronJobStatus,
    observed: &CronJobStatus,
    retention: RecordRetention,
    unreleased_runs: &[String],
) -> Vec<SlotRecord> {
    if status.slots == observed.slots {
        return Vec::new();
    }
    status.slots.sort_by_key(|record| record.slot);
    let changed = status.slots.iter().filter(|record| !observed.slots.contains(record));
    let changed = changed.cloned().collect();
    if let RecordRetention::Newest(kept) = retention {
        let mut surplus = status.slots.len().saturating_sub(kept);
        status.slots.retain(|record| {
            let is_needed = unreleased_runs.iter().any(|uid| record.is_of_job(uid));
            let is_removed = surplus > 0 && !record.is_running() && !is_needed;
            surplus -= usize::from(is_removed);
            !is_removed
        });
    }
    changed
}

/// The last instant before a slot, in whole seconds: slots have no fractions.
pub(crate) fn before(slot: Timestamp) -> Timestamp {
    slot.checked_sub(jiff::SignedDuration::from_secs(1)).unwrap_or(slot)
}

fn truncate(message: &str) -> String {
    message.chars().take(MESSAGE_LENGTH_MAX).collect()
}
