//! The document of version 2 as protobuf, which is how kubectl wants it.
//!
//! kubectl still needs it to check lists (`kind: List`), and older ones for more. The messages are
//! those of gnostic's `OpenAPIv2.proto`, as tables: which entry of the JSON goes to which field.

use serde_json::Value;

/// A message: where the entries of an object go.
struct Message {
    fields: &'static [Field],
    /// The field for entries that begin with `x-`.
    extensions: u32,
}

/// A field of a message.
struct Field {
    /// The entry of the object.
    key: &'static str,
    /// The number of the field, then those of the messages it is wrapped in.
    path: &'static [u32],
    content: Content,
}

enum Content {
    Text,
    Texts,
    Flag,
    /// Any values, each as YAML.
    Values,
    Message(&'static Message),
    /// A map: names with messages, of which each is wrapped in those fields.
    Map(&'static Message, &'static [u32]),
    Parameters,
}

const fn field(key: &'static str, path: &'static [u32], content: Content) -> Field {
    Field { key, path, content }
}

static DOCUMENT: Message = Message {
    fields: &[
        field("swagger", &[1], Content::Text),
        field("info", &[2], Content::Message(&INFO)),
        field("paths", &[8, 2], Content::Map(&PATH_ITEM, &[])),
        field("definitions", &[9, 1], Content::Map(&SCHEMA, &[])),
    ],
    extensions: 16,
};

static INFO: Message = Message {
    fields: &[field("title", &[1], Content::Text), field("version", &[2], Content::Text)],
    extensions: 7,
};

static PATH_ITEM: Message = Message {
    fields: &[
        field("get", &[2], Content::Message(&OPERATION)),
        field("put", &[3], Content::Message(&OPERATION)),
        field("post", &[4], Content::Message(&OPERATION)),
        field("delete", &[5], Content::Message(&OPERATION)),
        field("patch", &[8], Content::Message(&OPERATION)),
        field("parameters", &[9], Content::Parameters),
    ],
    extensions: 10,
};

static OPERATION: Message = Message {
    fields: &[
        field("tags", &[1], Content::Texts),
        field("description", &[3], Content::Text),
        field("operationId", &[5], Content::Text),
        field("produces", &[6], Content::Texts),
        field("consumes", &[7], Content::Texts),
        field("parameters", &[8], Content::Parameters),
        field("responses", &[9, 1], Content::Map(&RESPONSE, &[1])),
    ],
    extensions: 13,
};

static RESPONSE: Message = Message {
    fields: &[
        field("description", &[1], Content::Text),
        field("schema", &[2, 1], Content::Message(&SCHEMA)),
    ],
    extensions: 5,
};

static BODY_PARAMETER: Message = Message {
    fields: &[
        field("description", &[1], Content::Text),
        field("name", &[2], Content::Text),
        field("in", &[3], Content::Text),
        field("required", &[4], Content::Flag),
        field("schema", &[5], Content::Message(&SCHEMA)),
    ],
    extensions: 6,
};

static QUERY_PARAMETER: Message = Message {
    fields: &[
        field("required", &[1], Content::Flag),
        field("in", &[2], Content::Text),
        field("description", &[3], Content::Text),
        field("name", &[4], Content::Text),
        field("type", &[6], Content::Text),
        field("uniqueItems", &[20], Content::Flag),
    ],
    extensions: 23,
};

static PATH_PARAMETER: Message = Message {
    fields: &[
        field("required", &[1], Content::Flag),
        field("in", &[2], Content::Text),
        field("description", &[3], Content::Text),
        field("name", &[4], Content::Text),
        field("type", &[5], Content::Text),
        field("uniqueItems", &[19], Content::Flag),
    ],
    extensions: 22,
};

static SCHEMA: Message = Message {
    fields: &[
        field("$ref", &[1], Content::Text),
        field("format", &[2], Content::Text),
        field("description", &[4], Content::Text),
        field("required", &[19], Content::Texts),
        field("enum", &[20], Content::Values),
        field("additionalProperties", &[21, 1], Content::Message(&SCHEMA)),
        field("type", &[22, 1], Content::Text),
        field("items", &[23, 1], Content::Message(&SCHEMA)),
        field("properties", &[25, 1], Content::Map(&SCHEMA, &[])),
    ],
    extensions: 31,
};

/// A document of version 2 as protobuf.
pub(super) fn encode(document: &Value) -> Vec<u8> {
    message(&DOCUMENT, document)
}

fn message(message: &Message, value: &Value) -> Vec<u8> {
    let mut out = Vec::new();
    let Some(entries) = value.as_object() else { return out };
    for field in message.fields {
        if let Some(value) = entries.get(field.key) {
            write_field(&mut out, field, value);
        }
    }
    for (name, value) in entries.iter().filter(|(name, _)| name.starts_with("x-")) {
        write_bytes(&mut out, message.extensions, &named(name, &yaml(value)));
    }
    out
}

fn write_field(out: &mut Vec<u8>, field: &Field, value: &Value) {
    let items = || value.as_array().into_iter().flatten();
    let text = |value: &Value| value.as_str().unwrap_or_default().as_bytes().to_vec();
    let mut write = |content: Vec<u8>| out.extend(wrapped(field.path, content));
    match &field.content {
        Content::Text => write(text(value)),
        Content::Texts => items().for_each(|it| write(text(it))),
        Content::Values => items().for_each(|it| write(yaml(it))),
        Content::Message(inner) => write(message(inner, value)),
        Content::Parameters => items().for_each(|it| write(parameter(it))),
        Content::Map(inner, wrapping) => {
            let encode = |value: &Value| wrapped(wrapping, message(inner, value));
            write_map(out, field.path, value, encode);
        }
        Content::Flag => write_flag(out, field.path, value),
    }
}

/// The entries of a map as repeated messages of one that holds them all.
fn write_map(out: &mut Vec<u8>, path: &[u32], map: &Value, encode: impl Fn(&Value) -> Vec<u8>) {
    let [outer, inner] = path else { return };
    let mut all = Vec::new();
    for (name, value) in map.as_object().into_iter().flatten() {
        write_bytes(&mut all, *inner, &named(name, &encode(value)));
    }
    write_bytes(out, *outer, &all);
}

/// A parameter, in the message for where it stands.
fn parameter(parameter: &Value) -> Vec<u8> {
    let (inner, path): (_, &[u32]) = match parameter.get("in").and_then(Value::as_str) {
        Some("body") => (&BODY_PARAMETER, &[1, 1]),
        Some("path") => (&PATH_PARAMETER, &[1, 2, 4]),
        _ => (&QUERY_PARAMETER, &[1, 2, 3]),
    };
    wrapped(path, message(inner, parameter))
}

fn named(name: &str, value: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    write_bytes(&mut out, 1, name.as_bytes());
    write_bytes(&mut out, 2, value);
    out
}

/// Any value. JSON is YAML too.
fn yaml(value: &Value) -> Vec<u8> {
    wrapped(&[2], value.to_string().into_bytes())
}

/// A content wrapped in fields, the outermost first.
fn wrapped(path: &[u32], content: Vec<u8>) -> Vec<u8> {
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

/// A field of bytes: its number with the mark of that type, the length, the bytes.
fn write_bytes(out: &mut Vec<u8>, number: u32, content: &[u8]) {
    write_varint(out, u64::from(number) << 3 | 2);
    write_varint(out, content.len() as u64);
    out.extend_from_slice(content);
}

/// Seven bits to a byte, the lowest first; the eighth says that more follow.
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
    fn numbers_have_seven_bits_to_a_byte() {
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
    fn a_schema_has_its_fields_where_the_message_has_them() {
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
        assert_eq!(message(&SCHEMA, &schema), expected.concat());
    }

    #[test]
    fn a_parameter_is_wrapped_by_where_it_stands() {
        let of = |place: &str| parameter(&json!({ "in": place, "required": true }));
        assert_eq!(of("body"), [0x0a, 10, 0x0a, 8, 0x1a, 4, b'b', b'o', b'd', b'y', 0x20, 1]);
        let inside = [8, 1, 0x12, 4, b'p', b'a', b't', b'h'];
        assert_eq!(of("path"), [&[0x0a, 12, 0x12, 10, 0x22, 8][..], &inside].concat());
    }

    #[test]
    fn a_map_is_one_message_of_named_ones() {
        let document = json!({ "definitions": { "a": { "type": "x" }, "b": {} } });
        let expected = [
            &[0x4a, 20][..],
            &[0x0a, 11, 0x0a, 1, b'a', 0x12, 6, 0xb2, 1, 3, 0x0a, 1, b'x'],
            &[0x0a, 5, 0x0a, 1, b'b', 0x12, 0],
        ];
        assert_eq!(encode(&document), expected.concat());
    }
}
