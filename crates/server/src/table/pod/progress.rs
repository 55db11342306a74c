//! How far the containers of a pod have come.
//!
//! Init containers run one after the other, so only those up to the first that is not done count.
//! An init container that restarts always is a sidecar: it is done once it has started, and from
//! then on counts with the pod's own containers.

use jiff::Timestamp;
use punctual_api::time::parse_rfc3339;
use serde_json::Value;

use super::super::row::{Row, text};

/// The containers of a pod as far as they tell how it is.
pub(super) struct Progress<'a> {
    row: &'a Row<'a>,
    /// Statuses of init containers up to the first that is not done.
    init: &'a [Value],
    /// What the first init container that is not done is at.
    stuck: Option<String>,
    /// Whether the pod's own containers count yet.
    is_initialized: bool,
    /// Statuses of the pod's own containers, if they count.
    own: &'a [Value],
}

/// Where an init container is.
enum Stage {
    Done,
    /// A sidecar that has started.
    Serving,
    /// Not done; with what the pod's status says about it.
    Stuck(String),
}

impl<'a> Progress<'a> {
    pub(super) fn of(row: &'a Row<'a>) -> Self {
        let statuses = row.items("/status/initContainerStatuses");
        let stuck = statuses.iter().enumerate().find_map(|(index, status)| {
            match stage(row, index, status) {
                Stage::Stuck(reason) => Some((index, reason)),
                Stage::Done | Stage::Serving => None,
            }
        });
        let is_initialized = stuck.is_none() || row.has_condition("Initialized");
        let seen_count = stuck.as_ref().map_or(statuses.len(), |(index, _)| index + 1);
        Progress {
            row,
            init: statuses.get(..seen_count).unwrap_or_default(),
            stuck: stuck.map(|(_, reason)| reason),
            is_initialized,
            own: if is_initialized { row.items("/status/containerStatuses") } else { &[] },
        }
    }

    /// How many containers are to run side by side.
    pub(super) fn container_count(&self) -> usize {
        let init = self.row.items("/spec/initContainers").iter();
        self.row.items("/spec/containers").len() + init.filter(|it| restarts_always(it)).count()
    }

    /// How many of them are ready.
    pub(super) fn ready_count(&self) -> usize {
        let sidecars = self.init.iter().enumerate().filter(|(index, status)| {
            matches!(stage(self.row, *index, status), Stage::Serving) && is_ready(status)
        });
        sidecars.count() + self.own.iter().filter(|status| is_running(status)).count()
    }

    /// How often containers were restarted, and when one last ended for that.
    pub(super) fn restarts(&self) -> (i64, Option<Timestamp>) {
        // Once initialised, what it took to get there is of no interest any more.
        let init = self.init.iter();
        let init = init.filter(|it| !self.is_initialized || is_sidecar(self.row, it));
        let counted: Vec<_> = init.chain(self.own).collect();
        let counts = counted.iter().filter_map(|it| it.get("restartCount")?.as_i64());
        let ends = counted.iter().map(|it| text(it, "/lastState/terminated/finishedAt"));
        (counts.fold(0, i64::saturating_add), ends.filter_map(|it| parse_rfc3339(it).ok()).max())
    }

    /// What the pod is at, where `told` is what it says itself.
    pub(super) fn reason(&self, told: &str) -> String {
        let halted = self.own.iter().find_map(halt);
        let reason = halted.or_else(|| self.stuck.clone()).unwrap_or_else(|| told.to_owned());
        let is_certain = reason != "Completed" || !self.is_initialized;
        if is_certain { reason } else { self.despite_completion() }
    }

    /// Where one container has completed, others may still run or have failed.
    fn despite_completion(&self) -> String {
        let has_running = self.own.iter().any(is_running);
        if has_running && self.row.has_condition("Ready") {
            return "Running".to_owned();
        }
        let failed = self.own.iter().find(|status| is_failed(status)).and_then(halt);
        failed.unwrap_or_else(|| if has_running { "NotReady" } else { "Completed" }.to_owned())
    }
}

fn stage(row: &Row<'_>, index: usize, status: &Value) -> Stage {
    let is_started = status.get("started") == Some(&Value::Bool(true));
    let waiting = text(status, "/state/waiting/reason");
    match terminated(status) {
        Some(end) if exit_code(end) == 0 => Stage::Done,
        _ if is_started && is_sidecar(row, status) => Stage::Serving,
        Some(end) => Stage::Stuck(format!("Init:{}", end_reason(end))),
        None if !waiting.is_empty() && waiting != "PodInitializing" => {
            Stage::Stuck(format!("Init:{waiting}"))
        }
        None => {
            let count = row.items("/spec/initContainers").len();
            Stage::Stuck(format!("Init:{index}/{count}"))
        }
    }
}

/// Why a container does not run, if it does not.
fn halt(status: &Value) -> Option<String> {
    match text(status, "/state/waiting/reason") {
        "" => terminated(status).map(end_reason),
        reason => Some(reason.to_owned()),
    }
}

fn terminated(status: &Value) -> Option<&Value> {
    status.pointer("/state/terminated").filter(|end| end.is_object())
}

fn end_reason(terminated: &Value) -> String {
    let signal = terminated.get("signal").and_then(Value::as_i64).unwrap_or_default();
    match text(terminated, "/reason") {
        "" if signal != 0 => format!("Signal:{signal}"),
        "" => format!("ExitCode:{}", exit_code(terminated)),
        reason => reason.to_owned(),
    }
}

fn exit_code(terminated: &Value) -> i64 {
    terminated.get("exitCode").and_then(Value::as_i64).unwrap_or_default()
}

fn is_failed(status: &Value) -> bool {
    text(status, "/state/waiting/reason").is_empty()
        && terminated(status).is_some_and(|end| exit_code(end) != 0)
}

fn is_running(status: &Value) -> bool {
    let is_up = status.pointer("/state/running").is_some_and(Value::is_object);
    is_up && is_ready(status) && halt(status).is_none()
}

fn is_ready(status: &Value) -> bool {
    status.get("ready") == Some(&Value::Bool(true))
}

fn is_sidecar(row: &Row<'_>, status: &Value) -> bool {
    let name = text(status, "/name");
    let mut init = row.items("/spec/initContainers").iter();
    init.any(|container| text(container, "/name") == name && restarts_always(container))
}

fn restarts_always(container: &Value) -> bool {
    text(container, "/restartPolicy") == "Always"
}
