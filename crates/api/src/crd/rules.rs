//! Rules of the CustomResourceDefinition that the schema tables do not express, such as patterns
//! and limits. They are schema fragments by struct, read from `crd/*_rules.yaml` and merged into
//! the generated schema.

use serde_json::{Map, Value};

use crate::json_tree::SizeBudget;
use crate::yaml;

const SOURCES: [&str; 3] = [
    include_str!("job_rules.yaml"),
    include_str!("pod_rules.yaml"),
    include_str!("run_request_rules.yaml"),
];

/// Schema fragments by struct name.
pub(super) struct SchemaRules(Map<String, Value>);

impl SchemaRules {
    /// Reads the files. A test checks them.
    pub(super) fn read() -> SchemaRules {
        let mut fragments = Map::new();
        for source in SOURCES {
            let parsed = yaml::parse_document(source, 0, &mut SizeBudget::default());
            if let Ok((Value::Object(parsed), _)) = parsed {
                fragments.extend(parsed);
            }
        }
        SchemaRules(fragments)
    }

    /// Adds a fragment for a struct.
    pub(super) fn add(&mut self, name: &str, fragment: Value) {
        match self.0.get_mut(name).and_then(Value::as_object_mut) {
            Some(existing) => merge(existing, &fragment),
            None => _ = self.0.insert(name.to_owned(), fragment),
        }
    }

    /// Returns the fragment for a struct.
    pub(super) fn for_struct(&self, name: &str) -> &Value {
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
