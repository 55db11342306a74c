//! The columns of CronJobs, ScheduledJobs and Jobs in the tables that `kubectl get` shows.

use serde_json::Value;

use super::row::{NONE, TableRow, text};
use super::{AGE, Column, NAME, TableLayout, age, column_descriptions, selector};

pub(super) static CRON_JOB: TableLayout = TableLayout::new(&[
    Column { description: column_descriptions::NAME, ..NAME },
    Column::text("Schedule", column_descriptions::SCHEDULE, |row| {
        row.text("/spec/schedule").into()
    }),
    Column::text("Timezone", column_descriptions::TIME_ZONE, time_zone),
    Column { ty: "boolean", ..Column::text("Suspend", column_descriptions::SUSPEND, suspend) },
    Column { ty: "integer", ..Column::text("Active", column_descriptions::ACTIVE, active) },
    Column::text("Last Schedule", column_descriptions::LAST_SCHEDULE, last_schedule),
    Column { description: column_descriptions::AGE, ..AGE },
    Column::wide("Containers", column_descriptions::CONTAINERS, |row| {
        join_container_fields(row, "/spec/jobTemplate/spec/template/spec/containers", "/name")
    }),
    Column::wide("Images", column_descriptions::IMAGES, |row| {
        join_container_fields(row, "/spec/jobTemplate/spec/template/spec/containers", "/image")
    }),
    Column::wide("Selector", column_descriptions::SELECTOR, |row| {
        selector::format(row.object.pointer("/spec/jobTemplate/spec/selector")).into()
    }),
]);

pub(super) static JOB: TableLayout = TableLayout::new(&[
    NAME,
    Column::text("Status", "The state of the Job.", |row| job_status(row).into()),
    Column::text("Completions", "Succeeded pods, of the required ones.", completions),
    Column::text("Duration", "Time from the start to the completion, or until now.", duration),
    AGE,
    Column::wide("Containers", "Names of the containers of its pods.", |row| {
        join_container_fields(row, "/spec/template/spec/containers", "/name")
    }),
    Column::wide("Images", "Images of the containers of its pods.", |row| {
        join_container_fields(row, "/spec/template/spec/containers", "/image")
    }),
    Column::wide("Selector", "The label selector of its pods.", |row| {
        selector::format(row.object.pointer("/spec/selector")).into()
    }),
]);

/// Conditions that become the status of a Job. Terminal ones come first.
const TERMINAL_CONDITIONS: [&str; 2] = ["Complete", "Failed"];
const OTHER_CONDITIONS: [&str; 3] = ["Suspended", "FailureTarget", "SuccessCriteriaMet"];

fn time_zone(row: &TableRow<'_>) -> Value {
    match row.object.pointer("/spec/timeZone").and_then(Value::as_str) {
        None | Some("") => NONE.into(),
        Some(zone) => zone.into(),
    }
}

/// Returns a text, as kube-apiserver does, although the column's type is boolean.
fn suspend(row: &TableRow<'_>) -> Value {
    match row.object.pointer("/spec/suspend").and_then(Value::as_bool) {
        Some(true) => "True",
        Some(false) => "False",
        None => "<unset>",
    }
    .into()
}

fn active(row: &TableRow<'_>) -> Value {
    row.items("/status/active").len().into()
}

fn last_schedule(row: &TableRow<'_>) -> Value {
    match row.time("/status/lastScheduleTime") {
        Some(_) => row.since("/status/lastScheduleTime").into(),
        None => NONE.into(),
    }
}

fn join_container_fields(row: &TableRow<'_>, containers: &str, field: &str) -> Value {
    let texts: Vec<_> = row.items(containers).iter().map(|it| text(it, field)).collect();
    texts.join(",").into()
}

fn job_status(row: &TableRow<'_>) -> &'static str {
    let is_terminating =
        row.object.pointer("/metadata/deletionTimestamp").is_some_and(Value::is_string);
    let find = |types: &[&'static str]| types.iter().copied().find(|ty| row.has_condition(ty));
    find(&TERMINAL_CONDITIONS)
        .or(is_terminating.then_some("Terminating"))
        .or_else(|| find(&OTHER_CONDITIONS))
        .unwrap_or("Running")
}

fn completions(row: &TableRow<'_>) -> Value {
    let succeeded = row.number("/status/succeeded").unwrap_or_default();
    if let Some(wanted) = row.number("/spec/completions") {
        return format!("{succeeded}/{wanted}").into();
    }
    // A work queue completes after one success, although other Pods may still run.
    match row.number("/spec/parallelism") {
        Some(parallelism) if parallelism > 1 => format!("{succeeded}/1 of {parallelism}"),
        _ => format!("{succeeded}/1"),
    }
    .into()
}

/// Returns the duration of a Job. A failed Job has no completion time, so its duration grows
/// forever, as in Kubernetes.
fn duration(row: &TableRow<'_>) -> Value {
    let Some(start) = row.time("/status/startTime") else { return "".into() };
    let end = row.time("/status/completionTime").unwrap_or(row.now);
    age::format_age(end.duration_since(start)).into()
}
