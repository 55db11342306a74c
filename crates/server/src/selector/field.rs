//! Field selectors: `metadata.name=a,status.phase!=Running`, for the fields a kind can be selected by.

use serde_json::Value;

use crate::resource::View;

/// Terms that all hold of what is selected.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct FieldSelector {
    terms: Vec<Term>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Term {
    /// As the stored object has it.
    field: &'static str,
    is_equal: bool,
    value: String,
}

const NAME: &str = "metadata.name";
const NAMESPACE: &str = "metadata.namespace";

/// Fields by which a kind can be selected besides name and namespace.
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
        _ => return None,
    })
}

/// The name that a field of an `events.k8s.io` event is stored under.
fn stored_name(label: &str) -> String {
    match label.strip_prefix("regarding.") {
        Some(rest) => format!("involvedObject.{rest}"),
        None if label == "reportingController" => "reportingComponent".to_owned(),
        None => label.to_owned(),
    }
}

impl FieldSelector {
    /// Reads a selector; empty selects everything.
    pub(crate) fn parse(text: &str, view: &View) -> Result<FieldSelector, String> {
        let mut terms = Vec::new();
        for part in split_terms(text).filter(|part| !part.is_empty()) {
            let (label, is_equal, value) = split_term(part)
                .ok_or_else(|| format!("invalid selector: '{text}'; can't understand '{part}'"))?;
            let field = known(label, view)?;
            terms.push(Term { field, is_equal, value: unescape(value)? });
        }
        Ok(FieldSelector { terms })
    }

    pub(crate) fn is_everything(&self) -> bool {
        self.terms.is_empty()
    }

    pub(crate) fn matches(&self, object: &Value) -> bool {
        self.terms.iter().all(|term| (read(object, term.field) == term.value) == term.is_equal)
    }

    /// The one value that a field must have.
    pub(crate) fn exact(&self, field: &str) -> Option<&str> {
        let term = self.terms.iter().find(|term| term.field == field && term.is_equal)?;
        Some(&term.value)
    }
}

fn known(label: &str, view: &View) -> Result<&'static str, String> {
    let kind = view.resource.kind;
    let stored = stored_name(label);
    let is_selectable_name = |name: &&&str| **name == stored;
    match (stored.as_str(), selectable(kind)) {
        (NAME, _) => Ok(NAME),
        (NAMESPACE, _) if view.resource.is_namespaced => Ok(NAMESPACE),
        (_, None) => Err(format!(
            "\"{label}\" is not a known field selector: only \"{NAME}\", \"{NAMESPACE}\""
        )),
        (_, Some(fields)) => {
            fields.iter().find(is_selectable_name).copied().ok_or_else(|| match kind {
                "Job" => format!("field label \"{label}\" not supported for Job"),
                _ => format!("field label not supported: {label}"),
            })
        }
    }
}

/// The value of a field as text; what is absent is empty, as in Go.
fn read(object: &Value, field: &str) -> String {
    // An event's source is selected by its component, a Job's success by its counter.
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

/// Parts between commas that no backslash escapes.
fn split_terms(text: &str) -> impl Iterator<Item = &str> {
    let mut is_escaped = false;
    text.split(move |c| {
        let ends = c == ',' && !is_escaped;
        is_escaped = c == '\\' && !is_escaped;
        ends
    })
}

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

fn unescape(value: &str) -> Result<String, String> {
    let mut plain = String::with_capacity(value.len());
    let mut chars = value.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some(escaped @ ('\\' | ',' | '=')) => plain.push(escaped),
                Some(other) => {
                    return Err(format!(
                        "invalid field selector: invalid escape sequence: \\{other}"
                    ));
                }
                None => {
                    return Err("invalid field selector: invalid escape sequence: \\".to_owned());
                }
            },
            ',' | '=' => {
                return Err(format!("invalid field selector: unescaped character in value: {c}"));
            }
            _ => plain.push(c),
        }
    }
    Ok(plain)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::resource::{CRON_JOBS, EVENT_LOG, PODS, Resource};

    fn view(resource: &'static Resource) -> View {
        View { resource, served: resource.served[0] }
    }

    #[test]
    fn a_kind_is_selected_by_its_fields_and_by_no_others() {
        let pod =
            json!({"metadata": {"name": "p", "namespace": "n"}, "status": {"phase": "Running"}});
        let matches = |text: &str| FieldSelector::parse(text, &view(&PODS)).unwrap().matches(&pod);
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
        let refused = FieldSelector::parse("spec.schedule=x", &view(&CRON_JOBS)).unwrap_err();
        assert!(refused.ends_with("only \"metadata.name\", \"metadata.namespace\""), "{refused}");
        let refused = FieldSelector::parse("message=m", &view(&EVENT_LOG)).unwrap_err();
        assert_eq!(refused, "field label not supported: message");
    }

    #[test]
    fn commas_and_backslashes_can_be_escaped() {
        let parsed = FieldSelector::parse(r"metadata.name=a\,b\\", &view(&PODS)).unwrap();
        assert_eq!(parsed.exact(NAME), Some(r"a,b\"));
        for bad in ["metadata.name", r"metadata.name=a\b", "metadata.name=a=b", "metadata.name=a\\"]
        {
            assert!(FieldSelector::parse(bad, &view(&PODS)).is_err(), "{bad}");
        }
    }
}
