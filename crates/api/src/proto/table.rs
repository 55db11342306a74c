//! The messages: which number a field has (`schema/proto.txt`), and what it is.
//!
//! Names and types are those of the schema; a few messages that are never stored have their types
//! with their numbers.

use std::collections::HashMap;
use std::sync::OnceLock;

use crate::schema::{self, FieldSchema, FieldType, StructSchema};

/// How a field stands in its message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    One(Shape),
    List(Shape),
    /// From text.
    Map(Shape),
    /// A message whose fields are those of the message around it in JSON.
    Embedded(MessageId),
}

/// What a value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    Bool,
    Int32,
    Int64,
    Text,
    Bytes,
    Quantity,
    IntOrString,
    Time,
    MicroTime,
    /// Any JSON, as text inside a message.
    Json,
    Message(MessageId),
}

/// A message, by its place in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct MessageId(usize);

impl MessageId {
    /// The message.
    pub(super) fn get(self) -> &'static Message {
        // Ids are only made for messages of the table, so the empty one is never seen.
        table().messages.get(self.0).unwrap_or(&EMPTY)
    }
}

/// A field with its number.
#[derive(Clone, Debug)]
pub(super) struct Slot {
    pub(super) number: u32,
    /// Name in JSON; for an embedded message the name of the message.
    pub(super) name: &'static str,
    /// Name in Go, for what is to be said.
    pub(super) go_name: String,
    pub(super) role: Role,
    /// Whether a zero means more than that the field is not there.
    pub(super) keeps_zero: bool,
}

/// A message.
#[derive(Debug)]
pub(super) struct Message {
    pub(super) name: &'static str,
    /// In the order of their numbers.
    pub(super) slots: Vec<Slot>,
}

impl Message {
    /// The field of that number.
    pub(super) fn slot(&self, number: u32) -> Option<&Slot> {
        let place = self.slots.binary_search_by_key(&number, |slot| slot.number).ok()?;
        self.slots.get(place)
    }
}

static EMPTY: Message = Message { name: "", slots: Vec::new() };

/// The message of that name.
pub(super) fn named(name: &str) -> Option<&'static Message> {
    let table = table();
    table.messages.get(*table.by_name.get(name)?)
}

/// The message of a kind. A kind of ours has none: its fields have no numbers that others know.
pub(super) fn of_kind(api_version: &str, kind: &str) -> Option<&'static Message> {
    match (api_version, kind) {
        (_, "ScheduledJob") => None,
        _ => named(schema::find_kind(api_version, kind).map_or(kind, |shape| shape.name)),
    }
}

struct Table {
    messages: Vec<Message>,
    by_name: HashMap<&'static str, usize>,
}

const SOURCE: &str = include_str!("../schema/proto.txt");

fn table() -> &'static Table {
    static TABLE: OnceLock<Table> = OnceLock::new();
    TABLE.get_or_init(|| {
        let drafts = read_drafts();
        let names = drafts.iter().enumerate().map(|(i, (name, _))| (*name, i));
        let by_name: HashMap<_, _> = names.collect();
        let messages = drafts.iter().map(|draft| message(draft, &by_name)).collect();
        Table { messages, by_name }
    })
}

/// The name of a message and its fields as they are written.
type Draft = (&'static str, Vec<&'static str>);

fn read_drafts() -> Vec<Draft> {
    let mut drafts: Vec<Draft> = Vec::new();
    for line in SOURCE.lines().filter(|line| !line.starts_with('#')) {
        match drafts.last_mut() {
            Some((_, entries)) if line.starts_with(' ') => entries.extend(line.split_whitespace()),
            _ => drafts.push((line, Vec::new())),
        }
    }
    drafts
}

fn message((name, entries): &Draft, by_name: &HashMap<&'static str, usize>) -> Message {
    let lines = Lines { shape: schema::find_struct(name), by_name };
    let mut slots: Vec<_> = entries.iter().filter_map(|entry| lines.slot(entry)).collect();
    slots.sort_by_key(|slot| slot.number);
    Message { name, slots }
}

/// What the entries of a message are read with.
struct Lines<'a> {
    shape: Option<&'static StructSchema>,
    by_name: &'a HashMap<&'static str, usize>,
}

impl Lines<'_> {
    fn slot(&self, entry: &'static str) -> Option<Slot> {
        let (name, rest) = entry.split_once('=')?;
        let (number, ty) = rest.split_once(':').unwrap_or((rest, ""));
        let number = number.parse().ok()?;
        if let Some(name) = name.strip_prefix('+') {
            let role = Role::Embedded(self.id(name)?);
            return Some(Slot { number, name, go_name: name.to_owned(), role, keeps_zero: true });
        }
        if ty.is_empty() {
            return self.known_slot(number, self.shape?.field(name)?);
        }
        let plain = ty.trim_start_matches('*');
        Some(Slot {
            number,
            name,
            go_name: capitalized(name),
            role: self.written_role(plain)?,
            keeps_zero: plain != ty,
        })
    }

    fn known_slot(&self, number: u32, field: &FieldSchema) -> Option<Slot> {
        Some(Slot {
            number,
            name: field.json,
            go_name: field.go_name().into_owned(),
            role: self.role_of(&field.ty)?,
            keeps_zero: field.is_pointer || field.is_always_written,
        })
    }

    fn id(&self, message: &str) -> Option<MessageId> {
        self.by_name.get(message).copied().map(MessageId)
    }

    fn role_of(&self, ty: &FieldType) -> Option<Role> {
        Some(match ty {
            FieldType::List(item) => Role::List(self.shape_of(item)?),
            FieldType::Map(item) => Role::Map(self.shape_of(item)?),
            ty => Role::One(self.shape_of(ty)?),
        })
    }

    fn shape_of(&self, ty: &FieldType) -> Option<Shape> {
        Some(match ty {
            FieldType::Bool => Shape::Bool,
            FieldType::Int32 => Shape::Int32,
            FieldType::Int64 => Shape::Int64,
            FieldType::Text(_) => Shape::Text,
            FieldType::Bytes => Shape::Bytes,
            FieldType::Quantity => Shape::Quantity,
            FieldType::IntOrString => Shape::IntOrString,
            FieldType::Time => Shape::Time,
            FieldType::MicroTime => Shape::MicroTime,
            FieldType::Any => Shape::Json,
            FieldType::Struct(id) => Shape::Message(self.id(id.get().name)?),
            // Protobuf has no lists of lists, nor have the tables.
            FieldType::List(_) | FieldType::Map(_) => return None,
        })
    }

    fn written_role(&self, ty: &str) -> Option<Role> {
        match ty.strip_prefix("[]") {
            Some(item) => Some(Role::List(self.written_shape(item)?)),
            None => Some(Role::One(self.written_shape(ty)?)),
        }
    }

    /// The few shapes that messages which are never stored have.
    fn written_shape(&self, ty: &str) -> Option<Shape> {
        match ty {
            "bool" => Some(Shape::Bool),
            "int64" => Some(Shape::Int64),
            "string" => Some(Shape::Text),
            message => self.id(message).map(Shape::Message),
        }
    }
}

fn capitalized(name: &str) -> String {
    let mut letters = name.chars();
    let first = letters.next().map(|letter| letter.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
}

#[cfg(test)]
mod tests;
