//! The Job for a slot, as text for the server.
//!
//! The template goes into it as it came; only the objects on the way to the annotations are opened,
//! so what this version does not know survives to the letter. The template cannot forge what is
//! ours: name, namespace, owner and the slot's annotations are set last.

use std::collections::BTreeMap;

use jiff::Timestamp;
use punctual_api::{
    CronJob, CronJobKind,
    meta::OwnerReference,
    names,
    well_known::{annotations, finalizers},
};
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};

use super::Timetable;

/// An object of which the fields are known, but not what is in them.
type RawObject = BTreeMap<String, Box<RawValue>>;
type Strings = BTreeMap<String, String>;

/// The Job for a slot of a CronJob. Fails only on a template that no server would have accepted.
pub fn job_for_slot(
    cron_job: &CronJob,
    timetable: &Timetable,
    slot: Timestamp,
) -> Result<String, serde_json::Error> {
    let mut template: RawObject = serde_json::from_str(cron_job.job_template_json())?;
    let template_meta: RawObject = take(&mut template, "metadata")?;
    let mut spec: RawObject = take(&mut template, "spec")?;
    let marks = slot_marks(timetable, slot);
    mark_pods(&mut spec, &marks)?;
    let metadata = Metadata {
        name: names::job_name(&cron_job.metadata.name, slot),
        namespace: &cron_job.metadata.namespace,
        labels: read(&template_meta, "labels")?,
        annotations: marked(read(&template_meta, "annotations")?, &marks),
        owner_references: [owner(cron_job)],
        finalizers: if spec.contains_key("ttlSecondsAfterFinished") {
            &[finalizers::SLOT_RECORDED]
        } else {
            &[]
        },
    };
    serde_json::to_string(&NewJob { api_version: "batch/v1", kind: "Job", metadata, spec })
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct NewJob<'a> {
    api_version: &'a str,
    kind: &'a str,
    metadata: Metadata<'a>,
    spec: RawObject,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Metadata<'a> {
    name: String,
    #[serde(skip_serializing_if = "str::is_empty")]
    namespace: &'a str,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    labels: Strings,
    annotations: Strings,
    owner_references: [OwnerReference; 1],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    finalizers: &'a [&'a str],
}

/// The slot and the one before it, in the CronJob's zone, for programs that process an interval.
fn slot_marks(timetable: &Timetable, slot: Timestamp) -> Strings {
    let shown = |at: Timestamp| match timetable.zone().at(at) {
        at if at.offset().is_zero() => at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        at => at.strftime("%Y-%m-%dT%H:%M:%S%:z").to_string(),
    };
    let previous = timetable.schedule().before(slot).next();
    let previous = previous
        .map(|previous| (annotations::PREVIOUS_SCHEDULED_TIMESTAMP.to_string(), shown(previous)));
    [(annotations::SCHEDULED_TIMESTAMP.to_string(), shown(slot))]
        .into_iter()
        .chain(previous)
        .collect()
}

/// The same on the Pods, so that the downward API can hand it to the program.
fn mark_pods(spec: &mut RawObject, marks: &Strings) -> Result<(), serde_json::Error> {
    let mut template: RawObject = take(spec, "template")?;
    let mut metadata: RawObject = take(&mut template, "metadata")?;
    let annotations = marked(read(&metadata, "annotations")?, marks);
    metadata.insert("annotations".into(), to_raw_value(&annotations)?);
    template.insert("metadata".into(), to_raw_value(&metadata)?);
    spec.insert("template".into(), to_raw_value(&template)?);
    Ok(())
}

fn marked(mut annotations: Strings, marks: &Strings) -> Strings {
    annotations.extend(marks.clone());
    annotations
}

fn owner(cron_job: &CronJob) -> OwnerReference {
    let flavor = match cron_job.cron_job_kind() {
        Some(CronJobKind::ScheduledJob) => CronJobKind::ScheduledJob,
        _ => CronJobKind::BatchV1,
    };
    OwnerReference {
        api_version: flavor.api_version().into(),
        kind: flavor.kind().into(),
        name: cron_job.metadata.name.clone(),
        uid: cron_job.metadata.uid.clone(),
        controller: Some(true),
        block_owner_deletion: Some(true),
    }
}

/// Takes a field out of an object; absent or null is the default.
fn take<T>(object: &mut RawObject, field: &str) -> Result<T, serde_json::Error>
where
    T: Default + for<'a> serde::Deserialize<'a>,
{
    let value = read(object, field);
    object.remove(field);
    value
}

fn read<T>(object: &RawObject, field: &str) -> Result<T, serde_json::Error>
where
    T: Default + for<'a> serde::Deserialize<'a>,
{
    let Some(raw) = object.get(field) else { return Ok(T::default()) };
    Ok(serde_json::from_str::<Option<T>>(raw.get())?.unwrap_or_default())
}
