//! Converts OpenAPI version 3 documents to the version 2 document (Swagger).
//!
//! Client generators and infrastructure tools read it as JSON. In version 2 bodies are parameters,
//! and a response has one schema for all media types.

use serde_json::{Map, Value, json};

use super::names::REF_PREFIX;

const OLD_REF_PREFIX: &str = "#/definitions/";

/// Merges version 3 documents into one version 2 document.
pub(super) fn document(parts: impl Iterator<Item = Value>) -> Value {
    let mut paths = Map::new();
    let mut definitions = Map::new();
    for mut part in parts {
        paths.extend(
            take(&mut part, "/paths")
                .into_iter()
                .map(|(path, item)| (path, convert_path_item(item))),
        );
        let schemas = take(&mut part, "/components/schemas");
        let converted = schemas.into_iter().map(|(name, schema)| (name, convert_schema(schema)));
        definitions.extend(converted);
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

/// Takes the map at a JSON pointer out of a document.
fn take(part: &mut Value, pointer: &str) -> Map<String, Value> {
    match part.pointer_mut(pointer).map(Value::take) {
        Some(Value::Object(entries)) => entries,
        _ => Map::new(),
    }
}

fn convert_path_item(item: Value) -> Value {
    let Value::Object(entries) = item else { return item };
    let entries = entries.into_iter().map(|(key, value)| {
        let value =
            if key == "parameters" { convert_parameters(value) } else { convert_operation(value) };
        (key, value)
    });
    Value::Object(entries.collect())
}

fn convert_operation(mut operation: Value) -> Value {
    let Some(entries) = operation.as_object_mut() else { return operation };
    let mut all = match entries.remove("parameters").map(convert_parameters) {
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
        let responses =
            responses.iter().map(|(code, response)| (code.clone(), convert_response(response)));
        entries.insert("responses".to_owned(), responses.collect());
    }
    operation
}

/// Converts parameters, which have a type instead of a schema.
fn convert_parameters(parameters: Value) -> Value {
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
    if let Some(required) = body.get("required")
        && let Some(entries) = parameter.as_object_mut()
    {
        entries.insert("required".to_owned(), required.clone());
    }
    parameter
}

fn convert_response(response: &Value) -> Value {
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

/// Returns the converted schema of a body. It is the same for all media types.
fn schema_of(part: &Value) -> Value {
    let content = part.get("content").and_then(Value::as_object);
    let first = content.and_then(|content| content.values().next());
    first.and_then(|first| first.get("schema")).cloned().map_or(Value::Null, convert_schema)
}

/// Converts a schema. Version 2 has no `oneOf`, and a `$ref` is not wrapped in `allOf`.
fn convert_schema(schema: Value) -> Value {
    match schema {
        Value::Array(items) => items.into_iter().map(convert_schema).collect(),
        Value::Object(entries) => {
            let mut converted = Map::new();
            for (key, value) in entries {
                insert_converted(&mut converted, key, value);
            }
            Value::Object(converted)
        }
        plain => plain,
    }
}

fn insert_converted(converted: &mut Map<String, Value>, key: String, value: Value) {
    match (key.as_str(), value) {
        ("$ref", Value::String(name)) => {
            converted.insert(key, name.replacen(REF_PREFIX, OLD_REF_PREFIX, 1).into());
        }
        ("allOf", Value::Array(wrapped)) => {
            for reference in wrapped.into_iter().map(convert_schema) {
                converted.extend(reference.as_object().cloned().unwrap_or_default());
            }
        }
        ("oneOf", _) => {
            converted.insert("type".to_owned(), json!("string"));
        }
        (_, value) => {
            converted.insert(key, convert_schema(value));
        }
    }
}
