//! Validation of CronJobs (like `ValidateCronJobCreate` and `ValidateCronJobUpdate`) and of our
//! extensions: jitter, the pending deadline, the concurrency policy `CatchUp` and the schedule `@at`.

use punctual_schedule::{Schedule, Zone};

use super::{Errors, ValidationOptions, in_range, job, meta, non_negative};
use crate::cronjob::{
    CATCH_UP_LIMIT_MAX, ConcurrencyPolicy, CronJob, CronJobKind, CronJobSpec, JITTER_PERCENT_MAX,
    PendingDeadlineConflict, pending_deadline_conflicts,
};
use crate::dialect::Dialect;
use crate::field::{BadValue, FieldError, FieldPath};
use crate::job::JobTemplateSpec;

const SPEC: FieldPath<'static> = FieldPath::root("spec");
/// The name of a Job consists of the CronJob's name and up to 11 characters, and must fit into a
/// label value.
const NAME_LEN_MAX: usize = 63 - 11;

pub(super) fn create(rules: &ValidationOptions, cron_job: &CronJob) -> Errors {
    let mut errors = Errors::new();
    meta::create(&cron_job.metadata, true, &mut errors);
    Specs::new(rules, cron_job, None).check(&mut errors);
    if cron_job.metadata.name.len() > NAME_LEN_MAX {
        let path = FieldPath::root("metadata");
        let detail = format!("must be no more than {NAME_LEN_MAX} characters");
        let name = &cron_job.metadata.name;
        errors.push(FieldError::invalid(&path.child("name"), name, detail));
    }
    missing_schedule(&cron_job.spec, &mut errors);
    errors
}

/// Accepts a name that is too long on an existing CronJob.
pub(super) fn update(rules: &ValidationOptions, new: &CronJob, old: &CronJob) -> Errors {
    let mut errors = Errors::new();
    meta::update(&new.metadata, &old.metadata, &mut errors);
    Specs::new(rules, new, Some(&old.spec)).check(&mut errors);
    missing_schedule(&new.spec, &mut errors);
    errors
}

/// Reports an empty schedule last, because kube-apiserver reports it through declarative
/// validation.
fn missing_schedule(spec: &CronJobSpec, errors: &mut Errors) {
    if spec.schedule.is_empty() {
        errors.push(FieldError::required(&SPEC.child("schedule"), ""));
    }
}

/// Validates a spec against the old one.
struct Specs<'a> {
    rules: &'a ValidationOptions,
    dialect: Dialect,
    cron_job: &'a CronJob,
    new: &'a CronJobSpec,
    old: Option<&'a CronJobSpec>,
}

impl<'a> Specs<'a> {
    fn new(
        rules: &'a ValidationOptions,
        cron_job: &'a CronJob,
        old: Option<&'a CronJobSpec>,
    ) -> Self {
        let flavor = cron_job.cron_job_kind().unwrap_or(CronJobKind::BatchV1);
        let dialect = rules.dialect.for_kind(flavor);
        Specs { rules, dialect, cron_job, new: &cron_job.spec, old }
    }

    fn check(&self, errors: &mut Errors) {
        let spec = self.new;
        if !spec.schedule.is_empty() {
            self.schedule(errors);
        }
        let deadline = SPEC.child("startingDeadlineSeconds");
        non_negative(spec.starting_deadline_seconds, &deadline, errors);
        if self.old.is_none_or(|old| old.time_zone != spec.time_zone) {
            self.time_zone(errors);
        }
        self.concurrency_policy(errors);
        self.job_template(errors);
        let successful = SPEC.child("successfulJobsHistoryLimit");
        non_negative(spec.successful_jobs_history_limit, &successful, errors);
        let failed = SPEC.child("failedJobsHistoryLimit");
        non_negative(spec.failed_jobs_history_limit, &failed, errors);
        self.jitter(errors);
        self.pending_deadline(errors);
        self.catch_up_limit(errors);
    }

    fn schedule(&self, errors: &mut Errors) {
        let path = SPEC.child("schedule");
        let schedule = &self.new.schedule;
        if let Some(why) = self.schedule_error() {
            errors.push(FieldError::invalid(&path, schedule, why));
        }
        if !schedule.contains("TZ") {
            return;
        }
        let had_zone_before = self.old.is_some_and(|old| old.schedule.contains("TZ"));
        let detail = match (had_zone_before, self.zone_name()) {
            (false, _) => "cannot use TZ or CRON_TZ in schedule, use timeZone field instead",
            (true, Some(_)) => "cannot use both timeZone field and TZ or CRON_TZ in schedule",
            (true, None) => return,
        };
        errors.push(FieldError::invalid(&path, schedule, detail));
    }

    fn schedule_error(&self) -> Option<String> {
        let schedule = &self.new.schedule;
        // robfig/cron panics on a missing space, and Kubernetes reports the panic.
        let is_zone_only = schedule.starts_with("TZ=") || schedule.starts_with("CRON_TZ=");
        if is_zone_only && !schedule.contains(' ') {
            let panic = "runtime error: slice bounds out of range [:-1]";
            return Some(format!("invalid schedule format: {panic}"));
        }
        // kube-apiserver rejects `@at` like any other unknown descriptor.
        if self.dialect == Dialect::Kubernetes && is_one_shot(schedule) {
            return Some(format!("unrecognized descriptor: {schedule}"));
        }
        Schedule::parse(schedule, &self.zone()).err().map(|why| why.to_string())
    }

    /// Returns the time zone of the schedule. Another rule reports an unknown zone.
    fn zone(&self) -> Zone {
        let zones = &self.rules.zones;
        let named = self.zone_name().and_then(|name| zones.get(name).ok());
        named.unwrap_or_else(|| zones.utc())
    }

    /// Returns the time zone. Kubernetes rejects an empty name, our dialect treats it as unset.
    fn zone_name(&self) -> Option<&'a str> {
        match self.dialect {
            Dialect::Punctual => self.new.zone_name(),
            Dialect::Kubernetes => self.new.time_zone.as_deref(),
        }
    }

    fn time_zone(&self, errors: &mut Errors) {
        let path = SPEC.child("timeZone");
        let Some(zone) = self.zone_name() else {
            return;
        };
        let mut refuse = |detail: &str| {
            errors.push(FieldError::invalid(&path, BadValue::json(zone), detail));
        };
        if zone.is_empty() {
            return refuse("timeZone must be nil or non-empty string");
        }
        let unknown = format!("unknown time zone {zone}");
        if !zone.split('/').all(is_zone_name_part) {
            return refuse(&unknown);
        }
        if zone.eq_ignore_ascii_case("Local") {
            refuse(
                "timeZone must be an explicit time zone as defined in \
                 https://www.iana.org/time-zones",
            );
        }
        // Go treats exactly `Local` as its own zone.
        if zone != "Local" && self.rules.zones.get(zone).is_err() {
            refuse(&unknown);
        }
    }

    fn concurrency_policy(&self, errors: &mut Errors) {
        let path = SPEC.child("concurrencyPolicy");
        let policy = &self.new.concurrency_policy;
        let mut words: Vec<_> = ConcurrencyPolicy::KUBERNETES.map(|p| p.as_str()).into();
        if self.dialect == Dialect::Punctual {
            words.push(ConcurrencyPolicy::CatchUp.as_str());
        }
        super::one_of(policy, &words, &path, errors);
    }

    fn job_template(&self, errors: &mut Errors) {
        let path = SPEC.child("jobTemplate");
        match self.cron_job.job_template() {
            Ok(template) => check_template(&template, &path, errors),
            // `decode` rejects such a template; an object that a program builds may still have one.
            Err(why) => {
                let detail = format!("cannot be read: {why}");
                errors.push(FieldError::invalid(&path, BadValue::OMITTED, detail));
            }
        }
    }

    /// Validates our field `jitter`. In the strict dialect `decode` reports it as unknown.
    fn jitter(&self, errors: &mut Errors) {
        if let Some(jitter) = self.new.jitter
            && self.dialect == Dialect::Punctual
        {
            let path = SPEC.child("jitter");
            in_range(jitter.into(), 0, JITTER_PERCENT_MAX.into(), &path, errors);
        }
    }

    /// Validates our field `catchUpLimit`. In the strict dialect `decode` reports it as unknown.
    fn catch_up_limit(&self, errors: &mut Errors) {
        if let Some(limit) = self.new.catch_up_limit
            && self.dialect == Dialect::Punctual
        {
            let path = SPEC.child("catchUpLimit");
            in_range(limit.into(), 1, CATCH_UP_LIMIT_MAX.into(), &path, errors);
        }
    }

    /// Validates our field `pendingDeadlineSeconds` or its annotation. In the strict dialect `decode`
    /// reports the field as unknown, and the annotation is not ours.
    fn pending_deadline(&self, errors: &mut Errors) {
        if self.dialect == Dialect::Kubernetes {
            return;
        }
        let path = SPEC.child("pendingDeadlineSeconds");
        if let Some(seconds) = self.new.pending_deadline_seconds {
            in_range(seconds, 1, i64::from(i32::MAX), &path, errors);
        }
        if self.cron_job.pending_deadline_seconds().is_none() {
            return;
        }
        let template = self.cron_job.job_template().unwrap_or_default();
        for conflict in pending_deadline_conflicts(&template) {
            let PendingDeadlineConflict { field, reason } = conflict;
            let detail = format!("may not be set together with {POD_SPEC}.{field}: {reason}");
            errors.push(FieldError::forbidden(&path, detail));
        }
    }
}

/// The path of the Pod spec in the Job template, as text.
const POD_SPEC: &str = "spec.jobTemplate.spec.template.spec";

fn check_template(template: &JobTemplateSpec, path: &FieldPath<'_>, errors: &mut Errors) {
    let path = path.child("spec");
    job::template_spec(&template.spec, &path, errors);
    if let Some(selector) = &template.spec.selector {
        let detail = "`selector` will be auto-generated";
        let value = BadValue::json(selector);
        errors.push(FieldError::invalid(&path.child("selector"), value, detail));
    }
    if template.spec.manual_selector == Some(true) {
        let path = path.child("manualSelector");
        errors.push(FieldError::not_supported(&path, true, &["nil", "false"]));
    }
}

/// Returns whether a schedule is a single instant (`@at …`), which is our extension.
fn is_one_shot(schedule: &str) -> bool {
    schedule.split_whitespace().next() == Some("@at")
}

/// Returns whether a text is a valid part of a zone name.
fn is_zone_name_part(part: &str) -> bool {
    const LEN_MAX: usize = 14;
    let is_allowed = |b: u8| b.is_ascii_alphanumeric() || b".-_+".contains(&b);
    (1..=LEN_MAX).contains(&part.len())
        && part != "."
        && part != ".."
        && !part.starts_with('-')
        && part.bytes().all(is_allowed)
}
