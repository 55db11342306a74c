//! Validation of Job updates (like `ValidateJobUpdate`): the immutable fields.

use super::{Errors, job, meta};
use crate::field::{BadValue, FieldError, FieldPath};
use crate::job::{Job, JobSpec, condition};
use crate::pod::{Container, PodSpec, PodTemplateSpec};

const SPEC: FieldPath<'static> = FieldPath::root("spec");
const IMMUTABLE: &str = "field is immutable";
/// Scheduling fields for which [`PodSpec`] has no member. They are in its `extra`.
const AFFINITY: &str = "affinity";
const SCHEDULING_GATES: &str = "schedulingGates";

pub(super) fn update(new: &Job, old: &Job) -> Errors {
    let mut errors = Errors::new();
    meta::update(&new.metadata, &old.metadata, &mut errors);
    job::spec(&new.spec, &mut errors);
    completions(&new.spec, &old.spec, &mut errors);
    immutable_selector(&new.spec, &old.spec, &mut errors);
    template(&new.spec, old, &mut errors);
    immutable_policies(&new.spec, &old.spec, &mut errors);
    job::pod_hostname(new, &mut errors);
    errors
}

/// Validates `completions`, which may change only together with `parallelism` in an Indexed Job.
fn completions(new: &JobSpec, old: &JobSpec, errors: &mut Errors) {
    if new.completions == old.completions {
        return;
    }
    let path = SPEC.child("completions");
    let value = BadValue::json(&new.completions);
    if !new.is_indexed() {
        errors.push(FieldError::invalid(&path, value, IMMUTABLE));
    } else if new.completions.is_some() && new.completions != new.parallelism {
        let detail = "can only be modified in tandem with spec.parallelism";
        errors.push(FieldError::invalid(&path, value, detail));
    }
}

fn immutable_selector(new: &JobSpec, old: &JobSpec, errors: &mut Errors) {
    if new.selector != old.selector {
        let value = BadValue::json(&new.selector);
        errors.push(FieldError::invalid(&SPEC.child("selector"), value, IMMUTABLE));
    }
}

fn immutable_policies(new: &JobSpec, old: &JobSpec, errors: &mut Errors) {
    let mut refuse = |name: &str, value: BadValue| {
        errors.push(FieldError::invalid(&SPEC.child(name), value, IMMUTABLE));
    };
    if new.completion_mode != old.completion_mode {
        refuse("completionMode", BadValue::json(&new.completion_mode));
    }
    if new.pod_failure_policy != old.pod_failure_policy {
        refuse("podFailurePolicy", format_option(&new.pod_failure_policy, "PodFailurePolicy"));
    }
    if new.backoff_limit_per_index != old.backoff_limit_per_index {
        refuse("backoffLimitPerIndex", BadValue::json(&new.backoff_limit_per_index));
    }
    if new.managed_by != old.managed_by {
        refuse("managedBy", BadValue::json(&new.managed_by));
    }
    if new.success_policy != old.success_policy {
        refuse("successPolicy", format_option(&new.success_policy, "SuccessPolicy"));
    }
}

fn format_option<T: serde::Serialize>(value: &Option<T>, struct_name: &str) -> BadValue {
    match value {
        Some(value) => job::internal(value, struct_name),
        None => BadValue::verbatim("null"),
    }
}

/// Validates the Pod template. Scheduling fields and resources may change while the Job is
/// suspended and has no Pods; all other fields are immutable.
fn template(new: &JobSpec, old: &Job, errors: &mut Errors) {
    let path = SPEC.child("template");
    if !is_mutable(old) {
        if new.template != old.spec.template {
            let value = job::internal(&new.template, "PodTemplateSpec");
            errors.push(FieldError::invalid(&path, value, IMMUTABLE));
        }
        return;
    }
    let mut allowed = old.spec.template.clone();
    take_scheduling(&mut allowed, &new.template);
    take_resources(&mut allowed.spec, &new.template.spec);
    if new.template.spec != allowed.spec {
        let value = job::internal(&new.template.spec, "PodSpec");
        errors.push(FieldError::invalid(&path.child("spec"), value, IMMUTABLE));
    }
}

/// Like `shouldAllowMutablePodTemplate`.
fn is_mutable(job: &Job) -> bool {
    let status = &job.status;
    job.spec.is_suspended()
        && (status.start_time.is_none() || status.is_true(condition::SUSPENDED))
        && status.active == 0
}

/// Copies the scheduling fields of the new template to the allowed one.
fn take_scheduling(allowed: &mut PodTemplateSpec, new: &PodTemplateSpec) {
    allowed.metadata.labels = new.metadata.labels.clone();
    allowed.metadata.annotations = new.metadata.annotations.clone();
    let to = &mut allowed.spec;
    let from = &new.spec;
    to.node_selector = from.node_selector.clone();
    to.tolerations = from.tolerations.clone();
    take_extra(to, from, SCHEDULING_GATES);
    take_node_affinity(to, from);
}

fn take_extra(to: &mut PodSpec, from: &PodSpec, name: &str) {
    match from.extra.get(name) {
        Some(value) => to.extra.insert(name.to_owned(), value.clone()),
        None => to.extra.remove(name),
    };
}

/// Copies the node affinity; Pod affinity is immutable.
fn take_node_affinity(to: &mut PodSpec, from: &PodSpec) {
    const NODE: &str = "nodeAffinity";
    let wanted = from.extra.get(AFFINITY).map(|affinity| affinity.get(NODE).cloned());
    let mut affinity = to.extra.get(AFFINITY).and_then(|a| a.as_object()).cloned();
    match wanted {
        None => {
            if let Some(affinity) = &mut affinity {
                affinity.remove(NODE);
            }
            affinity = affinity.filter(|affinity| !affinity.is_empty());
        }
        Some(node) => {
            let affinity = affinity.get_or_insert_default();
            match node {
                Some(node) => affinity.insert(NODE.to_owned(), node),
                None => affinity.remove(NODE),
            };
        }
    }
    match affinity {
        Some(affinity) => to.extra.insert(AFFINITY.to_owned(), affinity.into()),
        None => to.extra.remove(AFFINITY),
    };
}

fn take_resources(to: &mut PodSpec, from: &PodSpec) {
    take_resources_of(&mut to.containers, &from.containers);
    take_resources_of(&mut to.init_containers, &from.init_containers);
}

fn take_resources_of(to: &mut [Container], from: &[Container]) {
    if to.len() != from.len() {
        return;
    }
    for (to, from) in to.iter_mut().zip(from).filter(|(to, from)| to.name == from.name) {
        to.resources = from.resources.clone();
    }
}
