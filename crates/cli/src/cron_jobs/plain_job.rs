//! Creates a Job from the template of a CronJob, as `kubectl create job --from` does.

use std::pin::pin;

use anyhow::Context as _;
use futures::StreamExt as _;
use kube::Api;
use kube::api::DynamicObject;
use kube::runtime::watcher::watch_object;
use punctual_api::{CronJob, Job};
use punctual_client::resources::JOBS;
use serde::Deserialize as _;
use serde_json::{Value, json};

use super::session::Session;

/// The annotation with which kubectl marks such Jobs.
const MANUAL: (&str, &str) = ("cronjob.kubernetes.io/instantiate", "manual");

/// Creates the Job. The server completes its name.
pub(super) async fn create(session: &Session, cron_job: &CronJob) -> anyhow::Result<Job> {
    Ok(session.create(&JOBS, &cron_job.metadata.namespace, &manifest(cron_job)?).await?)
}

fn manifest(cron_job: &CronJob) -> anyhow::Result<Value> {
    let template = serde_json::to_value(cron_job.job_template()?)?;
    let metadata = &cron_job.metadata;
    let mut annotations = template.pointer("/metadata/annotations").cloned().unwrap_or_default();
    if !annotations.is_object() {
        annotations = json!({});
    }
    if let Value::Object(annotations) = &mut annotations {
        annotations.insert(MANUAL.0.to_owned(), MANUAL.1.into());
    }
    Ok(json!({
        "apiVersion": JOBS.api_version(),
        "kind": JOBS.kind,
        "metadata": {
            "generateName": format!("{}-manual-", metadata.name),
            "namespace": metadata.namespace,
            "labels": template.pointer("/metadata/labels"),
            "annotations": annotations,
            "ownerReferences": [{
                "apiVersion": cron_job.api_version,
                "kind": cron_job.kind,
                "name": metadata.name,
                "uid": metadata.uid,
                "controller": true,
            }],
        },
        "spec": template.get("spec"),
    }))
}

/// Waits until a Job ends, and returns it.
pub(super) async fn wait(session: &Session, job: &Job) -> anyhow::Result<Job> {
    let resource = JOBS.api_resource();
    let client = session.cluster.client.clone();
    let metadata = &job.metadata;
    let api: Api<DynamicObject> = Api::namespaced_with(client, &metadata.namespace, &resource);
    let mut changes = pin!(watch_object(api, &metadata.name));
    loop {
        let change = changes.next().await.context("the watch of the Job ended")?;
        let Ok(object) = change else { continue };
        let object = object.with_context(|| format!("the Job {} was deleted", metadata.name))?;
        let current = Job::deserialize(serde_json::to_value(&object)?)?;
        if current.status.is_finished() {
            return Ok(current);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_has_the_template_of_the_cron_job_and_belongs_to_it() {
        let cron_job: CronJob = serde_json::from_value(json!({
            "apiVersion": "batch/v1", "kind": "CronJob",
            "metadata": {"name": "backup", "namespace": "shop", "uid": "u"},
            "spec": {"schedule": "@daily", "jobTemplate": {
                "metadata": {"labels": {"team": "data"}, "annotations": {"a": "b"}},
                "spec": {"backoffLimit": 2, "template": {"spec": {
                    "restartPolicy": "Never", "containers": [{"name": "c", "image": "x"}]}}},
            }},
        }))
        .unwrap();
        let job = manifest(&cron_job).unwrap();
        assert_eq!(job["metadata"]["generateName"], "backup-manual-");
        assert_eq!(job["metadata"]["labels"], json!({"team": "data"}));
        let annotations = json!({"a": "b", "cronjob.kubernetes.io/instantiate": "manual"});
        assert_eq!(job["metadata"]["annotations"], annotations);
        let owner = json!({"apiVersion": "batch/v1", "kind": "CronJob", "name": "backup", "uid": "u",
            "controller": true});
        assert_eq!(job["metadata"]["ownerReferences"], json!([owner]));
        assert_eq!(job["spec"]["backoffLimit"], 2);
        assert_eq!(job["spec"]["template"]["spec"]["containers"][0]["image"], "x");
    }
}
