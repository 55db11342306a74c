//! The order of a list after a strategic merge patch.
//!
//! Items in the patch have the order of the patch; other items keep their order. An item that
//! is not in the patch stays before the first patched item that followed it.

use std::collections::HashMap;

use serde_json::Value;

use super::error::PatchError;
use super::list::fields_of;

/// What identifies the items of a list.
#[derive(Clone, Copy)]
pub(super) enum ItemKey {
    /// The value of a field.
    Key(&'static str),
    /// The value itself.
    Value,
}

impl ItemKey {
    /// Returns the key of an item as JSON.
    pub(super) fn extract(self, item: &Value) -> Result<String, PatchError> {
        match self {
            ItemKey::Value => Ok(item.to_string()),
            ItemKey::Key(key) => {
                let fields = fields_of(item)?;
                let value = fields.get(key).ok_or_else(|| PatchError::no_key(fields, key))?;
                Ok(value.to_string())
            }
        }
    }

    /// Returns the index of the first item with each key.
    fn first_indexes(self, items: &[Value]) -> Result<HashMap<String, usize>, PatchError> {
        let mut indexes = HashMap::new();
        for (index, item) in items.iter().enumerate() {
            indexes.entry(self.extract(item)?).or_insert(index);
        }
        Ok(indexes)
    }
}

/// An item and its index before the patch.
struct IndexedItem {
    item: Value,
    index_before: Option<usize>,
}

/// Sorts merged items by the order of a patch. `before` is the list before the patch.
pub(super) fn sort_items(
    merged: Vec<Value>,
    order: &[Value],
    before: &[Value],
    item_key: ItemKey,
) -> Result<Vec<Value>, PatchError> {
    let wanted = item_key.first_indexes(order)?;
    let indexes = item_key.first_indexes(before)?;
    let mut patched = Vec::new();
    let mut others = Vec::new();
    for item in merged {
        let value = item_key.extract(&item)?;
        let indexed = IndexedItem { item, index_before: indexes.get(&value).copied() };
        match wanted.get(&value) {
            Some(index) => patched.push((*index, indexed)),
            None => others.push(indexed),
        }
    }
    patched.sort_by_key(|(index, _)| *index);
    others.sort_by_key(|indexed| indexed.index_before);
    Ok(interleave(others, patched.into_iter().map(|(_, indexed)| indexed).collect()))
}

fn interleave(others: Vec<IndexedItem>, patched: Vec<IndexedItem>) -> Vec<Value> {
    let mut all = Vec::with_capacity(others.len() + patched.len());
    let mut others = others.into_iter().peekable();
    for next in patched {
        let precedes_next = |other: &IndexedItem| {
            let indexes = other.index_before.zip(next.index_before);
            indexes.is_some_and(|(other, next)| other < next)
        };
        while let Some(other) = others.next_if(precedes_next) {
            all.push(other.item);
        }
        all.push(next.item);
    }
    all.extend(others.map(|other| other.item));
    all
}
