//! Pods.

mod progress;

use serde_json::{Value, json};

use self::progress::Progress;
use super::row::{NONE, Row, text};
use super::{AGE, Column, Layout, NAME, age};

pub(super) static POD: Layout = Layout {
    columns: &[
        NAME,
        Column::text("Ready", "Containers that are ready, of all.", ready),
        Column::text("Status", "How far its containers have come.", |row| status(row).into()),
        Column::text("Restarts", "Restarts of its containers, and when the last was.", restarts),
        AGE,
        Column::wide("IP", "Its address.", ip),
        Column::wide("Node", "The node it is on.", |row| {
            row.text_or("/spec/nodeName", NONE).into()
        }),
        Column::wide("Nominated Node", "The node that makes room for it.", |row| {
            row.text_or("/status/nominatedNodeName", NONE).into()
        }),
        Column::wide("Readiness Gates", "Conditions it waits for that are true, of all.", gates),
    ],
    conditions,
};

fn ready(row: &Row<'_>) -> Value {
    let progress = Progress::of(row);
    format!("{}/{}", progress.ready_count(), progress.container_count()).into()
}

/// What a pod is doing, in one word: that of the container in the way of its success.
fn status(row: &Row<'_>) -> String {
    let is_going = row.object.pointer("/metadata/deletionTimestamp").is_some_and(Value::is_string);
    let is_finished = matches!(row.text("/status/phase"), "Succeeded" | "Failed");
    if is_going && row.text("/status/reason") == "NodeLost" {
        return "Unknown".to_owned();
    }
    if is_going && !is_finished {
        return "Terminating".to_owned();
    }
    Progress::of(row).reason(own_reason(row))
}

/// What the pod itself says, which its containers may know better.
fn own_reason<'a>(row: &Row<'a>) -> &'a str {
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

fn restarts(row: &Row<'_>) -> Value {
    let (count, last) = Progress::of(row).restarts();
    match last {
        Some(at) if count != 0 => {
            format!("{count} ({} ago)", age::human(row.now.duration_since(at)))
        }
        _ => count.to_string(),
    }
    .into()
}

fn ip(row: &Row<'_>) -> Value {
    row.text_or("/status/podIPs/0/ip", NONE).into()
}

fn gates(row: &Row<'_>) -> Value {
    let gates = row.items("/spec/readinessGates");
    if gates.is_empty() {
        return NONE.into();
    }
    let passed = gates.iter().filter(|gate| row.has_condition(text(gate, "/conditionType")));
    format!("{}/{}", passed.count(), gates.len()).into()
}

/// Rows of finished pods are marked, so that clients can leave them out.
fn conditions(row: &Row<'_>) -> Option<Value> {
    let (reason, message) = match row.text("/status/phase") {
        "Succeeded" => ("Succeeded", "The pod has completed successfully."),
        "Failed" => ("Failed", "The pod failed."),
        _ => return None,
    };
    Some(json!([
        { "type": "Completed", "status": "True", "reason": reason, "message": message },
    ]))
}
