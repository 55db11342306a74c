//! Schema fragments with rules beyond the types, merged into the schemas of the tables.

use serde_json::{Map, Value};

use crate::json_tree::SizeBudget;
use crate::yaml;

const SOURCE: &str = include_str!("rules.yaml");

/// Schema fragments by struct name.
pub(super) struct Rules(Map<String, Value>);

impl Rules {
    /// Reads `rules.yaml`. A test checks the file.
    pub(super) fn read() -> Rules {
        match yaml::parse_document(SOURCE, 0, &mut SizeBudget::default()) {
            Ok((Value::Object(parts), _)) => Rules(parts),
            _ => Rules(Map::new()),
        }
    }

    /// Adds a fragment for a struct.
    pub(super) fn add(&mut self, name: &str, part: Value) {
        match (self.0.get_mut(name).and_then(Value::as_object_mut), part) {
            (Some(known), part) => merge(known, &part),
            (None, part) => _ = self.0.insert(name.to_owned(), part),
        }
    }

    /// Returns the fragment for a struct.
    pub(super) fn of(&self, name: &str) -> &Value {
        self.0.get(name).unwrap_or(&Value::Null)
    }

    /// Returns the names of the structs.
    #[cfg(test)]
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }
}

/// Merges a fragment into a schema: merges objects, joins lists and replaces other values.
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
