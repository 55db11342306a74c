//! What happened, for people to read.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::Value;

use crate::history::{Happened, Record};
use crate::scenario::{Millis, Scenario};

/// One line for each thing that happened.
pub fn timeline(scenario: &Scenario, history: &[Record]) -> String {
    let mut text = String::new();
    let mut known = BTreeMap::new();
    for record in history {
        if let Some(line) = line(&record.what, &mut known) {
            let wall = scenario.at(record.at);
            let _ = writeln!(text, "{:>10} {wall:.3} {line}", seconds(record.at));
        }
    }
    text
}

fn seconds(at: Millis) -> String {
    format!("{}.{:03}", at / 1000, at % 1000)
}

fn line(what: &Happened, known: &mut BTreeMap<String, Value>) -> Option<String> {
    Some(match what {
        Happened::Written { revision, key, value } => {
            let object =
                value.as_ref().map(|text| serde_json::from_slice(text).unwrap_or_default());
            written(*revision, key, object, known)?
        }
        Happened::Began { pod, job } => format!("  node: begins Pod {pod} of Job {job}"),
        Happened::Ended { pod, exit } => format!("  node: Pod {pod} is over: {exit:?}"),
        Happened::Told { deed, code } => format!("  user: deed {deed} was answered with {code}"),
        Happened::Looked(count) => format!("  clocks: {count} looks at the end"),
        Happened::Leads(process, true) => format!("  {process:?} leads"),
        Happened::Leads(process, false) => format!("  {process:?} does not lead any more"),
        Happened::Remark(text) => format!("  {text}"),
    })
}

/// What a write changed.
fn written(
    revision: u64,
    key: &str,
    object: Option<Value>,
    known: &mut BTreeMap<String, Value>,
) -> Option<String> {
    if key.starts_with("/leases") || key.starts_with("/namespaces") {
        return None;
    }
    let Some(object) = object else {
        known.remove(key);
        return Some(format!("{revision} {key} is gone"));
    };
    let before = known.insert(key.to_owned(), object.clone());
    let verb = if before.is_some() { "changes" } else { "is created" };
    let parts = [
        "/metadata/deletionTimestamp",
        "/metadata/annotations",
        "/metadata/finalizers",
        "/spec",
        "/status",
        "/reason",
        "/message",
        "/count",
    ];
    let news = parts.iter().filter_map(|part| {
        let now = object.pointer(part)?;
        let old = before.as_ref().and_then(|before| before.pointer(part));
        let is_long = *part == "/spec" && key.starts_with("/jobs") | key.starts_with("/pods");
        (old != Some(now) && !is_long).then(|| format!("{part}={now}"))
    });
    let news: Vec<String> = news.collect();
    Some(format!("{revision} {key} {verb} {}", news.join(" ")))
}
