//! Sets of fields, in the form in which `managedFields` writes them (`FieldsV1`).
//!
//! A set is a tree of elements: `f:name` is a field or an entry of a map, `k:{"name":"c"}` the item
//! of a list with these keys, `v:"x"` the item of a list with this value. An element with nothing
//! below is a member of the set; one with something below is a member if that includes a `.`.
//! The sets of all managers are read at every write but seldom changed, so they are worked on as
//! the JSON they are, and an operation costs as much as the smaller set.

use punctual_api::schema::{FieldType, StructSchema};
use serde_json::{Map, Value};

/// A set of fields.
pub(super) type Fields = Map<String, Value>;

/// The mark of an element that is a member although there is something below.
const ITSELF: &str = ".";

/// What a set has of one element: the element itself, and what is below.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Node {
    /// Whether the element itself is a member.
    pub(super) is_member: bool,
    /// What is below.
    pub(super) below: Fields,
}

impl Node {
    /// An element and nothing below.
    pub(super) fn member() -> Node {
        Node { is_member: true, below: Fields::new() }
    }

    fn read(value: Value) -> Node {
        let Value::Object(mut below) = value else { return Node::member() };
        let is_member = below.is_empty() || below.remove(ITSELF).is_some();
        Node { is_member, below }
    }

    fn write(mut self) -> Option<Value> {
        if self.is_member && !self.below.is_empty() {
            self.below.insert(ITSELF.to_owned(), Value::Object(Fields::new()));
        }
        (self.is_member || !self.below.is_empty()).then_some(Value::Object(self.below))
    }
}

/// Puts what is known of an element into a set that has nothing of it yet.
pub(super) fn put(fields: &mut Fields, element: impl FnOnce() -> String, node: Node) {
    if let Some(value) = node.write() {
        fields.insert(element(), value);
    }
}

/// Whether the element itself is a member.
pub(super) fn is_member(node: &Value) -> bool {
    node.as_object().is_none_or(|below| below.is_empty() || below.contains_key(ITSELF))
}

/// The elements of a set.
pub(super) fn elements(fields: &Fields) -> impl Iterator<Item = (&String, &Value)> {
    fields.iter().filter(|(element, _)| *element != ITSELF)
}

/// Takes the members of another set out of a set.
pub(super) fn subtract(fields: &mut Fields, other: &Fields) {
    for (element, theirs) in elements(other) {
        let Some(ours) = fields.get_mut(element) else { continue };
        let mut node = Node::read(ours.take());
        node.is_member &= !is_member(theirs);
        if let Value::Object(theirs) = theirs {
            subtract(&mut node.below, theirs);
        }
        match node.write() {
            Some(rest) => *ours = rest,
            None => drop(fields.remove(element)),
        }
    }
}

/// Adds the members of another set to a set.
pub(super) fn unite(fields: &mut Fields, other: Fields) {
    for (element, theirs) in other {
        match fields.get_mut(&element) {
            None => drop(fields.insert(element, theirs)),
            Some(ours) => {
                let (mut node, theirs) = (Node::read(ours.take()), Node::read(theirs));
                node.is_member |= theirs.is_member;
                unite(&mut node.below, theirs.below);
                *ours = node.write().unwrap_or_default();
            }
        }
    }
}

/// The members of both sets.
pub(super) fn intersection(fields: &Fields, other: &Fields) -> Fields {
    let mut both = Fields::new();
    for (element, theirs) in elements(other) {
        let Some(ours) = fields.get(element) else { continue };
        let mut node = Node { is_member: is_member(ours) && is_member(theirs), ..Node::default() };
        if let (Value::Object(ours), Value::Object(theirs)) = (ours, theirs) {
            node.below = intersection(ours, theirs);
        }
        put(&mut both, || element.clone(), node);
    }
    both
}

/// The element of a field or of an entry of a map.
pub(super) fn named(name: &str) -> String {
    format!("f:{name}")
}

/// The element of an item that is known by its value. None if such items have no identity.
pub(super) fn valued(item: &Value) -> Option<String> {
    let is_scalar = !item.is_null() && !item.is_array() && !item.is_object();
    is_scalar.then(|| format!("v:{}", go_json(item)))
}

/// The element of an item that is known by some of its fields.
///
/// A key that is not given has its default, which for most is the zero of its type.
pub(super) fn keyed(item: &Value, shape: &StructSchema, keys: &[&str]) -> Option<String> {
    let item = item.as_object()?;
    let mut element = String::from("k:{");
    for (i, key) in keys.iter().enumerate() {
        let separator = if i == 0 { "" } else { "," };
        let value = match item.get(*key) {
            Some(value) => go_json(value),
            None => go_json(&default_of(shape, key)),
        };
        element.extend([separator, "\"", key, "\":", &value]);
    }
    element.push('}');
    Some(element)
}

fn default_of(shape: &StructSchema, key: &str) -> Value {
    let field = shape.field(key);
    match field.map(|field| (field.merge_rules.default, &field.ty)) {
        Some((Some(text), _)) => text.into(),
        Some((None, FieldType::Int32 | FieldType::Int64)) => 0.into(),
        _ => "".into(),
    }
}

/// JSON as Go writes it, which hides some characters from HTML.
fn go_json(value: &Value) -> String {
    let json = value.to_string();
    if !json.contains(['<', '>', '&', '\u{2028}', '\u{2029}']) {
        return json;
    }
    json.replace('<', "\\u003c")
        .replace('>', "\\u003e")
        .replace('&', "\\u0026")
        .replace('\u{2028}', "\\u2028")
        .replace('\u{2029}', "\\u2029")
}

/// The set with every element in canonical form. What is no element is left out; None if an
/// element cannot be read.
pub(super) fn canonical(fields: Fields) -> Option<Fields> {
    let mut clean = Fields::new();
    for (element, value) in fields {
        if element == ITSELF {
            continue;
        }
        let node = Node::read(value);
        let node = Node { below: canonical(node.below)?, ..node };
        if let Some(element) = canonical_element(&element)? {
            put(&mut clean, || element, node);
        }
    }
    Some(clean)
}

/// An element in canonical form, if it is of a kind that we know; None if it cannot be read.
fn canonical_element(element: &str) -> Option<Option<String>> {
    let (kind, content) = element.split_once(':').filter(|(kind, _)| kind.len() == 1)?;
    let read = || serde_json::from_str::<Value>(content).ok();
    Some(match kind {
        "f" => Some(element.to_owned()),
        "i" => Some(format!("i:{}", content.parse::<i64>().ok()?)),
        "v" => Some(format!("v:{}", go_json(&read()?))),
        // Keys are in alphabetical order because maps are.
        "k" => Some(format!("k:{}", go_json(&Value::Object(read()?.as_object()?.clone())))),
        _ => None,
    })
}

/// The paths of all members, as messages show them. Those of one level come before those below.
pub(super) fn paths(fields: &Fields) -> Vec<String> {
    let mut paths = Vec::new();
    collect_paths(fields, "", &mut paths);
    paths
}

fn collect_paths(fields: &Fields, prefix: &str, paths: &mut Vec<String>) {
    let shown: Vec<_> = elements(fields)
        .map(|(element, node)| (prefix.to_owned() + &shown(element), node))
        .collect();
    paths.extend(shown.iter().filter(|(_, node)| is_member(node)).map(|(path, _)| path.clone()));
    for (path, node) in shown {
        if let Value::Object(below) = node {
            collect_paths(below, &path, paths);
        }
    }
}

/// An element as messages show it.
pub(super) fn shown(element: &str) -> String {
    let (kind, content) = element.split_once(':').unwrap_or(("f", element));
    let read = || serde_json::from_str::<Value>(content).unwrap_or_default();
    match kind {
        "f" => format!(".{content}"),
        "v" => format!("[={}]", read()),
        "k" => {
            let keys = read();
            let keys = keys.as_object().into_iter().flatten();
            let keys: Vec<_> = keys.map(|(name, value)| format!("{name}={value}")).collect();
            format!("[{}]", keys.join(","))
        }
        _ => format!("[{content}]"),
    }
}

#[cfg(test)]
mod tests;
