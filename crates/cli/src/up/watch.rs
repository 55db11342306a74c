//! Watches the API and sends updates to the view model.

use std::collections::HashSet;
use std::sync::Arc;

use kube::Client;
use kube::core::{Object, ObjectMeta};
use punctual_api::CronJobKind;
use punctual_api::cronjob::CronJobStatus;
use punctual_api::job::{JobStatus, condition};
use punctual_client::resources::{JOBS, cron_jobs_of};
use punctual_client::{CachedFields, EventHandler, ResourceType, SyncTracker, watch_resource};
use serde::Deserialize;
use serde::de::IgnoredAny;
use tokio::sync::mpsc::UnboundedSender;
use tokio_util::sync::CancellationToken;

use super::view_model::{CronJobSummary, JobEnd, JobSummary, ObjectUid, WatchUpdate, WatchedKind};

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
            zone: spec.time_zone.map(Into::into),
            is_suspended: spec.suspend == Some(true),
            last: status.last_schedule_time.map(|time| time.timestamp()),
            next: status.next_schedule_time.map(|time| time.timestamp()),
            active: status.active.len(),
            succeeded: status.successful_runs,
            failed: status.failed_runs,
            missed: status.missed_runs,
            last_missed: status.last_missed_time.map(|time| time.timestamp()),
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
        let job = JobSummary { name: namespaced_name(&metadata), since, end: job_end(&status) };
        WatchUpdate::Job(uid(&metadata), job)
    }
}

/// Watches CronJobs, ScheduledJobs and Jobs until the future is dropped.
pub(super) async fn watch_all(client: Client, updates: UnboundedSender<WatchUpdate>) {
    let handler = |kind| UpdateSender { kind, updates: updates.clone() };
    let cron_jobs = handler(WatchedKind::CronJob);
    let scheduled_jobs = handler(WatchedKind::ScheduledJob);
    let jobs = handler(WatchedKind::Job);
    tokio::join!(
        watch::<WatchedCronJob>(&client, cron_jobs_of(CronJobKind::BatchV1), &cron_jobs),
        watch::<WatchedCronJob>(&client, cron_jobs_of(CronJobKind::ScheduledJob), &scheduled_jobs),
        watch::<WatchedJob>(&client, &JOBS, &jobs),
    );
}

async fn watch<T: ShownObject>(client: &Client, resource: &ResourceType, handler: &UpdateSender) {
    let stop = CancellationToken::new();
    watch_resource::<T, _>(client.clone(), resource, handler, SyncTracker::new(), stop).await;
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

fn uid(metadata: &ObjectMeta) -> ObjectUid {
    metadata.uid.as_deref().unwrap_or_default().into()
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
