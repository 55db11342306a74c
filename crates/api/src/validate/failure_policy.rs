//! Validation of the Pod failure policy (like `validatePodFailurePolicy`).

use std::collections::HashSet;

use super::{Errors, reasons};
use crate::field::{BadValue, FieldError, FieldPath};
use crate::job::{JobSpec, OnExitCodes, OnPodCondition, PodFailurePolicyRule};
use crate::names;

const RULES_MAX: usize = 20;
const EXIT_CODES_MAX: usize = 255;
const CONDITIONS_MAX: usize = 20;
const ACTIONS: [&str; 4] = ["Count", "FailIndex", "FailJob", "Ignore"];
const OPERATORS: [&str; 2] = ["In", "NotIn"];
const STATUSES: [&str; 3] = ["False", "True", "Unknown"];

pub(super) fn check(spec: &JobSpec, path: &FieldPath<'_>, errors: &mut Errors) {
    let Some(policy) = &spec.pod_failure_policy else {
        return;
    };
    let rules = path.child("rules");
    if policy.rules.len() > RULES_MAX {
        errors.push(FieldError::too_many(&rules, policy.rules.len(), RULES_MAX));
    }
    for (i, rule) in policy.rules.iter().enumerate() {
        check_rule(spec, rule, &rules.index(i), errors);
    }
}

fn check_rule(
    spec: &JobSpec,
    rule: &PodFailurePolicyRule,
    path: &FieldPath<'_>,
    errors: &mut Errors,
) {
    action(spec, rule, &path.child("action"), errors);
    if let Some(codes) = &rule.on_exit_codes {
        exit_codes(spec, codes, &path.child("onExitCodes"), errors);
    }
    if !rule.on_pod_conditions.is_empty() {
        conditions(&rule.on_pod_conditions, &path.child("onPodConditions"), errors);
    }
    let detail = match (&rule.on_exit_codes, rule.on_pod_conditions.is_empty()) {
        (Some(_), false) => "specifying both OnExitCodes and OnPodConditions is not supported",
        (None, true) => "specifying one of OnExitCodes and OnPodConditions is required",
        _ => return,
    };
    errors.push(FieldError::invalid(path, BadValue::OMITTED, detail));
}

fn action(spec: &JobSpec, rule: &PodFailurePolicyRule, path: &FieldPath<'_>, errors: &mut Errors) {
    let action = rule.action.as_str();
    if action == "FailIndex" && spec.backoff_limit_per_index.is_none() {
        let detail = "requires the backoffLimitPerIndex to be set";
        errors.push(FieldError::invalid(path, action, detail));
    }
    word(action, &ACTIONS, path, errors);
}

/// Rejects an unsupported value. Formats the supported values of a missing one like a Go list.
fn word(word: &str, words: &[&str], path: &FieldPath<'_>, errors: &mut Errors) {
    if word.is_empty() {
        let words: Vec<_> = words.iter().map(|word| format!("{word:?}")).collect();
        let detail = format!("valid values: [{}]", words.join(" "));
        errors.push(FieldError::required(path, detail));
    } else if !words.contains(&word) {
        errors.push(FieldError::not_supported(path, word, words));
    }
}

fn conditions(patterns: &[OnPodCondition], path: &FieldPath<'_>, errors: &mut Errors) {
    if patterns.len() > CONDITIONS_MAX {
        errors.push(FieldError::too_many(path, patterns.len(), CONDITIONS_MAX));
    }
    for (i, pattern) in patterns.iter().enumerate() {
        let path = path.index(i);
        reasons(
            names::check_qualified_name(&pattern.condition_type),
            &pattern.condition_type,
            &path.child("type"),
            errors,
        );
        word(&pattern.status, &STATUSES, &path.child("status"), errors);
    }
}

fn exit_codes(spec: &JobSpec, codes: &OnExitCodes, path: &FieldPath<'_>, errors: &mut Errors) {
    word(&codes.operator, &OPERATORS, &path.child("operator"), errors);
    let mut containers = spec.template.spec.containers_in_order();
    if let Some(name) = &codes.container_name
        && !containers.any(|(_, _, container)| container.name == *name)
    {
        let detail = "must be one of the container or initContainer names in the pod template";
        errors.push(FieldError::invalid(&path.child("containerName"), name, detail));
    }
    let values = path.child("values");
    if codes.values.is_empty() {
        let value = BadValue::json(&codes.values);
        errors.push(FieldError::invalid(&values, value, "at least one value is required"));
    } else if codes.values.len() > EXIT_CODES_MAX {
        errors.push(FieldError::too_many(&values, codes.values.len(), EXIT_CODES_MAX));
    }
    each_code(codes, &values, errors);
    if !codes.values.is_sorted() {
        let value = BadValue::json(&codes.values);
        errors.push(FieldError::invalid(&values, value, "must be ordered"));
    }
}

fn each_code(codes: &OnExitCodes, path: &FieldPath<'_>, errors: &mut Errors) {
    let mut seen = HashSet::new();
    for (i, code) in codes.values.iter().enumerate() {
        let path = path.index(i);
        if codes.operator == "In" && *code == 0 {
            errors.push(FieldError::invalid(&path, 0, "must not be 0 for the In operator"));
        }
        if !seen.insert(code) {
            errors.push(FieldError::duplicate(&path, *code));
        }
    }
}
