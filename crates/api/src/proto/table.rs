//! The protobuf messages: field numbers (`schema/proto.txt`) and types.
//!
//! Names and types come from the schema tables. Messages that are never stored have their types in
//! `proto.txt`.

use std::collections::HashMap;
use std::sync::OnceLock;

use crate::schema::{self, FieldSchema, FieldType, StructSchema};

/// The cardinality and type of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cardinality {
    Single(ValueType),
    List(ValueType),
    /// A map with string keys.
    Map(ValueType),
    /// A message whose fields belong to the enclosing object in JSON.
    Embedded(MessageId),
}

/// The type of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ValueType {
    Bool,
    Int32,
    Int64,
    Text,
    Bytes,
    Quantity,
    IntOrString,
    Time,
    MicroTime,
    /// Any JSON value, as text inside a message.
    Json,
    Message(MessageId),
}

/// The index of a message in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct MessageId(usize);

impl MessageId {
    /// Returns the message.
    pub(super) fn get(self) -> &'static Message {
        // Indexes are only created for existing messages, so `EMPTY` is never returned.
        table().messages.get(self.0).unwrap_or(&EMPTY)
    }
}

/// A field with its number.
#[derive(Clone, Debug)]
pub(super) struct ProtoField {
    pub(super) number: u32,
    /// The JSON name; for an embedded message the name of the message.
    pub(super) name: &'static str,
    /// The Go name, for error messages.
    pub(super) go_name: String,
    pub(super) cardinality: Cardinality,
    /// Whether an explicit zero differs from an absent field.
    pub(super) keeps_zero: bool,
}

/// A message.
#[derive(Debug)]
pub(super) struct Message {
    pub(super) name: &'static str,
    /// The fields in the order of their numbers.
    pub(super) fields: Vec<ProtoField>,
}

impl Message {
    /// Returns the field with a number.
    pub(super) fn field(&self, number: u32) -> Option<&ProtoField> {
        let index = self.fields.binary_search_by_key(&number, |field| field.number).ok()?;
        self.fields.get(index)
    }
}

static EMPTY: Message = Message { name: "", fields: Vec::new() };

/// Finds a message by name.
pub(super) fn find_message(name: &str) -> Option<&'static Message> {
    let table = table();
    table.messages.get(*table.by_name.get(name)?)
}

/// Finds the message of a kind. ScheduledJob has none, because custom resources have no protobuf
/// form.
pub(super) fn find_kind(api_version: &str, kind: &str) -> Option<&'static Message> {
    match (api_version, kind) {
        (_, "ScheduledJob") => None,
        _ => find_message(
            schema::find_kind(api_version, kind).map_or(kind, |struct_schema| struct_schema.name),
        ),
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
        let sources = read_sources();
        let names = sources.iter().enumerate().map(|(i, source)| (source.name, i));
        let by_name: HashMap<_, _> = names.collect();
        let messages = sources.iter().map(|source| parse_message(source, &by_name)).collect();
        Table { messages, by_name }
    })
}

/// A message as it is written in the table: name and unparsed fields.
struct MessageSource {
    name: &'static str,
    entries: Vec<&'static str>,
}

fn read_sources() -> Vec<MessageSource> {
    let mut sources: Vec<MessageSource> = Vec::new();
    for line in SOURCE.lines().filter(|line| !line.starts_with('#')) {
        match sources.last_mut() {
            Some(source) if line.starts_with(' ') => {
                source.entries.extend(line.split_whitespace());
            }
            _ => sources.push(MessageSource { name: line, entries: Vec::new() }),
        }
    }
    sources
}

fn parse_message(source: &MessageSource, by_name: &HashMap<&'static str, usize>) -> Message {
    let parser = FieldParser { struct_schema: schema::find_struct(source.name), by_name };
    let mut fields: Vec<_> =
        source.entries.iter().filter_map(|entry| parser.field(entry)).collect();
    fields.sort_by_key(|field| field.number);
    Message { name: source.name, fields }
}

/// Parses the fields of one message.
struct FieldParser<'a> {
    struct_schema: Option<&'static StructSchema>,
    by_name: &'a HashMap<&'static str, usize>,
}

impl FieldParser<'_> {
    fn field(&self, entry: &'static str) -> Option<ProtoField> {
        let (name, rest) = entry.split_once('=')?;
        let (number, ty) = rest.split_once(':').unwrap_or((rest, ""));
        let number = number.parse().ok()?;
        if let Some(name) = name.strip_prefix('+') {
            let cardinality = Cardinality::Embedded(self.id(name)?);
            return Some(ProtoField {
                number,
                name,
                go_name: name.to_owned(),
                cardinality,
                keeps_zero: true,
            });
        }
        if ty.is_empty() {
            return self.schema_field(number, self.struct_schema?.field(name)?);
        }
        let plain = ty.trim_start_matches('*');
        Some(ProtoField {
            number,
            name,
            go_name: capitalized(name),
            cardinality: self.parse_cardinality(plain)?,
            keeps_zero: plain != ty,
        })
    }

    fn schema_field(&self, number: u32, field: &FieldSchema) -> Option<ProtoField> {
        Some(ProtoField {
            number,
            name: field.json,
            go_name: field.go_name().into_owned(),
            cardinality: self.cardinality_of(&field.ty)?,
            keeps_zero: field.is_pointer || field.is_always_written,
        })
    }

    fn id(&self, message: &str) -> Option<MessageId> {
        self.by_name.get(message).copied().map(MessageId)
    }

    fn cardinality_of(&self, ty: &FieldType) -> Option<Cardinality> {
        Some(match ty {
            FieldType::List(item) => Cardinality::List(self.value_type_of(item)?),
            FieldType::Map(item) => Cardinality::Map(self.value_type_of(item)?),
            ty => Cardinality::Single(self.value_type_of(ty)?),
        })
    }

    fn value_type_of(&self, ty: &FieldType) -> Option<ValueType> {
        Some(match ty {
            FieldType::Bool => ValueType::Bool,
            FieldType::Int32 => ValueType::Int32,
            FieldType::Int64 => ValueType::Int64,
            FieldType::Text(_) => ValueType::Text,
            FieldType::Bytes => ValueType::Bytes,
            FieldType::Quantity => ValueType::Quantity,
            FieldType::IntOrString => ValueType::IntOrString,
            FieldType::Time => ValueType::Time,
            FieldType::MicroTime => ValueType::MicroTime,
            FieldType::Any => ValueType::Json,
            FieldType::Struct(id) => ValueType::Message(self.id(id.get().name)?),
            // Neither protobuf nor the tables have nested lists.
            FieldType::List(_) | FieldType::Map(_) => return None,
        })
    }

    fn parse_cardinality(&self, ty: &str) -> Option<Cardinality> {
        match ty.strip_prefix("[]") {
            Some(item) => Some(Cardinality::List(self.parse_value_type(item)?)),
            None => Some(Cardinality::Single(self.parse_value_type(ty)?)),
        }
    }

    /// Parses the types of messages that are never stored.
    fn parse_value_type(&self, ty: &str) -> Option<ValueType> {
        match ty {
            "bool" => Some(ValueType::Bool),
            "int64" => Some(ValueType::Int64),
            "string" => Some(ValueType::Text),
            message => self.id(message).map(ValueType::Message),
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
