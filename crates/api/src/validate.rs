//! What may be stored, refused in kube-apiserver's words and order (v1.37; v1.36 differs in
//! nothing that is here but gang scheduling).
//!
//! Every check returns all errors it finds; none means that the object is fine. Objects are
//! defaulted before. Where Kubernetes walks a map in random order, this walks it sorted.
//!
//! Left out, because one machine makes nothing of them, and kept as they come: affinity, topology
//! spread, DNS configuration, scheduling and readiness gates, resource claims, pod-level resources,
//! overhead, `os`, `hostUsers`, sysctls, seccomp, AppArmor, SELinux and Windows options, annotations
//! with a meaning of their own, resize policies and restart rules of containers, stop signals,
//! ephemeral containers, the inside of volume sources that [`crate::pod`] does not type, workload
//! scheduling of Jobs, and managed fields. Privileged containers are always allowed.

mod cluster;
mod container;
mod cronjob;
mod env;
mod failure_policy;
mod indexes;
mod job;
mod job_status;
mod job_update;
mod meta;
mod pod;
mod probe;
mod resources;
mod volume;

use std::collections::BTreeMap;

use punctual_schedule::Zones;

use crate::core_v1::{ConfigMap, Namespace, Secret};
use crate::cronjob::CronJob;
use crate::dialect::Dialect;
use crate::event::Event;
use crate::field::{FieldError, FieldPath};
use crate::job::Job;
use crate::lease::Lease;
use crate::names;
use crate::pod::Pod;

/// Errors found so far.
type Errors = Vec<FieldError>;

/// What validation needs to know besides the object.
#[derive(Clone)]
pub struct ValidationOptions {
    /// Zones that exist.
    pub zones: Zones,
    /// What is accepted in Kubernetes' own kinds.
    pub dialect: Dialect,
}

impl ValidationOptions {
    /// Checks a new CronJob.
    pub fn cron_job_create(&self, cron_job: &CronJob) -> Vec<FieldError> {
        cronjob::create(self, cron_job)
    }

    /// Checks a changed CronJob.
    pub fn cron_job_update(&self, new: &CronJob, old: &CronJob) -> Vec<FieldError> {
        cronjob::update(self, new, old)
    }
}

/// Checks a new Job.
pub fn job_create(job: &Job) -> Vec<FieldError> {
    job::create(job)
}

/// Checks a changed Job.
pub fn job_update(new: &Job, old: &Job) -> Vec<FieldError> {
    job_update::spec(new, old)
}

/// Checks a Job whose status changed.
pub fn job_status_update(new: &Job, old: &Job) -> Vec<FieldError> {
    job_status::update(new, old)
}

/// Checks a new Pod.
pub fn pod_create(pod: &Pod) -> Vec<FieldError> {
    pod::create(pod)
}

/// Checks a changed Pod.
pub fn pod_update(new: &Pod, old: &Pod) -> Vec<FieldError> {
    pod::update(new, old)
}

/// Checks a new namespace.
pub fn namespace_create(namespace: &Namespace) -> Vec<FieldError> {
    cluster::namespace(namespace)
}

/// Checks a config map, against the one it replaces if it does.
pub fn config_map(new: &ConfigMap, old: Option<&ConfigMap>) -> Vec<FieldError> {
    cluster::config_map(new, old)
}

/// Checks a secret, against the one it replaces if it does.
pub fn secret(new: &Secret, old: Option<&Secret>) -> Vec<FieldError> {
    cluster::secret(new, old)
}

/// Checks a lease, against the one it replaces if it does.
pub fn lease(new: &Lease, old: Option<&Lease>) -> Vec<FieldError> {
    cluster::lease(new, old)
}

/// Checks an event, against the one it replaces if it does.
pub fn event(new: &Event, old: Option<&Event>) -> Vec<FieldError> {
    cluster::event(new, old)
}

/// Checks the metadata of any new object whose name is a DNS subdomain.
pub fn metadata_create(meta: &crate::ObjectMeta, is_namespaced: bool) -> Vec<FieldError> {
    let mut errors = Vec::new();
    meta::create(meta, is_namespaced, &mut errors);
    errors
}

/// Checks the metadata of any changed object.
pub fn metadata_update(new: &crate::ObjectMeta, old: &crate::ObjectMeta) -> Vec<FieldError> {
    let mut errors = Vec::new();
    meta::update(new, old, &mut errors);
    errors
}

/// One error for each reason why a text is refused.
fn reasons(reasons: Vec<String>, value: &str, path: &FieldPath<'_>, errors: &mut Errors) {
    errors.extend(reasons.into_iter().map(|reason| FieldError::invalid(path, value, reason)));
}

/// A number that may be absent but not below zero.
fn non_negative(value: Option<impl Into<i64>>, path: &FieldPath<'_>, errors: &mut Errors) {
    let value: Option<i64> = value.map(Into::into);
    if let Some(value) = value.filter(|value| *value < 0) {
        errors.push(FieldError::invalid(path, value, "must be greater than or equal to 0"));
    }
}

/// A number that must lie between two bounds.
fn in_range(value: i64, low: i64, high: i64, path: &FieldPath<'_>, errors: &mut Errors) {
    if !(low..=high).contains(&value) {
        errors.push(FieldError::invalid(path, value, names::out_of_range(low, high)));
    }
}

/// A word that must be one of a few; empty is reported as missing.
fn one_of(word: &str, words: &[&str], path: &FieldPath<'_>, errors: &mut Errors) {
    if word.is_empty() {
        errors.push(FieldError::required(path, ""));
    } else if !words.contains(&word) {
        errors.push(FieldError::not_supported(path, word, words));
    }
}

/// A text that must be there.
fn required(text: &str, path: &FieldPath<'_>, errors: &mut Errors) {
    if text.is_empty() {
        errors.push(FieldError::required(path, ""));
    }
}

/// Labels: each key a qualified name, each value a label value.
fn labels(labels: &BTreeMap<String, String>, path: &FieldPath<'_>, errors: &mut Errors) {
    for (key, value) in labels {
        reasons(names::qualified_name(key), key, path, errors);
        reasons(names::label_value(value), value, path, errors);
    }
}

#[cfg(test)]
pub(crate) mod tests;
