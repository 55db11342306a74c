//! Checks that the chart's alerts and dashboard use metrics that exist.

use std::{collections::BTreeSet, fs};

use anyhow::{Context, ensure};
use punctual_e2e::{files::repository_root, json};
use regex::Regex;
use serde_json::Value;

/// Suffixes of the series of a histogram.
const HISTOGRAM_SUFFIXES: [&str; 3] = ["_bucket", "_count", "_sum"];

/// A metric that Prometheus itself records for every target.
const PROMETHEUS_OWN: &str = "up";

/// Compares the names with `docs/metrics.md`. The test of the documentation compares that page with
/// the sources.
pub(super) fn check() -> anyhow::Result<String> {
    let folder = super::deploy_folder().join("chart/punctual/files");
    let read = |path| fs::read_to_string(folder.join(path)).context(path);
    let alerts: Value = serde_saphyr::from_str(&read("alerts.yaml")?)?;
    let dashboard: Value = serde_json::from_str(&read("dashboard.json")?)?;
    let page = fs::read_to_string(repository_root().join("docs/metrics.md"))?;
    check_alerts(&alerts)?;
    let mut names = BTreeSet::new();
    for expression in expressions(&alerts).into_iter().chain(expressions(&dashboard)) {
        names.extend(metrics(expression)?);
    }
    names.remove(PROMETHEUS_OWN);
    ensure!(names.len() > 10, "only {} metrics were found", names.len());
    let unknown: Vec<_> = names.iter().filter(|it| !page.contains(&format!("`{it}`"))).collect();
    ensure!(unknown.is_empty(), "docs/metrics.md does not mention {unknown:?}");
    Ok(format!("{} metrics", names.len()))
}

/// Checks that each alert has a severity, a summary and a description.
fn check_alerts(alerts: &Value) -> anyhow::Result<()> {
    let groups = alerts.get("groups").and_then(Value::as_array).context("no groups")?;
    let rules = groups.iter().filter_map(|group| group.get("rules")?.as_array()).flatten();
    for rule in rules {
        let name =
            rule.get("alert").and_then(Value::as_str).context("a rule without an alert name")?;
        for pointer in ["/labels/severity", "/annotations/summary", "/annotations/description"] {
            ensure!(!json::text(rule, pointer).is_empty(), "{name} has no {pointer}");
        }
    }
    Ok(())
}

/// All values of the key `expr`, at any depth.
fn expressions(value: &Value) -> Vec<&str> {
    match value {
        Value::Array(items) => items.iter().flat_map(expressions).collect(),
        Value::Object(keys) => {
            let direct = keys.get("expr").and_then(Value::as_str);
            direct.into_iter().chain(keys.values().flat_map(expressions)).collect()
        }
        _ => Vec::new(),
    }
}

/// The metrics of an expression. Each must select our job.
fn metrics(expression: &str) -> anyhow::Result<Vec<String>> {
    let pattern = Regex::new(r"([a-z_]+)\{([^}]*)\}").context("a pattern of metrics")?;
    let mut names = Vec::new();
    for found in pattern.captures_iter(expression) {
        let part = |at| found.get(at).map_or("", |found| found.as_str());
        ensure!(part(2).contains(r#"job="punctual""#), "no job label: {expression}");
        let name = part(1);
        let base = HISTOGRAM_SUFFIXES.iter().find_map(|end| name.strip_suffix(end));
        names.push(base.unwrap_or(name).to_owned());
    }
    ensure!(!names.is_empty(), "no metric with labels: {expression}");
    Ok(names)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn series_of_a_histogram_have_its_name() {
        let text =
            r#"sum by (le) (rate(a_seconds_bucket{job="punctual"}[5m])) > b{job="punctual"}"#;
        assert_eq!(metrics(text).unwrap(), ["a_seconds", "b"]);
    }

    pub(crate) fn a_metric_without_our_job_label_is_an_error() {
        assert!(metrics("up == 0").is_err());
        assert!(metrics(r#"up{job="other"} == 0"#).is_err());
    }
}
