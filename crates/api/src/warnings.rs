//! Warnings about valid objects: those of Kubernetes, and ours about schedules and quotas.
//!
//! Servers send them as `Warning` headers. Those about schedules appear only in the Punctual dialect,
//! because a strict server must behave like kube-apiserver. Kubernetes' warnings about nodes, affinity,
//! addresses and storage that a single node does not use are not included.

mod pod;

use jiff::Timestamp;
use punctual_schedule::Schedule;

use crate::core_v1::ResourceQuota;
use crate::cronjob::{CronJob, CronJobKind};
use crate::dialect::Dialect;
use crate::field::FieldPath;
use crate::job::{Job, JobSpec};
use crate::names;
use crate::pod::Pod;
use crate::quota::CountedObjects;
use crate::validate::ValidationOptions;

const COMPLETIONS_HIGH: i32 = 100_000;
const PARALLELISM_HIGH: i32 = 10_000;
const SPEC: FieldPath<'static> = FieldPath::root("spec");

/// Returns the warnings about a new CronJob.
pub fn cron_job_create(
    rules: &ValidationOptions,
    cron_job: &CronJob,
    now: Timestamp,
) -> Vec<String> {
    let mut warnings = Vec::new();
    warnings.extend(name(&cron_job.metadata.name));
    warnings.extend(job_template(cron_job));
    warnings.extend(schedule(rules, cron_job, now));
    warnings.extend(pending_deadline(rules, cron_job));
    warnings
}

/// Returns the warnings about an updated CronJob. Unchanged parts cause no warning.
pub fn cron_job_update(
    rules: &ValidationOptions,
    new: &CronJob,
    old: &CronJob,
    now: Timestamp,
) -> Vec<String> {
    let mut warnings = Vec::new();
    if new.metadata.generation != old.metadata.generation {
        warnings.extend(job_template(new));
        warnings.extend(pending_deadline(rules, new));
    }
    if new.spec.schedule.contains("TZ") {
        warnings.push(
            "cannot use TZ or CRON_TZ in spec.spec.schedule, use timeZone instead, see \
             https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details"
                .to_owned(),
        );
    }
    let is_new =
        (&new.spec.schedule, &new.spec.time_zone) != (&old.spec.schedule, &old.spec.time_zone);
    if is_new {
        warnings.extend(schedule(rules, new, now));
    }
    warnings
}

/// Returns the warnings about a new Job.
pub fn job_create(job: &Job) -> Vec<String> {
    let mut warnings: Vec<_> = name(&job.metadata.name).into_iter().collect();
    warnings.extend(job_spec(&job.spec, &SPEC));
    warnings
}

/// Returns the warnings about an updated Job.
pub fn job_update(new: &Job, old: &Job) -> Vec<String> {
    if new.metadata.generation == old.metadata.generation {
        return Vec::new();
    }
    job_spec(&new.spec, &SPEC)
}

/// Returns the warnings about a new Pod.
pub fn pod_create(pod: &Pod) -> Vec<String> {
    pod::spec(&pod.spec, &pod.metadata.annotations, &SPEC, &FieldPath::root("metadata"))
}

/// Returns a warning about each limit of a ResourceQuota that is not enforced.
pub fn resource_quota(quota: &ResourceQuota) -> Vec<String> {
    let hard = SPEC.child("hard");
    let keys = quota.spec.hard.keys().filter(|key| CountedObjects::parse(key).is_none());
    keys.map(|key| {
        let path = hard.key(key);
        format!("{path}: this limit is not enforced; the server limits only numbers of objects")
    })
    .collect()
}

/// Warns about a name that is not a DNS label, because it leads to invalid host names of Pods.
fn name(name: &str) -> Option<String> {
    let reasons = names::check_dns_label(name);
    let reasons = (!reasons.is_empty()).then(|| reasons.join(" "))?;
    Some(format!(
        "metadata.name: this is used in Pod names and hostnames, which can result in surprising \
         behavior; a DNS label is recommended: [{reasons}]"
    ))
}

fn job_template(cron_job: &CronJob) -> Vec<String> {
    let template = SPEC.child("jobTemplate");
    let path = template.child("spec");
    cron_job.job_template().map(|template| job_spec(&template.spec, &path)).unwrap_or_default()
}

fn job_spec(spec: &JobSpec, path: &FieldPath<'_>) -> Vec<String> {
    let mut warnings = Vec::new();
    let is_high = spec.completions.unwrap_or(0) > COMPLETIONS_HIGH
        && spec.parallelism.unwrap_or(0) > PARALLELISM_HIGH;
    if spec.is_indexed() && is_high {
        warnings.push(format!(
            "{path}: In Indexed Jobs with a number of completions higher than 10^5 and a \
             parallelism higher than 10^4, Kubernetes might not be able to track completedIndexes \
             when a big number of indexes fail"
        ));
    }
    let template = path.child("template");
    let annotations = &spec.template.metadata.annotations;
    let pod = template.child("spec");
    let metadata = template.child("metadata");
    warnings.extend(pod::spec(&spec.template.spec, annotations, &pod, &metadata));
    warnings
}

/// Our warnings about a pending deadline that does not do what it seems to.
fn pending_deadline(rules: &ValidationOptions, cron_job: &CronJob) -> Vec<String> {
    let flavor = cron_job.cron_job_kind().unwrap_or(CronJobKind::BatchV1);
    if rules.dialect.for_kind(flavor) == Dialect::Kubernetes {
        return Vec::new();
    }
    let Some(seconds) = cron_job.pending_deadline_seconds() else { return Vec::new() };
    let spec = cron_job.job_template().unwrap_or_default().spec;
    let mut warnings = Vec::new();
    if !spec.template.spec.init_containers.is_empty() {
        warnings.push(format!(
            "spec.pendingDeadlineSeconds: the {seconds} s include the time of the init containers"
        ));
    }
    if let Some(active) = spec.active_deadline_seconds.filter(|active| *active <= seconds) {
        warnings.push(format!(
            "spec.pendingDeadlineSeconds: has no effect, because activeDeadlineSeconds ends the Job \
             after {active} s already"
        ));
    }
    warnings
}

/// Our warnings: schedules that are valid but probably not intended.
fn schedule(rules: &ValidationOptions, cron_job: &CronJob, now: Timestamp) -> Vec<String> {
    let flavor = cron_job.cron_job_kind().unwrap_or(CronJobKind::BatchV1);
    if rules.dialect.for_kind(flavor) == Dialect::Kubernetes {
        return Vec::new();
    }
    let zone = match cron_job.spec.zone_name() {
        Some(name) => rules.zones.get(name).ok(),
        None => Some(rules.zones.utc()),
    };
    let parsed = zone.and_then(|zone| Schedule::parse(&cron_job.spec.schedule, &zone).ok());
    let lints = parsed.map(|schedule| schedule.lints(now)).unwrap_or_default();
    lints.iter().map(|lint| format!("spec.schedule: {lint}")).collect()
}

#[cfg(test)]
mod tests;
