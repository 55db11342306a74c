//! Encodes the OpenAPI v2 document in protobuf.
//!
//! kubectl needs it to validate lists (`kind: List`); older versions of kubectl need it for all kinds.
//! The messages are those of gnostic's `OpenAPIv2.proto`, as tables that map JSON keys to protobuf
//! fields.

use serde_json::Value;

/// A message: maps the keys of a JSON object to protobuf fields.
struct ProtoMessage {
    fields: &'static [ProtoField],
    /// The number of the field for keys that start with `x-`.
    extensions: u32,
}

/// A field of a message.
struct ProtoField {
    /// The JSON key.
    key: &'static str,
    /// The path of nested field numbers. The last one is the field that holds the value.
    path: &'static [u32],
    content: ProtoContent,
}

/// How the JSON value of a field is encoded.
enum ProtoContent {
    String,
    RepeatedString,
    Bool,
    /// A list of arbitrary values, each encoded as YAML.
    RepeatedAny,
    Message(&'static ProtoMessage),
    /// A map from names to messages. The value of each entry is nested in these fields: a response, for
    /// example, is field 1 of the value.
    Map(&'static ProtoMessage, &'static [u32]),
    /// A list of parameters of an operation. Each is a message that depends on where the parameter is:
    /// in the body, the query or the path.
    Parameters,
}

const fn field(key: &'static str, path: &'static [u32], content: ProtoContent) -> ProtoField {
    ProtoField { key, path, content }
}

static DOCUMENT: ProtoMessage = ProtoMessage {
    fields: &[
        field("swagger", &[1], ProtoContent::String),
        field("info", &[2], ProtoContent::Message(&INFO)),
        field("paths", &[8, 2], ProtoContent::Map(&PATH_ITEM, &[])),
        field("definitions", &[9, 1], ProtoContent::Map(&SCHEMA, &[])),
    ],
    extensions: 16,
};

static INFO: ProtoMessage = ProtoMessage {
    fields: &[
        field("title", &[1], ProtoContent::String),
        field("version", &[2], ProtoContent::String),
    ],
    extensions: 7,
};

static PATH_ITEM: ProtoMessage = ProtoMessage {
    fields: &[
        field("get", &[2], ProtoContent::Message(&OPERATION)),
        field("put", &[3], ProtoContent::Message(&OPERATION)),
        field("post", &[4], ProtoContent::Message(&OPERATION)),
        field("delete", &[5], ProtoContent::Message(&OPERATION)),
        field("patch", &[8], ProtoContent::Message(&OPERATION)),
        field("parameters", &[9], ProtoContent::Parameters),
    ],
    extensions: 10,
};

static OPERATION: ProtoMessage = ProtoMessage {
    fields: &[
        field("tags", &[1], ProtoContent::RepeatedString),
        field("description", &[3], ProtoContent::String),
        field("operationId", &[5], ProtoContent::String),
        field("produces", &[6], ProtoContent::RepeatedString),
        field("consumes", &[7], ProtoContent::RepeatedString),
        field("parameters", &[8], ProtoContent::Parameters),
        field("responses", &[9, 1], ProtoContent::Map(&RESPONSE, &[1])),
    ],
    extensions: 13,
};

static RESPONSE: ProtoMessage = ProtoMessage {
    fields: &[
        field("description", &[1], ProtoContent::String),
        field("schema", &[2, 1], ProtoContent::Message(&SCHEMA)),
    ],
    extensions: 5,
};

static BODY_PARAMETER: ProtoMessage = ProtoMessage {
    fields: &[
        field("description", &[1], ProtoContent::String),
        field("name", &[2], ProtoContent::String),
        field("in", &[3], ProtoContent::String),
        field("required", &[4], ProtoContent::Bool),
        field("schema", &[5], ProtoContent::Message(&SCHEMA)),
    ],
    extensions: 6,
};

static QUERY_PARAMETER: ProtoMessage = ProtoMessage {
    fields: &[
        field("required", &[1], ProtoContent::Bool),
        field("in", &[2], ProtoContent::String),
        field("description", &[3], ProtoContent::String),
        field("name", &[4], ProtoContent::String),
        field("type", &[6], ProtoContent::String),
        field("uniqueItems", &[20], ProtoContent::Bool),
    ],
    extensions: 23,
};

static PATH_PARAMETER: ProtoMessage = ProtoMessage {
    fields: &[
        field("required", &[1], ProtoContent::Bool),
        field("in", &[2], ProtoContent::String),
        field("description", &[3], ProtoContent::String),
        field("name", &[4], ProtoContent::String),
        field("type", &[5], ProtoContent::String),
        field("uniqueItems", &[19], ProtoContent::Bool),
    ],
    extensions: 22,
};

static SCHEMA: ProtoMessage = ProtoMessage {
    fields: &[
        field("$ref", &[1], ProtoContent::String),
        field("format", &[2], ProtoContent::String),
        field("description", &[4], ProtoContent::String),
        field("required", &[19], ProtoContent::RepeatedString),
        field("enum", &[20], ProtoContent::RepeatedAny),
        field("additionalProperties", &[21, 1], ProtoContent::Message(&SCHEMA)),
        field("type", &[22, 1], ProtoContent::String),
        field("items", &[23, 1], ProtoContent::Message(&SCHEMA)),
        field("properties", &[25, 1], ProtoContent::Map(&SCHEMA, &[])),
    ],
    extensions: 31,
};

/// Encodes a version 2 document.
pub(super) fn encode(document: &Value) -> Vec<u8> {
    encode_message(&DOCUMENT, document)
}

fn encode_message(message: &ProtoMessage, value: &Value) -> Vec<u8> {
    let mut out = Vec::new();
    let Some(entries) = value.as_object() else { return out };
    for field in message.fields {
        if let Some(value) = entries.get(field.key) {
            write_field(&mut out, field, value);
        }
    }
    for (name, value) in entries.iter().filter(|(name, _)| name.starts_with("x-")) {
        write_bytes(&mut out, message.extensions, &encode_named(name, &encode_any(value)));
    }
    out
}

fn write_field(out: &mut Vec<u8>, field: &ProtoField, value: &Value) {
    let items = || value.as_array().into_iter().flatten();
    let text = |value: &Value| value.as_str().unwrap_or_default().as_bytes().to_vec();
    let mut write = |content: Vec<u8>| out.extend(wrap(field.path, content));
    match &field.content {
        ProtoContent::String => write(text(value)),
        ProtoContent::RepeatedString => {
            for item in items() {
                write(text(item));
            }
        }
        ProtoContent::RepeatedAny => {
            for item in items() {
                write(encode_any(item));
            }
        }
        ProtoContent::Message(inner) => write(encode_message(inner, value)),
        ProtoContent::Parameters => {
            for item in items() {
                write(encode_parameter(item));
            }
        }
        ProtoContent::Map(inner, wrapping) => {
            let encode = |value: &Value| wrap(wrapping, encode_message(inner, value));
            write_map(out, field.path, value, encode);
        }
        ProtoContent::Bool => write_flag(out, field.path, value),
    }
}

/// Writes a map as one message with a repeated field of named entries.
fn write_map(out: &mut Vec<u8>, path: &[u32], map: &Value, encode: impl Fn(&Value) -> Vec<u8>) {
    let [outer, inner] = path else { return };
    let mut all = Vec::new();
    for (name, value) in map.as_object().into_iter().flatten() {
        write_bytes(&mut all, *inner, &encode_named(name, &encode(value)));
    }
    write_bytes(out, *outer, &all);
}

/// Encodes a parameter. Its message depends on its location.
fn encode_parameter(parameter: &Value) -> Vec<u8> {
    let (message, path): (_, &[u32]) = match parameter.get("in").and_then(Value::as_str) {
        Some("body") => (&BODY_PARAMETER, &[1, 1]),
        Some("path") => (&PATH_PARAMETER, &[1, 2, 4]),
        _ => (&QUERY_PARAMETER, &[1, 2, 3]),
    };
    wrap(path, encode_message(message, parameter))
}

fn encode_named(name: &str, value: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    write_bytes(&mut out, 1, name.as_bytes());
    write_bytes(&mut out, 2, value);
    out
}

/// Encodes an arbitrary value as YAML. JSON is valid YAML.
fn encode_any(value: &Value) -> Vec<u8> {
    wrap(&[2], value.to_string().into_bytes())
}

/// Wraps a content in fields; the first is the outermost.
fn wrap(path: &[u32], content: Vec<u8>) -> Vec<u8> {
    path.iter().rev().fold(content, |content, number| {
        let mut out = Vec::new();
        write_bytes(&mut out, *number, &content);
        out
    })
}

fn write_flag(out: &mut Vec<u8>, path: &[u32], value: &Value) {
    if let ([number], Some(true)) = (path, value.as_bool()) {
        write_varint(out, u64::from(*number) << 3);
        write_varint(out, 1);
    }
}

/// Writes a length-delimited field.
fn write_bytes(out: &mut Vec<u8>, number: u32, content: &[u8]) {
    write_varint(out, u64::from(number) << 3 | 2);
    write_varint(out, content.len() as u64);
    out.extend_from_slice(content);
}

/// Writes a varint.
fn write_varint(out: &mut Vec<u8>, mut value: u64) {
    while value > 0x7f {
        out.push((value & 0x7f) as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn varints_have_seven_bits_per_byte() {
        for (value, bytes) in [
            (0, &[0][..]),
            (127, &[0x7f]),
            (128, &[0x80, 1]),
            (300, &[0xac, 2]),
            (u64::MAX, &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1]),
        ] {
            let mut out = Vec::new();
            write_varint(&mut out, value);
            assert_eq!(out, bytes, "{value}");
        }
    }

    #[test]
    fn schema_fields_have_the_numbers_of_the_message() {
        let schema = json!({
            "type": "array", "x-a": 1, "items": { "$ref": "r" }, "enum": [""], "unknown": {},
        });
        // Fields 20 (an Any), 22 (a TypeItem), 23 (an ItemsItem) and 31 (a NamedAny), in order.
        let expected = [
            &[0xa2, 1, 4, 0x12, 2, b'"', b'"'][..],
            &[0xb2, 1, 7, 0x0a, 5, b'a', b'r', b'r', b'a', b'y'],
            &[0xba, 1, 5, 0x0a, 3, 0x0a, 1, b'r'],
            &[0xfa, 1, 10, 0x0a, 3, b'x', b'-', b'a', 0x12, 3, 0x12, 1, b'1'],
        ];
        assert_eq!(encode_message(&SCHEMA, &schema), expected.concat());
    }

    #[test]
    fn parameters_are_wrapped_by_their_location() {
        let of = |location: &str| encode_parameter(&json!({ "in": location, "required": true }));
        assert_eq!(of("body"), [0x0a, 10, 0x0a, 8, 0x1a, 4, b'b', b'o', b'd', b'y', 0x20, 1]);
        let inside = [8, 1, 0x12, 4, b'p', b'a', b't', b'h'];
        assert_eq!(of("path"), [&[0x0a, 12, 0x12, 10, 0x22, 8][..], &inside].concat());
    }

    #[test]
    fn a_map_is_one_message_with_named_entries() {
        let document = json!({ "definitions": { "a": { "type": "x" }, "b": {} } });
        let expected = [
            &[0x4a, 20][..],
            &[0x0a, 11, 0x0a, 1, b'a', 0x12, 6, 0xb2, 1, 3, 0x0a, 1, b'x'],
            &[0x0a, 5, 0x0a, 1, b'b', 0x12, 0],
        ];
        assert_eq!(encode(&document), expected.concat());
    }
}
