//! The columns that `kubectl get` shows on clusters: those that our server prints, as far as a JSON path can
//! express them.

use serde_json::{Value, json};

/// A column of `kubectl get`.
pub(super) struct Column {
    name: &'static str,
    ty: &'static str,
    path: &'static str,
    description: &'static str,
    /// Whether the column appears only with `-o wide`.
    is_wide: bool,
}

impl Column {
    const fn new(
        name: &'static str,
        ty: &'static str,
        path: &'static str,
        description: &'static str,
    ) -> Column {
        Column { name, ty, path, description, is_wide: false }
    }

    const fn wide(name: &'static str, path: &'static str, description: &'static str) -> Column {
        Column { is_wide: true, ..Column::new(name, "string", path, description) }
    }

    pub(super) fn definition(&self) -> Value {
        let Column { name, ty, path, description, is_wide } = self;
        let mut column =
            json!({"name": name, "type": ty, "jsonPath": path, "description": description});
        // kube-apiserver omits a zero priority; an explicit one would appear as a change on every
        // apply.
        if *is_wide && let Value::Object(column) = &mut column {
            column.insert("priority".to_owned(), json!(1));
        }
        column
    }
}

/// The columns of ScheduledJobs. A path cannot count, so the column for active Jobs shows the name of one.
pub(super) static SCHEDULED_JOB: [Column; 9] = [
    Column::new("Schedule", "string", ".spec.schedule", "The schedule."),
    Column::new("Timezone", "string", ".spec.timeZone", "The time zone of the schedule."),
    Column::new("Suspend", "boolean", ".spec.suspend", "Whether new runs are suspended."),
    Column::new("Active", "string", ".status.active[*].name", "An active Job."),
    Column::new(
        "Last Schedule",
        "date",
        ".status.lastScheduleTime",
        "Time since the latest slot for which a Job was started.",
    ),
    Column::new("Age", "date", ".metadata.creationTimestamp", "Time since creation."),
    Column::wide("Next Schedule", ".status.nextScheduleTime", "When the next run starts."),
    Column::wide(
        "Containers",
        ".spec.jobTemplate.spec.template.spec.containers[*].name",
        "The first container of the pods.",
    ),
    Column::wide(
        "Images",
        ".spec.jobTemplate.spec.template.spec.containers[*].image",
        "The image of the first container of the pods.",
    ),
];

/// The columns of RunRequests. A path cannot describe which runs are wanted.
pub(super) static RUN_REQUEST: [Column; 11] = [
    Column::new("Target", "string", ".spec.target.name", "The CronJob or ScheduledJob to run."),
    Column::new("Total", "integer", ".status.total", "How many runs were chosen."),
    Column::new("Started", "integer", ".status.started", "How many runs have started."),
    Column::new("Succeeded", "integer", ".status.succeeded", "How many runs have succeeded."),
    Column::new("Failed", "integer", ".status.failed", "How many runs have failed."),
    Column::new("Skipped", "integer", ".status.skipped", "How many chosen runs were not started."),
    Column::new(
        "State",
        "string",
        ".status.conditions[?(@.type==\"Complete\")].reason",
        "The reason of the condition Complete.",
    ),
    Column::new("Age", "date", ".metadata.creationTimestamp", "Time since creation."),
    Column::wide(
        "Accepted",
        ".status.conditions[?(@.type==\"Accepted\")].reason",
        "Whether the runs were chosen, or why not.",
    ),
    Column::wide("From", ".spec.from", "The start of the interval whose slots run."),
    Column::wide("To", ".spec.to", "The end of the interval whose slots run."),
];
