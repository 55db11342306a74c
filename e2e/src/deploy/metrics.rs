//! Whether the alerts and the dashboard of the chart speak of metrics that there are.

use std::{collections::BTreeSet, fs};

use anyhow::{Context, ensure};
use regex::Regex;
use serde_json::Value;

/// What Prometheus puts behind the name of a histogram.
const PARTS: [&str; 3] = ["_bucket", "_count", "_sum"];

/// What Prometheus itself knows of whoever it scrapes.
const OF_PROMETHEUS: &str = "up";

/// Compares the names with `docs/metrics.md`, which is compared with the sources elsewhere.
pub(super) fn check() -> anyhow::Result<String> {
    let folder = super::deploy().join("chart/punctual/files");
    let read = |path| fs::read_to_string(folder.join(path)).context(path);
    let alerts: Value = serde_saphyr::from_str(&read("alerts.yaml")?)?;
    let dashboard: Value = serde_json::from_str(&read("dashboard.json")?)?;
    let page = fs::read_to_string(super::deploy().join("../docs/metrics.md"))?;
    are_complete(&alerts)?;
    let mut names = BTreeSet::new();
    for expression in expressions(&alerts).into_iter().chain(expressions(&dashboard)) {
        names.extend(metrics(expression)?);
    }
    names.remove(OF_PROMETHEUS);
    ensure!(names.len() > 10, "only {} metrics were found", names.len());
    let unknown: Vec<_> = names.iter().filter(|it| !page.contains(&format!("`{it}`"))).collect();
    ensure!(unknown.is_empty(), "docs/metrics.md says nothing of {unknown:?}");
    Ok(format!("{} of them", names.len()))
}

/// Each alert says how bad it is, what it is, and what to do about it.
fn are_complete(alerts: &Value) -> anyhow::Result<()> {
    let groups = alerts.get("groups").and_then(Value::as_array).context("no groups")?;
    let rules = groups.iter().filter_map(|group| group.get("rules")?.as_array()).flatten();
    for rule in rules {
        let name = rule.get("alert").and_then(Value::as_str).context("a rule that is no alert")?;
        for pointer in ["/labels/severity", "/annotations/summary", "/annotations/description"] {
            let text = rule.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
            ensure!(!text.is_empty(), "{name} has no {pointer}");
        }
    }
    Ok(())
}

/// Everything under the key `expr`, however deep.
fn expressions(value: &Value) -> Vec<&str> {
    match value {
        Value::Array(items) => items.iter().flat_map(expressions).collect(),
        Value::Object(keys) => {
            let own = keys.get("expr").and_then(Value::as_str);
            own.into_iter().chain(keys.values().flat_map(expressions)).collect()
        }
        _ => Vec::new(),
    }
}

/// The metrics of an expression, each of which must be that of our job and of no other.
fn metrics(expression: &str) -> anyhow::Result<Vec<String>> {
    let pattern = Regex::new(r"([a-z_]+)\{([^}]*)\}").context("a pattern of metrics")?;
    let mut names = Vec::new();
    for found in pattern.captures_iter(expression) {
        let part = |at| found.get(at).map_or("", |found| found.as_str());
        ensure!(part(2).contains(r#"job="punctual""#), "of any job: {expression}");
        let name = part(1);
        let base = PARTS.iter().find_map(|end| name.strip_suffix(end));
        names.push(base.unwrap_or(name).to_owned());
    }
    ensure!(!names.is_empty(), "no metric with labels: {expression}");
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_histogram_is_known_by_its_name() {
        let text =
            r#"sum by (le) (rate(a_seconds_bucket{job="punctual"}[5m])) > b{job="punctual"}"#;
        assert_eq!(metrics(text).unwrap(), ["a_seconds", "b"]);
    }

    #[test]
    fn a_metric_of_any_job_is_a_fault() {
        assert!(metrics("up == 0").is_err());
        assert!(metrics(r#"up{job="other"} == 0"#).is_err());
    }
}
