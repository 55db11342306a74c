//! Random mutations of request bodies.

use serde_json::{Map, Value, json};

use super::request::{pick, random_value};
use crate::dice::Dice;

#[rustfmt::skip]
const POINTERS: [&str; 12] = [
    "/spec/suspend", "/spec/schedule", "/metadata/labels", "/metadata/labels/x", "/metadata/name",
    "/spec/jobTemplate/spec/template/spec/containers/0",
    "/spec/jobTemplate/spec/template/spec/containers/-", "/metadata/finalizers/0", "", "/",
    "/status", "/metadata/managedFields",
];
#[rustfmt::skip]
const DIRECTIVES: [&str; 6] = [
    "$patch", "$retainKeys", "$setElementOrder/containers", "$deleteFromPrimitiveList/finalizers",
    "$setElementOrder/env", "$unknown",
];

/// Mutates one value of a tree.
pub(super) fn mutate_tree(dice: &mut Dice, value: &mut Value) {
    let descends = dice.chance(75);
    match value {
        Value::Object(fields) if descends && !fields.is_empty() => {
            let at = dice.below(fields.len() as u64) as usize;
            if let Some((_, below)) = fields.iter_mut().nth(at) {
                mutate_tree(dice, below);
            }
        }
        Value::Array(items) if descends && !items.is_empty() => {
            let at = dice.below(items.len() as u64) as usize;
            if let Some(below) = items.get_mut(at) {
                mutate_tree(dice, below);
            }
        }
        Value::Object(fields) => mutate_object(dice, fields),
        Value::Array(items) if dice.chance(50) => items.push(random_value(dice)),
        other => *other = random_value(dice),
    }
}

fn mutate_object(dice: &mut Dice, fields: &mut Map<String, Value>) {
    let first = fields.keys().next().cloned();
    match dice.below(3) {
        0 => _ = first.map(|name| fields.remove(&name)),
        1 => {
            _ = fields.insert(
                pick(dice, &["x", "name", "spec", "metadata", "finalizers"]).to_owned(),
                random_value(dice),
            )
        }
        _ => {
            let mut deep = random_value(dice);
            for _ in 0..dice.below(150) {
                deep = json!({"d": deep});
            }
            fields.insert("deep".to_owned(), deep);
        }
    }
}

/// Adds a directive of strategic merge patches at a random object.
pub(super) fn add_directive(dice: &mut Dice, value: &mut Value) {
    match value {
        Value::Object(fields) if dice.chance(30) || fields.is_empty() => {
            let value = if dice.chance(50) {
                json!(pick(dice, &["delete", "replace", "merge", "x"]))
            } else {
                random_value(dice)
            };
            fields.insert(pick(dice, &DIRECTIVES).to_owned(), value);
        }
        Value::Object(fields) => {
            let at = dice.below(fields.len() as u64) as usize;
            if let Some((_, below)) = fields.iter_mut().nth(at) {
                add_directive(dice, below);
            }
        }
        Value::Array(items) => {
            if let Some(first) = items.first_mut() {
                add_directive(dice, first);
            }
        }
        _ => {}
    }
}

/// A random JSON patch.
pub(super) fn random_json_patch(dice: &mut Dice) -> Value {
    let count = dice.below(5);
    let operation = |dice: &mut Dice| {
        json!({
            "op": pick(dice, &["add", "remove", "replace", "move", "copy", "test", "x"]),
            "path": pick(dice, &POINTERS),
            "from": pick(dice, &POINTERS),
            "value": random_value(dice),
        })
    };
    Value::Array((0..count).map(|_| operation(dice)).collect())
}

/// Mutates bytes of a text.
pub(super) fn mutate_bytes(dice: &mut Dice, text: &mut Vec<u8>) {
    for _ in 0..=dice.below(4) {
        let at = dice.below(text.len() as u64 + 1) as usize;
        match dice.below(3) {
            0 => text.truncate(at),
            1 if at < text.len() => _ = text.remove(at),
            _ => text.insert(at, dice.below(256) as u8),
        }
    }
}
