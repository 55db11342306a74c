//! Label selectors in one line, as `metav1.FormatLabelSelector` formats them.

use punctual_api::names;
use serde_json::Value;

use super::row::{NONE, items, text};

/// The key of a requirement, by which requirements are sorted, and its text.
type FormattedRequirement<'a> = (&'a str, String);

/// Formats a selector.
pub(super) fn format(selector: Option<&Value>) -> String {
    let Some(selector) = selector else { return NONE.to_owned() };
    let Some(mut requirements) = requirements(selector) else { return "<error>".to_owned() };
    requirements.sort_by_key(|(key, _)| *key);
    let texts: Vec<_> = requirements.into_iter().map(|(_, text)| text).collect();
    if texts.is_empty() { NONE.to_owned() } else { texts.join(",") }
}

/// Formats the requirements of a selector. Returns `None` if one is invalid.
fn requirements(selector: &Value) -> Option<Vec<FormattedRequirement<'_>>> {
    let labels = selector.get("matchLabels").and_then(Value::as_object);
    let equalities = labels.into_iter().flatten().map(|(key, value)| equality(key, value));
    let expressions = items(selector, "/matchExpressions").iter().map(expression);
    equalities.chain(expressions).collect()
}

fn equality<'a>(key: &'a str, value: &'a Value) -> Option<FormattedRequirement<'a>> {
    let value = value.as_str()?;
    is_label(key, &[value]).then(|| (key, format!("{key}={value}")))
}

fn expression(expression: &Value) -> Option<FormattedRequirement<'_>> {
    let key = text(expression, "/key");
    let mut values: Vec<_> =
        items(expression, "/values").iter().filter_map(Value::as_str).collect();
    values.sort_unstable();
    let text = match (text(expression, "/operator"), values.as_slice()) {
        ("In", [_, ..]) => format!("{key} in ({})", values.join(",")),
        ("NotIn", [_, ..]) => format!("{key} notin ({})", values.join(",")),
        ("Exists", []) => key.to_owned(),
        ("DoesNotExist", []) => format!("!{key}"),
        _ => return None,
    };
    is_label(key, &values).then_some((key, text))
}

fn is_label(key: &str, values: &[&str]) -> bool {
    names::check_qualified_name(key).is_empty()
        && values.iter().all(|value| names::check_label_value(value).is_empty())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn requirements_are_sorted_by_key() {
        let selector = json!({
            "matchLabels": { "z": "1", "b": "" },
            "matchExpressions": [
                { "key": "c", "operator": "In", "values": ["y", "x"] },
                { "key": "a", "operator": "DoesNotExist" },
                { "key": "d", "operator": "NotIn", "values": ["w"] },
                { "key": "e", "operator": "Exists" },
            ],
        });
        assert_eq!(format(Some(&selector)), "!a,b=,c in (x,y),d notin (w),e,z=1");
    }

    #[test]
    fn absent_and_empty_selectors_are_shown_as_none() {
        assert_eq!(format(None), "<none>");
        assert_eq!(format(Some(&json!({}))), "<none>");
        assert_eq!(format(Some(&Value::Null)), "<none>");
    }

    #[test]
    fn invalid_selectors_are_shown_as_errors() {
        for selector in [
            json!({ "matchLabels": { "-": "1" } }),
            json!({ "matchLabels": { "a": 1 } }),
            json!({ "matchExpressions": [{ "key": "a", "operator": "In", "values": [] }] }),
            json!({ "matchExpressions": [{ "key": "a", "operator": "Exists", "values": ["b"] }] }),
            json!({ "matchExpressions": [{ "key": "a", "operator": "Near" }] }),
        ] {
            assert_eq!(format(Some(&selector)), "<error>", "{selector}");
        }
    }
}
