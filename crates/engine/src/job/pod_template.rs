//! Builds the manifests of the Pods that a Job creates, from its Pod template.

use std::collections::HashSet;

use punctual_api::meta::{ObjectMeta, OwnerReference};
use punctual_api::pod::container::{EnvVarSource, ObjectFieldSelector};
use punctual_api::pod::{Container, EnvVar, PodSpec, PodTemplateSpec};
use punctual_api::well_known::{annotations, finalizers, labels};
use punctual_api::{Job, Pod};
use serde_json::Value;

use super::plan::CreatePod;
use super::pod_names;
use super::pod_summary::PodSummary;

const INDEX_VARIABLE: &str = "JOB_COMPLETION_INDEX";

/// Builds one Pod for each entry of `indexes`. The entries of a NonIndexed Job are `None`.
pub(super) fn build_pods(summary: &PodSummary<'_>, indexes: &[Option<u32>]) -> Vec<CreatePod> {
    if indexes.is_empty() {
        return Vec::new();
    }
    let mut names = PodNameGenerator::new(summary);
    let job = summary.params.job;
    indexes
        .iter()
        .map(|index| {
            let prefix = pod_names::name_prefix(&job.metadata.name, *index);
            let name = names.next(&prefix);
            let mut pod = build_pod(job, name, prefix);
            if let Some(index) = index {
                set_index(&mut pod, &job.metadata.name, *index);
                if summary.params.limit_per_index().is_some() {
                    set_failure_counts(&mut pod, summary, *index);
                }
            }
            CreatePod { pod: Box::new(pod) }
        })
        .collect()
}

/// Generates names that no Pod of the Job has.
struct PodNameGenerator<'a> {
    job_uid: &'a str,
    taken: HashSet<String>,
    number: u64,
}

impl<'a> PodNameGenerator<'a> {
    fn new(summary: &PodSummary<'a>) -> Self {
        let counted = summary.tracking.succeeded.max(0).unsigned_abs() as u64
            + summary.tracking.failed.max(0).unsigned_abs() as u64;
        PodNameGenerator {
            job_uid: &summary.params.job.metadata.uid,
            taken: summary.pods.iter().map(|pod| pod.name.clone()).collect(),
            number: counted + summary.pods.len() as u64,
        }
    }

    fn next(&mut self, prefix: &str) -> String {
        loop {
            let name = pod_names::pod_name(prefix, self.job_uid, self.number);
            self.number += 1;
            if self.taken.insert(name.clone()) {
                return name;
            }
        }
    }
}

fn build_pod(job: &Job, name: String, generate_name: String) -> Pod {
    let template = &job.spec.template;
    Pod {
        api_version: "v1".to_owned(),
        kind: "Pod".to_owned(),
        metadata: ObjectMeta {
            name,
            generate_name,
            namespace: job.metadata.namespace.clone(),
            labels: template.metadata.labels.clone(),
            annotations: template.metadata.annotations.clone(),
            owner_references: vec![owner_reference(job)],
            finalizers: template_finalizers(template),
            ..ObjectMeta::default()
        },
        spec: template.spec.clone(),
        ..Pod::default()
    }
}

fn owner_reference(job: &Job) -> OwnerReference {
    OwnerReference {
        api_version: "batch/v1".to_owned(),
        kind: "Job".to_owned(),
        name: job.metadata.name.clone(),
        uid: job.metadata.uid.clone(),
        controller: Some(true),
        block_owner_deletion: Some(true),
    }
}

/// Returns the finalizers of the template and the tracking finalizer.
fn template_finalizers(template: &PodTemplateSpec) -> Vec<String> {
    let own = template.metadata.extra.get("finalizers").and_then(Value::as_array);
    let own = own.into_iter().flatten().filter_map(Value::as_str);
    let own = own.filter(|name| *name != finalizers::JOB_TRACKING);
    own.chain([finalizers::JOB_TRACKING]).map(str::to_owned).collect()
}

/// Sets the completion index of a Pod: annotation, label, host name and environment variable.
fn set_index(pod: &mut Pod, job: &str, index: u32) {
    let text = index.to_string();
    let meta = &mut pod.metadata;
    meta.annotations.insert(annotations::JOB_COMPLETION_INDEX.to_owned(), text.clone());
    meta.labels.insert(labels::JOB_COMPLETION_INDEX.to_owned(), text);
    pod.spec.hostname = format!("{job}-{index}");
    for container in containers(&mut pod.spec) {
        add_index_variable(container);
    }
}

fn containers(spec: &mut PodSpec) -> impl Iterator<Item = &mut Container> {
    spec.init_containers.iter_mut().chain(&mut spec.containers)
}

/// Adds the environment variable with the index, unless the template has one of that name.
fn add_index_variable(container: &mut Container) {
    if container.env.iter().any(|variable| variable.name == INDEX_VARIABLE) {
        return;
    }
    let field_ref = ObjectFieldSelector {
        api_version: "v1".to_owned(),
        field_path: format!("metadata.labels['{}']", labels::JOB_COMPLETION_INDEX),
    };
    container.env.push(EnvVar {
        name: INDEX_VARIABLE.to_owned(),
        value_from: Some(EnvVarSource { field_ref: Some(field_ref), ..EnvVarSource::default() }),
        ..EnvVar::default()
    });
}

/// Annotates a Pod with the number of failures of its index, including the Pod that it replaces.
fn set_failure_counts(pod: &mut Pod, summary: &PodSummary<'_>, index: u32) {
    let mut counted = 0;
    let mut ignored = 0;
    if let Some(replaced) = summary.to_replace.get(&index) {
        let is_counted = summary.params.is_counted_failure(replaced);
        counted = replaced.index_failures.counted.saturating_add(i32::from(is_counted));
        ignored = replaced.index_failures.ignored.saturating_add(i32::from(!is_counted));
    }
    let annotations_map = &mut pod.metadata.annotations;
    annotations_map.insert(annotations::JOB_INDEX_FAILURE_COUNT.to_owned(), counted.to_string());
    if ignored > 0 {
        annotations_map
            .insert(annotations::JOB_INDEX_IGNORED_FAILURE_COUNT.to_owned(), ignored.to_string());
    }
}
