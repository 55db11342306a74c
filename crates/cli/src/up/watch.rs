//! Watches of the API, as changes of the model.

use std::fmt::Debug;
use std::sync::Arc;

use futures::StreamExt as _;
use kube::Client;
use kube::api::{Api, ApiResource};
use kube::core::{Object, ObjectMeta};
use kube::runtime::WatchStreamExt as _;
use kube::runtime::watcher::{self, Event, watcher};
use punctual_api::CronJobKind;
use punctual_api::cronjob::CronJobStatus;
use punctual_api::job::{JobStatus, condition};
use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use tokio::sync::mpsc::Sender;

use super::view_model::{CronJobSummary, JobEnd, JobSummary, ObjectUid, WatchUpdate, WatchedKind};

/// What is read of a CronJob's spec.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct CronJobSpec {
    schedule: String,
    time_zone: Option<String>,
    suspend: Option<bool>,
}

type SeenCronJob = Object<CronJobSpec, CronJobStatus>;
type SeenJob = Object<IgnoredAny, JobStatus>;

/// Watches everything there is to show; ends when nobody wants to know any more.
pub(super) async fn everything(client: Client, to: Sender<WatchUpdate>) {
    let cron_jobs = |kind: WatchedKind, flavor: CronJobKind| {
        let api = api(&client, (flavor.api_version(), flavor.kind(), flavor.plural()));
        follow(api, kind, move |seen| cron_job(kind, seen), to.clone())
    };
    tokio::join!(
        cron_jobs(WatchedKind::CronJob, CronJobKind::BatchV1),
        cron_jobs(WatchedKind::ScheduledJob, CronJobKind::ScheduledJob),
        follow(api(&client, ("batch/v1", "Job", "jobs")), WatchedKind::Job, job, to.clone()),
    );
}

fn api<P: Clone, U: Clone>(client: &Client, names: (&str, &str, &str)) -> Api<Object<P, U>> {
    let (api_version, kind, plural) = names;
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    let resource = ApiResource {
        group: group.to_owned(),
        version: version.to_owned(),
        api_version: api_version.to_owned(),
        kind: kind.to_owned(),
        plural: plural.to_owned(),
    };
    Api::all_with(client.clone(), &resource)
}

async fn follow<P, U>(
    api: Api<Object<P, U>>,
    kind: WatchedKind,
    read: impl Fn(Object<P, U>) -> WatchUpdate,
    to: Sender<WatchUpdate>,
) where
    P: Clone + Debug + DeserializeOwned + Send + Sync + 'static,
    U: Clone + Debug + Default + DeserializeOwned + Send + Sync + 'static,
{
    let events = watcher(api, watcher::Config::default()).default_backoff();
    let mut events = std::pin::pin!(events);
    while let Some(event) = events.next().await {
        let change = match event {
            Ok(Event::Init) => WatchUpdate::Listing(kind),
            Ok(Event::InitDone) => WatchUpdate::Listed(kind),
            Ok(Event::InitApply(object) | Event::Apply(object)) => read(object),
            Ok(Event::Delete(object)) => WatchUpdate::Deleted(kind, uid(&object.metadata)),
            Err(error) => {
                tracing::debug!(%error, ?kind, "a watch was cut");
                continue;
            }
        };
        if to.send(change).await.is_err() {
            return;
        }
    }
}

fn uid(metadata: &ObjectMeta) -> ObjectUid {
    metadata.uid.as_deref().unwrap_or_default().into()
}

fn name(metadata: &ObjectMeta) -> Arc<str> {
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    format!("{}/{}", text(&metadata.namespace), text(&metadata.name)).into()
}

fn cron_job(kind: WatchedKind, seen: SeenCronJob) -> WatchUpdate {
    let Object { metadata, spec, status, .. } = seen;
    let status = status.unwrap_or_default();
    let cron_job = CronJobSummary {
        kind,
        name: name(&metadata),
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

fn job(seen: SeenJob) -> WatchUpdate {
    let Object { metadata, status, .. } = seen;
    let status = status.unwrap_or_default();
    let started = status.start_time.map(|time| time.timestamp());
    let created = metadata.creation_timestamp.as_ref().map(|time| time.0);
    let since = started.or(created).unwrap_or_default();
    let job = JobSummary { name: name(&metadata), since, end: end(&status) };
    WatchUpdate::Job(uid(&metadata), job)
}

/// How a Job ended, by the condition that says so.
fn end(status: &JobStatus) -> Option<JobEnd> {
    let is_true = |kind: &str| status.condition(kind).filter(|found| found.status == "True");
    let (found, error) = match (is_true(condition::COMPLETE), is_true(condition::FAILED)) {
        (Some(complete), _) => (complete, None),
        (None, Some(failed)) => (failed, Some(format!("{}: {}", failed.reason, failed.message))),
        (None, None) => return None,
    };
    let at = status.completion_time.or(found.last_transition_time)?.timestamp();
    Some(JobEnd { at, error: error.map(Into::into) })
}
