//! Conversion between `batch/v1` CronJob, `batch/v1beta1` CronJob and `punctual.dev/v1`
//! ScheduledJob.
//!
//! The kinds share one schema, so a conversion only changes `apiVersion` and `kind`, and a round
//! trip returns the same object. For clusters whose CronJob lacks our fields, the policy `CatchUp`
//! (run all due times in order) and our other fields are written as annotations
//! ([`to_kubernetes`], [`from_kubernetes`]).
//!
//! Events are served in two API groups that differ only in field names ([`convert_event`]).

use serde_json::Value;

use crate::cronjob::{ConcurrencyPolicy, CronJob, CronJobKind};
use crate::well_known::annotations;

/// Changes the `apiVersion` and `kind` of a CronJob, for example from `batch/v1` to ScheduledJob.
pub fn convert_cron_job(cron_job: CronJob, kind: CronJobKind) -> CronJob {
    CronJob { api_version: kind.api_version().to_owned(), kind: kind.kind().to_owned(), ..cron_job }
}

/// Like [`convert_cron_job`], for the JSON form. Leaves an object that is not a CronJob unchanged.
pub fn convert_cron_job_json(object: &mut Value, kind: CronJobKind) {
    let text = |key: &str| object.get(key).and_then(Value::as_str).unwrap_or_default();
    if CronJobKind::from_gvk(text("apiVersion"), text("kind")).is_none() {
        return;
    }
    if let Value::Object(fields) = object {
        fields.insert("apiVersion".to_owned(), kind.api_version().into());
        fields.insert("kind".to_owned(), kind.kind().into());
    }
}

/// Converts to a `batch/v1` CronJob that any cluster accepts: fields unknown to it become
/// annotations, and an empty time zone is removed.
///
/// `CatchUp` is written as `Forbid`, so that runs never overlap on a cluster without our
/// controller.
pub fn to_kubernetes(cron_job: CronJob) -> CronJob {
    let mut cron_job = convert_cron_job(cron_job, CronJobKind::BatchV1);
    cron_job.spec.time_zone = cron_job.spec.zone_name().map(str::to_owned);
    if cron_job.spec.concurrency_policy == ConcurrencyPolicy::CatchUp.as_str() {
        cron_job.spec.concurrency_policy = ConcurrencyPolicy::Forbid.as_str().to_owned();
        let policy = ConcurrencyPolicy::CatchUp.as_str().to_owned();
        cron_job.metadata.annotations.insert(annotations::CONCURRENCY_POLICY.to_owned(), policy);
    }
    if let Some(jitter) = cron_job.spec.jitter.take() {
        let jitter = jitter.to_string();
        cron_job.metadata.annotations.insert(annotations::JITTER.to_owned(), jitter);
    }
    if let Some(seconds) = cron_job.spec.pending_deadline_seconds.take() {
        let key = annotations::PENDING_DEADLINE_SECONDS.to_owned();
        cron_job.metadata.annotations.insert(key, seconds.to_string());
    }
    if let Some(limit) = cron_job.spec.catch_up_limit.take() {
        let key = annotations::CATCH_UP_LIMIT.to_owned();
        cron_job.metadata.annotations.insert(key, limit.to_string());
    }
    cron_job
}

/// Reverses [`to_kubernetes`]: the annotations become fields again.
pub fn from_kubernetes(cron_job: CronJob, kind: CronJobKind) -> CronJob {
    let mut cron_job = convert_cron_job(cron_job, kind);
    let annotations_map = &mut cron_job.metadata.annotations;
    let policy = annotations_map.get(annotations::CONCURRENCY_POLICY).map(String::as_str);
    if policy == Some(ConcurrencyPolicy::CatchUp.as_str()) {
        annotations_map.remove(annotations::CONCURRENCY_POLICY);
        cron_job.spec.concurrency_policy = ConcurrencyPolicy::CatchUp.as_str().to_owned();
    }
    let jitter = annotations_map.get(annotations::JITTER).and_then(|text| text.parse().ok());
    if let Some(jitter) = jitter
        && cron_job.spec.jitter.is_none()
    {
        annotations_map.remove(annotations::JITTER);
        cron_job.spec.jitter = Some(jitter);
    }
    let seconds = annotations_map.get(annotations::PENDING_DEADLINE_SECONDS);
    if let Some(seconds) = seconds.and_then(|text| text.parse().ok())
        && cron_job.spec.pending_deadline_seconds.is_none()
    {
        annotations_map.remove(annotations::PENDING_DEADLINE_SECONDS);
        cron_job.spec.pending_deadline_seconds = Some(seconds);
    }
    let limit = annotations_map.get(annotations::CATCH_UP_LIMIT).and_then(|text| text.parse().ok());
    if let Some(limit) = limit
        && cron_job.spec.catch_up_limit.is_none()
    {
        annotations_map.remove(annotations::CATCH_UP_LIMIT);
        cron_job.spec.catch_up_limit = Some(limit);
    }
    cron_job
}

/// The API versions in which an event is served.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EventVersion {
    /// `v1`.
    CoreV1,
    /// `events.k8s.io/v1`.
    EventsV1,
}

/// Event fields whose names differ: name in `v1`, name in `events.k8s.io/v1`.
const EVENT_FIELDS: [(&str, &str); 7] = [
    ("involvedObject", "regarding"),
    ("message", "note"),
    ("source", "deprecatedSource"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("count", "deprecatedCount"),
    ("reportingComponent", "reportingController"),
];

/// Renames the fields of an event for the given version. Never overwrites a field that exists.
pub fn convert_event(object: &mut Value, version: EventVersion) {
    let Value::Object(fields) = object else {
        return;
    };
    for (core, events) in EVENT_FIELDS {
        let (from, to) = match version {
            EventVersion::CoreV1 => (events, core),
            EventVersion::EventsV1 => (core, events),
        };
        if let Some(value) = fields.remove(from) {
            fields.entry(to).or_insert(value);
        }
    }
    let api_version = match version {
        EventVersion::CoreV1 => "v1",
        EventVersion::EventsV1 => "events.k8s.io/v1",
    };
    fields.insert("apiVersion".to_owned(), api_version.into());
}
