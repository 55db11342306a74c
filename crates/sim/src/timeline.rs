//! Formats the history of a simulation for people, one line for each event.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use punctual_testing::history::{HistoryEvent, HistoryRecord};
use punctual_testing::scenario::{Millis, Scenario};
use serde_json::Value;

/// One line for each event: the time since the start, the wall-clock time and the event.
pub fn timeline(scenario: &Scenario, history: &[HistoryRecord]) -> String {
    let mut text = String::new();
    let mut objects = BTreeMap::new();
    for record in history {
        if let Some(line) = format_event(&record.event, &mut objects) {
            let wall = scenario.at(record.at);
            let _ = writeln!(text, "{:>10} {wall:.3} {line}", seconds(record.at));
        }
    }
    text
}

fn seconds(at: Millis) -> String {
    format!("{}.{:03}", at / 1000, at % 1000)
}

fn format_event(event: &HistoryEvent, objects: &mut BTreeMap<String, Value>) -> Option<String> {
    Some(match event {
        HistoryEvent::Written { revision, key, value } => {
            let object =
                value.as_ref().map(|text| serde_json::from_slice(text).unwrap_or_default());
            format_write(*revision, key, object, objects)?
        }
        HistoryEvent::PodStarted { pod, job } => {
            format!("  node: starts Pod {pod} of Job {job}")
        }
        HistoryEvent::PodEnded { pod, exit_code, was_stopped } => {
            let how = if *was_stopped { "was stopped" } else { "ended" };
            format!("  node: Pod {pod} {how} with exit code {exit_code}")
        }
        HistoryEvent::Response { action, code } => {
            format!("  user: response {code} to action {action}")
        }
        HistoryEvent::SlotRecord(record) => format!("  record: {record}"),
        HistoryEvent::ClockReads(count) => format!("  clocks: {count} reads at the end"),
        HistoryEvent::LeaderChanged(process, true) => format!("  {process:?} leads"),
        HistoryEvent::LeaderChanged(process, false) => format!("  {process:?} lost leadership"),
        HistoryEvent::Remark(text) => format!("  {text}"),
    })
}

/// The fields that a write changed; none for objects that are not of interest.
fn format_write(
    revision: u64,
    key: &str,
    object: Option<Value>,
    objects: &mut BTreeMap<String, Value>,
) -> Option<String> {
    if key.starts_with("/leases") || key.starts_with("/namespaces") {
        return None;
    }
    let Some(object) = object else {
        objects.remove(key);
        return Some(format!("{revision} {key} deleted"));
    };
    let before = objects.insert(key.to_owned(), object.clone());
    let verb = if before.is_some() { "changed" } else { "created" };
    let fields = [
        "/metadata/deletionTimestamp",
        "/metadata/annotations",
        "/metadata/finalizers",
        "/spec",
        "/status",
        "/reason",
        "/message",
        "/count",
    ];
    let changes = fields.iter().filter_map(|field| {
        let new = object.pointer(field)?;
        let old = before.as_ref().and_then(|before| before.pointer(field));
        let is_long = *field == "/spec" && (key.starts_with("/jobs") || key.starts_with("/pods"));
        (old != Some(new) && !is_long).then(|| format!("{field}={new}"))
    });
    let changes: Vec<String> = changes.collect();
    Some(format!("{revision} {key} {verb} {}", changes.join(" ")))
}
