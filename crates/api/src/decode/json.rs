//! JSON, read like serde_json's own `Value`, but with an eye on names that are given twice.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use super::DecodedObject;
use crate::field::FieldPath;

/// More names given twice than this are not told one by one.
const DUPLICATES_MAX: usize = 100;

/// Reads JSON and notes names that are given twice in one object.
pub(super) fn read(body: &[u8]) -> Result<DecodedObject, String> {
    let mut duplicates = Vec::new();
    let mut reader = serde_json::Deserializer::from_slice(body);
    let seed = Tree { path: None, duplicates: &mut duplicates };
    let value = seed.deserialize(&mut reader).map_err(|error| json_error(&error))?;
    reader.end().map_err(|error| json_error(&error))?;
    let field_warnings =
        duplicates.iter().map(|path| format!("duplicate field \"{path}\"")).collect();
    Ok(DecodedObject { value, field_warnings })
}

fn json_error(error: &serde_json::Error) -> String {
    if error.is_eof() { "unexpected end of JSON input".to_owned() } else { error.to_string() }
}

/// Builds a tree like `Value` does, but notices names given twice.
struct Tree<'a> {
    /// None for the document itself. Written out only where something is to be said: a path for
    /// every value would cost its length each time.
    path: Option<&'a FieldPath<'a>>,
    duplicates: &'a mut Vec<String>,
}

impl<'de> DeserializeSeed<'de> for Tree<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Tree<'_> {
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
            let seed = Tree { path: Some(&path), duplicates: &mut *self.duplicates };
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
            let seed = Tree { path: Some(&path), duplicates: &mut *self.duplicates };
            let value = map.next_value_seed(seed)?;
            if fields.contains_key(&name) && self.duplicates.len() < DUPLICATES_MAX {
                self.duplicates.push(path.to_string());
            }
            fields.insert(name, value);
        }
        Ok(Value::Object(fields))
    }
}
