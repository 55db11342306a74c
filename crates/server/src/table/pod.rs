//! The columns of Pods in the tables that `kubectl get` shows.

mod progress;

use serde_json::{Value, json};

use self::progress::ContainerProgress;
use super::row::{NONE, TableRow, text};
use super::{AGE, Column, NAME, TableLayout, age};

pub(super) static POD: TableLayout = TableLayout {
    columns: &[
        NAME,
        Column::text("Ready", "Ready containers, of all.", ready),
        Column::text("Status", "The state of its containers.", |row| status(row).into()),
        Column::text("Restarts", "Restarts of its containers, and the time of the last.", restarts),
        AGE,
        Column::wide("IP", "Its address.", ip),
        Column::wide("Node", "The node it runs on.", |row| {
            row.text_or("/spec/nodeName", NONE).into()
        }),
        Column::wide("Nominated Node", "The node on which it will preempt others.", |row| {
            row.text_or("/status/nominatedNodeName", NONE).into()
        }),
        Column::wide("Readiness Gates", "True readiness gates, of all.", readiness_gates),
    ],
    conditions,
};

fn ready(row: &TableRow<'_>) -> Value {
    let progress = ContainerProgress::from_row(row);
    format!("{}/{}", progress.ready_count(), progress.container_count()).into()
}

/// Returns the status of a Pod in one word: usually that of the container that blocks its success.
fn status(row: &TableRow<'_>) -> String {
    let is_terminating =
        row.object.pointer("/metadata/deletionTimestamp").is_some_and(Value::is_string);
    let is_finished = matches!(row.text("/status/phase"), "Succeeded" | "Failed");
    if is_terminating && row.text("/status/reason") == "NodeLost" {
        return "Unknown".to_owned();
    }
    if is_terminating && !is_finished {
        return "Terminating".to_owned();
    }
    ContainerProgress::from_row(row).status(pod_reason(row))
}

/// Returns the reason in the Pod's own status, which those of its containers override.
fn pod_reason<'a>(row: &TableRow<'a>) -> &'a str {
    let is_gated = row.items("/status/conditions").iter().any(|condition| {
        text(condition, "/type") == "PodScheduled"
            && text(condition, "/reason") == "SchedulingGated"
    });
    if is_gated {
        return "SchedulingGated";
    }
    match row.text("/status/reason") {
        "" => row.text("/status/phase"),
        reason => reason,
    }
}

fn restarts(row: &TableRow<'_>) -> Value {
    let (count, last) = ContainerProgress::from_row(row).restarts();
    match last {
        Some(time) if count != 0 => {
            format!("{count} ({} ago)", age::format_age(row.now.duration_since(time)))
        }
        _ => count.to_string(),
    }
    .into()
}

fn ip(row: &TableRow<'_>) -> Value {
    row.text_or("/status/podIPs/0/ip", NONE).into()
}

fn readiness_gates(row: &TableRow<'_>) -> Value {
    let gates = row.items("/spec/readinessGates");
    if gates.is_empty() {
        return NONE.into();
    }
    let passed = gates.iter().filter(|gate| row.has_condition(text(gate, "/conditionType")));
    format!("{}/{}", passed.count(), gates.len()).into()
}

/// Returns the condition of finished Pods, by which clients can hide them.
fn conditions(row: &TableRow<'_>) -> Option<Value> {
    let (reason, message) = match row.text("/status/phase") {
        "Succeeded" => ("Succeeded", "The pod has completed successfully."),
        "Failed" => ("Failed", "The pod failed."),
        _ => return None,
    };
    Some(json!([
        { "type": "Completed", "status": "True", "reason": reason, "message": message },
    ]))
}
