//! Between `batch/v1` and `batch/v1beta1` CronJob and `punctual.dev/v1` ScheduledJob.
//!
//! The kinds have one schema, so converting renames and loses nothing: what goes there and back is
//! what it was. The only work is at the edge to clusters whose CronJob lacks our fields, where the
//! policy and the jitter travel as annotations ([`to_kubernetes`], [`from_kubernetes`]).
//!
//! Events have two forms as well, which differ in names only ([`convert_event`]).

use serde_json::Value;

use crate::cronjob::{ConcurrencyPolicy, CronJob, CronJobKind};
use crate::well_known::annotations;

/// The same CronJob under another name.
pub fn convert_cron_job(cron_job: CronJob, flavor: CronJobKind) -> CronJob {
    CronJob {
        api_version: flavor.api_version().to_owned(),
        kind: flavor.kind().to_owned(),
        ..cron_job
    }
}

/// The same object under another name, as a tree. Not a CronJob of any flavor: left as it is.
pub fn convert_cron_job_json(object: &mut Value, flavor: CronJobKind) {
    let text = |key: &str| object.get(key).and_then(Value::as_str).unwrap_or_default();
    if CronJobKind::from_gvk(text("apiVersion"), text("kind")).is_none() {
        return;
    }
    if let Value::Object(fields) = object {
        fields.insert("apiVersion".to_owned(), flavor.api_version().into());
        fields.insert("kind".to_owned(), flavor.kind().into());
    }
}

/// A `batch/v1` CronJob that any cluster accepts: what it has no field for becomes annotations.
///
/// Under the field's own policy a cluster without our controller still behaves safely: `CatchUp`
/// is written as `Forbid`, which never overlaps.
pub fn to_kubernetes(cron_job: CronJob) -> CronJob {
    let mut cron_job = convert_cron_job(cron_job, CronJobKind::BatchV1);
    if cron_job.spec.concurrency_policy == ConcurrencyPolicy::CatchUp.as_str() {
        cron_job.spec.concurrency_policy = ConcurrencyPolicy::Forbid.as_str().to_owned();
        let policy = ConcurrencyPolicy::CatchUp.as_str().to_owned();
        cron_job.metadata.annotations.insert(annotations::CONCURRENCY_POLICY.to_owned(), policy);
    }
    if let Some(jitter) = cron_job.spec.jitter.take() {
        let jitter = jitter.to_string();
        cron_job.metadata.annotations.insert(annotations::JITTER.to_owned(), jitter);
    }
    cron_job
}

/// The reverse of [`to_kubernetes`]: annotations that stand for fields become fields.
pub fn from_kubernetes(cron_job: CronJob, flavor: CronJobKind) -> CronJob {
    let mut cron_job = convert_cron_job(cron_job, flavor);
    let notes = &mut cron_job.metadata.annotations;
    let policy = notes.get(annotations::CONCURRENCY_POLICY).map(String::as_str);
    if policy == Some(ConcurrencyPolicy::CatchUp.as_str()) {
        notes.remove(annotations::CONCURRENCY_POLICY);
        cron_job.spec.concurrency_policy = ConcurrencyPolicy::CatchUp.as_str().to_owned();
    }
    let jitter = notes.get(annotations::JITTER).and_then(|text| text.parse().ok());
    if let (Some(jitter), None) = (jitter, cron_job.spec.jitter) {
        notes.remove(annotations::JITTER);
        cron_job.spec.jitter = Some(jitter);
    }
    cron_job
}

/// The two forms of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EventVersion {
    /// `v1`.
    CoreV1,
    /// `events.k8s.io/v1`.
    EventsV1,
}

/// Fields of an event in the core group and in `events.k8s.io`, where the names differ.
const EVENT_FIELDS: [(&str, &str); 7] = [
    ("involvedObject", "regarding"),
    ("message", "note"),
    ("source", "deprecatedSource"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("count", "deprecatedCount"),
    ("reportingComponent", "reportingController"),
];

/// The same event in the other form. What has a field's new name already is not overwritten.
pub fn convert_event(object: &mut Value, form: EventVersion) {
    let Value::Object(fields) = object else {
        return;
    };
    for (core, events) in EVENT_FIELDS {
        let (from, to) = match form {
            EventVersion::CoreV1 => (events, core),
            EventVersion::EventsV1 => (core, events),
        };
        if let Some(value) = fields.remove(from) {
            fields.entry(to).or_insert(value);
        }
    }
    let api_version = match form {
        EventVersion::CoreV1 => "v1",
        EventVersion::EventsV1 => "events.k8s.io/v1",
    };
    fields.insert("apiVersion".to_owned(), api_version.into());
}
