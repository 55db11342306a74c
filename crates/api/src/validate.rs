//! Validation with the messages and the order of kube-apiserver (v1.37; v1.36 differs only in gang
//! scheduling).
//!
//! Every function returns all errors; an empty list means that the object is valid. Objects must be
//! defaulted first. Where Kubernetes iterates over a map in random order, this module iterates in
//! sorted order.
//!
//! Not validated, because a single node does not use them, and stored as received: affinity,
//! topology spread, DNS configuration, scheduling and readiness gates, resource claims, pod-level
//! resources, overhead, `os`, `hostUsers`, sysctls, seccomp, AppArmor, SELinux and Windows options,
//! annotations with a special meaning, resize policies and restart rules of containers, stop
//! signals, ephemeral containers, the content of volume sources that [`crate::pod`] does not type,
//! workload scheduling of Jobs, and managed fields. Privileged containers are always allowed.

mod container;
mod core_v1;
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
mod quota;
mod resources;
mod run_request;
mod volume;

use std::collections::BTreeMap;

use punctual_schedule::Zones;
use serde_json::Value;

use crate::core_v1::{ConfigMap, Namespace, ResourceQuota, Secret};
use crate::cronjob::CronJob;
use crate::dialect::Dialect;
use crate::event::Event;
use crate::field::{FieldError, FieldPath};
use crate::job::Job;
use crate::lease::Lease;
use crate::names;
use crate::pod::Pod;
use crate::run_request::RunRequest;

/// The errors found so far.
type Errors = Vec<FieldError>;

/// The settings of validation.
#[derive(Clone)]
pub struct ValidationOptions {
    /// The known time zones.
    pub zones: Zones,
    /// The extensions that Kubernetes' own kinds accept.
    pub dialect: Dialect,
}

impl ValidationOptions {
    /// Validates a new CronJob.
    pub fn cron_job_create(&self, cron_job: &CronJob) -> Vec<FieldError> {
        cronjob::create(self, cron_job)
    }

    /// Validates an updated CronJob.
    pub fn cron_job_update(&self, new: &CronJob, old: &CronJob) -> Vec<FieldError> {
        cronjob::update(self, new, old)
    }
}

/// Validates a new Job.
pub fn job_create(job: &Job) -> Vec<FieldError> {
    job::create(job)
}

/// Validates an updated Job.
pub fn job_update(new: &Job, old: &Job) -> Vec<FieldError> {
    job_update::update(new, old)
}

/// Validates an updated Job status.
pub fn job_status_update(new: &Job, old: &Job) -> Vec<FieldError> {
    job_status::update(new, old)
}

/// Validates a new Pod.
pub fn pod_create(pod: &Pod) -> Vec<FieldError> {
    pod::create(pod)
}

/// Validates an updated Pod.
pub fn pod_update(new: &Pod, old: &Pod) -> Vec<FieldError> {
    pod::update(new, old)
}

/// Validates a new Namespace.
pub fn namespace_create(namespace: &Namespace) -> Vec<FieldError> {
    core_v1::namespace(namespace)
}

/// Validates a ConfigMap, on an update against the old one.
pub fn config_map(new: &ConfigMap, old: Option<&ConfigMap>) -> Vec<FieldError> {
    core_v1::config_map(new, old)
}

/// Validates a Secret, on an update against the old one.
pub fn secret(new: &Secret, old: Option<&Secret>) -> Vec<FieldError> {
    core_v1::secret(new, old)
}

/// Validates a ResourceQuota, on an update against the old one.
pub fn resource_quota(new: &ResourceQuota, old: Option<&ResourceQuota>) -> Vec<FieldError> {
    quota::resource_quota(new, old)
}

/// Reports slots of a RunRequest without a time. An object without this error can be read as a [`RunRequest`].
pub fn run_request_absent_slots(object: &Value) -> Vec<FieldError> {
    run_request::absent_slots(object)
}

/// Validates a new RunRequest.
pub fn run_request_create(request: &RunRequest) -> Vec<FieldError> {
    run_request::create(request)
}

/// Validates an updated RunRequest. Most of its spec does not change after the creation.
pub fn run_request_update(new: &RunRequest, old: &RunRequest) -> Vec<FieldError> {
    run_request::update(new, old)
}

/// Validates an updated status of a RunRequest.
pub fn run_request_status_update(new: &RunRequest, old: &RunRequest) -> Vec<FieldError> {
    run_request::status_update(new, old)
}

/// Validates a Lease, on an update against the old one.
pub fn lease(new: &Lease, old: Option<&Lease>) -> Vec<FieldError> {
    core_v1::lease(new, old)
}

/// Validates an Event, on an update against the old one.
pub fn event(new: &Event, old: Option<&Event>) -> Vec<FieldError> {
    core_v1::event(new, old)
}

/// Validates the metadata of a new object whose name must be a DNS subdomain.
pub fn metadata_create(meta: &crate::ObjectMeta, is_namespaced: bool) -> Vec<FieldError> {
    let mut errors = Vec::new();
    meta::create(meta, is_namespaced, &mut errors);
    errors
}

/// Validates the metadata of an updated object.
pub fn metadata_update(new: &crate::ObjectMeta, old: &crate::ObjectMeta) -> Vec<FieldError> {
    let mut errors = Vec::new();
    meta::update(new, old, &mut errors);
    errors
}

/// Reports one error for each reason why a text is invalid.
fn reasons(reasons: Vec<String>, value: &str, path: &FieldPath<'_>, errors: &mut Errors) {
    errors.extend(reasons.into_iter().map(|reason| FieldError::invalid(path, value, reason)));
}

/// Rejects a negative number.
fn non_negative(value: Option<impl Into<i64>>, path: &FieldPath<'_>, errors: &mut Errors) {
    let value: Option<i64> = value.map(Into::into);
    if let Some(value) = value.filter(|value| *value < 0) {
        errors.push(FieldError::invalid(path, value, "must be greater than or equal to 0"));
    }
}

/// Rejects a number outside of two inclusive bounds.
fn in_range(value: i64, low: i64, high: i64, path: &FieldPath<'_>, errors: &mut Errors) {
    if !(low..=high).contains(&value) {
        errors.push(FieldError::invalid(path, value, names::out_of_range_message(low, high)));
    }
}

/// Rejects a text that is not one of the supported values; reports an empty text as missing.
fn one_of(word: &str, words: &[&str], path: &FieldPath<'_>, errors: &mut Errors) {
    if word.is_empty() {
        errors.push(FieldError::required(path, ""));
    } else if !words.contains(&word) {
        errors.push(FieldError::not_supported(path, word, words));
    }
}

/// Rejects an empty text.
fn required(text: &str, path: &FieldPath<'_>, errors: &mut Errors) {
    if text.is_empty() {
        errors.push(FieldError::required(path, ""));
    }
}

/// Validates labels: keys must be qualified names, values must be label values.
fn labels(labels: &BTreeMap<String, String>, path: &FieldPath<'_>, errors: &mut Errors) {
    for (key, value) in labels {
        reasons(names::check_qualified_name(key), key, path, errors);
        reasons(names::check_label_value(value), value, path, errors);
    }
}

#[cfg(test)]
pub(crate) mod tests;
