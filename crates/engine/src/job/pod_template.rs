//! The Pod that a Job creates: its template, made the Job's own.

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

/// The Pods to create: one for each index, or as many as there are entries.
pub(super) fn build_pods(summary: &PodSummary<'_>, indexes: &[Option<u32>]) -> Vec<CreatePod> {
    if indexes.is_empty() {
        return Vec::new();
    }
    let mut names = Names::new(summary);
    let job = summary.params.job;
    indexes
        .iter()
        .map(|index| {
            let prefix = pod_names::prefix(&job.metadata.name, *index);
            let name = names.next(&prefix);
            let mut pod = of_job(job, name, prefix);
            if let Some(index) = index {
                give_index(&mut pod, &job.metadata.name, *index);
                if summary.params.limit_per_index().is_some() {
                    pass_on_failures(&mut pod, summary, *index);
                }
            }
            CreatePod { pod: Box::new(pod) }
        })
        .collect()
}

/// Makes names that no Pod of the Job has.
struct Names<'a> {
    job_uid: &'a str,
    taken: HashSet<String>,
    number: u64,
}

impl<'a> Names<'a> {
    fn new(summary: &PodSummary<'a>) -> Self {
        let counted = summary.tracking.succeeded.max(0).unsigned_abs() as u64
            + summary.tracking.failed.max(0).unsigned_abs() as u64;
        Names {
            job_uid: &summary.params.job.metadata.uid,
            taken: summary.pods.iter().map(|pod| pod.name.clone()).collect(),
            number: counted + summary.pods.len() as u64,
        }
    }

    fn next(&mut self, prefix: &str) -> String {
        loop {
            let name = pod_names::name(prefix, self.job_uid, self.number);
            self.number += 1;
            if self.taken.insert(name.clone()) {
                return name;
            }
        }
    }
}

fn of_job(job: &Job, name: String, generate_name: String) -> Pod {
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
            owner_references: vec![owner(job)],
            finalizers: finalizers(template),
            ..ObjectMeta::default()
        },
        spec: template.spec.clone(),
        ..Pod::default()
    }
}

fn owner(job: &Job) -> OwnerReference {
    OwnerReference {
        api_version: "batch/v1".to_owned(),
        kind: "Job".to_owned(),
        name: job.metadata.name.clone(),
        uid: job.metadata.uid.clone(),
        controller: Some(true),
        block_owner_deletion: Some(true),
    }
}

/// The template's own finalizers, and ours.
fn finalizers(template: &PodTemplateSpec) -> Vec<String> {
    let own = template.metadata.extra.get("finalizers").and_then(Value::as_array);
    let own = own.into_iter().flatten().filter_map(Value::as_str);
    let own = own.filter(|name| *name != finalizers::JOB_TRACKING);
    own.chain([finalizers::JOB_TRACKING]).map(str::to_owned).collect()
}

fn give_index(pod: &mut Pod, job: &str, index: u32) {
    let text = index.to_string();
    let meta = &mut pod.metadata;
    meta.annotations.insert(annotations::JOB_COMPLETION_INDEX.to_owned(), text.clone());
    meta.labels.insert(labels::JOB_COMPLETION_INDEX.to_owned(), text);
    pod.spec.hostname = format!("{job}-{index}");
    containers(&mut pod.spec).for_each(tell_index);
}

fn containers(spec: &mut PodSpec) -> impl Iterator<Item = &mut Container> {
    spec.init_containers.iter_mut().chain(&mut spec.containers)
}

/// Lets the program learn its index, unless the template has a variable of that name.
fn tell_index(container: &mut Container) {
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

/// Writes down how often the index failed, the Pod that is replaced included.
fn pass_on_failures(pod: &mut Pod, summary: &PodSummary<'_>, index: u32) {
    let (mut counted, mut ignored) = (0, 0);
    if let Some(replaced) = summary.to_replace.get(&index) {
        let counts = summary.params.counts_failure_of(replaced);
        counted = replaced.index_failures.counted.saturating_add(i32::from(counts));
        ignored = replaced.index_failures.ignored.saturating_add(i32::from(!counts));
    }
    let events = &mut pod.metadata.annotations;
    events.insert(annotations::JOB_INDEX_FAILURE_COUNT.to_owned(), counted.to_string());
    if ignored > 0 {
        events.insert(annotations::JOB_INDEX_IGNORED_FAILURE_COUNT.to_owned(), ignored.to_string());
    }
}
