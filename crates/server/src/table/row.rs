//! Looking into an object for the content of a cell.

use jiff::Timestamp;
use punctual_api::time::parse_rfc3339;
use serde_json::Value;

use super::age;

/// What a cell shows where there is nothing.
pub(super) const NONE: &str = "<none>";

/// An object that is being made into a row.
pub(super) struct Row<'a> {
    pub(super) object: &'a Value,
    pub(super) now: Timestamp,
}

impl<'a> Row<'a> {
    /// The cell of the name.
    pub(super) fn name(&self) -> Value {
        self.text("/metadata/name").into()
    }

    /// The cell of the age.
    pub(super) fn age(&self) -> Value {
        self.since("/metadata/creationTimestamp").into()
    }

    /// The text at a place; empty where there is none.
    pub(super) fn text(&self, pointer: &str) -> &'a str {
        text(self.object, pointer)
    }

    /// The text at a place, or what stands for nothing.
    pub(super) fn text_or(&self, pointer: &str, nothing: &'static str) -> &'a str {
        match self.text(pointer) {
            "" => nothing,
            found => found,
        }
    }

    /// The number at a place, if there is one.
    pub(super) fn number(&self, pointer: &str) -> Option<i64> {
        self.object.pointer(pointer)?.as_i64()
    }

    /// The items of the list at a place.
    pub(super) fn items(&self, pointer: &str) -> &'a [Value] {
        items(self.object, pointer)
    }

    /// How many entries the map at a place has.
    pub(super) fn entry_count(&self, pointer: &str) -> usize {
        self.object.pointer(pointer).and_then(Value::as_object).map_or(0, serde_json::Map::len)
    }

    /// The instant at a place.
    pub(super) fn time(&self, pointer: &str) -> Option<Timestamp> {
        parse_rfc3339(self.text(pointer)).ok()
    }

    /// How long ago the instant at a place is.
    pub(super) fn since(&self, pointer: &str) -> String {
        match self.time(pointer) {
            Some(at) => age::human(self.now.duration_since(at)),
            None => "<unknown>".to_owned(),
        }
    }

    /// Whether the condition of that type is true. The first of its type decides.
    pub(super) fn has_condition(&self, ty: &str) -> bool {
        let mut conditions = self.items("/status/conditions").iter();
        conditions
            .find(|condition| text(condition, "/type") == ty)
            .is_some_and(|condition| text(condition, "/status") == "True")
    }
}

/// The text at a place in a part of an object; empty where there is none.
pub(super) fn text<'a>(part: &'a Value, pointer: &str) -> &'a str {
    part.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// The items of the list at a place in a part of an object.
pub(super) fn items<'a>(part: &'a Value, pointer: &str) -> &'a [Value] {
    part.pointer(pointer).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}
