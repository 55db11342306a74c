//! Finds out why a Pod failed or cannot start, for the lines and the view of `punctual up`.

use punctual_api::Pod;
use punctual_api::pod::ContainerStatus;
use punctual_engine::job::PodView;

/// Why a Pod failed, restarts a container or waits; `None` if it has no problem.
pub(super) fn find(pod: &Pod) -> Option<Box<str>> {
    PodView::from_pod(pod).failure.or_else(|| find_waiting(pod))
}

/// Why a container waits for more than its turn: its reason then has a message.
fn find_waiting(pod: &Pod) -> Option<Box<str>> {
    let status = &pod.status;
    let waiting = |status: &ContainerStatus| {
        let waiting = status.state.waiting.as_ref().filter(|it| !it.message.is_empty())?;
        Some(format!("{}: {}", waiting.reason, waiting.message))
    };
    let mut containers = status.init_container_statuses.iter().chain(&status.container_statuses);
    let cause = containers.find_map(waiting)?;
    Some(format!("Pod {}: {cause}", pod.metadata.name).into())
}

/// Why a Pod has no log, from its status; `None` if its status does not say.
pub(super) fn find_log_problem(pod: &Pod) -> Option<String> {
    let status = &pod.status;
    if status.is_terminal() && !status.reason.is_empty() {
        return Some(format!("{}: {}", status.reason, status.message));
    }
    find_waiting(pod).map(Into::into)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn pod(status: Value) -> Pod {
        serde_json::from_value(json!({"metadata": {"name": "p"}, "status": status})).unwrap()
    }

    #[test]
    fn failures_and_waits_are_problems_and_starts_are_not() {
        let waiting = |reason: &str, message: &str| {
            let state = json!({"waiting": {"reason": reason, "message": message}});
            pod(json!({"phase": "Pending", "containerStatuses": [{"name": "c", "state": state}]}))
        };
        let missing = waiting("CreateContainerConfigError", "secret \"s\" not found");
        let want = "Pod p: CreateContainerConfigError: secret \"s\" not found";
        assert_eq!(find(&missing).as_deref(), Some(want));
        assert_eq!(find_log_problem(&missing).as_deref(), Some(want));
        assert_eq!(find(&waiting("ContainerCreating", "")), None);
        let unsupported = pod(
            json!({"phase": "Failed", "reason": "UnsupportedPod", "message": "no such volume"}),
        );
        assert_eq!(find(&unsupported).as_deref(), Some("Pod p: UnsupportedPod: no such volume"));
        let want = "UnsupportedPod: no such volume";
        assert_eq!(find_log_problem(&unsupported).as_deref(), Some(want));
        assert_eq!(find(&pod(json!({"phase": "Succeeded"}))), None);
    }
}
