//! A configuration merged into an object, part by part as the tables divide it.

use std::collections::HashMap;

use punctual_api::schema::StructSchema;
use serde_json::{Map, Value};

use crate::patch::granularity::Granularity;

/// The object with everything that the configuration says.
pub(super) fn merge(object: Value, config: &Value, schema: &'static StructSchema) -> Value {
    combined(object, config, Granularity::Fields(schema))
}

fn combined(live: Value, config: &Value, granularity: Granularity) -> Value {
    match (live, config) {
        (live, Value::Null) if holds_parts(&live, granularity) => live,
        (Value::Object(live), Value::Object(config)) if is_divided(granularity) => {
            Value::Object(combined_parts(live, config, granularity))
        }
        (Value::Array(live), Value::Array(config)) if is_list(granularity) => {
            if live.is_empty() {
                return Value::Array(config.clone());
            }
            Value::Array(combined_items(live, config, granularity))
        }
        (_, config) => config.clone(),
    }
}

fn is_divided(granularity: Granularity) -> bool {
    matches!(granularity, Granularity::Fields(_) | Granularity::Entries(_))
}

fn is_list(granularity: Granularity) -> bool {
    matches!(granularity, Granularity::Values | Granularity::Keyed(..))
}

/// Whether a null says nothing about a value, because it says nothing about any of its parts.
fn holds_parts(live: &Value, granularity: Granularity) -> bool {
    match live {
        Value::Object(fields) => is_divided(granularity) && !fields.is_empty(),
        Value::Array(items) => is_list(granularity) && !items.is_empty(),
        _ => false,
    }
}

fn combined_parts(
    mut live: Map<String, Value>,
    config: &Map<String, Value>,
    granularity: Granularity,
) -> Map<String, Value> {
    for (name, wanted) in config {
        let merged = match live.get_mut(name) {
            Some(present) => combined(present.take(), wanted, granularity.below(name)),
            None => wanted.clone(),
        };
        live.insert(name.clone(), merged);
    }
    live
}

/// Applied items in the order of the configuration, with the others where they were.
///
/// Items of the object that are not applied keep their place before the applied item that followed
/// them. Applied items that the object has in another order move.
fn combined_items(live: Vec<Value>, config: &[Value], granularity: Granularity) -> Vec<Value> {
    let mut present: HashMap<String, Option<Value>> = HashMap::new();
    let mut others: Vec<(Option<String>, Value)> = Vec::new();
    let wanted: Vec<_> = config.iter().map(|item| (granularity.element(item), item)).collect();
    let applied: std::collections::HashSet<_> =
        wanted.iter().filter_map(|(element, _)| element.clone()).collect();
    for item in live {
        match granularity.element(&item).filter(|element| applied.contains(element)) {
            None => others.push((None, item)),
            Some(element) => {
                // Items that cannot be told apart are not merged but replaced.
                let is_repeated = present.contains_key(&element);
                present.insert(element.clone(), (!is_repeated).then_some(item));
                others.push((Some(element), Value::Null));
            }
        }
    }
    Weave { present, granularity }.woven(others, wanted)
}

/// The items that are both in the object and applied, while the two lists are woven together.
struct Weave {
    present: HashMap<String, Option<Value>>,
    granularity: Granularity,
}

impl Weave {
    fn woven(
        mut self,
        live: Vec<(Option<String>, Value)>,
        wanted: Vec<(Option<String>, &Value)>,
    ) -> Vec<Value> {
        let mut woven = Vec::with_capacity(live.len() + wanted.len());
        let mut wanted = wanted.into_iter().peekable();
        let shared: Vec<_> = wanted
            .clone()
            .filter_map(|(element, _)| element.filter(|element| self.present.contains_key(element)))
            .collect();
        let mut shared = shared.into_iter().peekable();
        for (element, item) in live {
            let Some(element) = element else {
                woven.push(item);
                continue;
            };
            // One that is not next in the configuration comes when its turn is there.
            if shared.next_if_eq(&element).is_none() {
                continue;
            }
            for (next, item) in wanted.by_ref() {
                let is_it = next.as_ref() == Some(&element);
                woven.push(self.merged(next, item));
                if is_it {
                    break;
                }
            }
        }
        woven.extend(wanted.map(|(element, item)| self.merged(element, item)));
        woven
    }

    fn merged(&mut self, element: Option<String>, item: &Value) -> Value {
        let live = element.and_then(|element| self.present.remove(&element).flatten());
        live.map_or_else(|| item.clone(), |live| combined(live, item, self.granularity.item()))
    }
}
