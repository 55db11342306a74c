//! Suggests corrections of common mistakes in manifests. They are printed after Kubernetes' error message.

use punctual_schedule::{Schedule, Zones};
use serde_json::Value;

use super::checked_document::FieldProblem;

/// Returns the correction, if the problem is a common mistake.
pub(super) fn suggest(problem: &FieldProblem, object: &Value, zones: &Zones) -> Option<String> {
    let spec = object.get("spec");
    let text = |key: &str| spec?.get(key)?.as_str();
    match problem.field.as_str() {
        "spec.schedule" => match text("schedule") {
            Some(schedule) => Schedule::suggest(schedule, &zones.utc()),
            None => spec?.get("schedule").map(|_| "write the schedule in quotes".into()),
        },
        "spec.timeZone" => {
            let similar = zones.similar_name(text("timeZone")?)?;
            Some(format!("did you mean {similar}?"))
        }
        field => {
            let key = field.rsplit('.').next().filter(|key| matches!(*key, "command" | "args"))?;
            let found = find_text(object, key)?;
            let words: Vec<&str> = found.split_whitespace().collect();
            let list = serde_json::to_string(&words).ok()?;
            Some(format!("{key} is a list of words; write {key}: {list}"))
        }
    }
}

/// Finds the first string under a key, at any depth.
fn find_text<'a>(value: &'a Value, key: &str) -> Option<&'a str> {
    match value {
        Value::Object(fields) => match fields.get(key) {
            Some(Value::String(text)) => Some(text),
            _ => fields.values().find_map(|field| find_text(field, key)),
        },
        Value::Array(items) => items.iter().find_map(|item| find_text(item, key)),
        _ => None,
    }
}
