//! Events. Both groups have the same columns; their objects differ in the names of fields.

use serde_json::Value;

use super::row::Row;
use super::{Column, Layout, NAME};

pub(super) static EVENT: Layout = Layout::new(&[
    Column::text("Last Seen", "Time since it last happened.", |row| last_seen(row).into()),
    Column::text("Type", "Normal or Warning.", |row| row.text("/type").into()),
    Column::text("Reason", "Why it happened, in one word for machines.", |row| {
        row.text("/reason").into()
    }),
    Column::text("Object", "The object it is about.", |row| target(row).into()),
    Column::wide("Subobject", "The part of the object it is about.", |row| {
        either(row, "/involvedObject/fieldPath", "/regarding/fieldPath").into()
    }),
    Column::wide("Source", "Who reported it.", |row| source(row).into()),
    Column::text("Message", "What happened, for people.", |row| {
        either(row, "/message", "/note").trim().into()
    }),
    Column::wide("First Seen", "Time since it first happened.", |row| first_seen(row).into()),
    Column::wide("Count", "How often it happened.", |row| count(row).into()),
    Column { priority: 1, ..NAME },
]);

/// The first of two texts that is not empty.
fn either<'a>(row: &Row<'a>, one: &str, other: &str) -> &'a str {
    match row.text(one) {
        "" => row.text(other),
        found => found,
    }
}

/// The instant under the one or the other name, if it is given.
fn since_either(row: &Row<'_>, one: &str, other: &str) -> Option<String> {
    [one, other].into_iter().find(|pointer| row.time(pointer).is_some()).map(|it| row.since(it))
}

fn first_seen(row: &Row<'_>) -> String {
    since_either(row, "/firstTimestamp", "/deprecatedFirstTimestamp")
        .unwrap_or_else(|| row.since("/eventTime"))
}

fn last_seen(row: &Row<'_>) -> String {
    if has_series(row) {
        return row.since("/series/lastObservedTime");
    }
    since_either(row, "/lastTimestamp", "/deprecatedLastTimestamp")
        .unwrap_or_else(|| first_seen(row))
}

fn has_series(row: &Row<'_>) -> bool {
    row.object.get("series").is_some_and(Value::is_object)
}

/// An event that is no series happened once, whether it says so or not.
fn count(row: &Row<'_>) -> i64 {
    if has_series(row) {
        return row.number("/series/count").unwrap_or_default();
    }
    let told = row.number("/count").or_else(|| row.number("/deprecatedCount"));
    told.filter(|count| *count != 0).unwrap_or(1)
}

fn target(row: &Row<'_>) -> String {
    let kind = either(row, "/involvedObject/kind", "/regarding/kind").to_lowercase();
    match either(row, "/involvedObject/name", "/regarding/name") {
        "" => kind,
        name => format!("{kind}/{name}"),
    }
}

fn source(row: &Row<'_>) -> String {
    let old = either(row, "/source/component", "/deprecatedSource/component");
    let component = match old {
        "" => either(row, "/reportingComponent", "/reportingController"),
        _ => old,
    };
    let instance = match either(row, "/source/host", "/deprecatedSource/host") {
        "" => row.text("/reportingInstance"),
        host => host,
    };
    if instance.is_empty() { component.to_owned() } else { format!("{component}, {instance}") }
}
