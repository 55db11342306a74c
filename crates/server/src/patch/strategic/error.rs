//! Errors of strategic merge patches, with the texts of kube-apiserver.

use std::fmt::Write;

use punctual_api::Status;
use punctual_api::schema::StructSchema;
use serde_json::{Map, Value};

use super::SET_ORDER;
use crate::patch::{go_kind, unclassified, unprocessable};

/// Limit of the length of values in messages, since they may be whole lists of a large object.
const SHOWN_BYTES_MAX: usize = 4096;

/// Why a strategic merge patch cannot be applied.
#[derive(Debug)]
pub(super) enum PatchError {
    /// `$deleteFromPrimitiveList` without the name of a list.
    PrimitiveList,
    /// `$retainKeys` that is not a list or does not contain all fields that the patch sets.
    RetainKeys,
    /// `$setElementOrder` without the name of a list.
    ElementOrder,
    /// A list in a list.
    ListOfLists,
    /// A field of a type without fields, with Go's name of the type.
    NotAStruct(&'static str),
    /// Another error, with the text of Kubernetes.
    Other(String),
}

impl PatchError {
    pub(super) fn no_field(schema: &StructSchema, name: &str) -> PatchError {
        let name = Value::from(name);
        PatchError::Other(format!(
            "unable to find api field in struct {} for the json field {name}",
            schema.name
        ))
    }

    pub(super) fn no_key(item: &Map<String, Value>, key: &str) -> PatchError {
        let item = format_go_map(item);
        PatchError::Other(format!("map: {item} does not contain declared merge key: {key}"))
    }

    pub(super) fn bad_directive(directive: &Value, patch: &Map<String, Value>) -> PatchError {
        let directive = format_go_value(directive);
        let patch = format_go_map(patch);
        PatchError::Other(format!("unknown patch type: {directive} in map: {patch}"))
    }

    pub(super) fn not_a_list(value: &Value) -> PatchError {
        PatchError::Other(format!("expected a []interface {{}}, but received a {}", go_type(value)))
    }

    pub(super) fn not_an_object(value: &Value) -> PatchError {
        let found = go_type(value);
        PatchError::Other(format!("expected a map[string]interface {{}}, but received a {found}"))
    }

    pub(super) fn order_mismatch(patch: &[Value], order: &[Value]) -> PatchError {
        let patch = format_go_value(&Value::from(patch));
        let order = format_go_value(&Value::from(order));
        PatchError::Other(format!(
            "The order in patch list:\n{patch}\n doesn't match {SET_ORDER} list:\n{order}\n"
        ))
    }

    pub(super) fn mixed_types(old: &[Value], new: &[Value]) -> PatchError {
        let lists = Value::from(vec![Value::from(old), Value::from(new)]);
        PatchError::Other(format!(
            "list element types are not identical: {}",
            format_go_value(&lists)
        ))
    }
}

impl From<PatchError> for Status {
    fn from(error: PatchError) -> Status {
        match error {
            PatchError::PrimitiveList => {
                Status::bad_request("invalid patch format of primitive list")
            }
            PatchError::RetainKeys => Status::bad_request("invalid patch format of retainKeys"),
            PatchError::ElementOrder => {
                Status::bad_request("invalid patch format of setElementOrder list")
            }
            PatchError::ListOfLists => unprocessable(),
            PatchError::NotAStruct(kind) => unclassified(format!(
                "merging an object in json but data type is not struct, instead is: {kind}"
            )),
            PatchError::Other(message) => unclassified(message),
        }
    }
}

/// Returns the error for a patch that is not an object.
pub(super) fn not_an_object(value: &Value) -> Status {
    let kind = go_kind(value);
    Status::bad_request(format!(
        "json: cannot unmarshal {kind} into Go value of type map[string]interface {{}}"
    ))
}

/// Returns the Go type of a decoded JSON value.
pub(super) fn go_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "%!s(<nil>)",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_f64() => "float64",
        Value::Number(_) => "int64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}

fn format_go_map(fields: &Map<String, Value>) -> String {
    let mut out = String::new();
    push_map(&mut out, fields);
    out
}

/// Formats a value like Go's `%v`.
pub(crate) fn format_go_value(value: &Value) -> String {
    let mut out = String::new();
    push(&mut out, value);
    out
}

fn push(out: &mut String, value: &Value) {
    if out.len() > SHOWN_BYTES_MAX {
        return;
    }
    match value {
        Value::Null => out.push_str("<nil>"),
        Value::String(text) => out.push_str(text),
        Value::Array(items) => {
            out.push('[');
            for (i, item) in items.iter().enumerate() {
                out.push_str(if i == 0 { "" } else { " " });
                push(out, item);
            }
            out.push(']');
        }
        Value::Object(fields) => push_map(out, fields),
        // Writing to a String cannot fail.
        other => drop(write!(out, "{other}")),
    }
}

fn push_map(out: &mut String, fields: &Map<String, Value>) {
    out.push_str("map[");
    for (i, (name, value)) in fields.iter().enumerate() {
        out.push_str(if i == 0 { "" } else { " " });
        out.push_str(name);
        out.push(':');
        push(out, value);
    }
    out.push(']');
}
