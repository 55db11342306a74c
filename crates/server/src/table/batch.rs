//! CronJobs, ScheduledJobs and Jobs.

use serde_json::Value;

use super::row::{NONE, Row, text};
use super::{AGE, Column, Layout, NAME, age, recorded, selector};

pub(super) static CRON_JOB: Layout = Layout::new(&[
    Column { description: recorded::NAME, ..NAME },
    Column::text("Schedule", recorded::SCHEDULE, |row| row.text("/spec/schedule").into()),
    Column::text("Timezone", recorded::TIME_ZONE, time_zone),
    Column { ty: "boolean", ..Column::text("Suspend", recorded::SUSPEND, suspend) },
    Column { ty: "integer", ..Column::text("Active", recorded::ACTIVE, active) },
    Column::text("Last Schedule", recorded::LAST_SCHEDULE, last_schedule),
    Column { description: recorded::AGE, ..AGE },
    Column::wide("Containers", recorded::CONTAINERS, |row| {
        of_containers(row, "/spec/jobTemplate/spec/template/spec/containers", "/name")
    }),
    Column::wide("Images", recorded::IMAGES, |row| {
        of_containers(row, "/spec/jobTemplate/spec/template/spec/containers", "/image")
    }),
    Column::wide("Selector", recorded::SELECTOR, |row| {
        selector::format(row.object.pointer("/spec/jobTemplate/spec/selector")).into()
    }),
]);

pub(super) static JOB: Layout = Layout::new(&[
    NAME,
    Column::text("Status", "How far it has come.", |row| job_status(row).into()),
    Column::text("Completions", "Pods that succeeded, of those that have to.", completions),
    Column::text("Duration", "Time from its start to its success, or until now.", duration),
    AGE,
    Column::wide("Containers", "Names of the containers of its pods.", |row| {
        of_containers(row, "/spec/template/spec/containers", "/name")
    }),
    Column::wide("Images", "Images of the containers of its pods.", |row| {
        of_containers(row, "/spec/template/spec/containers", "/image")
    }),
    Column::wide("Selector", "The labels by which it knows its pods.", |row| {
        selector::format(row.object.pointer("/spec/selector")).into()
    }),
]);

/// The conditions that give a Job its status, with those that end it first.
const JOB_ENDS: [&str; 2] = ["Complete", "Failed"];
const JOB_STAGES: [&str; 3] = ["Suspended", "FailureTarget", "SuccessCriteriaMet"];

fn time_zone(row: &Row<'_>) -> Value {
    match row.object.pointer("/spec/timeZone").and_then(Value::as_str) {
        Some(zone) => zone.into(),
        None => NONE.into(),
    }
}

/// The column is said to be a boolean, but kube-apiserver writes text.
fn suspend(row: &Row<'_>) -> Value {
    match row.object.pointer("/spec/suspend").and_then(Value::as_bool) {
        Some(true) => "True",
        Some(false) => "False",
        None => "<unset>",
    }
    .into()
}

fn active(row: &Row<'_>) -> Value {
    row.items("/status/active").len().into()
}

fn last_schedule(row: &Row<'_>) -> Value {
    match row.time("/status/lastScheduleTime") {
        Some(_) => row.since("/status/lastScheduleTime").into(),
        None => NONE.into(),
    }
}

fn of_containers(row: &Row<'_>, containers: &str, field: &str) -> Value {
    let texts: Vec<_> = row.items(containers).iter().map(|it| text(it, field)).collect();
    texts.join(",").into()
}

fn job_status(row: &Row<'_>) -> &'static str {
    let is_going = row.object.pointer("/metadata/deletionTimestamp").is_some_and(Value::is_string);
    let find = |types: &[&'static str]| types.iter().copied().find(|ty| row.has_condition(ty));
    find(&JOB_ENDS)
        .or(is_going.then_some("Terminating"))
        .or_else(|| find(&JOB_STAGES))
        .unwrap_or("Running")
}

fn completions(row: &Row<'_>) -> Value {
    let succeeded = row.number("/status/succeeded").unwrap_or_default();
    if let Some(wanted) = row.number("/spec/completions") {
        return format!("{succeeded}/{wanted}").into();
    }
    // A work queue: one success is enough, and others may still be at work.
    match row.number("/spec/parallelism") {
        Some(parallelism) if parallelism > 1 => format!("{succeeded}/1 of {parallelism}"),
        _ => format!("{succeeded}/1"),
    }
    .into()
}

/// A Job that failed has no time of completion, so its duration grows on, as in Kubernetes.
fn duration(row: &Row<'_>) -> Value {
    let Some(start) = row.time("/status/startTime") else { return "".into() };
    let end = row.time("/status/completionTime").unwrap_or(row.now);
    age::human(end.duration_since(start)).into()
}
