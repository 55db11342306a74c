//! The object behind a row of a table, with the accessors that compute the row's cells.

use jiff::Timestamp;
use punctual_api::time::parse_rfc3339;
use serde_json::Value;

use super::age;

/// The cell for an absent value.
pub(super) const NONE: &str = "<none>";

/// An object that is rendered as a row.
pub(super) struct TableRow<'a> {
    pub(super) object: &'a Value,
    pub(super) now: Timestamp,
}

impl<'a> TableRow<'a> {
    /// Returns the cell of the name column.
    pub(super) fn name(&self) -> Value {
        self.text("/metadata/name").into()
    }

    /// Returns the cell of the age column.
    pub(super) fn age(&self) -> Value {
        self.since("/metadata/creationTimestamp").into()
    }

    /// Returns the text at a JSON pointer, or an empty text.
    pub(super) fn text(&self, pointer: &str) -> &'a str {
        text(self.object, pointer)
    }

    /// Returns the text at a JSON pointer, or a default if it is empty.
    pub(super) fn text_or(&self, pointer: &str, default: &'static str) -> &'a str {
        match self.text(pointer) {
            "" => default,
            found => found,
        }
    }

    /// Returns the integer at a JSON pointer.
    pub(super) fn number(&self, pointer: &str) -> Option<i64> {
        self.object.pointer(pointer)?.as_i64()
    }

    /// Returns the items of the list at a JSON pointer.
    pub(super) fn items(&self, pointer: &str) -> &'a [Value] {
        items(self.object, pointer)
    }

    /// Returns the number of entries of the map at a JSON pointer.
    pub(super) fn entry_count(&self, pointer: &str) -> usize {
        self.object.pointer(pointer).and_then(Value::as_object).map_or(0, serde_json::Map::len)
    }

    /// Returns the time at a JSON pointer.
    pub(super) fn time(&self, pointer: &str) -> Option<Timestamp> {
        parse_rfc3339(self.text(pointer)).ok()
    }

    /// Returns the age of the time at a JSON pointer.
    pub(super) fn since(&self, pointer: &str) -> String {
        match self.time(pointer) {
            Some(time) => age::format_age(self.now.duration_since(time)),
            None => "<unknown>".to_owned(),
        }
    }

    /// Whether the first condition of a type is true.
    pub(super) fn has_condition(&self, ty: &str) -> bool {
        let mut conditions = self.items("/status/conditions").iter();
        conditions
            .find(|condition| text(condition, "/type") == ty)
            .is_some_and(|condition| text(condition, "/status") == "True")
    }
}

/// Returns the text at a JSON pointer, or an empty text.
pub(super) fn text<'a>(part: &'a Value, pointer: &str) -> &'a str {
    part.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// Returns the items of the list at a JSON pointer.
pub(super) fn items<'a>(part: &'a Value, pointer: &str) -> &'a [Value] {
    part.pointer(pointer).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}
