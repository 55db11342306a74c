//! Merges the fields that a server-side apply sets into the stored object.

use std::collections::HashMap;

use punctual_api::schema::StructSchema;
use serde_json::{Map, Value};

use crate::patch::granularity::Granularity;

/// Returns the object with all fields of the configuration.
pub(super) fn merge(object: Value, config: &Value, schema: &'static StructSchema) -> Value {
    merge_value(object, config, Granularity::Fields(schema))
}

fn merge_value(live: Value, config: &Value, granularity: Granularity) -> Value {
    match (live, config) {
        (live, Value::Null) if has_parts(&live, granularity) => live,
        (Value::Object(live), Value::Object(config)) if is_map(granularity) => {
            Value::Object(merge_parts(live, config, granularity))
        }
        (Value::Array(live), Value::Array(config)) if is_list(granularity) => {
            if live.is_empty() {
                return Value::Array(config.clone());
            }
            Value::Array(merge_items(live, config, granularity))
        }
        (_, config) => config.clone(),
    }
}

fn is_map(granularity: Granularity) -> bool {
    matches!(granularity, Granularity::Fields(_) | Granularity::Entries(_))
}

fn is_list(granularity: Granularity) -> bool {
    matches!(granularity, Granularity::Values | Granularity::Keyed(..))
}

/// Whether a value has separately owned parts. A null in the configuration leaves such a value
/// unchanged.
fn has_parts(live: &Value, granularity: Granularity) -> bool {
    match live {
        Value::Object(fields) => is_map(granularity) && !fields.is_empty(),
        Value::Array(items) => is_list(granularity) && !items.is_empty(),
        _ => false,
    }
}

fn merge_parts(
    mut live: Map<String, Value>,
    config: &Map<String, Value>,
    granularity: Granularity,
) -> Map<String, Value> {
    for (name, wanted) in config {
        let merged = match live.get_mut(name) {
            Some(present) => merge_value(present.take(), wanted, granularity.child(name)),
            None => wanted.clone(),
        };
        live.insert(name.clone(), merged);
    }
    live
}

/// Merges lists. Applied items have the order of the configuration.
///
/// Other items of the object stay before the applied item that followed them. Applied items that
/// the object has in another order move.
fn merge_items(live: Vec<Value>, config: &[Value], granularity: Granularity) -> Vec<Value> {
    let mut present: HashMap<String, Option<Value>> = HashMap::new();
    let mut others: Vec<(Option<String>, Value)> = Vec::new();
    let wanted: Vec<_> = config.iter().map(|item| (granularity.element(item), item)).collect();
    let applied: std::collections::HashSet<_> =
        wanted.iter().filter_map(|(element, _)| element.clone()).collect();
    for item in live {
        match granularity.element(&item).filter(|element| applied.contains(element)) {
            None => others.push((None, item)),
            Some(element) => {
                // Items with the same key are replaced instead of merged.
                let is_repeated = present.contains_key(&element);
                present.insert(element.clone(), (!is_repeated).then_some(item));
                others.push((Some(element), Value::Null));
            }
        }
    }
    ItemMerger { present, granularity }.interleave(others, wanted)
}

/// The items that are both in the object and in the configuration.
struct ItemMerger {
    present: HashMap<String, Option<Value>>,
    granularity: Granularity,
}

impl ItemMerger {
    fn interleave(
        mut self,
        live: Vec<(Option<String>, Value)>,
        wanted: Vec<(Option<String>, &Value)>,
    ) -> Vec<Value> {
        let mut merged = Vec::with_capacity(live.len() + wanted.len());
        let mut wanted = wanted.into_iter().peekable();
        let shared: Vec<_> = wanted
            .clone()
            .filter_map(|(element, _)| element.filter(|element| self.present.contains_key(element)))
            .collect();
        let mut shared = shared.into_iter().peekable();
        for (element, item) in live {
            let Some(element) = element else {
                merged.push(item);
                continue;
            };
            // An item that is not next in the configuration is added at its position there.
            if shared.next_if_eq(&element).is_none() {
                continue;
            }
            for (next, item) in wanted.by_ref() {
                let is_wanted = next.as_ref() == Some(&element);
                merged.push(self.merge_item(next, item));
                if is_wanted {
                    break;
                }
            }
        }
        merged.extend(wanted.map(|(element, item)| self.merge_item(element, item)));
        merged
    }

    fn merge_item(&mut self, element: Option<String>, item: &Value) -> Value {
        let live = element.and_then(|element| self.present.remove(&element).flatten());
        live.map_or_else(|| item.clone(), |live| merge_value(live, item, self.granularity.item()))
    }
}
