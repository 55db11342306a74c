//! Lists the fields of an object, and the fields in which two versions of it differ, as sets for
//! `managedFields`.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use punctual_api::schema::{FieldSchema, FieldType, StructSchema};
use serde_json::Value;

use super::fields::{self, FieldNode, FieldSet};
use super::granularity::{Granularity, is_empty_value};

/// The differences between an object and an older version of it.
#[derive(Debug, Default, PartialEq)]
pub(super) struct FieldChanges {
    /// Fields that are new or have another value.
    pub(super) set: FieldSet,
    /// Fields that were removed.
    pub(super) removed: FieldSet,
}

/// Compares two versions of an object. Without an old one all fields are new, except for those that
/// every object of the type has.
pub(super) fn compare_objects(
    old: Option<&Value>,
    new: &Value,
    schema: &'static StructSchema,
) -> FieldChanges {
    let old = old.unwrap_or(&Value::Null);
    let difference = compare(Some(old), Some(new), Granularity::Fields(schema));
    FieldChanges { set: difference.set.children, removed: difference.removed.children }
}

/// The differences between two values.
#[derive(Default)]
struct ValueDiff {
    set: FieldNode,
    removed: FieldNode,
}

fn compare(old: Option<&Value>, new: Option<&Value>, granularity: Granularity) -> ValueDiff {
    if is_leaf(old, new, granularity) {
        return compare_leaf(old, new);
    }
    let mut difference = ValueDiff::default();
    match granularity {
        Granularity::Values | Granularity::Keyed(..) => {
            compare_items(old, new, granularity, &mut difference)
        }
        _ => compare_parts(old, new, granularity, &mut difference),
    }
    difference.set.is_member = old.is_none();
    difference.removed.is_member = new.is_none();
    difference
}

/// Whether two values are compared as a whole. Empty values are, so that an empty object can be
/// owned.
fn is_leaf(old: Option<&Value>, new: Option<&Value>, granularity: Granularity) -> bool {
    let is_divisible = |value: &Value| {
        value.is_null()
            || granularity.parts(Some(value)).is_some()
            || granularity.items(Some(value)).is_some()
    };
    let values = || [old, new].into_iter().flatten();
    values().all(is_empty_value) || !values().all(is_divisible)
}

fn compare_leaf(old: Option<&Value>, new: Option<&Value>) -> ValueDiff {
    let mut difference = ValueDiff::default();
    match (old, new) {
        (Some(old), Some(new)) => difference.set.is_member = !is_same(old, new),
        (None, _) => difference.set.is_member = true,
        (_, None) => difference.removed.is_member = true,
    }
    difference
}

fn compare_parts(
    old: Option<&Value>,
    new: Option<&Value>,
    granularity: Granularity,
    difference: &mut ValueDiff,
) {
    let olds = granularity.parts(old);
    let news = granularity.parts(new);
    let names = news.into_iter().flat_map(|parts| parts.keys());
    let removed = olds.into_iter().flat_map(|parts| parts.keys());
    let removed = removed.filter(|name| news.is_none_or(|parts| !parts.contains_key(*name)));
    for name in names.chain(removed) {
        // Fields that Go always writes exist even if the JSON does not contain them.
        let implied = |side: Option<&Value>| side.and(implied_value(granularity, name));
        let before = olds.and_then(|parts| parts.get(name)).or_else(|| implied(old));
        let after = news.and_then(|parts| parts.get(name)).or_else(|| implied(new));
        let ValueDiff { set, removed } = compare(before, after, granularity.child(name));
        fields::insert_node(&mut difference.set.children, || fields::field_element(name), set);
        fields::insert_node(
            &mut difference.removed.children,
            || fields::field_element(name),
            removed,
        );
    }
}

/// Returns the value of an absent field that Go always writes.
fn implied_value(granularity: Granularity, name: &str) -> Option<&'static Value> {
    static ZERO: LazyLock<Value> = LazyLock::new(|| Value::from(0));
    static EMPTY: Value = Value::String(String::new());
    static FALSE: Value = Value::Bool(false);
    static NULL: Value = Value::Null;
    let Granularity::Fields(schema) = granularity else { return None };
    let field: &FieldSchema = schema.field(name)?;
    if field.is_pointer || field.is_omitted_if_zero {
        return None;
    }
    match &field.ty {
        FieldType::Struct(_) | FieldType::Time | FieldType::MicroTime => Some(&NULL),
        _ if !field.is_always_written => None,
        FieldType::Text(_) => Some(&EMPTY),
        FieldType::Bool => Some(&FALSE),
        FieldType::Int32 | FieldType::Int64 => Some(&ZERO),
        _ => Some(&NULL),
    }
}

/// The old and new items with the same key.
type ItemPair<'a> = (Vec<&'a Value>, Vec<&'a Value>);

fn compare_items(
    old: Option<&Value>,
    new: Option<&Value>,
    granularity: Granularity,
    difference: &mut ValueDiff,
) {
    let mut pairs: BTreeMap<String, ItemPair<'_>> = BTreeMap::new();
    for item in granularity.items(old).into_iter().flatten() {
        if let Some(element) = granularity.element(item) {
            pairs.entry(element).or_default().0.push(item);
        }
    }
    for item in granularity.items(new).into_iter().flatten() {
        if let Some(element) = granularity.element(item) {
            pairs.entry(element).or_default().1.push(item);
        }
    }
    for (element, (olds, news)) in pairs {
        let ValueDiff { set, removed } = compare_pair(&olds, &news, granularity.item());
        fields::insert_node(&mut difference.set.children, || element.clone(), set);
        fields::insert_node(&mut difference.removed.children, || element, removed);
    }
}

/// Compares the items with one key. Several items with the same key are compared as a whole, since
/// they cannot be distinguished.
fn compare_pair(olds: &[&Value], news: &[&Value], granularity: Granularity) -> ValueDiff {
    match (olds, news) {
        ([] | [_], [] | [_]) => compare(olds.first().copied(), news.first().copied(), granularity),
        ([_, _, ..], [_, _, ..]) => {
            let is_same = olds.len() == news.len() && olds.iter().zip(news).all(|(a, b)| a == b);
            ValueDiff {
                set: FieldNode { is_member: !is_same, ..FieldNode::default() },
                ..Default::default()
            }
        }
        ([_, _, ..], _) => {
            let set = news
                .first()
                .map_or_else(FieldNode::default, |new| compare(None, Some(new), granularity).set);
            ValueDiff { set, removed: FieldNode::member() }
        }
        _ => {
            let removed = olds.first().map_or_else(FieldNode::default, |old| {
                compare(Some(old), None, granularity).removed
            });
            ValueDiff { set: FieldNode::member(), removed }
        }
    }
}

/// Whether two values are equal. 1 equals 1.0, and an absent struct equals an empty one.
fn is_same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) if a.is_f64() || b.is_f64() => {
            a.as_f64() == b.as_f64()
        }
        (Value::Null, Value::Object(fields)) | (Value::Object(fields), Value::Null) => {
            fields.is_empty()
        }
        _ => a == b,
    }
}

/// Returns the fields of a configuration, which applying it owns.
pub(super) fn collect_fields(config: &Value, schema: &'static StructSchema) -> FieldSet {
    collect(config, Granularity::Fields(schema)).children
}

fn collect(value: &Value, granularity: Granularity) -> FieldNode {
    if let Some(parts) = granularity.parts(Some(value)) {
        let mut node = FieldNode::default();
        for (name, part) in parts {
            let mut found = collect(part, granularity.child(name));
            let is_empty_object = part.as_object().is_some_and(|fields| fields.is_empty());
            found.is_member |= part.is_null() || is_empty_object || !granularity.is_declared(name);
            fields::insert_node(&mut node.children, || fields::field_element(name), found);
        }
        return node;
    }
    match granularity.items(Some(value)) {
        Some(items) => collect_items(items, granularity),
        None if value.is_null() => FieldNode::default(),
        None => FieldNode::member(),
    }
}

fn collect_items(items: &[Value], granularity: Granularity) -> FieldNode {
    let mut node = FieldNode::default();
    for item in items {
        let Some(element) = granularity.element(item) else { continue };
        let is_repeated = node.children.contains_key(&element);
        let children =
            if is_repeated { FieldSet::new() } else { collect(item, granularity.item()).children };
        fields::insert_node(
            &mut node.children,
            || element,
            FieldNode { is_member: true, children },
        );
    }
    node
}

#[cfg(test)]
mod tests;
