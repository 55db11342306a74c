//! The table of ResourceQuotas.

use serde_json::Value;

use super::row::TableRow;
use super::{AGE, Column, NAME, TableLayout};

pub(super) static RESOURCE_QUOTA: TableLayout = TableLayout::new(&[
    NAME,
    Column::text("Request", "The usage and the limit of each key, except `limits.*`.", |row| {
        usage(row, |key| !key.starts_with("limits."))
    }),
    Column::text("Limit", "The usage and the limit of each key `limits.*`.", |row| {
        usage(row, |key| key.starts_with("limits."))
    }),
    AGE,
]);

/// Returns `key: used/hard` for the selected keys of the status.
fn usage(row: &TableRow<'_>, is_selected: fn(&str) -> bool) -> Value {
    let hard = row.object.pointer("/status/hard").and_then(Value::as_object);
    let used = row.object.pointer("/status/used");
    let mut selected: Vec<_> =
        hard.into_iter().flatten().filter(|(key, _)| is_selected(key)).collect();
    selected.sort_unstable_by_key(|(key, _)| *key);
    let cells = selected.into_iter().map(|(key, hard)| {
        let used = used.and_then(|used| used.get(key)).and_then(Value::as_str).unwrap_or("0");
        format!("{key}: {used}/{}", hard.as_str().unwrap_or_default())
    });
    cells.collect::<Vec<_>>().join(", ").into()
}
