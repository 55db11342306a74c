//! The columns of slot records in the tables that `kubectl get` shows.

use jiff::Timestamp;
use serde_json::Value;

use super::row::{NONE, TableRow};
use super::{Column, NAME, TableLayout, age};

pub(super) static SLOT_RECORD: TableLayout = TableLayout::new(&[
    Column::text("CronJob", "The CronJob or ScheduledJob.", |row| row.text("/cronJob").into()),
    Column::text(
        "Slot",
        "The scheduled time; for several slots, the first and their number.",
        slot,
    ),
    Column::text("Decision", "What was decided about the slot.", |row| {
        row.text("/decision").into()
    }),
    Column::text("Reason", "Why this was decided.", |row| row.text("/reason").into()),
    Column::text("Result", "How the run ended.", |row| row.text_or("/result", NONE).into()),
    Column::text("Late", "Time from the slot to the creation of the Job.", |row| late(row).into()),
    Column::text("Took", "Time from the first Pod to the end of the run.", |row| took(row).into()),
    Column::text("Job", "The Job of the run.", |row| row.text_or("/job/name", NONE).into()),
    Column { priority: 1, ..NAME },
]);

fn slot(row: &TableRow<'_>) -> Value {
    let slot = row.text("/slot");
    match row.number("/count") {
        Some(count) if count > 1 => format!("{slot} ({count} slots)").into(),
        _ => slot.into(),
    }
}

/// Returns the delay of a start after its slot with jitter.
fn late(row: &TableRow<'_>) -> String {
    let due = row.time("/effectiveTime").or_else(|| row.time("/slot"));
    between(due, row.time("/createdTime"))
}

/// Returns the duration of a run, until now if it is active.
fn took(row: &TableRow<'_>) -> String {
    let start = row.time("/startTime").or_else(|| row.time("/createdTime"));
    let now = (row.text("/result") == "Running").then_some(row.now);
    between(start, row.time("/completionTime").or(now))
}

fn between(from: Option<Timestamp>, to: Option<Timestamp>) -> String {
    match from.zip(to) {
        Some((from, to)) => age::format_age(to.duration_since(from)),
        None => NONE.to_owned(),
    }
}
