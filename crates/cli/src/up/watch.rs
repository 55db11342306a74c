//! Watches CronJobs, Jobs and Pods and sends their changes to the view model.

use std::collections::HashSet;
use std::sync::Arc;

use kube::core::{Object, ObjectMeta};
use punctual_api::cronjob::CronJobStatus;
use punctual_api::job::{JobStatus, condition};
use punctual_api::slot_record::{RunResult, SlotRecord};
use punctual_api::{CronJobKind, Pod};
use punctual_client::resources::{JOBS, PODS, cron_jobs_of};
use punctual_client::{
    CachedFields, EventHandler, ResourceType, SharedWatches, SyncTracker, WatchSource,
    watch_resource,
};
use serde::Deserialize;
use serde::de::IgnoredAny;
use tokio::sync::mpsc::UnboundedSender;
use tokio_util::sync::CancellationToken;

use super::pod_problem;
use super::view_model::{
    CronJobSummary, JobEnd, JobSummary, LastRun, ObjectUid, PodSummary, WatchUpdate, WatchedKind,
};
use crate::clock;

/// The fields of a CronJob's spec that the view shows.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct CronJobSpecFields {
    schedule: String,
    time_zone: Option<String>,
    suspend: Option<bool>,
}

#[derive(Clone)]
struct WatchedCronJob(Object<CronJobSpecFields, CronJobStatus>);

#[derive(Clone)]
struct WatchedJob(Object<IgnoredAny, JobStatus>);

#[derive(Clone)]
struct WatchedPod(Pod);

/// A kind of object that the view shows.
trait ShownObject: CachedFields {
    fn uid(&self) -> ObjectUid;
    fn into_update(self, kind: WatchedKind) -> WatchUpdate;
}

impl CachedFields for WatchedCronJob {
    fn from_json(text: &str) -> Result<WatchedCronJob, serde_json::Error> {
        serde_json::from_str(text).map(WatchedCronJob)
    }
}

impl ShownObject for WatchedCronJob {
    fn uid(&self) -> ObjectUid {
        uid(&self.0.metadata)
    }

    fn into_update(self, kind: WatchedKind) -> WatchUpdate {
        let Object { metadata, spec, status, .. } = self.0;
        let status = status.unwrap_or_default();
        let cron_job = CronJobSummary {
            kind,
            name: namespaced_name(&metadata),
            schedule: spec.schedule.into(),
            zone: spec.time_zone.filter(|zone| !zone.is_empty()).map(Into::into),
            is_suspended: spec.suspend == Some(true),
            next: status.next_schedule_time.map(|time| time.timestamp()),
            active: status.active.len(),
            failures: status.failures_since_success,
            stuck: stuck_reason(&status),
            is_complete: has_condition(&status, "Complete", "True"),
            last_run: newest_run(&status),
            succeeded: status.successful_runs,
            failed: status.failed_runs,
            missed: status.missed_runs,
            last_missed: status.last_missed_time.map(|time| time.timestamp()),
            skipped: status.skipped_runs,
        };
        WatchUpdate::CronJob(uid(&metadata), cron_job)
    }
}

impl CachedFields for WatchedJob {
    fn from_json(text: &str) -> Result<WatchedJob, serde_json::Error> {
        serde_json::from_str(text).map(WatchedJob)
    }
}

impl ShownObject for WatchedJob {
    fn uid(&self) -> ObjectUid {
        uid(&self.0.metadata)
    }

    fn into_update(self, _kind: WatchedKind) -> WatchUpdate {
        let Object { metadata, status, .. } = self.0;
        let status = status.unwrap_or_default();
        let started = status.start_time.map(|time| time.timestamp());
        let created = metadata.creation_timestamp.as_ref().map(|time| time.0);
        let since = started.or(created).unwrap_or_default();
        let name = namespaced_name(&metadata);
        let job = JobSummary { name, since, seen_at: clock::now(), end: job_end(&status) };
        WatchUpdate::Job(uid(&metadata), job)
    }
}

impl CachedFields for WatchedPod {
    fn from_json(text: &str) -> Result<WatchedPod, serde_json::Error> {
        serde_json::from_str(text).map(WatchedPod)
    }
}

impl ShownObject for WatchedPod {
    fn uid(&self) -> ObjectUid {
        self.0.metadata.uid.as_str().into()
    }

    fn into_update(self, _kind: WatchedKind) -> WatchUpdate {
        let pod = PodSummary { job: job_of_pod(&self.0), problem: pod_problem::find(&self.0) };
        WatchUpdate::Pod(self.uid(), pod)
    }
}

/// Watches CronJobs, ScheduledJobs, Jobs and Pods until the future is dropped.
pub(super) async fn watch_all(watches: SharedWatches, updates: UnboundedSender<WatchUpdate>) {
    let source = WatchSource::Shared(watches);
    let handler = |kind| UpdateSender { kind, updates: updates.clone() };
    let cron_jobs = handler(WatchedKind::CronJob);
    let scheduled_jobs = handler(WatchedKind::ScheduledJob);
    let jobs = handler(WatchedKind::Job);
    let pods = handler(WatchedKind::Pod);
    tokio::join!(
        watch::<WatchedCronJob>(&source, cron_jobs_of(CronJobKind::BatchV1), &cron_jobs),
        watch::<WatchedCronJob>(&source, cron_jobs_of(CronJobKind::ScheduledJob), &scheduled_jobs),
        watch::<WatchedJob>(&source, &JOBS, &jobs),
        watch::<WatchedPod>(&source, &PODS, &pods),
    );
}

async fn watch<T: ShownObject>(
    source: &WatchSource,
    resource: &ResourceType,
    handler: &UpdateSender,
) {
    let stop = CancellationToken::new();
    watch_resource::<T, _>(source.clone(), resource, handler, SyncTracker::new(), stop).await;
}

/// Sends the changes of one kind as updates.
struct UpdateSender {
    kind: WatchedKind,
    updates: UnboundedSender<WatchUpdate>,
}

impl UpdateSender {
    /// The receiver is dropped only when the display ends, and then it needs no more updates.
    fn send(&self, update: WatchUpdate) {
        let _ = self.updates.send(update);
    }
}

impl<T: ShownObject> EventHandler<T> for UpdateSender {
    fn list_started(&self) {
        self.send(WatchUpdate::Listing(self.kind));
    }

    fn apply(&self, object: T) {
        self.send(object.into_update(self.kind));
    }

    fn delete(&self, object: T) {
        self.send(WatchUpdate::Deleted(self.kind, object.uid()));
    }

    fn retain(&self, _uids: &HashSet<String>) {
        self.send(WatchUpdate::Listed(self.kind));
    }
}

fn has_condition(status: &CronJobStatus, kind: &str, value: &str) -> bool {
    status.conditions.iter().any(|it| it.condition_type == kind && it.status == value)
}

fn stuck_reason(status: &CronJobStatus) -> Option<Box<str>> {
    let conditions = &mut status.conditions.iter();
    let settled = conditions.find(|it| it.condition_type == "Settled" && it.status == "False")?;
    Some(format!("{}: {}", settled.reason, settled.message).into())
}

/// Returns the newest run that has ended. The status does not keep the record of a run that a user asked for, but the time
/// of its success.
fn newest_run(status: &CronJobStatus) -> Option<LastRun> {
    let recorded = status.slots.iter().rev().find_map(last_run);
    let success = status.last_successful_time.map(|time| time.timestamp());
    if success <= recorded.as_ref().and_then(|last| last.end) {
        return recorded;
    }
    Some(LastRun { result: RunResult::Succeeded, end: success, took: None })
}

/// Returns how a run ended; `None` for slots without a run and for active runs.
fn last_run(record: &SlotRecord) -> Option<LastRun> {
    let result = record.result.filter(|result| *result != RunResult::Running)?;
    let end = record.completion_time.map(|time| time.timestamp());
    let start = record.start_time.or(record.created_time).map(|time| time.timestamp());
    let took = end.zip(start).map(|(end, start)| end.duration_since(start));
    Some(LastRun { result, end, took })
}

fn uid(metadata: &ObjectMeta) -> ObjectUid {
    metadata.uid.as_deref().unwrap_or_default().into()
}

/// The namespace and name of the Job that owns a Pod, or else of the Pod.
fn job_of_pod(pod: &Pod) -> Arc<str> {
    let namespace = &pod.metadata.namespace;
    let owners = pod.metadata.owner_references.iter();
    match owners.filter(|owner| owner.kind == "Job").map(|owner| &*owner.name).next() {
        Some(job) => format!("{namespace}/{job}").into(),
        // No Job has a name with a slash.
        None => format!("{namespace}/pod/{}", pod.metadata.name).into(),
    }
}

fn namespaced_name(metadata: &ObjectMeta) -> Arc<str> {
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    format!("{}/{}", text(&metadata.namespace), text(&metadata.name)).into()
}

/// The end of a Job, from its condition `Complete` or `Failed`.
fn job_end(status: &JobStatus) -> Option<JobEnd> {
    let is_true = |kind: &str| status.condition(kind).filter(|found| found.status == "True");
    let (found, error) = match (is_true(condition::COMPLETE), is_true(condition::FAILED)) {
        (Some(complete), _) => (complete, None),
        (None, Some(failed)) => (failed, Some(format!("{}: {}", failed.reason, failed.message))),
        (None, None) => return None,
    };
    let at = status.completion_time.or(found.last_transition_time)?.timestamp();
    Some(JobEnd { at, error: error.map(Into::into) })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_pod_without_a_job_has_its_own_name() {
        let pod = |owners| {
            let metadata = json!({"name": "p", "namespace": "n", "ownerReferences": owners});
            serde_json::from_value::<Pod>(json!({ "metadata": metadata })).unwrap()
        };
        let owner = |kind| json!([{"apiVersion": "v1", "kind": kind, "name": "j", "uid": "u"}]);
        assert_eq!(&*job_of_pod(&pod(owner("Job"))), "n/j");
        assert_eq!(&*job_of_pod(&pod(owner("Other"))), "n/pod/p");
        assert_eq!(&*job_of_pod(&pod(json!([]))), "n/pod/p");
    }
}
