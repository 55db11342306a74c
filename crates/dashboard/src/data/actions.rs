//! Writes what users ask for: runs, suspensions, edits.

use http::Request;
use jiff::Timestamp;
use punctual_api::run_request::{RunRequestSpec, RunTarget};
use punctual_api::well_known::annotations;
use punctual_api::{CronJob, ObjectMeta, RunRequest, Time};
use punctual_client::resources::{JOBS, RUN_REQUESTS};
use punctual_reader::{
    MissedSlots, ReadError, Reader, SuspensionPatch, WriteMode, write_suspension,
};
use punctual_views::{UntilSupport, until_support};
use serde_json::{Value, json};

use super::cron_job_id::CronJobId;
use super::detail::RunJob;

/// A Job name has at most 63 characters, and a suffix of eleven.
const NAME_PREFIX_MAX: usize = 52;

/// Why an action was not carried out.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ActionError {
    /// The cluster refused it or did not answer.
    #[error(transparent)]
    Cluster(#[from] ReadError),
    /// The controller of the CronJob does not resume it at a time.
    #[error(
        "it would stay suspended: the cluster's own controller runs it and does not resume it at a time; suspend it \
         without a time, or let `punctual controller` run it"
    )]
    NotResumed,
    /// The input is not usable.
    #[error("{0}")]
    Input(String),
}

impl From<http::Error> for ActionError {
    fn from(error: http::Error) -> ActionError {
        ActionError::Cluster(error.into())
    }
}

/// What a trigger created.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum TriggerOutcome {
    /// A RunRequest, which the controller executes.
    Request(String),
    /// A Job, as `kubectl create job --from` does.
    Job(String),
}

/// Creates a RunRequest and returns its name.
pub(crate) async fn request_runs(
    reader: &Reader,
    id: &CronJobId,
    spec: RunRequestSpec,
) -> Result<String, ActionError> {
    let target = RunTarget { kind: id.kind.kind().to_owned(), name: id.name.clone() };
    let request = RunRequest {
        api_version: RUN_REQUESTS.api_version(),
        kind: RUN_REQUESTS.kind.to_owned(),
        metadata: ObjectMeta {
            generate_name: format!("{}-", name_prefix(&id.name)),
            namespace: id.namespace.clone(),
            ..ObjectMeta::default()
        },
        spec: RunRequestSpec { target, ..spec },
        ..RunRequest::default()
    };
    let mut object = serde_json::to_value(request).unwrap_or_default();
    if let Some(fields) = object.as_object_mut() {
        fields.remove("status");
    }
    let created = post(reader, &RUN_REQUESTS.collection_path(&id.namespace), &object).await?;
    Ok(name_of(&created))
}

/// Starts one run: now, or for a slot.
pub(crate) async fn trigger(
    reader: &Reader,
    cron_job: &CronJob,
    id: &CronJobId,
    slot: Option<Timestamp>,
) -> Result<TriggerOutcome, ActionError> {
    if reader.serves(RUN_REQUESTS.plural) {
        let spec = match slot {
            // A slot that ran already is run again.
            Some(slot) => RunRequestSpec {
                slots: vec![Time::new(slot)],
                runs: "All".to_owned(),
                ..RunRequestSpec::default()
            },
            None => RunRequestSpec { now: true, ..RunRequestSpec::default() },
        };
        return request_runs(reader, id, spec).await.map(TriggerOutcome::Request);
    }
    if slot.is_some() {
        let message = "this cluster does not serve RunRequests, so a slot cannot be run again; run it now instead";
        return Err(ActionError::Input(message.to_owned()));
    }
    let object = manual_job(cron_job, id)?;
    let created = post(reader, &JOBS.collection_path(&id.namespace), &object).await?;
    Ok(TriggerOutcome::Job(name_of(&created)))
}

/// Builds the Job that `kubectl create job --from=cronjob/NAME` creates.
fn manual_job(cron_job: &CronJob, id: &CronJobId) -> Result<Value, ActionError> {
    let template: Value = serde_json::from_str(cron_job.job_template_json())
        .map_err(|error| ActionError::Input(format!("the Job template cannot be read: {error}")))?;
    let part = |path: &str| template.pointer(path).cloned();
    let mut marks = part("/metadata/annotations").unwrap_or_else(|| json!({}));
    if let Some(marks) = marks.as_object_mut() {
        marks.insert(annotations::INSTANTIATE.into(), json!("manual"));
    }
    Ok(json!({
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "generateName": format!("{}-manual-", name_prefix(&id.name).get(..45).unwrap_or(name_prefix(&id.name))),
            "namespace": id.namespace,
            "annotations": marks,
            "labels": part("/metadata/labels").unwrap_or_else(|| json!({})),
            "ownerReferences": [{
                "apiVersion": id.kind.api_version(), "kind": id.kind.kind(), "name": id.name,
                "uid": cron_job.metadata.uid, "controller": true,
            }],
        },
        "spec": part("/spec").unwrap_or_default(),
    }))
}

fn name_prefix(name: &str) -> &str {
    name.get(..NAME_PREFIX_MAX).unwrap_or(name)
}

fn name_of(object: &Value) -> String {
    object.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default().to_owned()
}

async fn post(reader: &Reader, path: &str, object: &Value) -> Result<Value, ActionError> {
    let request = Request::post(path)
        .header("Content-Type", "application/json")
        .body(object.to_string().into_bytes())?;
    let created = reader.send::<Value>(request).await?;
    Ok(created.map_err(ReadError::from)?)
}

/// A suspension that a user asks for.
pub(crate) struct SuspendRequest {
    pub(crate) until: Option<Timestamp>,
    pub(crate) reason: String,
    pub(crate) by: String,
    pub(crate) now: Timestamp,
}

/// Suspends a CronJob. Returns whether that changed it.
pub(crate) async fn suspend(
    reader: &Reader,
    cron_job: &CronJob,
    request: SuspendRequest,
) -> Result<bool, ActionError> {
    let SuspendRequest { until, reason, by, now } = request;
    if until.is_some() {
        let is_own = reader.is_own_server().await?;
        if until_support(cron_job, is_own, now) == UntilSupport::Unsupported {
            return Err(ActionError::NotResumed);
        }
    }
    let patch = SuspensionPatch {
        is_suspended: true,
        until: until.map(|until| Time::new(until).to_string()),
        reason: (!reason.is_empty()).then_some(reason),
        by: Some(by),
        missed: None,
    };
    Ok(write_suspension(reader, cron_job, &patch, WriteMode::Commit).await?)
}

/// Resumes a CronJob.
pub(crate) async fn resume(
    reader: &Reader,
    cron_job: &CronJob,
    missed: MissedSlots,
) -> Result<bool, ActionError> {
    let patch = SuspensionPatch::resume(Some(missed));
    Ok(write_suspension(reader, cron_job, &patch, WriteMode::Commit).await?)
}

/// Deletes a Job and its Pods.
pub(crate) async fn delete_job(
    reader: &Reader,
    run: &RunJob,
    uid: &str,
) -> Result<(), ActionError> {
    let options = json!({"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Background",
        "preconditions": {"uid": uid}});
    let request = Request::delete(run.api_path())
        .header("Content-Type", "application/json")
        .body(options.to_string().into_bytes())?;
    reader.send::<Value>(request).await?.map_err(ReadError::from)?;
    Ok(())
}

/// Replaces an object. With `dry_run` the cluster only checks it. Returns the object as the cluster would store it.
pub(crate) async fn replace_object(
    reader: &Reader,
    path: &str,
    object: &Value,
    dry_run: bool,
) -> Result<Value, ActionError> {
    let query =
        if dry_run { "?dryRun=All&fieldValidation=Strict" } else { "?fieldValidation=Strict" };
    let request = Request::put(format!("{path}{query}"))
        .header("Content-Type", "application/json")
        .body(object.to_string().into_bytes())?;
    let replaced = reader.send::<Value>(request).await?;
    Ok(replaced.map_err(ReadError::from)?)
}
