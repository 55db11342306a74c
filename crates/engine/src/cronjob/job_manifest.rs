//! Builds the JSON manifest of the Job for a slot (a scheduled time).
//!
//! The Job template is copied as raw JSON; only the objects that contain annotations are parsed. So
//! fields that this version does not know are preserved exactly. The name, namespace, owner and run
//! annotations are set last, so a template cannot override them.

use std::collections::BTreeMap;

use jiff::Timestamp;
use punctual_api::{
    CronJob, CronJobKind,
    meta::OwnerReference,
    well_known::{annotations, finalizers},
};
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};

use super::{CreateJob, RequestedRun, Timetable, run_overrides};

/// A JSON object whose field values are not parsed.
pub(crate) type RawObject = BTreeMap<String, Box<RawValue>>;
type StringMap = BTreeMap<String, String>;

/// Builds the manifest of the Job for a slot of a CronJob, or for a requested run. A requested run needs no valid
/// schedule.
///
/// # Errors
/// Fails if the Job template has fields of the wrong type, which no API server accepts.
pub fn build_job_manifest(
    cron_job: &CronJob,
    timetable: Option<&Timetable>,
    create: &CreateJob,
) -> Result<String, serde_json::Error> {
    let mut template: RawObject = serde_json::from_str(cron_job.job_template_json())?;
    let template_meta: RawObject = take_field(&mut template, "metadata")?;
    let mut spec: RawObject = take_field(&mut template, "spec")?;
    let mut run_annotations = run_annotations(cron_job, timetable, create);
    let requested = create.requested.as_deref();
    if let Some(overrides) = requested.and_then(|run| run.overrides.as_ref()) {
        run_overrides::apply(&mut spec, overrides)?;
    }
    annotate_pods(&mut spec, &run_annotations)?;
    let mut annotations: StringMap = read_field(&template_meta, "annotations")?;
    if let Some(RequestedRun { request, .. }) = requested {
        let index = request.index.to_string();
        run_annotations.insert(annotations::RUN_REQUEST_UID.into(), request.uid.clone());
        run_annotations.insert(annotations::RUN_REQUEST_INDEX.into(), index);
    }
    annotations.extend(run_annotations);
    // A Job with a time to live could be deleted before it is counted, so the finalizer keeps it. The name of a
    // requested Job must stay taken until the request records the run.
    let is_kept = requested.is_some() || spec.contains_key("ttlSecondsAfterFinished");
    let finalizers: &[&str] = if is_kept { &[finalizers::SLOT_RECORDED] } else { &[] };
    let metadata = JobManifestMeta {
        name: create.name.clone(),
        namespace: &cron_job.metadata.namespace,
        labels: read_field(&template_meta, "labels")?,
        annotations,
        owner_references: [owner_reference(cron_job)],
        finalizers,
    };
    serde_json::to_string(&JobManifest { api_version: "batch/v1", kind: "Job", metadata, spec })
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct JobManifest<'a> {
    api_version: &'a str,
    kind: &'a str,
    metadata: JobManifestMeta<'a>,
    spec: RawObject,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct JobManifestMeta<'a> {
    name: String,
    #[serde(skip_serializing_if = "str::is_empty")]
    namespace: &'a str,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    labels: StringMap,
    annotations: StringMap,
    owner_references: [OwnerReference; 1],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    finalizers: &'a [&'a str],
}

/// Returns annotations with the CronJob, the slot and the previous slot. The slots are in the CronJob's
/// time zone; with both, a program can process the interval between them.
fn run_annotations(
    cron_job: &CronJob,
    timetable: Option<&Timetable>,
    create: &CreateJob,
) -> StringMap {
    let format_time = |time: Timestamp| match timetable.map(|timetable| timetable.zone().at(time)) {
        Some(local) if !local.offset().is_zero() => {
            local.strftime("%Y-%m-%dT%H:%M:%S%:z").to_string()
        }
        _ => time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
    };
    let metadata = &cron_job.metadata;
    let mut map = BTreeMap::from([
        (annotations::SCHEDULED_TIMESTAMP.to_string(), format_time(create.slot)),
        (annotations::CRON_JOB_NAME.to_string(), metadata.name.clone()),
        (annotations::CRON_JOB_UID.to_string(), metadata.uid.clone()),
        (annotations::CRON_JOB_KIND.to_string(), owner_kind(cron_job).kind().to_string()),
    ]);
    if let Some(run) = &create.requested {
        map.insert(annotations::RUN_REQUEST.to_string(), run.request.name.clone());
    }
    let previous = timetable.and_then(|timetable| timetable.schedule().before(create.slot).next());
    if let Some(previous) = previous {
        let key = annotations::PREVIOUS_SCHEDULED_TIMESTAMP.to_string();
        map.insert(key, format_time(previous));
    }
    map
}

/// Adds the run annotations to the Pod template, so that a program can read them through the
/// downward API.
fn annotate_pods(
    spec: &mut RawObject,
    run_annotations: &StringMap,
) -> Result<(), serde_json::Error> {
    let mut template: RawObject = take_field(spec, "template")?;
    let mut metadata: RawObject = take_field(&mut template, "metadata")?;
    let mut annotations: StringMap = read_field(&metadata, "annotations")?;
    annotations.extend(run_annotations.clone());
    metadata.insert("annotations".into(), to_raw_value(&annotations)?);
    template.insert("metadata".into(), to_raw_value(&metadata)?);
    spec.insert("template".into(), to_raw_value(&template)?);
    Ok(())
}

/// Returns the kind of the owner in a version that every server has: batch/v1 for all CronJobs.
fn owner_kind(cron_job: &CronJob) -> CronJobKind {
    match cron_job.cron_job_kind() {
        Some(CronJobKind::ScheduledJob) => CronJobKind::ScheduledJob,
        _ => CronJobKind::BatchV1,
    }
}

fn owner_reference(cron_job: &CronJob) -> OwnerReference {
    let kind = owner_kind(cron_job);
    OwnerReference {
        api_version: kind.api_version().into(),
        kind: kind.kind().into(),
        name: cron_job.metadata.name.clone(),
        uid: cron_job.metadata.uid.clone(),
        controller: Some(true),
        block_owner_deletion: Some(true),
    }
}

/// Removes a field from an object and parses it. An absent or null field is the default.
pub(crate) fn take_field<T>(object: &mut RawObject, field: &str) -> Result<T, serde_json::Error>
where
    T: Default + for<'a> serde::Deserialize<'a>,
{
    let value = read_field(object, field);
    object.remove(field);
    value
}

/// Parses a field of an object. An absent or null field is the default.
pub(crate) fn read_field<T>(object: &RawObject, field: &str) -> Result<T, serde_json::Error>
where
    T: Default + for<'a> serde::Deserialize<'a>,
{
    let Some(raw) = object.get(field) else { return Ok(T::default()) };
    Ok(serde_json::from_str::<Option<T>>(raw.get())?.unwrap_or_default())
}
