//! Takes out of an object what its manager applied before and no longer applies.

use punctual_api::schema::StructSchema;
use serde_json::{Map, Value};

use crate::patch::fields::{self, Fields, is_member};
use crate::patch::granularity::Granularity;

/// The object without what the manager owned last and nobody owns now.
///
/// What is in a part that goes, goes with it, except where the part stays because somebody else
/// owns something in it. What nobody ever owned stays. A part that becomes empty becomes null: it
/// is no longer there, but nobody loses it.
pub(super) fn prune(
    object: Value,
    schema: &'static StructSchema,
    last: &Fields,
    owned: &Fields,
) -> Value {
    let scope = Scope { last: Some(last), owned: Some(owned), ..Scope::default() };
    scope.pruned(object, Granularity::Fields(schema)).unwrap_or_else(|| Value::Object(Map::new()))
}

/// What is known of a value from above.
#[derive(Clone, Copy, Default)]
struct Scope<'a> {
    /// What the manager owned last of what is below.
    last: Option<&'a Fields>,
    /// What anybody owns now of what is below.
    owned: Option<&'a Fields>,
    /// Whether the manager owned the value, or what it is in.
    was_owned: bool,
    /// Whether nobody owns the value any more, or what it is in.
    is_lost: bool,
}

impl<'a> Scope<'a> {
    /// The value without what goes. None if that was all.
    fn pruned(self, value: Value, granularity: Granularity) -> Option<Value> {
        match value {
            Value::Object(parts)
                if granularity.parts(Some(&Value::Object(Map::new()))).is_some() =>
            {
                self.pruned_parts(parts, granularity).map(Value::Object)
            }
            Value::Array(items)
                if matches!(granularity, Granularity::Values | Granularity::Keyed(..)) =>
            {
                self.pruned_items(items, granularity).map(Value::Array)
            }
            other => Some(other),
        }
    }

    fn pruned_parts(
        self,
        parts: Map<String, Value>,
        granularity: Granularity,
    ) -> Option<Map<String, Value>> {
        let count = parts.len();
        let mut kept = Map::new();
        for (name, part) in parts {
            let below = granularity.below(&name);
            // An empty list of items has nothing that could be owned.
            if below.items(Some(&part)).is_some_and(Vec::is_empty) {
                kept.insert(name, part);
            } else if let Some(scope) = self.below(&fields::named(&name), granularity.names(&name))
            {
                let part = scope.pruned(part, below);
                kept.insert(name, part.unwrap_or_default());
            }
        }
        (count == 0 || !kept.is_empty()).then_some(kept)
    }

    fn pruned_items(self, items: Vec<Value>, granularity: Granularity) -> Option<Vec<Value>> {
        let count = items.len();
        let kept = items.into_iter().filter_map(|item| match granularity.element(&item) {
            Some(element) => self.below(&element, false)?.pruned(item, granularity.item()),
            None => Some(item),
        });
        let kept: Vec<_> = kept.collect();
        (count == 0 || !kept.is_empty()).then_some(kept)
    }

    /// What is known of a part. None if it goes.
    fn below(self, element: &str, is_named: bool) -> Option<Scope<'a>> {
        let (last, owned) = (node(self.last, element), node(self.owned, element));
        // To own something in a named field is to own the field.
        let has = |node: Option<&Value>| node.is_some_and(|node| is_named || is_member(node));
        let was_owned = self.was_owned || has(last);
        let is_lost = self.is_lost || was_owned && !has(owned);
        if is_lost && has(last) {
            return None;
        }
        let below = |node: Option<&'a Value>| node.and_then(Value::as_object);
        Some(Scope { last: below(last), owned: below(owned), was_owned, is_lost })
    }
}

fn node<'a>(fields: Option<&'a Fields>, element: &str) -> Option<&'a Value> {
    fields?.get(element)
}
