//! The document of version 2, made from those of version 3.
//!
//! Generators of clients and some tools of infrastructure read it as JSON. It says the same as
//! version 3 in the older words: bodies are parameters, and there is one schema to an answer.

use serde_json::{Map, Value, json};

use super::names::REF_PREFIX;

const OLD_REF_PREFIX: &str = "#/definitions/";

/// One document of all the parts.
pub(super) fn document(parts: impl Iterator<Item = Value>) -> Value {
    let mut paths = Map::new();
    let mut definitions = Map::new();
    for mut part in parts {
        paths.extend(take(&mut part, "/paths").into_iter().map(|(path, it)| (path, item(it))));
        let schemas = take(&mut part, "/components/schemas");
        definitions.extend(schemas.into_iter().map(|(name, it)| (name, schema(it))));
    }
    json!({
        "swagger": "2.0",
        "info": { "title": "Punctual", "version": env!("CARGO_PKG_VERSION") },
        "paths": paths,
        "definitions": definitions,
        "securityDefinitions": {
            "BearerToken": { "type": "apiKey", "name": "authorization", "in": "header" },
        },
        "security": [{ "BearerToken": [] }],
    })
}

/// Takes the map at a place out of a document.
fn take(part: &mut Value, pointer: &str) -> Map<String, Value> {
    match part.pointer_mut(pointer).map(Value::take) {
        Some(Value::Object(entries)) => entries,
        _ => Map::new(),
    }
}

fn item(item: Value) -> Value {
    let Value::Object(entries) = item else { return item };
    let entries = entries.into_iter().map(|(key, value)| {
        let value = if key == "parameters" { parameters(value) } else { operation(value) };
        (key, value)
    });
    Value::Object(entries.collect())
}

fn operation(mut operation: Value) -> Value {
    let Some(entries) = operation.as_object_mut() else { return operation };
    let mut all = match entries.remove("parameters").map(parameters) {
        Some(Value::Array(parameters)) => parameters,
        _ => Vec::new(),
    };
    if let Some(body) = entries.remove("requestBody") {
        entries.insert("consumes".to_owned(), media_types(&body));
        all.push(body_parameter(&body));
    }
    if !all.is_empty() {
        entries.insert("parameters".to_owned(), Value::Array(all));
    }
    if let Some(Value::Object(responses)) = entries.remove("responses") {
        let produced = responses.get("200").map(media_types).unwrap_or_default();
        entries.insert("produces".to_owned(), produced);
        let responses = responses.iter().map(|(code, it)| (code.clone(), response(it)));
        entries.insert("responses".to_owned(), responses.collect());
    }
    operation
}

/// Parameters say their type themselves, without a schema.
fn parameters(parameters: Value) -> Value {
    let Value::Array(mut items) = parameters else { return parameters };
    for entries in items.iter_mut().filter_map(Value::as_object_mut) {
        if let Some(Value::Object(schema)) = entries.remove("schema") {
            entries.extend(schema);
        }
    }
    Value::Array(items)
}

fn body_parameter(body: &Value) -> Value {
    let mut parameter = json!({ "name": "body", "in": "body", "schema": schema_of(body) });
    if let (Some(required), Some(entries)) = (body.get("required"), parameter.as_object_mut()) {
        entries.insert("required".to_owned(), required.clone());
    }
    parameter
}

fn response(response: &Value) -> Value {
    let description = response.get("description");
    match schema_of(response) {
        Value::Null => json!({ "description": description }),
        schema => json!({ "description": description, "schema": schema }),
    }
}

fn media_types(part: &Value) -> Value {
    let content = part.get("content").and_then(Value::as_object);
    content.into_iter().flatten().map(|(media_type, _)| media_type.as_str()).collect()
}

/// The schema of a body; it is the same for every media type.
fn schema_of(part: &Value) -> Value {
    let content = part.get("content").and_then(Value::as_object);
    let first = content.and_then(|content| content.values().next());
    first.and_then(|first| first.get("schema")).cloned().map_or(Value::Null, schema)
}

/// A schema in the older words: there is no choice of types, and a wrapped reference stands alone.
fn schema(schema: Value) -> Value {
    match schema {
        Value::Array(items) => items.into_iter().map(self::schema).collect(),
        Value::Object(entries) => {
            let mut old = Map::new();
            entries.into_iter().for_each(|(key, value)| insert(&mut old, key, value));
            Value::Object(old)
        }
        plain => plain,
    }
}

fn insert(old: &mut Map<String, Value>, key: String, value: Value) {
    match (key.as_str(), value) {
        ("$ref", Value::String(name)) => {
            old.insert(key, name.replacen(REF_PREFIX, OLD_REF_PREFIX, 1).into());
        }
        ("allOf", Value::Array(wrapped)) => {
            let references = wrapped.into_iter().map(schema);
            for reference in references {
                old.extend(reference.as_object().cloned().unwrap_or_default());
            }
        }
        ("oneOf", _) => {
            old.insert("type".to_owned(), json!("string"));
        }
        (_, value) => {
            old.insert(key, schema(value));
        }
    }
}
