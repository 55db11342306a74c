//! Checks the statuses after all objects were suspended: they must agree with the recorded Jobs.

use jiff::Timestamp;
use punctual_e2e::Client;
use punctual_testing::ConcurrencyPolicy;
use serde_json::Value;

use super::{
    recorded_jobs::{RecordedEnd, RecordedJob},
    workload::{WorkloadKind, WorkloadObject},
};
use crate::{
    objects::{annotation, items, number, text, time, uid},
    timing::TimeSpan,
};

/// Reads all CronJobs and ScheduledJobs.
pub(super) fn read_objects(client: &mut Client) -> anyhow::Result<Vec<Value>> {
    let mut objects = Vec::new();
    for kind in WorkloadKind::ALL {
        objects.extend_from_slice(items(&client.get(&kind.collection_path())?, "/items"));
    }
    Ok(objects)
}

/// Describes where the status of an object disagrees with its Jobs. The object was suspended at some
/// time within `suspended`.
pub(super) fn violations(
    object: &WorkloadObject,
    final_objects: &[Value],
    jobs: &[&RecordedJob],
    suspended: TimeSpan,
) -> Vec<String> {
    let name = &object.spec.name;
    let Some(stored) = final_objects.iter().find(|stored| uid(stored) == object.uid) else {
        return vec![format!("{name} no longer exists")];
    };
    let found = [
        wrong_last_schedule_time(stored, jobs),
        wrong_active_jobs(stored, jobs),
        wrong_counters(stored, object.spec.kind, jobs),
        wrong_missed_count(stored, object, jobs, suspended),
    ];
    found.into_iter().flatten().map(|text| format!("{name} {text}")).collect()
}

fn wrong_last_schedule_time(stored: &Value, jobs: &[&RecordedJob]) -> Option<String> {
    let last = jobs.iter().map(|job| job.slot).max();
    let recorded = time(stored, "/status/lastScheduleTime");
    (recorded != last).then(|| format!("has lastScheduleTime {recorded:?}, not {last:?}"))
}

fn wrong_active_jobs(stored: &Value, jobs: &[&RecordedJob]) -> Option<String> {
    let recorded = items(stored, "/status/active");
    let mut recorded: Vec<&str> = recorded.iter().map(|entry| text(entry, "/uid")).collect();
    let active = jobs.iter().filter(|job| job.end.is_none());
    let mut active: Vec<&str> = active.map(|job| &*job.uid).collect();
    recorded.sort_unstable();
    active.sort_unstable();
    (recorded != active).then(|| format!("lists {recorded:?} as active, but {active:?} are"))
}

/// Checks the counters of a ScheduledJob. kube-apiserver stores none for CronJobs.
fn wrong_counters(stored: &Value, kind: WorkloadKind, jobs: &[&RecordedJob]) -> Option<String> {
    let count = |end| jobs.iter().filter(|job| job.has_ended_as(end)).count();
    let complete = count(RecordedEnd::Complete);
    let failed = count(RecordedEnd::Failed);
    let successful_runs = number(stored, "/status/successfulRuns");
    let failed_runs = number(stored, "/status/failedRuns");
    let missed_runs = number(stored, "/status/missedRuns");
    let is_right = successful_runs == complete && failed_runs == failed + missed_runs;
    (kind == WorkloadKind::ScheduledJob && !is_right).then(|| {
        format!(
            "counts {successful_runs} successful and {failed_runs} failed runs with {missed_runs} \
             missed ones, but {complete} Jobs were complete and {failed} failed"
        )
    })
}

fn wrong_missed_count(
    stored: &Value,
    object: &WorkloadObject,
    jobs: &[&RecordedJob],
    suspended: TimeSpan,
) -> Option<String> {
    let (least, most) = missed_bounds(object, jobs, suspended);
    let missed = match object.spec.kind {
        WorkloadKind::CronJob => {
            let recorded = annotation(stored, "punctual.dev/missed");
            recorded.split(' ').nth(1).and_then(|text| text.parse().ok()).unwrap_or_default()
        }
        WorkloadKind::ScheduledJob => number(stored, "/status/missedRuns"),
    };
    let is_right = (least..=most).contains(&missed);
    (!is_right).then(|| format!("counts {missed} missed slots, not {least} to {most}"))
}

/// The number of slots without a Job: those whose deadline had certainly passed, and all.
fn missed_bounds(
    object: &WorkloadObject,
    jobs: &[&RecordedJob],
    suspended: TimeSpan,
) -> (usize, usize) {
    // Without a deadline no slot is missed.
    if object.spec.policy == ConcurrencyPolicy::CatchUp {
        return (0, 0);
    }
    let has_no_job = |slot: &Timestamp| jobs.iter().all(|job| job.slot != *slot);
    let slots: Vec<Timestamp> = object.slots(suspended.to).filter(has_no_job).collect();
    let is_expired =
        |slot: &&Timestamp| object.deadline(**slot).is_some_and(|at| at < suspended.from);
    (slots.iter().filter(is_expired).count(), slots.len())
}

#[cfg(test)]
mod tests;
