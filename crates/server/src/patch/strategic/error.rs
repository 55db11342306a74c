//! Why a strategic merge patch cannot be applied, in the words of kube-apiserver.

use std::fmt::Write;

use punctual_api::Status;
use punctual_api::schema::StructSchema;
use serde_json::{Map, Value};

use super::SET_ORDER;
use crate::patch::{go_kind, unclassified, unprocessable};

/// A message shows values up to this length, since they may be whole lists of a large object.
const SHOWN_BYTES_MAX: usize = 4096;

/// Why a strategic merge patch cannot be applied.
#[derive(Debug)]
pub(super) enum Error {
    /// `$deleteFromPrimitiveList` without a list.
    PrimitiveList,
    /// `$retainKeys` that is no list, or that does not keep what the patch sets.
    RetainKeys,
    /// `$setElementOrder` without a list.
    ElementOrder,
    /// A list in a list.
    ListOfLists,
    /// A field of what has no fields; Go has this word for it.
    NotAStruct(&'static str),
    /// Anything else, in Kubernetes' words.
    Other(String),
}

impl Error {
    pub(super) fn no_field(shape: &StructSchema, name: &str) -> Error {
        let (shape, name) = (shape.name, Value::from(name));
        Error::Other(format!(
            "unable to find api field in struct {shape} for the json field {name}"
        ))
    }

    pub(super) fn no_key(item: &Map<String, Value>, key: &str) -> Error {
        let item = format_go_fields(item);
        Error::Other(format!("map: {item} does not contain declared merge key: {key}"))
    }

    pub(super) fn bad_directive(directive: &Value, patch: &Map<String, Value>) -> Error {
        let (directive, patch) = (format_go_map(directive), format_go_fields(patch));
        Error::Other(format!("unknown patch type: {directive} in map: {patch}"))
    }

    pub(super) fn not_a_list(value: &Value) -> Error {
        Error::Other(format!("expected a []interface {{}}, but received a {}", go_type(value)))
    }

    pub(super) fn not_an_object(value: &Value) -> Error {
        let found = go_type(value);
        Error::Other(format!("expected a map[string]interface {{}}, but received a {found}"))
    }

    pub(super) fn disordered(patch: &[Value], order: &[Value]) -> Error {
        let (patch, order) =
            (format_go_map(&Value::from(patch)), format_go_map(&Value::from(order)));
        Error::Other(format!(
            "The order in patch list:\n{patch}\n doesn't match {SET_ORDER} list:\n{order}\n"
        ))
    }

    pub(super) fn mixed(old: &[Value], new: &[Value]) -> Error {
        let lists = Value::from(vec![Value::from(old), Value::from(new)]);
        Error::Other(format!("list element types are not identical: {}", format_go_map(&lists)))
    }
}

impl From<Error> for Status {
    fn from(error: Error) -> Status {
        match error {
            Error::PrimitiveList => Status::bad_request("invalid patch format of primitive list"),
            Error::RetainKeys => Status::bad_request("invalid patch format of retainKeys"),
            Error::ElementOrder => {
                Status::bad_request("invalid patch format of setElementOrder list")
            }
            Error::ListOfLists => unprocessable(),
            Error::NotAStruct(kind) => unclassified(format!(
                "merging an object in json but data type is not struct, instead is: {kind}"
            )),
            Error::Other(message) => unclassified(message),
        }
    }
}

/// A patch that is no object.
pub(super) fn not_an_object(value: &Value) -> Status {
    let kind = go_kind(value);
    Status::bad_request(format!(
        "json: cannot unmarshal {kind} into Go value of type map[string]interface {{}}"
    ))
}

/// The type that Go reads a JSON value into.
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

fn format_go_fields(fields: &Map<String, Value>) -> String {
    let mut out = String::new();
    push_fields(&mut out, fields);
    out
}

/// A value as Go's `%v` shows it.
pub(crate) fn format_go_map(value: &Value) -> String {
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
        Value::Object(fields) => push_fields(out, fields),
        // Writing to a String cannot fail.
        other => drop(write!(out, "{other}")),
    }
}

fn push_fields(out: &mut String, fields: &Map<String, Value>) {
    out.push_str("map[");
    for (i, (name, value)) in fields.iter().enumerate() {
        out.push_str(if i == 0 { "" } else { " " });
        out.push_str(name);
        out.push(':');
        push(out, value);
    }
    out.push(']');
}
