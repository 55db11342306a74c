//! Merges lists in strategic merge patches: items by their merge key, or values of a set.

use std::collections::{HashMap, HashSet};

use punctual_api::schema::{FieldSchema, FieldType, PatchStrategy};
use serde_json::{Map, Value};

use super::error::{PatchError, go_type};
use super::order::{ItemKey, sort_items};
use super::{MergeSchema, PATCH, merge, without_directives};

/// The merge rules of a list field.
#[derive(Clone, Copy)]
pub(super) struct ListField {
    patching: PatchStrategy,
    item: MergeSchema,
}

impl ListField {
    pub(super) fn new(field: &'static FieldSchema) -> Result<ListField, PatchError> {
        match &field.ty {
            FieldType::List(item) => Ok(ListField {
                patching: field.merge_rules.patch_strategy,
                item: MergeSchema::from_type(item),
            }),
            _ => Err(PatchError::Other("expected slice or array type, but got: struct".to_owned())),
        }
    }

    /// Merges a patch into a list.
    pub(super) fn merge(self, old: Vec<Value>, new: Vec<Value>) -> Result<Vec<Value>, PatchError> {
        if self.patching == PatchStrategy::Replace {
            return Ok(new);
        }
        if old.is_empty() && new.is_empty() {
            return Ok(old);
        }
        let are_objects = check_items(&old, &new)?;
        match self.patching {
            PatchStrategy::MergeByKey(key) if are_objects => self.merge_keyed(old, new, key),
            _ if are_objects => {
                Err(PatchError::Other("cannot merge lists without merge key for struct".to_owned()))
            }
            _ => merge_values(old, new),
        }
    }

    /// Merges a patch into a list and sorts the result. Returns `None` if neither has the list.
    pub(super) fn merge_in_order(
        self,
        old: Option<Vec<Value>>,
        new: Option<Vec<Value>>,
        order: &[Value],
    ) -> Result<Option<Vec<Value>>, PatchError> {
        let item_key = self.item_key();
        check_order(new.as_deref().unwrap_or_default(), order, item_key)?;
        let live = old.clone().unwrap_or_default();
        let added = new.clone().unwrap_or_default();
        let merged = match (old, new) {
            (None, None) => return Ok(None),
            (Some(old), None) => old,
            (None, Some(new)) => new.into_iter().filter_map(without_directives).collect(),
            (Some(old), Some(new)) => self.merge(old, new)?,
        };
        let before = list_before_patch(&live, &added, item_key)?;
        let ordered = sort_items(merged, order, &before, item_key)?;
        check_items(&live, &added)?;
        Ok(Some(ordered))
    }

    fn item_key(self) -> ItemKey {
        match self.patching {
            PatchStrategy::MergeByKey(key) => ItemKey::Key(key),
            _ => ItemKey::Value,
        }
    }

    fn merge_keyed(
        self,
        mut old: Vec<Value>,
        new: Vec<Value>,
        key: &'static str,
    ) -> Result<Vec<Value>, PatchError> {
        let (directives, plain): (Vec<_>, Vec<_>) =
            new.into_iter().partition(|item| item.get(PATCH).is_some());
        let before = old.clone();
        if apply_directives(&mut old, &directives, key)? {
            return sort_items(plain.clone(), &[], &plain, ItemKey::Key(key));
        }
        let order = plain.clone();
        // Of several items with the same key only the first is merged.
        let mut indexes: HashMap<String, usize> = HashMap::new();
        for (index, item) in old.iter().enumerate() {
            if let Some(value) = item.get(key) {
                indexes.entry(value.to_string()).or_insert(index);
            }
        }
        for item in plain {
            self.merge_item(&mut old, &mut indexes, item, key)?;
        }
        sort_items(old, &order, &before, ItemKey::Key(key))
    }

    fn merge_item(
        self,
        items: &mut Vec<Value>,
        indexes: &mut HashMap<String, usize>,
        item: Value,
        key: &str,
    ) -> Result<(), PatchError> {
        let Value::Object(item) = item else { return Err(PatchError::not_an_object(&item)) };
        let value = item.get(key).ok_or_else(|| PatchError::no_key(&item, key))?.to_string();
        let index = *indexes.entry(value).or_insert(items.len());
        match items.get_mut(index) {
            Some(old) => {
                let fields = old.as_object_mut().map(std::mem::take).unwrap_or_default();
                *old = Value::Object(merge(fields, item, self.item)?);
            }
            None => items.push(Value::Object(item)),
        }
        Ok(())
    }
}

/// Applies the items with `$patch` directives. Returns whether the list is replaced.
fn apply_directives(
    items: &mut Vec<Value>,
    directives: &[Value],
    key: &str,
) -> Result<bool, PatchError> {
    let mut is_replaced = false;
    let mut deleted = HashSet::new();
    for item in directives.iter().filter_map(Value::as_object) {
        match item.get(PATCH).map(|directive| (directive, directive.as_str())) {
            Some((_, Some("delete"))) => {
                let value = item.get(key).ok_or_else(|| PatchError::no_key(item, key))?;
                deleted.insert(value.to_string());
            }
            Some((_, Some("replace"))) => is_replaced = true,
            Some((_, Some("merge"))) => {
                let message = "merging lists cannot yet be specified in the patch";
                return Err(PatchError::Other(message.to_owned()));
            }
            Some((directive, _)) => return Err(PatchError::bad_directive(directive, item)),
            None => {}
        }
    }
    if !deleted.is_empty() {
        items
            .retain(|item| item.get(key).is_none_or(|value| !deleted.contains(&value.to_string())));
    }
    Ok(is_replaced)
}

/// Returns the list before a patch, in which the first added items replace the deleted ones.
///
/// kube-apiserver does this by merging in place. It determines on which side of existing items a
/// new item is placed.
fn list_before_patch(
    live: &[Value],
    patch: &[Value],
    item_key: ItemKey,
) -> Result<Vec<Value>, PatchError> {
    let has = |item: &&Value, directive: &str| item.get(PATCH).is_some_and(|it| it == directive);
    let is_replaced = patch.iter().any(|item| has(&item, "replace"));
    let mut deleted = HashSet::new();
    for item in patch.iter().filter(|item| has(item, "delete")) {
        deleted.insert(item_key.extract(item)?);
    }
    if deleted.is_empty() || is_replaced {
        return Ok(live.to_vec());
    }
    let mut present = HashSet::new();
    let mut result = Vec::with_capacity(live.len());
    for item in live {
        let value = item_key.extract(item)?;
        if !deleted.contains(&value) {
            present.insert(value);
            result.push(item.clone());
        }
    }
    for item in patch.iter().filter(|item| item.get(PATCH).is_none()) {
        if result.len() < live.len() && present.insert(item_key.extract(item)?) {
            result.push(item.clone());
        }
    }
    Ok(result)
}

fn merge_values(mut old: Vec<Value>, new: Vec<Value>) -> Result<Vec<Value>, PatchError> {
    let before = old.clone();
    let order = new.clone();
    old.extend(new);
    let mut seen = HashSet::new();
    old.retain(|value| seen.insert(value.to_string()));
    sort_items(old, &order, &before, ItemKey::Value)
}

/// Removes values from a list.
pub(super) fn delete_values(items: &mut Vec<Value>, values: &[Value]) -> Result<(), PatchError> {
    if items.is_empty() && values.is_empty() {
        return Ok(());
    }
    check_items(items, values)?;
    let values: HashSet<_> = values.iter().map(Value::to_string).collect();
    items.retain(|item| !values.contains(&item.to_string()));
    Ok(())
}

/// Checks that all items have the same type and are not lists. Returns whether they are objects.
fn check_items(old: &[Value], new: &[Value]) -> Result<bool, PatchError> {
    let mut items = old.iter().chain(new);
    let Some(first) = items.next() else {
        return Err(PatchError::Other("no elements in any of the given slices".to_owned()));
    };
    if first.is_array() {
        return Err(PatchError::ListOfLists);
    }
    if !items.all(|item| go_type(item) == go_type(first)) {
        return Err(PatchError::mixed_types(old, new));
    }
    Ok(first.is_object())
}

/// Checks that all items of a patch are in its order list, in the same order.
fn check_order(patch: &[Value], order: &[Value], item_key: ItemKey) -> Result<(), PatchError> {
    if patch.is_empty() || order.is_empty() {
        return Ok(());
    }
    let is_kept = |item: &&Value| item.get(PATCH).is_none_or(|directive| directive != "delete");
    let mut items = patch.iter().filter(is_kept).peekable();
    let mut rest = order;
    while let (Some(item), [next, others @ ..]) = (items.peek(), rest) {
        if item.get(PATCH).is_some() {
            items.next();
            continue;
        }
        if item_key.extract(item)? == item_key.extract(next)? {
            items.next();
        }
        rest = others;
    }
    match items.peek() {
        None => Ok(()),
        Some(_) => Err(PatchError::order_mismatch(patch, order)),
    }
}

/// Returns the fields of an item.
pub(super) fn fields_of(item: &Value) -> Result<&Map<String, Value>, PatchError> {
    item.as_object().ok_or_else(|| PatchError::not_an_object(item))
}
