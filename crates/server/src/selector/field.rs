//! Field selectors such as `metadata.name=a,status.phase!=Running`.

use jiff::Timestamp;
use punctual_api::slot_record::{RunResult, SlotDecision};
use punctual_api::time::parse_rfc3339;
use serde_json::Value;

use super::SelectorError;
use crate::resource::ServedResource;

/// A conjunction of terms.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct FieldSelector {
    terms: Vec<FieldTerm>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct FieldTerm {
    /// The path of the field in the stored version.
    field: &'static str,
    is_equal: bool,
    value: String,
}

const NAME: &str = "metadata.name";
const NAMESPACE: &str = "metadata.namespace";
/// Selects slots after a time; both are compared as times.
const SLOT_AFTER: &str = "slotAfter";
const SLOT_BEFORE: &str = "slotBefore";

/// Returns the selectable fields of a kind besides name and namespace.
fn selectable(kind: &str) -> Option<&'static [&'static str]> {
    Some(match kind {
        "Pod" => &[
            "spec.nodeName",
            "spec.restartPolicy",
            "spec.schedulerName",
            "spec.serviceAccountName",
            "spec.hostNetwork",
            "status.phase",
            "status.podIP",
            "status.nominatedNodeName",
        ],
        "Event" => &[
            "involvedObject.kind",
            "involvedObject.namespace",
            "involvedObject.name",
            "involvedObject.uid",
            "involvedObject.apiVersion",
            "involvedObject.resourceVersion",
            "involvedObject.fieldPath",
            "reason",
            "reportingComponent",
            "source",
            "type",
        ],
        "Job" => &["status.successful"],
        "Namespace" => &["status.phase"],
        "Secret" => &["type"],
        "Node" => &["spec.unschedulable"],
        "RunRequest" => &["spec.target.kind", "spec.target.name"],
        "SlotRecord" => &[
            "cronJob",
            "cronJobKind",
            "cronJobUID",
            "decision",
            "reason",
            "request",
            "result",
            SLOT_AFTER,
            SLOT_BEFORE,
        ],
        _ => return None,
    })
}

/// Returns the stored name of a field of an `events.k8s.io/v1` Event.
fn stored_name(label: &str) -> String {
    match label.strip_prefix("regarding.") {
        Some(rest) => format!("involvedObject.{rest}"),
        None if label == "reportingController" => "reportingComponent".to_owned(),
        None => label.to_owned(),
    }
}

impl FieldSelector {
    /// Parses a selector; an empty text selects everything.
    pub(crate) fn parse(
        text: &str,
        served: &ServedResource,
    ) -> Result<FieldSelector, SelectorError> {
        let mut terms = Vec::new();
        for part in split_terms(text).filter(|part| !part.is_empty()) {
            let (label, is_equal, value) = split_term(part).ok_or_else(|| {
                SelectorError(format!("invalid selector: '{text}'; can't understand '{part}'"))
            })?;
            let field = find_selectable(label, served)?;
            let term = FieldTerm { field, is_equal, value: unescape(value)? };
            check_record_term(&term)?;
            terms.push(term);
        }
        Ok(FieldSelector { terms })
    }

    /// Returns the selector of one object.
    pub(crate) fn for_name(name: &str) -> FieldSelector {
        let term = FieldTerm { field: NAME, is_equal: true, value: name.to_owned() };
        FieldSelector { terms: vec![term] }
    }

    pub(crate) fn is_everything(&self) -> bool {
        self.terms.is_empty()
    }

    pub(crate) fn matches(&self, object: &Value) -> bool {
        self.terms.iter().all(|term| term.matches(object))
    }

    /// Returns the value that a field must equal, if the selector requires one.
    pub(crate) fn required_value(&self, field: &str) -> Option<&str> {
        let term = self.terms.iter().find(|term| term.field == field && term.is_equal)?;
        Some(&term.value)
    }

    /// Returns the values of a field that is compared as a time.
    pub(crate) fn times(&self, field: &str) -> impl Iterator<Item = Timestamp> {
        let terms = self.terms.iter().filter(move |term| term.field == field);
        terms.filter_map(|term| parse_rfc3339(&term.value).ok())
    }
}

impl FieldTerm {
    fn matches(&self, object: &Value) -> bool {
        let slot = || parse_rfc3339(&read(object, "slot")).ok();
        let time = || parse_rfc3339(&self.value).ok();
        match self.field {
            SLOT_AFTER => slot().zip(time()).is_some_and(|(slot, time)| slot > time),
            SLOT_BEFORE => slot().zip(time()).is_some_and(|(slot, time)| slot < time),
            field => (read(object, field) == self.value) == self.is_equal,
        }
    }
}

/// Rejects values that no slot record can have, because a typing error would select nothing.
fn check_record_term(term: &FieldTerm) -> Result<(), SelectorError> {
    let FieldTerm { field, is_equal, value } = term;
    let error = |expected: &str| {
        Err(SelectorError(format!("invalid field selector: {field}: {expected}, not {value:?}")))
    };
    match *field {
        SLOT_AFTER | SLOT_BEFORE if !is_equal => error("only = is supported"),
        SLOT_AFTER | SLOT_BEFORE if parse_rfc3339(value).is_err() => {
            error("expected a time such as 2026-01-31T08:00:00Z")
        }
        "decision" if SlotDecision::parse(value).is_none() => {
            error("expected Started, Skipped or Missed")
        }
        "result" if !value.is_empty() && RunResult::parse(value).is_none() => {
            error("expected Running, Succeeded, Failed, Replaced, Deleted, Unknown or nothing")
        }
        _ => Ok(()),
    }
}

/// Returns the stored name of a selectable field.
fn find_selectable(label: &str, served: &ServedResource) -> Result<&'static str, SelectorError> {
    let kind = served.resource.kind;
    let stored = stored_name(label);
    let is_selectable_name = |name: &&&str| **name == stored;
    match (stored.as_str(), selectable(kind)) {
        (NAME, _) => Ok(NAME),
        (NAMESPACE, _) if served.resource.is_namespaced => Ok(NAMESPACE),
        (_, None) => Err(SelectorError(format!(
            "\"{label}\" is not a known field selector: only \"{NAME}\", \"{NAMESPACE}\""
        ))),
        (_, Some(fields)) => fields.iter().find(is_selectable_name).copied().ok_or_else(|| {
            SelectorError(match kind {
                "Job" => format!("field label \"{label}\" not supported for Job"),
                _ => format!("field label not supported: {label}"),
            })
        }),
    }
}

/// Returns a field as text. Absent fields have Go's zero value.
fn read(object: &Value, field: &str) -> String {
    // Events are selected by `source.component`, Jobs by their count of succeeded Pods.
    let path = match field {
        "source" => "source.component",
        "status.successful" => "status.succeeded",
        other => other,
    };
    let value = path.split('.').try_fold(object, |value, key| value.get(key));
    match (value, field) {
        (Some(Value::String(text)), _) => text.clone(),
        (Some(Value::Number(number)), _) => number.to_string(),
        (Some(Value::Bool(truth)), _) => truth.to_string(),
        (_, "spec.hostNetwork" | "spec.unschedulable") => "false".to_owned(),
        (_, "status.successful") => "0".to_owned(),
        _ => String::new(),
    }
}

/// Splits a selector at commas that are not escaped by a backslash.
fn split_terms(text: &str) -> impl Iterator<Item = &str> {
    let mut is_escaped = false;
    text.split(move |c| {
        let ends = c == ',' && !is_escaped;
        is_escaped = c == '\\' && !is_escaped;
        ends
    })
}

/// Splits a term into field, whether the operator is equality, and value.
fn split_term(term: &str) -> Option<(&str, bool, &str)> {
    let at = term.find(['=', '!']).filter(|at| {
        let rest = term.get(*at..).unwrap_or_default();
        rest.starts_with('=') || rest.starts_with("!=")
    })?;
    let (label, rest) = term.split_at_checked(at)?;
    if let Some(value) = rest.strip_prefix("!=") {
        return Some((label, false, value));
    }
    let value = rest.strip_prefix("==").or_else(|| rest.strip_prefix('='))?;
    Some((label, true, value))
}

/// Removes backslash escapes.
fn unescape(value: &str) -> Result<String, SelectorError> {
    let invalid = |why: String| SelectorError(format!("invalid field selector: {why}"));
    let mut plain = String::with_capacity(value.len());
    let mut chars = value.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some(escaped @ ('\\' | ',' | '=')) => plain.push(escaped),
                Some(other) => return Err(invalid(format!("invalid escape sequence: \\{other}"))),
                None => return Err(invalid("invalid escape sequence: \\".to_owned())),
            },
            ',' | '=' => return Err(invalid(format!("unescaped character in value: {c}"))),
            _ => plain.push(c),
        }
    }
    Ok(plain)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::resource::{CRON_JOBS, EVENT_RESOURCE, PODS, Resource};

    fn served(resource: &'static Resource) -> ServedResource {
        ServedResource { resource, group_version: resource.group_versions[0] }
    }

    #[test]
    fn only_selectable_fields_of_a_kind_are_accepted() {
        let pod =
            json!({"metadata": {"name": "p", "namespace": "n"}, "status": {"phase": "Running"}});
        let matches =
            |text: &str| FieldSelector::parse(text, &served(&PODS)).unwrap().matches(&pod);
        for yes in [
            "",
            "metadata.name=p",
            "status.phase!=Failed",
            "spec.nodeName=",
            "spec.hostNetwork=false,metadata.namespace==n",
        ] {
            assert!(matches(yes), "{yes}");
        }
        for no in ["metadata.name=q", "status.phase!=Running", "spec.nodeName=x"] {
            assert!(!matches(no), "{no}");
        }
        let error = FieldSelector::parse("spec.schedule=x", &served(&CRON_JOBS)).unwrap_err();
        assert!(error.0.ends_with("only \"metadata.name\", \"metadata.namespace\""), "{error}");
        let error = FieldSelector::parse("message=m", &served(&EVENT_RESOURCE)).unwrap_err();
        assert_eq!(error.0, "field label not supported: message");
    }

    #[test]
    fn commas_and_backslashes_can_be_escaped() {
        let parsed = FieldSelector::parse(r"metadata.name=a\,b\\", &served(&PODS)).unwrap();
        assert_eq!(parsed.required_value(NAME), Some(r"a,b\"));
        for bad in ["metadata.name", r"metadata.name=a\b", "metadata.name=a=b", "metadata.name=a\\"]
        {
            assert!(FieldSelector::parse(bad, &served(&PODS)).is_err(), "{bad}");
        }
    }
}
