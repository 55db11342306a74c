//! The columns of RunRequests in the tables that `kubectl get` shows.

use serde_json::Value;

use super::row::{TableRow, text};
use super::{AGE, Column, NAME, TableLayout};

pub(super) static RUN_REQUEST: TableLayout = TableLayout::new(&[
    NAME,
    Column::text("Target", "The CronJob or ScheduledJob to run.", |row| target(row).into()),
    Column::text("Runs", "Which runs are wanted.", |row| wanted_runs(row).into()),
    count("Total", "How many runs were chosen.", |row| number(row, "/status/total")),
    count("Started", "How many runs have started.", |row| number(row, "/status/started")),
    count("Succeeded", "How many runs have succeeded.", |row| number(row, "/status/succeeded")),
    count("Failed", "How many runs have failed or were deleted.", |row| {
        number(row, "/status/failed")
    }),
    count("Skipped", "How many chosen runs were not started.", |row| {
        number(row, "/status/skipped")
    }),
    Column::text("State", "Whether the runs have ended, or what they wait for.", |row| {
        state(row).into()
    }),
    AGE,
]);

const fn count(
    name: &'static str,
    description: &'static str,
    cell: fn(&TableRow<'_>) -> Value,
) -> Column {
    Column { ty: "integer", ..Column::text(name, description, cell) }
}

fn number(row: &TableRow<'_>, pointer: &str) -> Value {
    row.number(pointer).unwrap_or_default().into()
}

fn target(row: &TableRow<'_>) -> String {
    let kind = row.text_or("/spec/target/kind", "CronJob").to_lowercase();
    format!("{kind}/{}", row.text("/spec/target/name"))
}

fn wanted_runs(row: &TableRow<'_>) -> String {
    let slots = row.items("/spec/slots");
    match slots {
        [] if row.object.pointer("/spec/from").is_some() => {
            format!("{}..{}", row.text("/spec/from"), row.text("/spec/to"))
        }
        [] => "now".to_owned(),
        [slot] => slot.as_str().unwrap_or_default().to_owned(),
        _ => format!("{} slots", slots.len()),
    }
}

/// Returns the reason of the condition that says the most.
fn state<'a>(row: &TableRow<'a>) -> &'a str {
    let is_terminating =
        row.object.pointer("/metadata/deletionTimestamp").is_some_and(Value::is_string);
    let condition =
        |ty: &str| row.items("/status/conditions").iter().find(|it| text(it, "/type") == ty);
    let refusal = condition("Accepted").filter(|it| text(it, "/status") == "False");
    let complete = condition("Complete");
    let is_complete = complete.is_some_and(|it| text(it, "/status") == "True");
    match refusal.or(complete).map(|it| text(it, "/reason")) {
        _ if is_terminating && !is_complete => "Terminating",
        Some(reason) if !reason.is_empty() => reason,
        _ => "Pending",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn cells(object: &Value) -> Vec<Value> {
        let row = TableRow { object, now: "2026-11-02T00:00:00Z".parse().unwrap() };
        RUN_REQUEST.columns.iter().map(|column| (column.cell)(&row)).collect()
    }

    fn with_conditions(conditions: Value) -> Value {
        json!({"status": {"conditions": conditions}})
    }

    #[test]
    fn a_row_shows_what_was_asked_and_what_was_done() {
        let object = json!({
            "metadata": {"name": "backup-x2x4z", "creationTimestamp": "2026-11-01T23:58:00Z"},
            "spec": {"target": {"kind": "ScheduledJob", "name": "backup"},
                "from": "2026-10-01T00:00:00Z", "to": "2026-11-01T00:00:00Z"},
            "status": {"total": 31, "started": 4, "succeeded": 2, "failed": 1,
                "conditions": [{"type": "Accepted", "status": "True", "reason": "Accepted"},
                    {"type": "Complete", "status": "False", "reason": "Running"}]},
        });
        let interval = "2026-10-01T00:00:00Z..2026-11-01T00:00:00Z";
        let want = json!([
            "backup-x2x4z",
            "scheduledjob/backup",
            interval,
            31,
            4,
            2,
            1,
            0,
            "Running",
            "2m",
        ]);
        assert_eq!(Value::from(cells(&object)), want);
    }

    #[test]
    fn wanted_runs_are_now_or_slots() {
        for (spec, want) in [
            (json!({"now": true}), "now"),
            (json!({"slots": ["2026-10-01T00:00:00Z"]}), "2026-10-01T00:00:00Z"),
            (json!({"slots": ["a", "b", "c"]}), "3 slots"),
        ] {
            assert_eq!(cells(&json!({"spec": spec}))[2], want);
        }
        assert_eq!(cells(&json!({"spec": {"target": {"name": "a"}}}))[1], "cronjob/a");
    }

    #[test]
    fn the_state_is_the_reason_of_a_refusal_or_of_the_progress() {
        let state = |object: &Value| cells(object)[8].clone();
        assert_eq!(state(&json!({})), "Pending");
        let refused = json!({"type": "Accepted", "status": "False", "reason": "TooManySlots"});
        let failed = json!({"type": "Complete", "status": "True", "reason": "Failed"});
        assert_eq!(state(&with_conditions(json!([refused, failed]))), "TooManySlots");
        assert_eq!(state(&with_conditions(json!([failed]))), "Failed");
        let deleted = json!({"metadata": {"deletionTimestamp": "2026-11-01T23:58:00Z"}});
        assert_eq!(state(&deleted), "Terminating");
    }
}
