//! Checks one document as the API server does on create with `fieldValidation=Strict`.
//!
//! The server stops at unknown fields. This check drops them and continues, so that all errors are
//! reported at once.

use jiff::Timestamp;
use punctual_api::{
    ConcurrencyPolicy, CronJob, Status,
    decode::{self, ExpectedKind, UnknownFields},
    field::{FieldError, FieldPath},
    validate::ValidationOptions,
    well_known::annotations,
    write_rules::{self, CreateContext},
};
use punctual_schedule::{Schedule, Zone};
use serde::Deserialize;
use serde_json::Value;

use super::{
    checked_document::{CheckedDocument, FieldProblem, ObjectName, UpcomingRuns},
    checked_kind::{self, CheckedKind, KindLookup},
    hint,
};
use crate::{
    clock,
    manifest::{Document, ReadResult},
    slots::SlotList,
};

/// Placeholders for values that the server generates. No validation rule depends on them.
const UID: &str = "00000000-0000-4000-8000-000000000000";
const SUFFIX: &str = "xxxxx";

/// The error of an object that `punctual up` cannot apply because it has no name.
pub(crate) const NAME_REQUIRED: &str = "Required value: `punctual up` applies manifests, and apply does \
                                        not support generateName; set metadata.name";

/// The settings of all checks.
pub(super) struct DocumentChecker<'a> {
    pub(super) rules: ValidationOptions,
    /// The zone of schedules without one.
    pub(super) default_zone: &'a Zone,
    /// The number of slots to list.
    pub(super) count: u32,
    /// Whether to report warnings.
    pub(super) has_warnings: bool,
    /// Whether to report CronJobs that one run can block forever. Servers do not warn about them.
    pub(super) has_blocking_lint: bool,
    pub(super) now: Timestamp,
    /// Whether to reject what `punctual up` does not apply.
    pub(super) is_for_up: bool,
}

impl<'a> DocumentChecker<'a> {
    /// Checks documents without listing slots or warnings.
    pub(super) fn without_slots(rules: ValidationOptions, default_zone: &'a Zone) -> Self {
        DocumentChecker {
            rules,
            default_zone,
            count: 0,
            has_warnings: false,
            has_blocking_lint: false,
            now: clock::now(),
            is_for_up: false,
        }
    }

    pub(super) fn check(&self, read: ReadResult) -> CheckedDocument {
        let Document { location, value, duplicates } = match read {
            Ok(document) => document,
            Err(read_error) => return CheckedDocument::from_read_error(read_error),
        };
        let mut checked = CheckedDocument::new(location, ObjectName::default());
        if !value.is_object() {
            checked.errors.push(not_an_object(&value));
            return checked;
        }
        let ExpectedKind { api_version, kind } = type_of(&value);
        checked.object = object(&value);
        checked.errors.extend(missing(api_version, "apiVersion"));
        checked.errors.extend(missing(kind, "kind"));
        if !checked.errors.is_empty() {
            return checked;
        }
        match checked_kind::find(api_version, kind) {
            KindLookup::Checked(kind) => self.check_known(&mut checked, kind, &value, &duplicates),
            KindLookup::Unknown => checked.errors.push(no_such_kind(api_version, kind)),
            KindLookup::Unchecked if self.is_for_up => {
                checked.errors.push(no_such_kind(api_version, kind));
            }
            KindLookup::Unchecked => {
                checked.note = Some(format!("{kind} of {api_version} is not checked"));
            }
        }
        if self.is_for_up && value.pointer("/metadata/name").is_none() {
            checked.errors.push(FieldProblem::new("metadata.name", NAME_REQUIRED.into()));
        }
        for problem in &mut checked.errors {
            problem.hint = hint::suggest(problem, &value, &self.rules.zones);
        }
        checked
    }

    fn check_known(
        &self,
        checked: &mut CheckedDocument,
        kind: CheckedKind,
        value: &Value,
        duplicates: &[String],
    ) {
        set_default_namespace(&mut checked.object, kind);
        let body = value.to_string();
        let expected = type_of(value);
        let decoded = decode::decode_json(
            body.as_bytes(),
            &expected,
            self.rules.dialect,
            UnknownFields::Drop,
        );
        let decoded = match decoded {
            Ok(decoded) => decoded,
            Err(status) => return checked.errors.extend(FieldProblem::from_status(status)),
        };
        let duplicates = duplicates.iter().map(|path| format!("duplicate field \"{path}\""));
        let field_warnings = decoded.field_warnings.into_iter().chain(duplicates);
        checked
            .errors
            .extend(field_warnings.map(|warning| FieldProblem::from_field_warning(&warning)));
        if let Err(status) = self.create(checked, kind, decoded.value) {
            checked.errors.extend(FieldProblem::from_status(status));
        }
    }

    fn create(
        &self,
        checked: &mut CheckedDocument,
        kind: CheckedKind,
        object: Value,
    ) -> Result<(), Status> {
        let namespace = checked.object.namespace.clone();
        let context =
            CreateContext { namespace: &namespace, uid: UID, suffix: SUFFIX, now: self.now };
        match kind {
            CheckedKind::Simple(simple) => {
                let errors = simple.check(object, &context)?;
                checked.errors.extend(errors.into_iter().map(FieldProblem::from));
            }
            CheckedKind::Full(kind) => {
                let admitted = write_rules::create(kind, object, &context, &self.rules)?;
                if self.has_warnings {
                    checked.warnings = admitted.warnings;
                }
                if self.has_blocking_lint {
                    checked.warnings.extend(blocking_lint(&admitted.object));
                }
                if matches!(kind, write_rules::ResourceKind::CronJob(_))
                    && checked.errors.is_empty()
                {
                    checked.upcoming = self.upcoming(&admitted.object);
                }
            }
        }
        Ok(())
    }

    /// Lists the next slots of a valid CronJob.
    fn upcoming(&self, object: &Value) -> Option<UpcomingRuns> {
        let cron_job = CronJob::deserialize(object).ok()?;
        let zone = match cron_job.spec.zone_name() {
            Some(name) => self.rules.zones.get(name).ok()?,
            None => self.default_zone.clone(),
        };
        let schedule = Schedule::parse(&cron_job.spec.schedule, &zone).ok()?;
        let slots = SlotList::compute(&schedule, self.now, self.count);
        Some(UpcomingRuns {
            time_zone: schedule.zone().name().to_owned(),
            is_default_zone: cron_job.spec.zone_name().is_none(),
            is_suspended: cron_job.is_suspended(),
            schedule: cron_job.spec.schedule,
            next: slots.slots,
            is_exhausted: slots.is_exhausted,
        })
    }
}

/// Warns about a CronJob that one run can block forever: its policy waits for the active run, and no
/// deadline ends a run that hangs or whose Pods never start.
fn blocking_lint(object: &Value) -> Option<String> {
    let cron_job = CronJob::deserialize(object).ok()?;
    let policy = cron_job.concurrency_policy();
    let waits = matches!(policy, ConcurrencyPolicy::Forbid | ConcurrencyPolicy::CatchUp);
    let has_deadline = cron_job.pending_deadline_seconds().is_some()
        || cron_job.job_template().ok()?.spec.active_deadline_seconds.is_some();
    (cron_job.cron_job_kind().is_some() && waits && !has_deadline).then(|| {
        format!(
            "spec.concurrencyPolicy: with {}, a run that hangs or whose Pods never start blocks all \
             later runs; set activeDeadlineSeconds in the Job template, or pendingDeadlineSeconds \
             (on a cluster the annotation {})",
            policy.as_str(),
            annotations::PENDING_DEADLINE_SECONDS
        )
    })
}

/// Sets the namespace `default` if a namespaced object has none, as kubectl does.
fn set_default_namespace(object: &mut ObjectName, kind: CheckedKind) {
    let is_namespaced = match kind {
        CheckedKind::Full(_) => true,
        CheckedKind::Simple(simple) => simple.is_namespaced(),
    };
    if is_namespaced && object.namespace.is_empty() {
        object.namespace = "default".into();
    }
}

/// Returns `apiVersion` and `kind`, empty if missing.
fn type_of(value: &Value) -> ExpectedKind<'_> {
    let text = |key: &str| value.get(key).and_then(Value::as_str).unwrap_or_default();
    ExpectedKind { api_version: text("apiVersion"), kind: text("kind") }
}

fn object(value: &Value) -> ObjectName {
    let text = |path: &str| value.pointer(path).and_then(Value::as_str).filter(|t| !t.is_empty());
    let name = text("/metadata/name").or_else(|| text("/metadata/generateName"));
    ObjectName {
        kind: text("/kind").unwrap_or_default().into(),
        namespace: text("/metadata/namespace").unwrap_or_default().into(),
        name: name.unwrap_or_default().into(),
    }
}

fn missing(text: &str, field: &str) -> Option<FieldProblem> {
    text.is_empty().then(|| FieldError::required(&FieldPath::root(field), "").into())
}

/// Returns kubectl's error text for an unknown kind.
fn no_such_kind(api_version: &str, kind: &str) -> FieldProblem {
    let message = format!("no matches for kind \"{kind}\" in version \"{api_version}\"");
    FieldProblem::new("kind", message)
}

fn not_an_object(value: &Value) -> FieldProblem {
    let found = match value {
        Value::Array(_) => "a list",
        Value::String(_) => "a text",
        Value::Number(_) => "a number",
        Value::Bool(_) => "true or false",
        Value::Null | Value::Object(_) => "nothing",
    };
    FieldProblem::new("", format!("expected an object with apiVersion and kind, found {found}"))
}
