//! How a strategic merge patch merges lists.

use std::collections::{HashMap, HashSet};

use punctual_api::schema::{FieldSchema, FieldType, PatchStrategy};
use serde_json::{Map, Value};

use super::error::{Error, go_type};
use super::order::{ItemKey, in_order};
use super::{PATCH, Shape, merge, without_directives};

/// A field that is a list.
#[derive(Clone, Copy)]
pub(super) struct ListField {
    patching: PatchStrategy,
    item: Shape,
}

impl ListField {
    pub(super) fn new(field: &'static FieldSchema) -> Result<ListField, Error> {
        match &field.ty {
            FieldType::List(item) => {
                Ok(ListField { patching: field.merge_rules.patch_strategy, item: Shape::of(item) })
            }
            _ => Err(Error::Other("expected slice or array type, but got: struct".to_owned())),
        }
    }

    /// Merges a patch into a list.
    pub(super) fn merge(self, old: Vec<Value>, new: Vec<Value>) -> Result<Vec<Value>, Error> {
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
                Err(Error::Other("cannot merge lists without merge key for struct".to_owned()))
            }
            _ => merge_values(old, new),
        }
    }

    /// Merges a patch into a list, if there is one, and brings the result into an order.
    pub(super) fn merge_in_order(
        self,
        old: Option<Vec<Value>>,
        new: Option<Vec<Value>>,
        order: &[Value],
    ) -> Result<Option<Vec<Value>>, Error> {
        let identity = self.identity();
        check_order(new.as_deref().unwrap_or_default(), order, identity)?;
        let (live, added) = (old.clone().unwrap_or_default(), new.clone().unwrap_or_default());
        let merged = match (old, new) {
            (None, None) => return Ok(None),
            (Some(old), None) => old,
            (None, Some(new)) => new.into_iter().filter_map(without_directives).collect(),
            (Some(old), Some(new)) => self.merge(old, new)?,
        };
        let ordered = in_order(merged, order, &refilled(&live, &added, identity)?, identity)?;
        check_items(&live, &added)?;
        Ok(Some(ordered))
    }

    fn identity(self) -> ItemKey {
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
    ) -> Result<Vec<Value>, Error> {
        let (special, plain): (Vec<_>, Vec<_>) =
            new.into_iter().partition(|item| item.get(PATCH).is_some());
        let before = old.clone();
        if obey(&mut old, &special, key)? {
            return in_order(plain.clone(), &[], &plain, ItemKey::Key(key));
        }
        let order = plain.clone();
        // Only the first of several items with the same key is merged.
        let mut places: HashMap<String, usize> = HashMap::new();
        for (place, item) in old.iter().enumerate() {
            if let Some(value) = item.get(key) {
                places.entry(value.to_string()).or_insert(place);
            }
        }
        for item in plain {
            self.merge_item(&mut old, &mut places, item, key)?;
        }
        in_order(old, &order, &before, ItemKey::Key(key))
    }

    fn merge_item(
        self,
        items: &mut Vec<Value>,
        places: &mut HashMap<String, usize>,
        item: Value,
        key: &str,
    ) -> Result<(), Error> {
        let Value::Object(item) = item else { return Err(Error::not_an_object(&item)) };
        let value = item.get(key).ok_or_else(|| Error::no_key(&item, key))?.to_string();
        let place = *places.entry(value).or_insert(items.len());
        match items.get_mut(place) {
            Some(old) => {
                let fields = old.as_object_mut().map(std::mem::take).unwrap_or_default();
                *old = Value::Object(merge(fields, item, self.item)?);
            }
            None => items.push(Value::Object(item)),
        }
        Ok(())
    }
}

/// Does what the items with directives say. True if the list is to be replaced.
fn obey(items: &mut Vec<Value>, special: &[Value], key: &str) -> Result<bool, Error> {
    let mut is_replaced = false;
    let mut deleted = HashSet::new();
    for item in special.iter().filter_map(Value::as_object) {
        match item.get(PATCH).map(|directive| (directive, directive.as_str())) {
            Some((_, Some("delete"))) => {
                let value = item.get(key).ok_or_else(|| Error::no_key(item, key))?;
                deleted.insert(value.to_string());
            }
            Some((_, Some("replace"))) => is_replaced = true,
            Some((_, Some("merge"))) => {
                let message = "merging lists cannot yet be specified in the patch";
                return Err(Error::Other(message.to_owned()));
            }
            Some((directive, _)) => return Err(Error::bad_directive(directive, item)),
            None => {}
        }
    }
    if !deleted.is_empty() {
        items
            .retain(|item| item.get(key).is_none_or(|value| !deleted.contains(&value.to_string())));
    }
    Ok(is_replaced)
}

/// The list before a patch, with the places of what it deletes taken by the first of what it adds.
///
/// kube-apiserver does so by merging in place. It decides on which side of the server's own items a
/// new item comes.
fn refilled(live: &[Value], patch: &[Value], identity: ItemKey) -> Result<Vec<Value>, Error> {
    let has = |item: &&Value, directive: &str| item.get(PATCH).is_some_and(|it| it == directive);
    let is_replaced = patch.iter().any(|item| has(&item, "replace"));
    let mut gone = HashSet::new();
    for item in patch.iter().filter(|item| has(item, "delete")) {
        gone.insert(identity.of(item)?);
    }
    if gone.is_empty() || is_replaced {
        return Ok(live.to_vec());
    }
    let mut present = HashSet::new();
    let mut refilled = Vec::with_capacity(live.len());
    for item in live {
        let value = identity.of(item)?;
        if !gone.contains(&value) {
            present.insert(value);
            refilled.push(item.clone());
        }
    }
    for item in patch.iter().filter(|item| item.get(PATCH).is_none()) {
        if refilled.len() < live.len() && present.insert(identity.of(item)?) {
            refilled.push(item.clone());
        }
    }
    Ok(refilled)
}

fn merge_values(mut old: Vec<Value>, new: Vec<Value>) -> Result<Vec<Value>, Error> {
    let before = old.clone();
    let order = new.clone();
    old.extend(new);
    let mut seen = HashSet::new();
    old.retain(|value| seen.insert(value.to_string()));
    in_order(old, &order, &before, ItemKey::Value)
}

/// Takes values out of a list.
pub(super) fn delete_values(items: &mut Vec<Value>, values: &[Value]) -> Result<(), Error> {
    if items.is_empty() && values.is_empty() {
        return Ok(());
    }
    check_items(items, values)?;
    let values: HashSet<_> = values.iter().map(Value::to_string).collect();
    items.retain(|item| !values.contains(&item.to_string()));
    Ok(())
}

/// Checks that all items have one type, which is no list. True if they are objects.
fn check_items(old: &[Value], new: &[Value]) -> Result<bool, Error> {
    let mut items = old.iter().chain(new);
    let Some(first) = items.next() else {
        return Err(Error::Other("no elements in any of the given slices".to_owned()));
    };
    if first.is_array() {
        return Err(Error::ListOfLists);
    }
    if !items.all(|item| go_type(item) == go_type(first)) {
        return Err(Error::mixed(old, new));
    }
    Ok(first.is_object())
}

/// Checks that the items of a patch are all in its order, and in that order.
fn check_order(patch: &[Value], order: &[Value], identity: ItemKey) -> Result<(), Error> {
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
        if identity.of(item)? == identity.of(next)? {
            items.next();
        }
        rest = others;
    }
    match items.peek() {
        None => Ok(()),
        Some(_) => Err(Error::disordered(patch, order)),
    }
}

/// The fields of an item.
pub(super) fn fields_of(item: &Value) -> Result<&Map<String, Value>, Error> {
    item.as_object().ok_or_else(|| Error::not_an_object(item))
}
