//! Validation of Jobs (like `ValidateJobCreate` and `ValidateJobSpec`).

use super::{Errors, failure_policy, indexes, meta, non_negative, pod};
use crate::field::{BadValue, FieldError, FieldPath};
use crate::go_format;
use crate::job::{INDEXED, Job, JobSpec, NON_INDEXED, SuccessPolicy, SuccessPolicyRule};
use crate::meta::StringMap;
use crate::names;
use crate::schema;
use crate::well_known::labels;

const SPEC: FieldPath<'static> = FieldPath::root("spec");
/// Limits of Indexed Jobs, which keep the text of their indexes small.
const INDEXED_PARALLELISM_MAX: i32 = 100_000;
const FAILED_INDEXES_MAX: i32 = 100_000;
const COMPLETIONS_HIGH: i32 = 100_000;
const PARALLELISM_MAX_IF_HIGH: i32 = 10_000;
const FAILED_INDEXES_MAX_IF_HIGH: i32 = 10_000;
const MANAGED_BY_LEN_MAX: usize = 63;
const SUCCESS_RULES_MAX: usize = 20;
const SUCCEEDED_INDEXES_LEN_MAX: usize = 64 * 1024;

pub(super) fn create(job: &Job) -> Errors {
    let mut errors = Errors::new();
    meta::create(&job.metadata, true, &mut errors);
    generated_selector(job, &mut errors);
    spec(&job.spec, &mut errors);
    pod_hostname(job, &mut errors);
    errors
}

/// Validates a generated selector against the labels that the server generates (like
/// `validateGeneratedSelector`).
fn generated_selector(job: &Job, errors: &mut Errors) {
    if has_manual_selector(job) {
        return;
    }
    let Some(selector) = &job.spec.selector else {
        return;
    };
    let uid = &job.metadata.uid;
    let name = &job.metadata.name;
    if uid.is_empty() {
        errors.push(FieldError::required(&FieldPath::root("metadata").child("uid"), ""));
    }
    let wanted = [
        (labels::LEGACY_CONTROLLER_UID, uid),
        (labels::LEGACY_JOB_NAME, name),
        (labels::CONTROLLER_UID, uid),
        (labels::JOB_NAME, name),
    ];
    let template = SPEC.child("template");
    let metadata = "metadata";
    let metadata = template.child(metadata);
    let given = &job.spec.template.metadata.labels;
    for (key, value) in wanted {
        has_label(given, key, value, &metadata.child("labels"), errors);
    }
    let wanted = wanted.map(|(key, value)| (key.to_owned(), value.clone())).into_iter().collect();
    if !selector.matches(&wanted) {
        let value = BadValue::json(selector);
        let detail = "`selector` not auto-generated";
        errors.push(FieldError::invalid(&SPEC.child("selector"), value, detail));
    }
}

fn has_manual_selector(job: &Job) -> bool {
    job.spec.manual_selector == Some(true)
}

fn has_label(given: &StringMap, key: &str, value: &str, path: &FieldPath<'_>, errors: &mut Errors) {
    let path = path.key(key);
    let detail = format!("must be '{value}'");
    match given.get(key) {
        None => errors.push(FieldError::required(&path, detail)),
        Some(given_value) if given_value != value => {
            errors.push(FieldError::invalid(&path, BadValue::json(given), detail));
        }
        Some(_) => {}
    }
}

/// Validates that the host names of the Pods of an Indexed Job are DNS labels; they contain the
/// index.
pub(super) fn pod_hostname(job: &Job, errors: &mut Errors) {
    let completions = job.spec.completions.unwrap_or(0);
    if !job.spec.is_indexed() || completions <= 0 {
        return;
    }
    let hostname = format!("{}-{}", job.metadata.name, completions - 1);
    if !names::check_dns_label(&hostname).is_empty() {
        let path = FieldPath::root("metadata");
        let detail = format!("will not able to create pod with invalid DNS label: {hostname}");
        errors.push(FieldError::invalid(&path.child("name"), &job.metadata.name, detail));
    }
}

/// Validates the spec of a Job, including the selector.
pub(super) fn spec(spec: &JobSpec, errors: &mut Errors) {
    template_spec(spec, &SPEC, errors);
    let path = SPEC.child("selector");
    let Some(selector) = &spec.selector else {
        errors.push(FieldError::required(&path, ""));
        return;
    };
    meta::selector(selector, &path, errors);
    let labels = &spec.template.metadata.labels;
    if !selector.matches(labels) {
        let template = SPEC.child("template");
        let metadata = template.child("metadata");
        let detail = "`selector` does not match template `labels`";
        let value = BadValue::json(labels);
        errors.push(FieldError::invalid(&metadata.child("labels"), value, detail));
    }
}

/// Validates the spec of a Job or Job template (like `validateJobSpec`).
pub(super) fn template_spec(spec: &JobSpec, path: &FieldPath<'_>, errors: &mut Errors) {
    counts(spec, path, errors);
    managed_by(spec, path, errors);
    if let Some(mode) = &spec.completion_mode
        && mode != NON_INDEXED
        && mode != INDEXED
    {
        let path = path.child("completionMode");
        errors.push(FieldError::not_supported(&path, mode, &[NON_INDEXED, INDEXED]));
    }
    if spec.is_indexed() {
        indexed(spec, path, errors);
    } else if spec.completion_mode.as_deref().is_none_or(|mode| mode == NON_INDEXED) {
        not_indexed(spec, path, errors);
    }
    failure_policy::check(spec, &path.child("podFailurePolicy"), errors);
    if let Some(policy) = &spec.success_policy {
        success_policy(spec, policy, &path.child("successPolicy"), errors);
    }
    replacement_policy(spec, &path.child("podReplacementPolicy"), errors);
    let template = path.child("template");
    pod::template(&spec.template, &template, errors);
    restart_policy(spec, &template.child("spec"), errors);
}

fn counts(spec: &JobSpec, path: &FieldPath<'_>, errors: &mut Errors) {
    non_negative(spec.parallelism, &path.child("parallelism"), errors);
    non_negative(spec.completions, &path.child("completions"), errors);
    non_negative(spec.active_deadline_seconds, &path.child("activeDeadlineSeconds"), errors);
    non_negative(spec.backoff_limit, &path.child("backoffLimit"), errors);
    non_negative(spec.ttl_seconds_after_finished, &path.child("ttlSecondsAfterFinished"), errors);
    let per_index = path.child("backoffLimitPerIndex");
    non_negative(spec.backoff_limit_per_index, &per_index, errors);
    non_negative(spec.max_failed_indexes, &path.child("maxFailedIndexes"), errors);
    if spec.max_failed_indexes.is_some() && spec.backoff_limit_per_index.is_none() {
        errors.push(FieldError::required(&per_index, "when maxFailedIndexes is specified"));
    }
}

fn managed_by(spec: &JobSpec, path: &FieldPath<'_>, errors: &mut Errors) {
    let path = path.child("managedBy");
    let Some(manager) = &spec.managed_by else {
        return;
    };
    domain_prefixed_path(manager, &path, errors);
    if manager.len() > MANAGED_BY_LEN_MAX {
        errors.push(FieldError::too_long(&path, MANAGED_BY_LEN_MAX));
    }
}

fn domain_prefixed_path(text: &str, path: &FieldPath<'_>, errors: &mut Errors) {
    if text.is_empty() {
        errors.push(FieldError::required(path, ""));
        return;
    }
    let Some((host, rest)) = text.split_once('/').filter(|(h, r)| !h.is_empty() && !r.is_empty())
    else {
        let detail = "must be a domain-prefixed path (such as \"acme.io/foo\")";
        errors.push(FieldError::invalid(path, text, detail));
        return;
    };
    super::reasons(names::check_dns_subdomain(host), host, path, errors);
    let is_allowed = |b: u8| b.is_ascii_alphanumeric() || b"/-._~%!$&'()*+,;=:".contains(&b);
    if !rest.bytes().all(is_allowed) {
        let detail = names::format_rule("Invalid path", r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+", &[]);
        errors.push(FieldError::invalid(path, rest, detail));
    }
}

fn indexed(spec: &JobSpec, path: &FieldPath<'_>, errors: &mut Errors) {
    let parallelism = path.child("parallelism");
    let failed = path.child("maxFailedIndexes");
    if spec.completions.is_none() {
        let detail = "when completion mode is Indexed";
        errors.push(FieldError::required(&path.child("completions"), detail));
    }
    let limit = INDEXED_PARALLELISM_MAX;
    let detail =
        || format!("must be less than or equal to {limit} when completion mode is Indexed");
    at_most(spec.parallelism, limit, &parallelism, detail, errors);
    if let Some(completions) = spec.completions {
        let detail = || "must be less than or equal to completions".to_owned();
        at_most(spec.max_failed_indexes, completions, &failed, detail, errors);
    }
    let detail = || format!("must be less than or equal to {FAILED_INDEXES_MAX}");
    at_most(spec.max_failed_indexes, FAILED_INDEXES_MAX, &failed, detail, errors);
    let is_high = spec.completions.is_some_and(|completions| completions > COMPLETIONS_HIGH);
    if is_high && spec.backoff_limit_per_index.is_some() {
        high_completions(spec, path, errors);
    }
}

fn high_completions(spec: &JobSpec, path: &FieldPath<'_>, errors: &mut Errors) {
    let failed = path.child("maxFailedIndexes");
    if spec.max_failed_indexes.is_none() {
        let detail = format!("must be specified when completions is above {COMPLETIONS_HIGH}");
        errors.push(FieldError::required(&failed, detail));
    }
    let detail = |limit: i32| {
        format!(
            "must be less than or equal to {limit} when completions are above {COMPLETIONS_HIGH} \
             and used with backoff limit per index"
        )
    };
    let limit = PARALLELISM_MAX_IF_HIGH;
    let parallelism = path.child("parallelism");
    at_most(spec.parallelism, limit, &parallelism, || detail(limit), errors);
    let limit = FAILED_INDEXES_MAX_IF_HIGH;
    at_most(spec.max_failed_indexes, limit, &failed, || detail(limit), errors);
}

fn at_most(
    value: Option<i32>,
    limit: i32,
    path: &FieldPath<'_>,
    detail: impl Fn() -> String,
    errors: &mut Errors,
) {
    if let Some(value) = value.filter(|value| *value > limit) {
        errors.push(FieldError::invalid(path, value, detail()));
    }
}

fn not_indexed(spec: &JobSpec, path: &FieldPath<'_>, errors: &mut Errors) {
    for (name, value) in [
        ("backoffLimitPerIndex", spec.backoff_limit_per_index),
        ("maxFailedIndexes", spec.max_failed_indexes),
    ] {
        if let Some(value) = value {
            let detail = "requires indexed completion mode";
            errors.push(FieldError::invalid(&path.child(name), value, detail));
        }
    }
}

fn success_policy(
    spec: &JobSpec,
    policy: &SuccessPolicy,
    path: &FieldPath<'_>,
    errors: &mut Errors,
) {
    if !spec.is_indexed() {
        let value = internal(policy, "SuccessPolicy");
        errors.push(FieldError::invalid(path, value, "requires indexed completion mode"));
        return;
    }
    let rules = path.child("rules");
    if policy.rules.is_empty() {
        let detail = "at least one rules must be specified when the successPolicy is specified";
        errors.push(FieldError::required(&rules, detail));
    }
    if policy.rules.len() > SUCCESS_RULES_MAX {
        errors.push(FieldError::too_many(&rules, policy.rules.len(), SUCCESS_RULES_MAX));
    }
    // Kubernetes reads `completions` here without a check; its absence is already reported.
    let completions = spec.completions.unwrap_or(0);
    for (i, rule) in policy.rules.iter().enumerate() {
        success_rule(rule, completions, &rules.index(i), errors);
    }
}

fn success_rule(
    rule: &SuccessPolicyRule,
    completions: i32,
    path: &FieldPath<'_>,
    errors: &mut Errors,
) {
    if rule.succeeded_count.is_none() && rule.succeeded_indexes.is_none() {
        let detail = "at least one of succeededCount or succeededIndexes must be specified";
        errors.push(FieldError::required(path, detail));
    }
    let mut total = None;
    if let Some(text) = &rule.succeeded_indexes {
        let path = path.child("succeededIndexes");
        if text.len() > SUCCEEDED_INDEXES_LEN_MAX {
            errors.push(FieldError::too_long(&path, SUCCEEDED_INDEXES_LEN_MAX));
        }
        total = Some(match indexes::parse(text, completions) {
            Ok(ranges) => indexes::count(&ranges),
            Err(why) => {
                let detail = format!("error parsing succeededIndexes: {why}");
                errors.push(FieldError::invalid(&path, text, detail));
                0
            }
        });
    }
    if let Some(count) = rule.succeeded_count {
        succeeded_count(count, completions, total, &path.child("succeededCount"), errors);
    }
}

fn succeeded_count(
    count: i32,
    completions: i32,
    total: Option<i64>,
    path: &FieldPath<'_>,
    errors: &mut Errors,
) {
    non_negative(Some(count), path, errors);
    let mut refuse = |limit: i64, what: &str| {
        let detail = format!("must be less than or equal to {limit} ({what})");
        errors.push(FieldError::invalid(path, count, detail));
    };
    if count > completions {
        refuse(completions.into(), "the number of specified completions");
    }
    if let Some(total) = total.filter(|total| i64::from(count) > *total) {
        refuse(total, "the number of indexes in the specified succeededIndexes field");
    }
}

fn replacement_policy(spec: &JobSpec, path: &FieldPath<'_>, errors: &mut Errors) {
    let Some(policy) = &spec.pod_replacement_policy else {
        return;
    };
    let words: &[&str] = match spec.pod_failure_policy {
        Some(_) => &["Failed"],
        None => &["Failed", "TerminatingOrFailed"],
    };
    if !words.contains(&policy.as_str()) {
        errors.push(FieldError::not_supported(path, policy, words));
    }
}

/// Rejects Pods that restart forever. `Always` is the default, so it is reported as if the field
/// were missing.
fn restart_policy(spec: &JobSpec, pod: &FieldPath<'_>, errors: &mut Errors) {
    let path = pod.child("restartPolicy");
    let policy = spec.template.spec.restart_policy.as_str();
    match policy {
        "Always" | "" => {
            let detail = "valid values: \"OnFailure\", \"Never\"";
            errors.push(FieldError::required(&path, detail));
        }
        "Never" => {}
        "OnFailure" if spec.pod_failure_policy.is_none() => {}
        "OnFailure" => {
            let detail = "only \"Never\" is supported when podFailurePolicy is specified";
            errors.push(FieldError::invalid(&path, policy, detail));
        }
        _ => errors.push(FieldError::not_supported(&path, policy, &["OnFailure", "Never"])),
    }
}

/// Formats a value like Kubernetes' internal type: with Go's names and every field.
pub(super) fn internal(value: &impl serde::Serialize, struct_name: &str) -> BadValue {
    match (serde_json::to_value(value), schema::find_struct(struct_name)) {
        (Ok(value), Some(struct_schema)) => {
            BadValue::verbatim(go_format::internal_json(&value, struct_schema))
        }
        _ => BadValue::OMITTED,
    }
}
