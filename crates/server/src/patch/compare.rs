//! Which fields are in a configuration, and which differ between two versions of an object.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use punctual_api::schema::{FieldSchema, FieldType, StructSchema};
use serde_json::Value;

use super::fields::{self, Fields, Node};
use super::granularity::{Granularity, is_hollow};

/// How an object differs from an older version of itself.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Changes {
    /// What is new or has another value.
    pub(super) set: Fields,
    /// What is gone.
    pub(super) gone: Fields,
}

/// Compares two versions of an object. Where there is no old one, everything is new, except for
/// what every object of the shape has.
pub(super) fn changes(old: Option<&Value>, new: &Value, shape: &'static StructSchema) -> Changes {
    let difference =
        compare(Some(old.unwrap_or(&Value::Null)), Some(new), Granularity::Fields(shape));
    Changes { set: difference.set.below, gone: difference.gone.below }
}

/// How one value differs from an older one.
#[derive(Default)]
struct Difference {
    set: Node,
    gone: Node,
}

fn compare(old: Option<&Value>, new: Option<&Value>, granularity: Granularity) -> Difference {
    if is_leaf(old, new, granularity) {
        return compare_leaf(old, new);
    }
    let mut difference = Difference::default();
    match granularity {
        Granularity::Values | Granularity::Keyed(..) => {
            compare_items(old, new, granularity, &mut difference)
        }
        _ => compare_parts(old, new, granularity, &mut difference),
    }
    difference.set.is_member = old.is_none();
    difference.gone.is_member = new.is_none();
    difference
}

/// Whether the values are to be compared as they are. Empty ones are, so that an empty object can
/// be owned.
fn is_leaf(old: Option<&Value>, new: Option<&Value>, granularity: Granularity) -> bool {
    let is_divisible = |value: &Value| {
        value.is_null()
            || granularity.parts(Some(value)).is_some()
            || granularity.items(Some(value)).is_some()
    };
    let values = || [old, new].into_iter().flatten();
    values().all(is_hollow) || !values().all(is_divisible)
}

fn compare_leaf(old: Option<&Value>, new: Option<&Value>) -> Difference {
    let mut difference = Difference::default();
    match (old, new) {
        (Some(old), Some(new)) => difference.set.is_member = !is_same(old, new),
        (None, _) => difference.set.is_member = true,
        (_, None) => difference.gone.is_member = true,
    }
    difference
}

fn compare_parts(
    old: Option<&Value>,
    new: Option<&Value>,
    granularity: Granularity,
    difference: &mut Difference,
) {
    let (olds, news) = (granularity.parts(old), granularity.parts(new));
    let names = news.into_iter().flat_map(|parts| parts.keys());
    let lost = olds.into_iter().flat_map(|parts| parts.keys());
    let lost = lost.filter(|name| news.is_none_or(|parts| !parts.contains_key(*name)));
    for name in names.chain(lost) {
        // What every struct has is there even if it is not written.
        let implied = |side: Option<&Value>| side.and(implied(granularity, name));
        let before = olds.and_then(|parts| parts.get(name)).or_else(|| implied(old));
        let after = news.and_then(|parts| parts.get(name)).or_else(|| implied(new));
        let Difference { set, gone } = compare(before, after, granularity.below(name));
        fields::put(&mut difference.set.below, || fields::named(name), set);
        fields::put(&mut difference.gone.below, || fields::named(name), gone);
    }
}

/// What a field is where it is not written, if Go writes it always.
fn implied(granularity: Granularity, name: &str) -> Option<&'static Value> {
    static ZERO: LazyLock<Value> = LazyLock::new(|| Value::from(0));
    static EMPTY: Value = Value::String(String::new());
    static FALSE: Value = Value::Bool(false);
    static NULL: Value = Value::Null;
    let Granularity::Fields(shape) = granularity else { return None };
    let field: &FieldSchema = shape.field(name)?;
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

/// The items with the same identity, before and after.
type Pair<'a> = (Vec<&'a Value>, Vec<&'a Value>);

fn compare_items(
    old: Option<&Value>,
    new: Option<&Value>,
    granularity: Granularity,
    difference: &mut Difference,
) {
    let mut pairs: BTreeMap<String, Pair<'_>> = BTreeMap::new();
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
        let Difference { set, gone } = compare_pair(&olds, &news, granularity.item());
        fields::put(&mut difference.set.below, || element.clone(), set);
        fields::put(&mut difference.gone.below, || element, gone);
    }
}

/// Compares the items with one identity. Where it is shared by several they are one, since it
/// cannot be said who owns which.
fn compare_pair(olds: &[&Value], news: &[&Value], granularity: Granularity) -> Difference {
    match (olds, news) {
        ([] | [_], [] | [_]) => compare(olds.first().copied(), news.first().copied(), granularity),
        ([_, _, ..], [_, _, ..]) => {
            let is_same = olds.len() == news.len() && olds.iter().zip(news).all(|(a, b)| a == b);
            Difference {
                set: Node { is_member: !is_same, ..Node::default() },
                ..Default::default()
            }
        }
        ([_, _, ..], _) => {
            let set = news
                .first()
                .map_or_else(Node::default, |new| compare(None, Some(new), granularity).set);
            Difference { set, gone: Node::member() }
        }
        _ => {
            let gone = olds
                .first()
                .map_or_else(Node::default, |old| compare(Some(old), None, granularity).gone);
            Difference { set: Node::member(), gone }
        }
    }
}

/// Whether two values are the same; 1 and 1.0 are, and so are a struct that is not written and one
/// that is empty.
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

/// The fields of a configuration: what applying it means to own.
pub(super) fn members(config: &Value, shape: &'static StructSchema) -> Fields {
    collect(config, Granularity::Fields(shape)).below
}

fn collect(value: &Value, granularity: Granularity) -> Node {
    if let Some(parts) = granularity.parts(Some(value)) {
        let mut node = Node::default();
        for (name, part) in parts {
            let mut found = collect(part, granularity.below(name));
            let is_empty_object = part.as_object().is_some_and(|fields| fields.is_empty());
            found.is_member |= part.is_null() || is_empty_object || !granularity.names(name);
            fields::put(&mut node.below, || fields::named(name), found);
        }
        return node;
    }
    match granularity.items(Some(value)) {
        Some(items) => collect_items(items, granularity),
        None if value.is_null() => Node::default(),
        None => Node::member(),
    }
}

fn collect_items(items: &[Value], granularity: Granularity) -> Node {
    let mut node = Node::default();
    for item in items {
        let Some(element) = granularity.element(item) else { continue };
        let is_repeated = node.below.contains_key(&element);
        let below =
            if is_repeated { Fields::new() } else { collect(item, granularity.item()).below };
        fields::put(&mut node.below, || element, Node { is_member: true, below });
    }
    node
}

#[cfg(test)]
mod tests;
