//! The order of a list after a strategic merge patch.
//!
//! What the patch names comes in the order of the patch, what only the server has in the order of
//! the server; an item of the server stays before the first item of the patch that it was before.

use std::collections::HashMap;

use serde_json::Value;

use super::error::Error;
use super::list::fields_of;

/// What tells the items of a list apart.
#[derive(Clone, Copy)]
pub(super) enum ItemKey {
    /// The value of a field.
    Key(&'static str),
    /// The value itself.
    Value,
}

impl ItemKey {
    pub(super) fn of(self, item: &Value) -> Result<String, Error> {
        match self {
            ItemKey::Value => Ok(item.to_string()),
            ItemKey::Key(key) => {
                let fields = fields_of(item)?;
                let value = fields.get(key).ok_or_else(|| Error::no_key(fields, key))?;
                Ok(value.to_string())
            }
        }
    }

    /// Where each identity comes first in a list.
    fn places(self, items: &[Value]) -> Result<HashMap<String, usize>, Error> {
        let mut places = HashMap::new();
        for (place, item) in items.iter().enumerate() {
            places.entry(self.of(item)?).or_insert(place);
        }
        Ok(places)
    }
}

/// An item, with where it was before the patch.
struct Placed {
    item: Value,
    before: Option<usize>,
}

/// Brings merged items into the order of a patch, where `before` is the list before the patch.
pub(super) fn in_order(
    merged: Vec<Value>,
    order: &[Value],
    before: &[Value],
    identity: ItemKey,
) -> Result<Vec<Value>, Error> {
    let (wanted, places) = (identity.places(order)?, identity.places(before)?);
    let (mut patched, mut others) = (Vec::new(), Vec::new());
    for item in merged {
        let value = identity.of(&item)?;
        let placed = Placed { item, before: places.get(&value).copied() };
        match wanted.get(&value) {
            Some(place) => patched.push((*place, placed)),
            None => others.push(placed),
        }
    }
    patched.sort_by_key(|(place, _)| *place);
    others.sort_by_key(|placed| placed.before);
    Ok(interleaved(others, patched.into_iter().map(|(_, placed)| placed).collect()))
}

fn interleaved(others: Vec<Placed>, patched: Vec<Placed>) -> Vec<Value> {
    let mut all = Vec::with_capacity(others.len() + patched.len());
    let mut others = others.into_iter().peekable();
    for next in patched {
        let is_first =
            |other: &Placed| matches!((other.before, next.before), (Some(a), Some(b)) if a < b);
        while let Some(other) = others.next_if(is_first) {
            all.push(other.item);
        }
        all.push(next.item);
    }
    all.extend(others.map(|other| other.item));
    all
}
