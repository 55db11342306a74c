//! Checks the slot ledger: every slot is in exactly one record, the records agree with the Jobs, and the
//! counters of the status are the sums of the records.
//!
//! The records are those that the server serves at the end: from its archive and from the statuses. These
//! rules are never lenient about faults. A history without any record, such as one of a system without a
//! ledger, is not checked.

use std::collections::{BTreeMap, BTreeSet};

use super::CheckContext;
use super::calm_periods::REACTION_MAX;
use super::cron_job_history::{CronJobHistory, JobRun, OPEN_END};
use super::objects::{JobResult, StoredSlotRecord, StoredStatus};
use super::status::may_be_uncounted;
use crate::ConcurrencyPolicy::{self, CatchUp, Forbid, Replace};
use crate::oracle::{ScheduleOracle, UnixSeconds};

pub(super) fn check(context: &mut CheckContext<'_>, cron_job: &CronJobHistory) {
    let Some((_, status)) = cron_job.statuses.last() else { return };
    if !context.observations.has_slot_records {
        return;
    }
    let records = served_records(context, cron_job);
    for text in lost(cron_job, &records) {
        context.report_for(cron_job, context.end, "slot-record", &text);
    }
    if !cron_job.exists_at_end() {
        return;
    }
    let mut findings = wrong_sums(&records, status);
    let scheduled: Vec<_> = records.iter().copied().filter(|it| it.is_scheduled()).collect();
    findings.extend(overlaps(&scheduled));
    findings.extend(uncovered(context, cron_job, &scheduled));
    findings.extend(wrong_runs(context, cron_job, &records));
    findings.extend(records.iter().filter_map(|record| wrong_record(context, cron_job, record)));
    context.report.slot_records += records.len() as u64;
    for text in findings {
        context.report_for(cron_job, context.end, "slot-record", &text);
    }
}

/// The records of a CronJob, in the order of their slots.
fn served_records<'a>(
    context: &CheckContext<'a>,
    cron_job: &CronJobHistory,
) -> Vec<&'a StoredSlotRecord> {
    let served = context.observations.served_records.iter();
    let own = served.filter(|served| served.cron_job_uid == cron_job.uid);
    let mut records: Vec<_> = own.map(|served| &served.record).collect();
    records.sort_by_key(|record| record.slot);
    records
}

/// Records that a status had and that the server does not serve, or only in an earlier version. They must
/// outlive the CronJob.
fn lost(cron_job: &CronJobHistory, records: &[&StoredSlotRecord]) -> Vec<String> {
    let mut latest = BTreeMap::new();
    for record in cron_job.statuses.iter().flat_map(|(_, status)| &status.slots) {
        latest.insert((record.slot, record.job_uid()), record);
    }
    let is_served = |record: &StoredSlotRecord| {
        records.iter().any(|served| {
            // The write that changed a result may have archived the record: a run ends, or a stale cache
            // shows the end of one whose Job was missing.
            let may_change = matches!(record.result.as_deref(), Some("Running" | "Deleted"));
            let has_result = served.result == record.result || may_change;
            served.slot == record.slot && served.job_uid() == record.job_uid() && has_result
        })
    };
    // If a user deletes a Job before its slot is recorded, a second Job is created for the slot, and one
    // record stands for both.
    let has_two_jobs = |slot: UnixSeconds| {
        cron_job.runs.iter().any(|run| run.any_slot() == Some(slot) && run.is_deleted_by_user)
    };
    let lost = latest.into_values().filter(|record| !is_served(record));
    let lost = lost.filter(|record| !has_two_jobs(record.slot));
    lost.map(|record| format!("{record:?} is not served")).collect()
}

fn wrong_sums(records: &[&StoredSlotRecord], status: &StoredStatus) -> Vec<String> {
    let sum = |is_counted: &dyn Fn(&StoredSlotRecord) -> bool| -> i64 {
        records.iter().filter(|record| is_counted(record)).map(|record| record.slots()).sum()
    };
    let with_result = |result: &str| sum(&|record| record.result.as_deref() == Some(result));
    let missed = sum(&|record| record.decision == "Missed");
    let sums = [
        ("missedRuns", status.missed_runs, missed),
        ("skippedRuns", status.skipped_runs, sum(&|record| record.decision == "Skipped")),
        ("successfulRuns", status.successful_runs, with_result("Succeeded")),
        ("failedRuns", status.failed_runs, with_result("Failed") + missed),
    ];
    let wrong = sums.iter().filter(|(_, actual, sum)| actual != sum);
    wrong
        .map(|(name, actual, sum)| format!("{name} is {actual}, the records add up to {sum}"))
        .collect()
}

/// Records of which one starts before the previous one ends.
fn overlaps(records: &[&StoredSlotRecord]) -> Vec<String> {
    let pairs = records.iter().zip(records.iter().skip(1));
    let overlapping = pairs.filter(|(earlier, later)| later.slot <= earlier.last_slot());
    overlapping
        .map(|(earlier, later)| format!("two records of a slot: {earlier:?}, {later:?}"))
        .collect()
}

/// Slots between the creation and the last record that no record has, and records of other times. The
/// slots of an interval depend on each other, and an edit drops the slots that were pending.
fn uncovered(
    context: &CheckContext<'_>,
    cron_job: &CronJobHistory,
    records: &[&StoredSlotRecord],
) -> Vec<String> {
    let Some(spec) = cron_job.last_spec() else { return Vec::new() };
    let is_edited = cron_job.periods.iter().any(|period| !period.spec.has_schedule_of(spec));
    let Some(oracle @ ScheduleOracle::Fields(..)) = context.oracle(spec) else { return Vec::new() };
    let Some(last) = records.iter().map(|record| record.last_slot()).max() else {
        return Vec::new();
    };
    if is_edited {
        return Vec::new();
    }
    let slots: BTreeSet<UnixSeconds> = oracle.slots(cron_job.creation, last).into_iter().collect();
    let mut found = Vec::new();
    let mut covered = 0;
    for record in records {
        let in_record =
            slots.range(record.slot..=record.last_slot().max(record.slot)).count() as i64;
        covered += in_record;
        if in_record != record.slots() {
            found.push(format!("{record:?} has {in_record} slots"));
        }
    }
    if covered != slots.len() as i64 {
        found.push(format!("the records have {covered} of {} slots", slots.len()));
    }
    found
}

/// Runs without a record, and records that disagree with their run.
fn wrong_runs(
    context: &CheckContext<'_>,
    cron_job: &CronJobHistory,
    records: &[&StoredSlotRecord],
) -> Vec<String> {
    let mut found = Vec::new();
    for run in cron_job.runs.iter().filter(|run| run.any_slot().is_some()) {
        let record = records.iter().find(|record| record.job_uid() == Some(&*run.uid));
        match record {
            // The controller may never have seen a Job that a user deleted.
            None if run.is_deleted_by_user => {}
            None => found.push(format!("{} has no record", run.name())),
            Some(record) => found.extend(disagreement(context, cron_job, run, record)),
        }
    }
    let is_run = |uid: &str| cron_job.runs.iter().any(|run| run.uid == uid);
    for record in records.iter().filter(|record| record.decision == "Started") {
        if !record.job_uid().is_some_and(is_run) {
            found.push(format!("{record:?} has no Job"));
        }
    }
    found
}

fn disagreement(
    context: &CheckContext<'_>,
    cron_job: &CronJobHistory,
    run: &JobRun,
    record: &StoredSlotRecord,
) -> Option<String> {
    let is_uncertain = may_be_uncounted(context, cron_job, run);
    let is_right = match (record.result.as_deref(), run.end.map(|end| end.result)) {
        (Some("Running"), None) => run.removed_at == OPEN_END,
        (Some("Succeeded"), Some(JobResult::Complete)) => true,
        (Some("Failed"), Some(JobResult::Failed)) => true,
        (Some("Deleted" | "Replaced"), None) => {
            run.removed_at != OPEN_END || run.deleted_at != OPEN_END
        }
        (Some("Deleted" | "Replaced"), Some(_)) => is_uncertain,
        _ => false,
    };
    let is_of_same_origin = run.request.is_none() == record.is_scheduled();
    let has_slot =
        is_of_same_origin && run.any_slot() == Some(record.slot) && record.decision == "Started";
    (!is_right || !has_slot).then(|| format!("{record:?} disagrees with {run:?}"))
}

/// A reason that the specs of the CronJob do not allow, or that does not fit the decision.
fn wrong_record(
    context: &CheckContext<'_>,
    cron_job: &CronJobHistory,
    record: &StoredSlotRecord,
) -> Option<String> {
    let had_policy = |policy: ConcurrencyPolicy| {
        cron_job.periods.iter().any(|period| period.spec.policy == policy)
    };
    let had_other_policy = || cron_job.periods.iter().any(|period| period.spec.policy != CatchUp);
    let had_deadline = || cron_job.periods.iter().any(|period| period.spec.deadline.is_some());
    let is_right = match (&*record.decision, &*record.reason) {
        ("Started", "Scheduled") => record.is_scheduled(),
        ("Started", "Requested") => !record.is_scheduled(),
        ("Started", "CaughtUp") => had_policy(CatchUp),
        ("Skipped", "Superseded") => had_other_policy(),
        ("Skipped", "ConcurrencyForbidden") => had_policy(Forbid),
        ("Skipped", "Suspended") => was_suspended(context, cron_job, record),
        ("Missed", "DeadlineExceeded" | "CreateRejected") => had_deadline(),
        ("Missed", "CatchUpLimitExceeded") => had_policy(CatchUp),
        ("Missed", "NameTaken") => record.slots() == 1,
        _ => false,
    };
    let is_replaced = record.result.as_deref() == Some("Replaced");
    let is_complete = record.through.is_none_or(|through| through > record.slot)
        && (record.decision == "Started") == record.job.is_some()
        && (record.decision == "Started") == record.result.is_some()
        && (!is_replaced || had_policy(Replace));
    (!is_right || !is_complete).then(|| format!("{record:?} is wrong"))
}

/// Whether each slot of a record was due while the CronJob was suspended, as far as the controller can
/// have known.
fn was_suspended(
    context: &CheckContext<'_>,
    cron_job: &CronJobHistory,
    record: &StoredSlotRecord,
) -> bool {
    if context.clocks.were_wrong_before(context.end) {
        return true;
    }
    let first = context.millis(record.slot);
    let last = context.millis(record.last_slot());
    let suspended = || cron_job.periods.iter().filter(|period| period.spec.is_suspended);
    let has_started = suspended().any(|period| {
        let jitter = context.jitter_max(&period.spec, record.slot).unwrap_or(OPEN_END);
        // The controller records the suspension in whole seconds.
        period.from - 1_000 <= first.saturating_add(jitter)
    });
    // The controller may not have seen that the CronJob was resumed and suspended again.
    let has_not_ended = suspended().any(|period| {
        let staleness = context.calm_periods.staleness(period.to.min(context.end));
        last <= period.to.saturating_add(staleness).saturating_add(REACTION_MAX)
    });
    has_started && has_not_ended
}
