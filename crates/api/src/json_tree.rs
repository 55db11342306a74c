//! Builds a JSON tree from a YAML request body or a manifest file, within limits for untrusted input.
//! JSON request bodies are read by `decode::json` instead, which reports errors as Go's decoder does.
//!
//! Depth and size are limited here, after aliases are expanded, because a short YAML text can
//! expand to a huge tree. Duplicate field names are collected.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use crate::field::FieldPath;

/// The maximum depth: deeper than any Kubernetes type, and shallow enough for the stack of any
/// thread.
pub(crate) const DEPTH_MAX: usize = 64;
/// The maximum length of a field name: longer than any name in Kubernetes, and equal to the limit
/// of a simple YAML key. Without it a few long names make formatting the paths of their children
/// take hours.
const NAME_BYTES_MAX: usize = 1024;
/// The approximate memory that all documents of one input may take.
const TREE_BYTES_MAX: usize = 128 << 20;
/// The approximate memory of a value without its text.
const VALUE_BYTES: usize = 64;
/// Every integer with a magnitude below this is exact as a 64-bit float.
const EXACT_INTEGER_BOUND: f64 = 9_007_199_254_740_992.0;

/// The memory that the documents of one input may still take.
pub struct SizeBudget {
    bytes_left: usize,
}

impl Default for SizeBudget {
    fn default() -> SizeBudget {
        SizeBudget { bytes_left: TREE_BYTES_MAX }
    }
}

impl SizeBudget {
    fn spend<E: Error>(&mut self, text_len: usize) -> Result<(), E> {
        let left = self.bytes_left.checked_sub(VALUE_BYTES + text_len);
        self.bytes_left = left.ok_or_else(|| {
            let bound = TREE_BYTES_MAX >> 20;
            E::custom(format!("the input is larger than {bound} MiB"))
        })?;
        Ok(())
    }
}

/// How floating-point numbers are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NumberForm {
    /// `1.0` stays a float.
    AsWritten,
    /// `1.0` becomes the integer `1`, as when Go converts YAML to JSON.
    AsGo,
}

/// Deserializes the tree at one path of a document.
pub struct TreeSeed<'a> {
    path: Option<&'a FieldPath<'a>>,
    depth: usize,
    numbers: NumberForm,
    duplicates: &'a mut Vec<String>,
    budget: &'a mut SizeBudget,
}

impl<'a> TreeSeed<'a> {
    /// Starts at the root of a document. Pushes the paths of duplicate fields to `duplicates`.
    pub fn root(
        numbers: NumberForm,
        duplicates: &'a mut Vec<String>,
        budget: &'a mut SizeBudget,
    ) -> TreeSeed<'a> {
        TreeSeed { path: None, depth: 0, numbers, duplicates, budget }
    }

    fn child<'b>(&'b mut self, path: &'b FieldPath<'b>) -> TreeSeed<'b> {
        TreeSeed {
            path: Some(path),
            depth: self.depth + 1,
            numbers: self.numbers,
            duplicates: self.duplicates,
            budget: self.budget,
        }
    }

    fn enter<E: Error>(&self) -> Result<(), E> {
        if self.depth < DEPTH_MAX {
            return Ok(());
        }
        Err(E::custom(format!("nested more than {DEPTH_MAX} levels deep")))
    }
}

impl<'de> DeserializeSeed<'de> for TreeSeed<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        self.budget.spend(0)?;
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for TreeSeed<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_none<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, flag: bool) -> Result<Value, E> {
        Ok(Value::Bool(flag))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Value, E> {
        Ok(number.into())
    }

    fn visit_u64<E>(self, number: u64) -> Result<Value, E> {
        Ok(number.into())
    }

    fn visit_f64<E>(self, number: f64) -> Result<Value, E> {
        let is_whole = number.fract() == 0.0 && number.abs() < EXACT_INTEGER_BOUND;
        if self.numbers == NumberForm::AsGo && is_whole {
            return Ok((number as i64).into());
        }
        Ok(Number::from_f64(number).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Value, E> {
        self.budget.spend(text.len())?;
        Ok(text.into())
    }

    fn visit_string<E: Error>(self, text: String) -> Result<Value, E> {
        self.budget.spend(text.len())?;
        Ok(text.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut list: A) -> Result<Value, A::Error> {
        self.enter()?;
        let mut items = Vec::new();
        loop {
            let path = match self.path {
                Some(parent) => parent.index(items.len()),
                // The path of a top-level list is never reported.
                None => FieldPath::root(""),
            };
            match list.next_element_seed(self.child(&path))? {
                Some(item) => items.push(item),
                None => return Ok(Value::Array(items)),
            }
        }
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<Value, A::Error> {
        self.enter()?;
        let mut fields = Map::new();
        while let Some(name) = map.next_key::<String>()? {
            self.budget.spend(name.len())?;
            if name.len() > NAME_BYTES_MAX {
                let why = format!("a field's name is longer than {NAME_BYTES_MAX} bytes");
                return Err(Error::custom(why));
            }
            let path = match self.path {
                Some(parent) => parent.child(&name),
                None => FieldPath::root(&name),
            };
            let value = map.next_value_seed(self.child(&path))?;
            if fields.contains_key(&name) {
                let path = path.to_string();
                self.budget.spend(path.len())?;
                self.duplicates.push(path);
            }
            fields.insert(name, value);
        }
        Ok(Value::Object(fields))
    }
}
