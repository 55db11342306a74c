//! From the bytes of a message to the tree that its JSON would give, along the table.
//!
//! As in Go, a field that is given twice has its last value, but lists and maps grow and messages
//! are merged. Zeros that Go leaves out of JSON are left out here. A tree takes a small multiple of
//! its bytes, since every value in it was a byte at least and no length is believed beforehand.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::{Map, Value};

use super::leaf;
use super::table::{Message, Role, Shape, Slot};
use super::wire::{Reader, STRETCH, Tag};
use crate::json_tree::DEPTH_MAX;

/// The fields of a whole message.
pub(super) fn fields(bytes: &[u8], message: &Message) -> Result<Map<String, Value>, String> {
    let mut fields = Map::new();
    fill(&mut fields, bytes, message, 0)?;
    Ok(fields)
}

fn fill(
    fields: &mut Map<String, Value>,
    bytes: &[u8],
    message: &Message,
    depth: usize,
) -> Result<(), String> {
    if depth > DEPTH_MAX {
        return Err(format!("nested more than {DEPTH_MAX} levels deep"));
    }
    let mut reader = Reader::new(bytes);
    while let Some(tag) = reader.tag(message.name)? {
        match message.slot(tag.number) {
            Some(slot) => Step { reader: &mut reader, tag, slot, depth }.read(fields)?,
            None => reader.skip(tag)?,
        }
    }
    Ok(())
}

/// A field that is next to be read.
struct Step<'r, 'b> {
    reader: &'r mut Reader<'b>,
    tag: Tag,
    slot: &'r Slot,
    /// How many messages are around it.
    depth: usize,
}

impl<'b> Step<'_, 'b> {
    fn read(mut self, fields: &mut Map<String, Value>) -> Result<(), String> {
        let name = self.slot.name;
        match self.slot.role {
            Role::Embedded(id) => return fill(fields, self.bytes()?, id.get(), self.depth + 1),
            Role::One(Shape::Message(id)) => {
                let mut below = taken_object(fields, name);
                fill(&mut below, self.bytes()?, id.get(), self.depth + 1)?;
                fields.insert(name.to_owned(), below.into());
            }
            Role::One(shape) => {
                let value = self.value(shape)?;
                put(fields, self.slot, value);
            }
            Role::List(shape) => {
                let mut items = taken_list(fields, name);
                self.read_items(shape, &mut items)?;
                fields.insert(name.to_owned(), items.into());
            }
            Role::Map(shape) => {
                let mut entries = taken_object(fields, name);
                let (key, value) = self.entry(shape)?;
                entries.insert(key, value);
                fields.insert(name.to_owned(), entries.into());
            }
        }
        Ok(())
    }

    fn value(&mut self, shape: Shape) -> Result<Value, String> {
        Ok(match shape {
            Shape::Bool | Shape::Int32 | Shape::Int64 => {
                as_number(self.reader.number(self.tag, &self.slot.go_name)?, shape)
            }
            Shape::Text => self.reader.text(self.tag, &self.slot.go_name)?.into(),
            Shape::Bytes => BASE64.encode(self.bytes()?).into(),
            Shape::Quantity => leaf::quantity(self.bytes()?)?,
            Shape::IntOrString => leaf::int_or_string(self.bytes()?)?,
            Shape::Time => leaf::time(self.bytes()?)?,
            Shape::MicroTime => leaf::micro_time(self.bytes()?)?,
            Shape::Json => leaf::json(self.bytes()?)?,
            Shape::Message(id) => {
                let mut below = Map::new();
                fill(&mut below, self.bytes()?, id.get(), self.depth + 1)?;
                below.into()
            }
        })
    }

    fn bytes(&mut self) -> Result<&'b [u8], String> {
        self.reader.bytes(self.tag, &self.slot.go_name)
    }

    /// One item, or any number of numbers.
    fn read_items(&mut self, shape: Shape, items: &mut Vec<Value>) -> Result<(), String> {
        let is_number = matches!(shape, Shape::Bool | Shape::Int32 | Shape::Int64);
        if !(is_number && self.tag.wire_type == STRETCH) {
            items.push(self.value(shape)?);
            return Ok(());
        }
        let mut packed = Reader::new(self.bytes()?);
        while !packed.is_at_end() {
            items.push(as_number(packed.varint()?.cast_signed(), shape));
        }
        Ok(())
    }

    /// An entry of a map is a message of a key and a value, and either may be missing.
    fn entry(&mut self, shape: Shape) -> Result<(String, Value), String> {
        let (mut key, mut value) = ("", None);
        let (bytes, slot, depth) = (self.bytes()?, self.slot, self.depth + 1);
        let mut reader = Reader::new(bytes);
        while let Some(tag) = reader.tag(&slot.go_name)? {
            match tag.number {
                1 => key = reader.text(tag, &slot.go_name)?,
                2 => value = Some(Step { reader: &mut reader, tag, slot, depth }.value(shape)?),
                _ => reader.skip(tag)?,
            }
        }
        Ok((key.to_owned(), value.unwrap_or_else(|| zero(shape))))
    }
}

fn as_number(number: i64, shape: Shape) -> Value {
    match shape {
        Shape::Bool => Value::Bool(number != 0),
        // Cut as Go cuts it.
        Shape::Int32 => Value::from(number as i32),
        _ => Value::from(number),
    }
}

/// What the value of a map's entry is if it is not given.
fn zero(shape: Shape) -> Value {
    match shape {
        Shape::Bool => Value::Bool(false),
        Shape::Int32 | Shape::Int64 | Shape::IntOrString => Value::from(0),
        Shape::Text | Shape::Bytes => Value::from(""),
        Shape::Quantity => Value::from("0"),
        Shape::Time | Shape::MicroTime | Shape::Json => Value::Null,
        Shape::Message(_) => Value::Object(Map::new()),
    }
}

/// A null, and a zero that means nothing, is as if the field were not there.
fn put(fields: &mut Map<String, Value>, slot: &Slot, value: Value) {
    let is_nothing = value.is_null() || (!slot.keeps_zero && is_zero(&value));
    match is_nothing {
        true => fields.remove(slot.name),
        false => fields.insert(slot.name.to_owned(), value),
    };
}

fn is_zero(value: &Value) -> bool {
    match value {
        Value::Bool(flag) => !flag,
        Value::Number(number) => number.as_i64() == Some(0),
        Value::String(text) => text.is_empty(),
        _ => false,
    }
}

/// What a message or map has so far.
fn taken_object(fields: &mut Map<String, Value>, name: &str) -> Map<String, Value> {
    match fields.remove(name) {
        Some(Value::Object(below)) => below,
        _ => Map::new(),
    }
}

/// What a list has so far.
fn taken_list(fields: &mut Map<String, Value>, name: &str) -> Vec<Value> {
    match fields.remove(name) {
        Some(Value::Array(items)) => items,
        _ => Vec::new(),
    }
}
