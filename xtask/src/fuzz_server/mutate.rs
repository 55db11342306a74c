//! Mutates the bodies of recorded requests at random, for the fuzzer of the server.

use punctual_testing::TestRng;
use serde_json::{Map, Value, json};

use super::request::{pick, random_value};

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
pub(super) fn mutate_tree(rng: &TestRng, value: &mut Value) {
    let descends = rng.percent(75);
    match value {
        Value::Object(fields) if descends && !fields.is_empty() => {
            let at = rng.below(fields.len() as u64) as usize;
            if let Some((_, below)) = fields.iter_mut().nth(at) {
                mutate_tree(rng, below);
            }
        }
        Value::Array(items) if descends && !items.is_empty() => {
            let at = rng.below(items.len() as u64) as usize;
            if let Some(below) = items.get_mut(at) {
                mutate_tree(rng, below);
            }
        }
        Value::Object(fields) => mutate_object(rng, fields),
        Value::Array(items) if rng.percent(50) => items.push(random_value(rng)),
        other => *other = random_value(rng),
    }
}

fn mutate_object(rng: &TestRng, fields: &mut Map<String, Value>) {
    let first = fields.keys().next().cloned();
    match rng.below(3) {
        0 => _ = first.map(|name| fields.remove(&name)),
        1 => {
            _ = fields.insert(
                pick(rng, &["x", "name", "spec", "metadata", "finalizers"]).to_owned(),
                random_value(rng),
            )
        }
        _ => {
            let mut deep = random_value(rng);
            for _ in 0..rng.below(150) {
                deep = json!({"d": deep});
            }
            fields.insert("deep".to_owned(), deep);
        }
    }
}

/// Adds a directive of strategic merge patches at a random object.
pub(super) fn add_directive(rng: &TestRng, value: &mut Value) {
    match value {
        Value::Object(fields) if rng.percent(30) || fields.is_empty() => {
            let value = if rng.percent(50) {
                json!(pick(rng, &["delete", "replace", "merge", "x"]))
            } else {
                random_value(rng)
            };
            fields.insert(pick(rng, &DIRECTIVES).to_owned(), value);
        }
        Value::Object(fields) => {
            let at = rng.below(fields.len() as u64) as usize;
            if let Some((_, below)) = fields.iter_mut().nth(at) {
                add_directive(rng, below);
            }
        }
        Value::Array(items) => {
            if let Some(first) = items.first_mut() {
                add_directive(rng, first);
            }
        }
        _ => {}
    }
}

/// A random JSON patch.
pub(super) fn random_json_patch(rng: &TestRng) -> Value {
    let count = rng.below(5);
    let operation = |rng: &TestRng| {
        json!({
            "op": pick(rng, &["add", "remove", "replace", "move", "copy", "test", "x"]),
            "path": pick(rng, &POINTERS),
            "from": pick(rng, &POINTERS),
            "value": random_value(rng),
        })
    };
    Value::Array((0..count).map(|_| operation(rng)).collect())
}

/// Mutates bytes of a text.
pub(super) fn mutate_bytes(rng: &TestRng, text: &mut Vec<u8>) {
    for _ in 0..=rng.below(4) {
        let at = rng.below(text.len() as u64 + 1) as usize;
        match rng.below(3) {
            0 => text.truncate(at),
            1 if at < text.len() => _ = text.remove(at),
            _ => text.insert(at, rng.below(256) as u8),
        }
    }
}
