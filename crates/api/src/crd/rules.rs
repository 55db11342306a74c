//! What holds beyond the types of fields, by struct: parts of schemas that are laid over those from
//! the tables.

use serde_json::{Map, Value};

use crate::json_tree::SizeBudget;
use crate::yaml;

const SOURCE: &str = include_str!("rules.yaml");

/// The parts, by the name of the struct.
pub(super) struct Rules(Map<String, Value>);

impl Rules {
    /// Those of `rules.yaml`. The file is ours, and a test reads it.
    pub(super) fn read() -> Rules {
        match yaml::parse_document(SOURCE, 0, &mut SizeBudget::default()) {
            Ok((Value::Object(parts), _)) => Rules(parts),
            _ => Rules(Map::new()),
        }
    }

    /// Adds a part for a struct.
    pub(super) fn add(&mut self, name: &str, part: Value) {
        match (self.0.get_mut(name).and_then(Value::as_object_mut), part) {
            (Some(known), part) => merge(known, &part),
            (None, part) => _ = self.0.insert(name.to_owned(), part),
        }
    }

    /// The part for a struct.
    pub(super) fn of(&self, name: &str) -> &Value {
        self.0.get(name).unwrap_or(&Value::Null)
    }

    /// The names of the structs.
    #[cfg(test)]
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }
}

/// Lays a part over a schema: objects are merged, lists are joined, and all else is replaced.
pub(super) fn merge(schema: &mut Map<String, Value>, part: &Value) {
    let Value::Object(part) = part else { return };
    for (key, value) in part {
        match (schema.get_mut(key), value) {
            (Some(Value::Object(below)), Value::Object(_)) => merge(below, value),
            (Some(Value::Array(items)), Value::Array(more)) => {
                let new = more.iter().filter(|item| !items.contains(item));
                let new: Vec<_> = new.cloned().collect();
                items.extend(new);
            }
            _ => _ = schema.insert(key.clone(), value.clone()),
        }
    }
}
