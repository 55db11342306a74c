//! Removes the fields that a manager set in its last server-side apply and no longer sets.

use punctual_api::schema::StructSchema;
use serde_json::{Map, Value};

use crate::patch::fields::{self, FieldSet, is_member};
use crate::patch::granularity::Granularity;

/// Removes the fields that the manager owned last and that have no owner now.
///
/// Everything inside a removed value is removed with it, except if another manager owns a part of
/// it. Fields that never had an owner stay. A value that becomes empty becomes null.
pub(super) fn prune(
    object: Value,
    schema: &'static StructSchema,
    last: &FieldSet,
    owned: &FieldSet,
) -> Value {
    let scope = PruneScope { last: Some(last), owned: Some(owned), ..PruneScope::default() };
    scope.prune(object, Granularity::Fields(schema)).unwrap_or_else(|| Value::Object(Map::new()))
}

/// The ownership of a value and of its parts.
#[derive(Clone, Copy, Default)]
struct PruneScope<'a> {
    /// The parts that the manager owned last.
    last: Option<&'a FieldSet>,
    /// The parts that any manager owns now.
    owned: Option<&'a FieldSet>,
    /// Whether the manager owned the value or one that contains it.
    was_owned: bool,
    /// Whether the value, or one that contains it, has lost its last owner.
    is_abandoned: bool,
}

impl<'a> PruneScope<'a> {
    /// Returns the pruned value, or `None` if nothing remains.
    fn prune(self, value: Value, granularity: Granularity) -> Option<Value> {
        match value {
            Value::Object(parts)
                if granularity.parts(Some(&Value::Object(Map::new()))).is_some() =>
            {
                self.prune_parts(parts, granularity).map(Value::Object)
            }
            Value::Array(items)
                if matches!(granularity, Granularity::Values | Granularity::Keyed(..)) =>
            {
                self.prune_items(items, granularity).map(Value::Array)
            }
            other => Some(other),
        }
    }

    fn prune_parts(
        self,
        parts: Map<String, Value>,
        granularity: Granularity,
    ) -> Option<Map<String, Value>> {
        let count = parts.len();
        let mut kept = Map::new();
        for (name, part) in parts {
            let child = granularity.child(&name);
            // An empty list has no items that could be owned.
            if child.items(Some(&part)).is_some_and(Vec::is_empty) {
                kept.insert(name, part);
                continue;
            }
            let element = fields::field_element(&name);
            if let Some(scope) = self.child(&element, granularity.is_declared(&name)) {
                kept.insert(name, scope.prune(part, child).unwrap_or_default());
            }
        }
        (count == 0 || !kept.is_empty()).then_some(kept)
    }

    fn prune_items(self, items: Vec<Value>, granularity: Granularity) -> Option<Vec<Value>> {
        let count = items.len();
        let kept = items.into_iter().filter_map(|item| match granularity.element(&item) {
            Some(element) => self.child(&element, false)?.prune(item, granularity.item()),
            None => Some(item),
        });
        let kept: Vec<_> = kept.collect();
        (count == 0 || !kept.is_empty()).then_some(kept)
    }

    /// Returns the ownership of a part, or `None` if the part is removed.
    fn child(self, element: &str, is_declared: bool) -> Option<PruneScope<'a>> {
        let last = self.last.and_then(|fields| fields.get(element));
        let owned = self.owned.and_then(|fields| fields.get(element));
        // Owning a part of a declared field implies owning the field.
        let is_owner =
            |node: Option<&Value>| node.is_some_and(|node| is_declared || is_member(node));
        let was_owned = self.was_owned || is_owner(last);
        let is_abandoned = self.is_abandoned || was_owned && !is_owner(owned);
        if is_abandoned && is_owner(last) {
            return None;
        }
        let parts = |node: Option<&'a Value>| node.and_then(Value::as_object);
        Some(PruneScope { last: parts(last), owned: parts(owned), was_owned, is_abandoned })
    }
}
