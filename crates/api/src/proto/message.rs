//! Decodes a protobuf message into the tree that the JSON of the same object gives.
//!
//! As in Go, the last value of a repeated singular field wins, lists and maps grow, and nested
//! messages are merged. Zeros that Go omits in JSON are omitted. The tree takes a small multiple of
//! the input: every value takes at least one byte of input, and nothing is allocated by a length
//! that the input claims.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::{Map, Value};

use super::error::ProtoError;
use super::table::{Cardinality, Message, ProtoField, ValueType};
use super::value;
use super::wire::{LENGTH_DELIMITED, Reader, Tag};
use crate::json_tree::DEPTH_MAX;

/// Decodes the fields of a top-level message.
pub(super) fn decode_fields(
    bytes: &[u8],
    message: &Message,
) -> Result<Map<String, Value>, ProtoError> {
    let mut fields = Map::new();
    merge_fields(&mut fields, bytes, message, 0)?;
    Ok(fields)
}

/// Merges the fields of a message into `fields`.
fn merge_fields(
    fields: &mut Map<String, Value>,
    bytes: &[u8],
    message: &Message,
    depth: usize,
) -> Result<(), ProtoError> {
    if depth > DEPTH_MAX {
        return Err(ProtoError::TooDeep);
    }
    let mut reader = Reader::new(bytes);
    while let Some(tag) = reader.tag(message.name)? {
        match message.field(tag.number) {
            Some(field) => FieldReader { reader: &mut reader, tag, field, depth }.read(fields)?,
            None => reader.skip(tag)?,
        }
    }
    Ok(())
}

/// Reads one field.
struct FieldReader<'r, 'b> {
    reader: &'r mut Reader<'b>,
    tag: Tag,
    field: &'r ProtoField,
    /// The number of enclosing messages.
    depth: usize,
}

impl<'b> FieldReader<'_, 'b> {
    fn read(mut self, fields: &mut Map<String, Value>) -> Result<(), ProtoError> {
        let name = self.field.name;
        match self.field.cardinality {
            Cardinality::Embedded(id) => {
                return merge_fields(fields, self.bytes()?, id.get(), self.depth + 1);
            }
            Cardinality::Single(ValueType::Message(id)) => {
                let mut nested = take_object(fields, name);
                merge_fields(&mut nested, self.bytes()?, id.get(), self.depth + 1)?;
                fields.insert(name.to_owned(), nested.into());
            }
            Cardinality::Single(value_type) => {
                let value = self.value(value_type)?;
                insert_or_remove(fields, self.field, value);
            }
            Cardinality::List(value_type) => {
                let mut items = take_list(fields, name);
                self.read_items(value_type, &mut items)?;
                fields.insert(name.to_owned(), items.into());
            }
            Cardinality::Map(value_type) => {
                let mut entries = take_object(fields, name);
                let (key, value) = self.entry(value_type)?;
                entries.insert(key, value);
                fields.insert(name.to_owned(), entries.into());
            }
        }
        Ok(())
    }

    fn value(&mut self, value_type: ValueType) -> Result<Value, ProtoError> {
        Ok(match value_type {
            ValueType::Bool | ValueType::Int32 | ValueType::Int64 => {
                to_json_number(self.reader.number(self.tag, &self.field.go_name)?, value_type)
            }
            ValueType::Text => self.reader.text(self.tag, &self.field.go_name)?.into(),
            ValueType::Bytes => BASE64.encode(self.bytes()?).into(),
            ValueType::Quantity => value::decode_quantity(self.bytes()?)?,
            ValueType::IntOrString => value::decode_int_or_string(self.bytes()?)?,
            ValueType::Time => value::decode_time(self.bytes()?)?,
            ValueType::MicroTime => value::decode_micro_time(self.bytes()?)?,
            ValueType::Json => value::decode_json(self.bytes()?)?,
            ValueType::Message(id) => {
                let mut nested = Map::new();
                merge_fields(&mut nested, self.bytes()?, id.get(), self.depth + 1)?;
                nested.into()
            }
        })
    }

    fn bytes(&mut self) -> Result<&'b [u8], ProtoError> {
        self.reader.bytes(self.tag, &self.field.go_name)
    }

    /// Reads one item, or a packed list of numbers.
    fn read_items(
        &mut self,
        value_type: ValueType,
        items: &mut Vec<Value>,
    ) -> Result<(), ProtoError> {
        let is_number = matches!(value_type, ValueType::Bool | ValueType::Int32 | ValueType::Int64);
        if !(is_number && self.tag.wire_type == LENGTH_DELIMITED) {
            items.push(self.value(value_type)?);
            return Ok(());
        }
        let mut packed = Reader::new(self.bytes()?);
        while !packed.is_at_end() {
            items.push(to_json_number(packed.varint()?.cast_signed(), value_type));
        }
        Ok(())
    }

    /// Reads a map entry: a message with an optional key and an optional value.
    fn entry(&mut self, value_type: ValueType) -> Result<(String, Value), ProtoError> {
        let field = self.field;
        let depth = self.depth + 1;
        let mut key = "";
        let mut value = None;
        let mut reader = Reader::new(self.bytes()?);
        while let Some(tag) = reader.tag(&field.go_name)? {
            match tag.number {
                1 => key = reader.text(tag, &field.go_name)?,
                2 => {
                    value = Some(
                        FieldReader { reader: &mut reader, tag, field, depth }.value(value_type)?,
                    )
                }
                _ => reader.skip(tag)?,
            }
        }
        Ok((key.to_owned(), value.unwrap_or_else(|| zero(value_type))))
    }
}

fn to_json_number(number: i64, value_type: ValueType) -> Value {
    match value_type {
        ValueType::Bool => Value::Bool(number != 0),
        // Truncates like Go.
        ValueType::Int32 => Value::from(number as i32),
        _ => Value::from(number),
    }
}

/// Returns the value of a map entry without a value.
fn zero(value_type: ValueType) -> Value {
    match value_type {
        ValueType::Bool => Value::Bool(false),
        ValueType::Int32 | ValueType::Int64 | ValueType::IntOrString => Value::from(0),
        ValueType::Text | ValueType::Bytes => Value::from(""),
        ValueType::Quantity => Value::from("0"),
        ValueType::Time | ValueType::MicroTime | ValueType::Json => Value::Null,
        ValueType::Message(_) => Value::Object(Map::new()),
    }
}

/// Inserts a value. A null, or a zero that equals absence, removes the field instead.
fn insert_or_remove(fields: &mut Map<String, Value>, field: &ProtoField, value: Value) {
    if value.is_null() || (!field.keeps_zero && is_zero(&value)) {
        fields.remove(field.name);
    } else {
        fields.insert(field.name.to_owned(), value);
    }
}

fn is_zero(value: &Value) -> bool {
    match value {
        Value::Bool(flag) => !flag,
        Value::Number(number) => number.as_i64() == Some(0),
        Value::String(text) => text.is_empty(),
        _ => false,
    }
}

/// Removes and returns a message or map, or an empty one if it is absent.
fn take_object(fields: &mut Map<String, Value>, name: &str) -> Map<String, Value> {
    match fields.remove(name) {
        Some(Value::Object(nested)) => nested,
        _ => Map::new(),
    }
}

/// Removes and returns a list, or an empty one if it is absent.
fn take_list(fields: &mut Map<String, Value>, name: &str) -> Vec<Value> {
    match fields.remove(name) {
        Some(Value::Array(items)) => items,
        _ => Vec::new(),
    }
}
