//! The columns of Events in the tables that `kubectl get` shows. Both API groups have the same
//! columns, but different field names.

use serde_json::Value;

use super::row::TableRow;
use super::{Column, NAME, TableLayout};

pub(super) static EVENT: TableLayout = TableLayout::new(&[
    Column::text("Last Seen", "Time since the last occurrence.", |row| last_seen(row).into()),
    Column::text("Type", "Normal or Warning.", |row| row.text("/type").into()),
    Column::text("Reason", "A short machine-readable reason.", |row| row.text("/reason").into()),
    Column::text("Object", "The object it is about.", |row| involved_object(row).into()),
    Column::wide("Subobject", "The part of the object it is about.", |row| {
        first_text(row, "/involvedObject/fieldPath", "/regarding/fieldPath").into()
    }),
    Column::wide("Source", "The component that reported it.", |row| source(row).into()),
    Column::text("Message", "A human-readable description.", |row| {
        first_text(row, "/message", "/note").trim().into()
    }),
    Column::wide("First Seen", "Time since the first occurrence.", |row| first_seen(row).into()),
    Column::wide("Count", "The number of occurrences.", |row| count(row).into()),
    Column { priority: 1, ..NAME },
]);

/// Returns the first of two texts that is not empty.
fn first_text<'a>(row: &TableRow<'a>, one: &str, other: &str) -> &'a str {
    match row.text(one) {
        "" => row.text(other),
        found => found,
    }
}

/// Returns the age of the first of two times that is present.
fn first_age(row: &TableRow<'_>, one: &str, other: &str) -> Option<String> {
    [one, other].into_iter().find(|pointer| row.time(pointer).is_some()).map(|it| row.since(it))
}

fn first_seen(row: &TableRow<'_>) -> String {
    first_age(row, "/firstTimestamp", "/deprecatedFirstTimestamp")
        .unwrap_or_else(|| row.since("/eventTime"))
}

fn last_seen(row: &TableRow<'_>) -> String {
    if has_series(row) {
        return row.since("/series/lastObservedTime");
    }
    first_age(row, "/lastTimestamp", "/deprecatedLastTimestamp").unwrap_or_else(|| first_seen(row))
}

fn has_series(row: &TableRow<'_>) -> bool {
    row.object.get("series").is_some_and(Value::is_object)
}

/// Returns the number of occurrences. An Event without a count occurred once.
fn count(row: &TableRow<'_>) -> i64 {
    if has_series(row) {
        return row.number("/series/count").unwrap_or_default();
    }
    let count = row.number("/count").or_else(|| row.number("/deprecatedCount"));
    count.filter(|count| *count != 0).unwrap_or(1)
}

fn involved_object(row: &TableRow<'_>) -> String {
    let kind = first_text(row, "/involvedObject/kind", "/regarding/kind").to_lowercase();
    match first_text(row, "/involvedObject/name", "/regarding/name") {
        "" => kind,
        name => format!("{kind}/{name}"),
    }
}

fn source(row: &TableRow<'_>) -> String {
    let old = first_text(row, "/source/component", "/deprecatedSource/component");
    let component = match old {
        "" => first_text(row, "/reportingComponent", "/reportingController"),
        _ => old,
    };
    let instance = match first_text(row, "/source/host", "/deprecatedSource/host") {
        "" => row.text("/reportingInstance"),
        host => host,
    };
    if instance.is_empty() { component.to_owned() } else { format!("{component}, {instance}") }
}
