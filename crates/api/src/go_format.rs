//! Formats values as Go does in messages: quoted text, escaped JSON, internal structs.
//!
//! Kubernetes formats a bad value with Go's formatting. For a changed Pod template that is the
//! whole internal struct with Go's field names ([`internal_json`]). Clients see this string,
//! so this module rebuilds it from the schema tables.

use std::fmt::Write;

use serde_json::Value;

use crate::schema::{FieldSchema, FieldType, StructSchema};

/// Quotes a string as Go's `%q` does.
pub(crate) fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        push_quoted(&mut out, c);
    }
    out.push('"');
    out
}

fn push_quoted(out: &mut String, c: char) {
    let short = match c {
        '"' => "\\\"",
        '\\' => "\\\\",
        '\u{7}' => "\\a",
        '\u{8}' => "\\b",
        '\u{c}' => "\\f",
        '\n' => "\\n",
        '\r' => "\\r",
        '\t' => "\\t",
        '\u{b}' => "\\v",
        _ => return push_printable(out, c),
    };
    out.push_str(short);
}

fn push_printable(out: &mut String, c: char) {
    let code = u32::from(c);
    // Writing to a String cannot fail.
    let _ = match code {
        0x20..=0x7e => write!(out, "{c}"),
        0..=0x7f => write!(out, "\\x{code:02x}"),
        _ if !c.is_control() && (!c.is_whitespace() || c == ' ') => write!(out, "{c}"),
        0x80..=0xffff => write!(out, "\\u{code:04x}"),
        _ => write!(out, "\\U{code:08x}"),
    };
}

/// Escapes the characters that Go's `encoding/json` escapes for HTML.
pub(crate) fn html_escaped(json: &str) -> String {
    if !json.contains(['<', '>', '&', '\u{2028}', '\u{2029}']) {
        return json.to_owned();
    }
    let mut out = String::with_capacity(json.len() + 16);
    for c in json.chars() {
        match c {
            '<' => out.push_str("\\u003c"),
            '>' => out.push_str("\\u003e"),
            '&' => out.push_str("\\u0026"),
            '\u{2028}' => out.push_str("\\u2028"),
            '\u{2029}' => out.push_str("\\u2029"),
            _ => out.push(c),
        }
    }
    out
}

/// Formats a value as JSON of Go's internal struct: Go's names, every field, including zeros.
pub(crate) fn internal_json(value: &Value, struct_schema: &StructSchema) -> String {
    let mut out = String::new();
    push_struct(&mut out, value, struct_schema);
    out
}

fn push_struct(out: &mut String, value: &Value, struct_schema: &StructSchema) {
    out.push('{');
    let mut separator = "";
    push_fields(out, value, struct_schema, &mut separator);
    out.push('}');
}

fn push_fields(
    out: &mut String,
    value: &Value,
    struct_schema: &StructSchema,
    separator: &mut &'static str,
) {
    for field in struct_schema.fields.iter().filter(|field| !field.is_extension) {
        let present = value.get(field.json);
        // Go embeds the object metadata, so its fields appear directly in the struct.
        if let (FieldType::Struct(id), "ObjectMeta") = (&field.ty, field.go_name().as_ref()) {
            push_fields(out, present.unwrap_or(&Value::Null), id.get(), separator);
            continue;
        }
        if struct_schema.has_json_names && present.is_none() {
            continue;
        }
        out.push_str(separator);
        *separator = ",";
        let name = if struct_schema.has_json_names { field.json.into() } else { field.go_name() };
        out.push_str(&quoted(&name));
        out.push(':');
        push_field(out, present, field);
    }
}

fn push_field(out: &mut String, present: Option<&Value>, field: &FieldSchema) {
    match present {
        Some(value) => push_value(out, value, &field.ty),
        None if field.is_pointer => out.push_str("null"),
        None => push_zero(out, &field.ty),
    }
}

fn push_value(out: &mut String, value: &Value, ty: &FieldType) {
    match (ty, value) {
        (FieldType::Struct(id), Value::Object(_)) => push_struct(out, value, id.get()),
        (FieldType::List(item), Value::Array(items)) => {
            out.push('[');
            for (i, value) in items.iter().enumerate() {
                out.push_str(if i == 0 { "" } else { "," });
                push_value(out, value, item);
            }
            out.push(']');
        }
        _ => out.push_str(&html_escaped(&value.to_string())),
    }
}

fn push_zero(out: &mut String, ty: &FieldType) {
    match ty {
        FieldType::Struct(id) => push_struct(out, &Value::Null, id.get()),
        FieldType::Bool => out.push_str("false"),
        FieldType::Int32 | FieldType::Int64 | FieldType::IntOrString => out.push('0'),
        FieldType::Text(_) => out.push_str("\"\""),
        FieldType::Quantity => out.push_str("\"0\""),
        _ => out.push_str("null"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema;

    #[test]
    fn text_is_quoted_like_in_go() {
        for (text, want) in [
            ("a", r#""a""#),
            ("a\"\\b", r#""a\"\\b""#),
            ("\n\t\u{1}\u{7f}", r#""\n\t\x01\x7f""#),
            ("é–\u{a0}\u{200b}", "\"é–\\u00a0\u{200b}\""),
        ] {
            assert_eq!(quoted(text), want);
        }
    }

    #[test]
    fn an_internal_struct_is_formatted_with_every_field_and_go_names() {
        let toleration = schema::find_struct("Toleration").unwrap();
        let value = serde_json::json!({"key": "a<b", "tolerationSeconds": 5});
        assert_eq!(
            internal_json(&value, toleration),
            r#"{"Key":"a\u003cb","Operator":"","Value":"","Effect":"","TolerationSeconds":5}"#
        );
    }
}
