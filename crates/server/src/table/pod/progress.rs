//! The state of the containers of a Pod, for its row in a table.
//!
//! Init containers run one after the other, so only those up to the first unfinished one are shown. An
//! init container with the restart policy `Always` is a sidecar: it is finished once it has
//! started, and then is shown with the main containers.

use jiff::Timestamp;
use punctual_api::time::parse_rfc3339;
use serde_json::Value;

use super::super::row::{TableRow, text};

/// The state of the containers of a Pod.
pub(super) struct ContainerProgress<'a> {
    row: &'a TableRow<'a>,
    /// Statuses of init containers up to the first unfinished one.
    init: &'a [Value],
    /// The status of the first unfinished init container.
    unfinished_init: Option<String>,
    /// Whether the init containers are finished, so that the main containers are shown.
    is_initialized: bool,
    /// Statuses of the main containers; empty if the Pod is not initialized.
    main: &'a [Value],
}

/// The state of an init container.
enum InitState {
    Done,
    /// A sidecar that has started.
    StartedSidecar,
    /// Unfinished, with the text for the Pod's status.
    Unfinished(String),
}

impl<'a> ContainerProgress<'a> {
    pub(super) fn from_row(row: &'a TableRow<'a>) -> Self {
        let statuses = row.items("/status/initContainerStatuses");
        let unfinished = statuses.iter().enumerate().find_map(|(index, status)| {
            match init_state(row, index, status) {
                InitState::Unfinished(reason) => Some((index, reason)),
                InitState::Done | InitState::StartedSidecar => None,
            }
        });
        let is_initialized = unfinished.is_none() || row.has_condition("Initialized");
        let count = unfinished.as_ref().map_or(statuses.len(), |(index, _)| index + 1);
        ContainerProgress {
            row,
            init: statuses.get(..count).unwrap_or_default(),
            unfinished_init: unfinished.map(|(_, reason)| reason),
            is_initialized,
            main: if is_initialized { row.items("/status/containerStatuses") } else { &[] },
        }
    }

    /// Returns the number of main containers and sidecars.
    pub(super) fn container_count(&self) -> usize {
        let init = self.row.items("/spec/initContainers").iter();
        self.row.items("/spec/containers").len() + init.filter(|it| restarts_always(it)).count()
    }

    /// Returns how many of them are ready.
    pub(super) fn ready_count(&self) -> usize {
        let sidecars = self.init.iter().enumerate().filter(|(index, status)| {
            matches!(init_state(self.row, *index, status), InitState::StartedSidecar)
                && is_ready(status)
        });
        sidecars.count() + self.main.iter().filter(|status| is_running(status)).count()
    }

    /// Returns the number of restarts and the time of the last one.
    pub(super) fn restarts(&self) -> (i64, Option<Timestamp>) {
        // Once the Pod is initialized, restarts of init containers other than sidecars do not
        // count.
        let init = self.init.iter();
        let init = init.filter(|it| !self.is_initialized || is_sidecar(self.row, it));
        let counted: Vec<_> = init.chain(self.main).collect();
        let counts = counted.iter().filter_map(|it| it.get("restartCount")?.as_i64());
        let ends = counted.iter().map(|it| text(it, "/lastState/terminated/finishedAt"));
        (counts.fold(0, i64::saturating_add), ends.filter_map(|it| parse_rfc3339(it).ok()).max())
    }

    /// Returns the status of the Pod. `pod_reason` is the reason in the Pod's own status.
    pub(super) fn status(&self, pod_reason: &str) -> String {
        let stopped = self.main.iter().find_map(stop_reason);
        let reason = stopped
            .or_else(|| self.unfinished_init.clone())
            .unwrap_or_else(|| pod_reason.to_owned());
        if reason == "Completed" && self.is_initialized {
            return self.status_after_completion();
        }
        reason
    }

    /// Returns the status of a Pod with a completed container. Others may still run or have failed.
    fn status_after_completion(&self) -> String {
        let has_running = self.main.iter().any(is_running);
        if has_running && self.row.has_condition("Ready") {
            return "Running".to_owned();
        }
        let failed = self.main.iter().find(|status| is_failed(status)).and_then(stop_reason);
        failed.unwrap_or_else(|| if has_running { "NotReady" } else { "Completed" }.to_owned())
    }
}

fn init_state(row: &TableRow<'_>, index: usize, status: &Value) -> InitState {
    let is_started = status.get("started") == Some(&Value::Bool(true));
    let waiting = text(status, "/state/waiting/reason");
    match terminated(status) {
        Some(end) if exit_code(end) == 0 => InitState::Done,
        _ if is_started && is_sidecar(row, status) => InitState::StartedSidecar,
        Some(end) => InitState::Unfinished(format!("Init:{}", end_reason(end))),
        None if !waiting.is_empty() && waiting != "PodInitializing" => {
            InitState::Unfinished(format!("Init:{waiting}"))
        }
        None => {
            let count = row.items("/spec/initContainers").len();
            InitState::Unfinished(format!("Init:{index}/{count}"))
        }
    }
}

/// Returns why a container does not run, or `None` if it runs.
fn stop_reason(status: &Value) -> Option<String> {
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
    let has_state = status.pointer("/state/running").is_some_and(Value::is_object);
    has_state && is_ready(status) && stop_reason(status).is_none()
}

fn is_ready(status: &Value) -> bool {
    status.get("ready") == Some(&Value::Bool(true))
}

fn is_sidecar(row: &TableRow<'_>, status: &Value) -> bool {
    let name = text(status, "/name");
    let mut init = row.items("/spec/initContainers").iter();
    init.any(|container| text(container, "/name") == name && restarts_always(container))
}

fn restarts_always(container: &Value) -> bool {
    text(container, "/restartPolicy") == "Always"
}
