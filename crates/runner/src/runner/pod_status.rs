//! Derives the API status of a Pod from the state of the runtime.

use jiff::Timestamp;
use punctual_api::pod::status::{
    ContainerStateRunning, ContainerStateTerminated, ContainerStateWaiting, phase,
};
use punctual_api::pod::{ContainerState, ContainerStatus, PodCondition, PodStatus};
use punctual_api::{Pod, Time};

use crate::pod_state::{
    ContainerRecord, PodPhase, PodState, ReasonAndMessage, RunState, Termination, reasons,
};
use crate::prepare::NODE_ADDRESS;

/// The progress of a Pod.
#[derive(Clone, Copy, Debug)]
pub(super) enum PodView<'a> {
    /// It was not started yet.
    Waiting(&'a ReasonAndMessage),
    /// It was started and has this state.
    Started(&'a PodState),
    /// It failed without a state, and is not started again.
    Failed(&'a ReasonAndMessage),
}

/// The status to report. `None` if the next state follows at once, which saves a write.
pub(super) fn pod_status(
    pod: &Pod,
    old: &PodStatus,
    view: PodView<'_>,
    now: Timestamp,
) -> Option<PodStatus> {
    let mut status = old.clone();
    status.host_ip = NODE_ADDRESS.to_owned();
    match view {
        PodView::Waiting(cause) => {
            status.phase = phase::PENDING.to_owned();
            set_waiting(&mut status, pod, cause);
        }
        PodView::Failed(cause) => {
            status.phase = phase::FAILED.to_owned();
            status.reason = cause.reason.clone();
            status.message = cause.message.clone();
        }
        PodView::Started(state) => {
            if is_transient(state) {
                return None;
            }
            set_started(&mut status, pod, state);
        }
    }
    status.conditions = conditions(old, &status, now);
    Some(status)
}

/// Whether the next state follows at once.
fn is_transient(state: &PodState) -> bool {
    let mut containers = state.containers.iter();
    let is_starting = containers.clone().any(|record| record.current == RunState::Starting);
    let has_no_run = containers.all(|record| record.run_number().is_none());
    !state.phase.is_final() && (is_starting || has_no_run)
}

fn set_started(status: &mut PodStatus, pod: &Pod, state: &PodState) {
    status.phase = api_phase(state).to_owned();
    let reason = if state.phase.is_final() { state.stop_reason.clone() } else { None };
    let ReasonAndMessage { reason, message } =
        reason.unwrap_or_else(|| ReasonAndMessage::new("", ""));
    status.reason = reason;
    status.message = message;
    status.pod_ip = NODE_ADDRESS.to_owned();
    status.start_time = Some(Time::new(state.started_at));
    let (init, main): (Vec<_>, Vec<_>) = state.containers.iter().partition(|record| record.is_init);
    status.init_container_statuses =
        init.into_iter().map(|record| container_status(pod, record)).collect();
    status.container_statuses =
        main.into_iter().map(|record| container_status(pod, record)).collect();
}

fn api_phase(state: &PodState) -> &'static str {
    let is_main_run = |record: &ContainerRecord| !record.is_init && record.run_number().is_some();
    match state.phase {
        PodPhase::Succeeded => phase::SUCCEEDED,
        PodPhase::Failed => phase::FAILED,
        PodPhase::Running if state.containers.iter().any(is_main_run) => phase::RUNNING,
        PodPhase::Pending | PodPhase::Running => phase::PENDING,
    }
}

/// Sets the statuses of the containers of a Pod that was not started yet.
fn set_waiting(status: &mut PodStatus, pod: &Pod, cause: &ReasonAndMessage) {
    let container_status = |name: &str, cause: &ReasonAndMessage| ContainerStatus {
        name: name.to_owned(),
        image: image(pod, name),
        state: waiting_state(cause),
        started: Some(false),
        ..ContainerStatus::default()
    };
    let init = &pod.spec.init_containers;
    status.init_container_statuses =
        init.iter().map(|container| container_status(&container.name, cause)).collect();
    let initializing = ReasonAndMessage::new(reasons::INITIALIZING, "");
    let cause = if init.is_empty() { cause } else { &initializing };
    let main = &pod.spec.containers;
    status.container_statuses =
        main.iter().map(|container| container_status(&container.name, cause)).collect();
}

fn container_status(pod: &Pod, record: &ContainerRecord) -> ContainerStatus {
    let id = |run: u32| format!("punctual://{}/{}/{run}", pod.metadata.uid, record.name);
    let state = match &record.current {
        RunState::Waiting(cause) => waiting_state(cause),
        RunState::Starting => waiting_state(&ReasonAndMessage::new(reasons::CREATING, "")),
        RunState::Running { started_at, .. } => {
            let running = ContainerStateRunning { started_at: Some(Time::new(*started_at)) };
            ContainerState { running: Some(running), ..ContainerState::default() }
        }
        RunState::Terminated(termination) => terminated_state(termination, id(record.restarts)),
    };
    let is_running = state.is_running();
    let last_run = match record.current {
        RunState::Waiting(_) => record.restarts,
        _ => record.restarts.saturating_sub(1),
    };
    let last = record.last_termination.as_ref();
    let last_state = last.map(|termination| terminated_state(termination, id(last_run)));
    ContainerStatus {
        name: record.name.clone(),
        state,
        last_state: last_state.unwrap_or_default(),
        ready: if record.is_init { record.has_succeeded() } else { is_running },
        restart_count: i32::try_from(record.restarts).unwrap_or(i32::MAX),
        image: image(pod, &record.name),
        container_id: record.run_number().map(id).unwrap_or_default(),
        started: Some(is_running),
        ..ContainerStatus::default()
    }
}

fn image(pod: &Pod, name: &str) -> String {
    let mut containers = pod.spec.containers_in_order().map(|(_, _, container)| container);
    let found = containers.find(|container| container.name == name);
    found.map(|container| container.image.clone()).unwrap_or_default()
}

fn waiting_state(cause: &ReasonAndMessage) -> ContainerState {
    let ReasonAndMessage { reason, message } = cause.clone();
    ContainerState {
        waiting: Some(ContainerStateWaiting { reason, message }),
        ..ContainerState::default()
    }
}

fn terminated_state(termination: &Termination, container_id: String) -> ContainerState {
    let terminated = ContainerStateTerminated {
        exit_code: termination.exit_code,
        signal: termination.signal,
        reason: termination.reason.clone(),
        message: termination.message.clone(),
        started_at: termination.started_at.map(Time::new),
        finished_at: Some(Time::new(termination.finished_at)),
        container_id,
    };
    ContainerState { terminated: Some(terminated), ..ContainerState::default() }
}

/// The types of the conditions that the runner sets.
const OWN_CONDITIONS: [&str; 4] = ["PodScheduled", "Initialized", "ContainersReady", "Ready"];

fn is_own(condition: &PodCondition) -> bool {
    OWN_CONDITIONS.contains(&condition.condition_type.as_str())
}

/// Takes over the conditions that other programs have set in the meantime.
pub(super) fn merge_conditions(reported: &mut PodStatus, current: &PodStatus) {
    reported.conditions.retain(is_own);
    let others = current.conditions.iter().filter(|condition| !is_own(condition));
    reported.conditions.extend(others.cloned());
}

/// The conditions of a status. A condition keeps its transition time while its status is the same, and
/// the conditions of other programs are kept.
fn conditions(old: &PodStatus, new: &PodStatus, now: Timestamp) -> Vec<PodCondition> {
    let unready = names(&new.container_statuses, |status| !status.ready);
    let uninitialized = names(&new.init_container_statuses, |status| !status.ready);
    let not_ready = match new.phase.as_str() {
        phase::SUCCEEDED => Some(ReasonAndMessage::new("PodCompleted", "")),
        phase::FAILED => Some(ReasonAndMessage::new("PodFailed", "")),
        _ if unready.is_empty() => None,
        _ => {
            let message = format!("containers with unready status: [{unready}]");
            Some(ReasonAndMessage::new("ContainersNotReady", message))
        }
    };
    let not_initialized = (!uninitialized.is_empty()).then(|| {
        let message = format!("containers with incomplete status: [{uninitialized}]");
        ReasonAndMessage::new("ContainersNotInitialized", message)
    });
    // In the order of `OWN_CONDITIONS`. `None` means that the condition is true.
    let false_reasons = [None, not_initialized, not_ready.clone(), not_ready];
    let others = old.conditions.iter().filter(|condition| !is_own(condition)).cloned();
    let own = OWN_CONDITIONS.iter().zip(&false_reasons);
    let own = own.map(|(condition_type, false_reason)| {
        condition(old, condition_type, false_reason.clone(), now)
    });
    own.chain(others).collect()
}

fn condition(
    old: &PodStatus,
    condition_type: &str,
    false_reason: Option<ReasonAndMessage>,
    now: Timestamp,
) -> PodCondition {
    let status = if false_reason.is_none() { "True" } else { "False" };
    let ReasonAndMessage { reason, message } =
        false_reason.unwrap_or_else(|| ReasonAndMessage::new("", ""));
    let before = old.conditions.iter().find(|before| before.condition_type == condition_type);
    let unchanged = before.filter(|before| before.status == status);
    let since = unchanged.and_then(|before| before.last_transition_time);
    PodCondition {
        condition_type: condition_type.to_owned(),
        status: status.to_owned(),
        observed_generation: before.map_or(0, |before| before.observed_generation),
        last_probe_time: None,
        last_transition_time: since.or(Some(Time::new(now))),
        reason,
        message,
    }
}

fn names(statuses: &[ContainerStatus], is_wanted: impl Fn(&ContainerStatus) -> bool) -> String {
    let names = statuses.iter().filter(|status| is_wanted(status)).map(|status| &*status.name);
    names.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn pod() -> Pod {
        serde_json::from_value(json!({
            "metadata": {"name": "p", "uid": "u"},
            "spec": {"containers": [{"name": "c", "image": "i"}]},
        }))
        .unwrap()
    }

    fn state(current: RunState) -> PodState {
        let record = ContainerRecord {
            name: "c".into(),
            is_init: false,
            current,
            last_termination: None,
            restarts: 0,
        };
        PodState {
            supervisor_pid: 1,
            started_at: at(1),
            phase: PodPhase::Running,
            stop_reason: None,
            containers: vec![record],
            warnings: Vec::new(),
        }
    }

    #[test]
    fn a_condition_keeps_its_transition_time_while_its_status_is_the_same() {
        let waiting = ReasonAndMessage::new("TooManyPods", "in line");
        let mut old =
            pod_status(&pod(), &PodStatus::default(), PodView::Waiting(&waiting), at(10)).unwrap();
        let other = PodCondition {
            condition_type: "Other".into(),
            status: "True".into(),
            ..Default::default()
        };
        let current = PodStatus { conditions: vec![other.clone()], ..PodStatus::default() };
        merge_conditions(&mut old, &current);
        let running = state(RunState::Running { pid: 7, started_at: at(15) });
        let new = pod_status(&pod(), &old, PodView::Started(&running), at(20)).unwrap();
        let since: Vec<_> = new.conditions.iter().map(|c| c.last_transition_time).collect();
        let time = |second| Some(Time::new(at(second)));
        assert_eq!(since, [time(10), time(10), time(20), time(20), None]);
        assert_eq!(new.conditions.last(), Some(&other));
        assert!(new.is_true("Ready") && !old.is_true("Ready"));
        assert_eq!(pod_status(&pod(), &new, PodView::Started(&running), at(30)), Some(new));
    }

    #[test]
    fn a_transient_state_is_not_reported() {
        let starting = state(RunState::Starting);
        assert_eq!(
            pod_status(&pod(), &PodStatus::default(), PodView::Started(&starting), at(1)),
            None
        );
    }
}
