//! Sets of fields in the format of `managedFields` (`FieldsV1`).
//!
//! A set is a tree of elements: `f:name` is a field or an entry of a map, `k:{"name":"c"}` is the
//! list item with these keys, `v:"x"` is the list item with this value. An element without children
//! is a member of the set; one with children is a member if they include a `.`. Every write reads
//! the sets of all managers but rarely changes them, so the operations work directly on JSON, and
//! their cost depends on the smaller set.

use punctual_api::schema::{FieldType, StructSchema};
use serde_json::{Map, Value};

/// A set of fields.
pub(super) type FieldSet = Map<String, Value>;

/// The child that marks an element with other children as a member.
const ITSELF: &str = ".";

/// An element of a set.
#[derive(Debug, Default, PartialEq)]
pub(super) struct FieldNode {
    /// Whether the element itself is a member.
    pub(super) is_member: bool,
    /// The elements inside it.
    pub(super) children: FieldSet,
}

impl FieldNode {
    /// Returns a member without children.
    pub(super) fn member() -> FieldNode {
        FieldNode { is_member: true, children: FieldSet::new() }
    }

    fn parse(value: Value) -> FieldNode {
        let Value::Object(mut children) = value else { return FieldNode::member() };
        let is_member = children.is_empty() || children.remove(ITSELF).is_some();
        FieldNode { is_member, children }
    }

    /// Encodes the node, or returns `None` if it is empty.
    fn encode(mut self) -> Option<Value> {
        if self.is_member && !self.children.is_empty() {
            self.children.insert(ITSELF.to_owned(), Value::Object(FieldSet::new()));
        }
        (self.is_member || !self.children.is_empty()).then_some(Value::Object(self.children))
    }
}

/// Inserts an element into a set that does not contain it.
pub(super) fn insert_node(
    fields: &mut FieldSet,
    element: impl FnOnce() -> String,
    node: FieldNode,
) {
    if let Some(value) = node.encode() {
        fields.insert(element(), value);
    }
}

/// Whether an encoded element is a member.
pub(super) fn is_member(node: &Value) -> bool {
    node.as_object().is_none_or(|children| children.is_empty() || children.contains_key(ITSELF))
}

/// Returns the elements of a set.
pub(super) fn elements(fields: &FieldSet) -> impl Iterator<Item = (&String, &Value)> {
    fields.iter().filter(|(element, _)| *element != ITSELF)
}

/// Removes the members of another set.
pub(super) fn subtract(fields: &mut FieldSet, other: &FieldSet) {
    for (element, theirs) in elements(other) {
        let Some(ours) = fields.get_mut(element) else { continue };
        let mut node = FieldNode::parse(ours.take());
        node.is_member &= !is_member(theirs);
        if let Value::Object(theirs) = theirs {
            subtract(&mut node.children, theirs);
        }
        match node.encode() {
            Some(remaining) => *ours = remaining,
            None => drop(fields.remove(element)),
        }
    }
}

/// Adds the members of another set.
pub(super) fn union_with(fields: &mut FieldSet, other: FieldSet) {
    for (element, theirs) in other {
        match fields.get_mut(&element) {
            None => drop(fields.insert(element, theirs)),
            Some(ours) => {
                let mut node = FieldNode::parse(ours.take());
                let theirs = FieldNode::parse(theirs);
                node.is_member |= theirs.is_member;
                union_with(&mut node.children, theirs.children);
                *ours = node.encode().unwrap_or_default();
            }
        }
    }
}

/// Returns the members of both sets.
pub(super) fn intersection(fields: &FieldSet, other: &FieldSet) -> FieldSet {
    let mut both = FieldSet::new();
    for (element, theirs) in elements(other) {
        let Some(ours) = fields.get(element) else { continue };
        let mut node =
            FieldNode { is_member: is_member(ours) && is_member(theirs), ..FieldNode::default() };
        if let (Value::Object(ours), Value::Object(theirs)) = (ours, theirs) {
            node.children = intersection(ours, theirs);
        }
        insert_node(&mut both, || element.clone(), node);
    }
    both
}

/// Returns the element of a field or of an entry of a map.
pub(super) fn field_element(name: &str) -> String {
    format!("f:{name}")
}

/// Returns the element of a list item that is identified by its value. Returns `None` for nulls,
/// lists and objects.
pub(super) fn value_element(item: &Value) -> Option<String> {
    let is_scalar = !item.is_null() && !item.is_array() && !item.is_object();
    is_scalar.then(|| format!("v:{}", go_json(item)))
}

/// Returns the element of a list item that is identified by some of its fields.
///
/// An absent key has its default, which is usually the zero value of its type.
pub(super) fn key_element(item: &Value, schema: &StructSchema, keys: &[&str]) -> Option<String> {
    let item = item.as_object()?;
    let mut element = String::from("k:{");
    for (i, key) in keys.iter().enumerate() {
        let separator = if i == 0 { "" } else { "," };
        let value = match item.get(*key) {
            Some(value) => go_json(value),
            None => go_json(&default_of(schema, key)),
        };
        element.extend([separator, "\"", key, "\":", &value]);
    }
    element.push('}');
    Some(element)
}

fn default_of(schema: &StructSchema, key: &str) -> Value {
    let field = schema.field(key);
    match field.map(|field| (field.merge_rules.default, &field.ty)) {
        Some((Some(text), _)) => text.into(),
        Some((None, FieldType::Int32 | FieldType::Int64)) => 0.into(),
        _ => "".into(),
    }
}

/// Encodes JSON as Go does, which escapes some characters for HTML.
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

/// Returns the set with every element in canonical form. Elements of an unknown kind are dropped.
/// Returns `None` if an element is invalid.
pub(super) fn canonical(fields: FieldSet) -> Option<FieldSet> {
    let mut clean = FieldSet::new();
    for (element, value) in fields {
        if element == ITSELF {
            continue;
        }
        let node = FieldNode::parse(value);
        let node = FieldNode { children: canonical(node.children)?, ..node };
        if let Some(element) = canonical_element(&element)? {
            insert_node(&mut clean, || element, node);
        }
    }
    Some(clean)
}

/// Returns an element in canonical form, or `Some(None)` if its kind is unknown. Returns `None` if
/// it is invalid.
fn canonical_element(element: &str) -> Option<Option<String>> {
    let (kind, content) = element.split_once(':').filter(|(kind, _)| kind.len() == 1)?;
    let parse = || serde_json::from_str::<Value>(content).ok();
    Some(match kind {
        "f" => Some(element.to_owned()),
        "i" => Some(format!("i:{}", content.parse::<i64>().ok()?)),
        "v" => Some(format!("v:{}", go_json(&parse()?))),
        // JSON maps are sorted by key.
        "k" => Some(format!("k:{}", go_json(&Value::Object(parse()?.as_object()?.clone())))),
        _ => None,
    })
}

/// Returns the paths of all members as error messages show them. Those of one level precede deeper
/// ones.
pub(super) fn paths(fields: &FieldSet) -> Vec<String> {
    let mut paths = Vec::new();
    collect_paths(fields, "", &mut paths);
    paths
}

fn collect_paths(fields: &FieldSet, prefix: &str, paths: &mut Vec<String>) {
    let formatted: Vec<_> = elements(fields)
        .map(|(element, node)| (prefix.to_owned() + &format_element(element), node))
        .collect();
    let members = formatted.iter().filter(|(_, node)| is_member(node));
    paths.extend(members.map(|(path, _)| path.clone()));
    for (path, node) in formatted {
        if let Value::Object(children) = node {
            collect_paths(children, &path, paths);
        }
    }
}

/// Formats an element for error messages.
pub(super) fn format_element(element: &str) -> String {
    let (kind, content) = element.split_once(':').unwrap_or(("f", element));
    let parse = || serde_json::from_str::<Value>(content).unwrap_or_default();
    match kind {
        "f" => format!(".{content}"),
        "v" => format!("[={}]", parse()),
        "k" => {
            let keys = parse();
            let keys = keys.as_object().into_iter().flatten();
            let keys: Vec<_> = keys.map(|(name, value)| format!("{name}={value}")).collect();
            format!("[{}]", keys.join(","))
        }
        _ => format!("[{content}]"),
    }
}

#[cfg(test)]
mod tests;
