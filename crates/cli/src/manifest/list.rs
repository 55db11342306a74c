//! Expands lists: a `v1` List, or a list of one kind such as a CronJobList.

use std::collections::HashMap;

use serde_json::Value;

use super::{Document, ReadError, ReadResult};

/// Returns the items of a list, or the document itself if it is not a list.
pub(super) fn expand(mut document: Document) -> Vec<ReadResult> {
    let Some(items) = take_items(&mut document.value) else {
        return vec![Ok(document)];
    };
    let mut duplicates = DuplicateFields::new(std::mem::take(&mut document.duplicates));
    let inherited = InheritedFields::new(&document.value);
    let location = document.location;
    let own = duplicates.own.drain(..).map(|path| {
        Err(ReadError {
            location: location.clone(),
            message: format!("duplicate field \"{path}\""),
        })
    });
    let mut found: Vec<ReadResult> = own.collect();
    for (index, mut value) in items.into_iter().enumerate() {
        inherited.fill_in(&mut value);
        let mut location = location.clone();
        location.item = Some(index + 1);
        let duplicates = duplicates.of_items.remove(&index).unwrap_or_default();
        found.push(Ok(Document { location, value, duplicates }));
    }
    found
}

fn take_items(value: &mut Value) -> Option<Vec<Value>> {
    let is_list = value.get("kind")?.as_str()?.ends_with("List");
    match value.get_mut("items")?.take() {
        Value::Array(items) if is_list => Some(items),
        other => {
            *value.get_mut("items")? = other;
            None
        }
    }
}

/// The `kind` and `apiVersion` that items of a list of one kind may omit.
struct InheritedFields {
    fields: Vec<(&'static str, Value)>,
}

impl InheritedFields {
    fn new(list: &Value) -> InheritedFields {
        let text = |key: &str| list.get(key).and_then(Value::as_str).unwrap_or_default();
        let fields = match text("kind").strip_suffix("List") {
            None | Some("") => Vec::new(),
            Some(kind) => vec![("kind", kind.into()), ("apiVersion", text("apiVersion").into())],
        };
        InheritedFields { fields }
    }

    fn fill_in(&self, item: &mut Value) {
        if let Value::Object(item) = item {
            for (name, value) in &self.fields {
                item.entry(*name).or_insert_with(|| value.clone());
            }
        }
    }
}

/// The paths of duplicate fields, by the list item that contains them.
#[derive(Default)]
struct DuplicateFields {
    of_items: HashMap<usize, Vec<String>>,
    /// The duplicates outside of the items.
    own: Vec<String>,
}

impl DuplicateFields {
    fn new(paths: Vec<String>) -> DuplicateFields {
        let mut duplicates = DuplicateFields::default();
        for path in paths {
            match split_item_path(&path) {
                Some((index, rest)) => {
                    duplicates.of_items.entry(index).or_default().push(rest.into());
                }
                None => duplicates.own.push(path),
            }
        }
        duplicates
    }
}

/// Splits `items[3].spec.schedule` into 3 and `spec.schedule`.
fn split_item_path(path: &str) -> Option<(usize, &str)> {
    let (index, rest) = path.strip_prefix("items[")?.split_once("].")?;
    Some((index.parse().ok()?, rest))
}
