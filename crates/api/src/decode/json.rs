//! A JSON reader that builds a [`Value`] and records duplicate field names.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use super::DecodedObject;
use crate::field::FieldPath;

/// How many duplicate fields are reported.
const DUPLICATES_MAX: usize = 100;

/// Parses JSON and records duplicate fields.
pub(super) fn parse(body: &[u8]) -> Result<DecodedObject, JsonError> {
    let mut duplicates = Vec::new();
    let mut reader = serde_json::Deserializer::from_slice(body);
    let seed = TreeBuilder { path: None, duplicates: &mut duplicates };
    let value = seed.deserialize(&mut reader)?;
    reader.end()?;
    let field_warnings =
        duplicates.iter().map(|path| format!("duplicate field \"{path}\"")).collect();
    Ok(DecodedObject { value, field_warnings })
}

/// A syntax error in JSON, with Go's message for truncated input.
#[derive(Debug, thiserror::Error)]
pub(super) enum JsonError {
    #[error("unexpected end of JSON input")]
    UnexpectedEnd,
    #[error(transparent)]
    Syntax(serde_json::Error),
}

impl From<serde_json::Error> for JsonError {
    fn from(error: serde_json::Error) -> Self {
        if error.is_eof() { JsonError::UnexpectedEnd } else { JsonError::Syntax(error) }
    }
}

/// Builds a tree like `Value` and records duplicate fields.
struct TreeBuilder<'a> {
    /// The path of the value; `None` at the root. Formatted only for a report, because formatting
    /// the path of every value would be quadratic.
    path: Option<&'a FieldPath<'a>>,
    duplicates: &'a mut Vec<String>,
}

impl<'de> DeserializeSeed<'de> for TreeBuilder<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for TreeBuilder<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, flag: bool) -> Result<Value, E> {
        Ok(Value::Bool(flag))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Value, E> {
        Ok(Value::from(number))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Value, E> {
        Ok(Value::from(number))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Value, E> {
        Ok(Number::from_f64(number).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(Value::from(text))
    }

    fn visit_string<E>(self, text: String) -> Result<Value, E> {
        Ok(Value::from(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Value, A::Error> {
        let document = FieldPath::root("");
        let list_path = self.path.unwrap_or(&document);
        let mut items = Vec::new();
        loop {
            let path = list_path.index(items.len());
            let seed = TreeBuilder { path: Some(&path), duplicates: &mut *self.duplicates };
            match list.next_element_seed(seed)? {
                Some(item) => items.push(item),
                None => return Ok(Value::Array(items)),
            }
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut fields = Map::new();
        while let Some(name) = map.next_key::<String>()? {
            let path = self.path.map_or_else(|| FieldPath::root(&name), |path| path.child(&name));
            let seed = TreeBuilder { path: Some(&path), duplicates: &mut *self.duplicates };
            let value = map.next_value_seed(seed)?;
            if fields.contains_key(&name) && self.duplicates.len() < DUPLICATES_MAX {
                self.duplicates.push(path.to_string());
            }
            fields.insert(name, value);
        }
        Ok(Value::Object(fields))
    }
}
