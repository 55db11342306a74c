//! Lists of objects, opened up: a `v1` List, or a list of one kind such as a CronJobList.

use std::collections::HashMap;

use serde_json::Value;

use super::{Document, Read, Unreadable};

/// The items of a list, or the document itself.
pub(super) fn opened(mut document: Document) -> Vec<Read> {
    let Some(items) = take_items(&mut document.value) else {
        return vec![Ok(document)];
    };
    let mut duplicates = Duplicates::of(std::mem::take(&mut document.duplicates));
    let inherited = Inherited::of(&document.value);
    let place = document.place;
    let own = duplicates.own.drain(..).map(|path| {
        Err(Unreadable { place: place.clone(), why: format!("duplicate field \"{path}\"") })
    });
    let mut found: Vec<Read> = own.collect();
    for (index, mut value) in items.into_iter().enumerate() {
        inherited.fill_in(&mut value);
        let mut place = place.clone();
        place.item = Some(index + 1);
        let duplicates = duplicates.of_items.remove(&index).unwrap_or_default();
        found.push(Ok(Document { place, value, duplicates }));
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

/// What the items of a list of one kind may leave out.
struct Inherited {
    fields: Vec<(&'static str, Value)>,
}

impl Inherited {
    fn of(list: &Value) -> Inherited {
        let text = |key: &str| list.get(key).and_then(Value::as_str).unwrap_or_default();
        let fields = match text("kind").strip_suffix("List") {
            None | Some("") => Vec::new(),
            Some(kind) => vec![("kind", kind.into()), ("apiVersion", text("apiVersion").into())],
        };
        Inherited { fields }
    }

    fn fill_in(&self, item: &mut Value) {
        if let Value::Object(item) = item {
            for (name, value) in &self.fields {
                item.entry(*name).or_insert_with(|| value.clone());
            }
        }
    }
}

/// The paths of fields given twice, each with the item that it belongs to.
#[derive(Default)]
struct Duplicates {
    of_items: HashMap<usize, Vec<String>>,
    own: Vec<String>,
}

impl Duplicates {
    fn of(paths: Vec<String>) -> Duplicates {
        let mut duplicates = Duplicates::default();
        for path in paths {
            match in_item(&path) {
                Some((index, rest)) => {
                    duplicates.of_items.entry(index).or_default().push(rest.into());
                }
                None => duplicates.own.push(path),
            }
        }
        duplicates
    }
}

/// `items[3].spec.schedule` is `spec.schedule` of item 3.
fn in_item(path: &str) -> Option<(usize, &str)> {
    let (index, rest) = path.strip_prefix("items[")?.split_once("].")?;
    Some((index.parse().ok()?, rest))
}
