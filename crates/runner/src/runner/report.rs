//! From what a supervisor wrote down to what the API shows.

use jiff::Timestamp;
use punctual_api::pod::status::{
    ContainerStateRunning, ContainerStateTerminated, ContainerStateWaiting, phase,
};
use punctual_api::pod::{ContainerState, ContainerStatus, PodCondition, PodStatus};
use punctual_api::{Pod, Time};

use crate::prepare::ADDRESS;
use crate::state::{End, Fault, Now, Phase, PodState, Record, reasons};

/// What is known of a Pod.
#[derive(Clone, Copy, Debug)]
pub(super) enum View<'a> {
    /// It was not started yet.
    Waiting(&'a Fault),
    /// It was, and this is how far it got.
    Known(&'a PodState),
    /// It will not be started (again).
    Failed(&'a Fault),
}

/// What the API is to show; none while it would be something else the next moment.
pub(super) fn status(
    pod: &Pod,
    old: &PodStatus,
    view: View<'_>,
    now: Timestamp,
) -> Option<PodStatus> {
    let mut status = old.clone();
    status.host_ip = ADDRESS.to_owned();
    match view {
        View::Waiting(fault) => {
            status.phase = phase::PENDING.to_owned();
            (status.init_container_statuses, status.container_statuses) = waiting(pod, fault);
        }
        View::Failed(fault) => {
            status.phase = phase::FAILED.to_owned();
            status.reason = fault.reason.clone();
            status.message = fault.message.clone();
        }
        View::Known(state) => known(&mut status, pod, state)?,
    }
    status.conditions = conditions(old, &status, now);
    Some(status)
}

fn known(status: &mut PodStatus, pod: &Pod, state: &PodState) -> Option<()> {
    let mut records = state.containers.iter();
    let is_starting = records.clone().any(|record| record.now == Now::Starting);
    let is_fresh = records.all(|record| record.run().is_none());
    if !state.phase.is_final() && (is_starting || is_fresh) {
        return None;
    }
    status.phase = phase_of(state).to_owned();
    let is_over = state.phase.is_final();
    let why = state.reason.as_ref().filter(|_| is_over);
    status.reason = why.map(|why| why.reason.clone()).unwrap_or_default();
    status.message = why.map(|why| why.message.clone()).unwrap_or_default();
    status.pod_ip = ADDRESS.to_owned();
    status.start_time = Some(Time::new(state.started_at));
    let of = |is_init: bool| {
        let records = state.containers.iter().filter(move |record| record.is_init == is_init);
        records.map(|record| container(pod, record)).collect()
    };
    status.init_container_statuses = of(true);
    status.container_statuses = of(false);
    Some(())
}

fn phase_of(state: &PodState) -> &'static str {
    let has_run = state.containers.iter().any(|record| !record.is_init && record.run().is_some());
    match state.phase {
        Phase::Succeeded => phase::SUCCEEDED,
        Phase::Failed => phase::FAILED,
        Phase::Running if has_run => phase::RUNNING,
        Phase::Pending | Phase::Running => phase::PENDING,
    }
}

fn waiting(pod: &Pod, fault: &Fault) -> (Vec<ContainerStatus>, Vec<ContainerStatus>) {
    let has_init = !pod.spec.init_containers.is_empty();
    let blank = Fault::new(reasons::INITIALIZING, "");
    let of = |name: &str, fault: &Fault| ContainerStatus {
        name: name.to_owned(),
        image: image(pod, name),
        state: waits(fault),
        started: Some(false),
        ..ContainerStatus::default()
    };
    let init = pod.spec.init_containers.iter().map(|container| of(&container.name, fault));
    let fault = if has_init { &blank } else { fault };
    let main = pod.spec.containers.iter().map(|container| of(&container.name, fault));
    (init.collect(), main.collect())
}

fn container(pod: &Pod, record: &Record) -> ContainerStatus {
    let id = |run: u32| format!("punctual://{}/{}/{run}", pod.metadata.uid, record.name);
    let state = match &record.now {
        Now::Waiting(fault) => waits(fault),
        Now::Starting => waits(&Fault::new(reasons::CREATING, "")),
        Now::Running { started_at, .. } => {
            let running = ContainerStateRunning { started_at: Some(Time::new(*started_at)) };
            ContainerState { running: Some(running), ..ContainerState::default() }
        }
        Now::Ended(end) => ended(end, id(record.restarts)),
    };
    let is_running = state.is_running();
    let last_run = match record.now {
        Now::Waiting(_) => record.restarts,
        _ => record.restarts.saturating_sub(1),
    };
    let last = record.last.as_ref().map(|end| ended(end, id(last_run)));
    let is_done = record.is_init && record.end().is_some_and(End::is_success);
    ContainerStatus {
        name: record.name.clone(),
        state,
        last_state: last.unwrap_or_default(),
        ready: is_running && !record.is_init || is_done,
        restart_count: i32::try_from(record.restarts).unwrap_or(i32::MAX),
        image: image(pod, &record.name),
        container_id: record.run().map(id).unwrap_or_default(),
        started: Some(is_running),
        ..ContainerStatus::default()
    }
}

fn image(pod: &Pod, name: &str) -> String {
    let mut containers = pod.spec.containers_in_order().map(|(_, _, container)| container);
    let found = containers.find(|container| container.name == name);
    found.map(|container| container.image.clone()).unwrap_or_default()
}

fn waits(fault: &Fault) -> ContainerState {
    let Fault { reason, message } = fault.clone();
    ContainerState {
        waiting: Some(ContainerStateWaiting { reason, message }),
        ..ContainerState::default()
    }
}

fn ended(end: &End, container_id: String) -> ContainerState {
    let terminated = ContainerStateTerminated {
        exit_code: end.exit_code,
        signal: end.signal,
        reason: end.reason.clone(),
        message: end.message.clone(),
        started_at: end.started_at.map(Time::new),
        finished_at: Some(Time::new(end.finished_at)),
        container_id,
    };
    ContainerState { terminated: Some(terminated), ..ContainerState::default() }
}

/// The conditions that are for a runner to set.
const CONDITIONS: [&str; 4] = ["PodScheduled", "Initialized", "ContainersReady", "Ready"];

fn is_ours(condition: &PodCondition) -> bool {
    CONDITIONS.contains(&condition.condition_type.as_str())
}

/// Takes over the conditions that others have set meanwhile.
pub(super) fn merge_conditions(reported: &mut PodStatus, seen: &PodStatus) {
    reported.conditions.retain(is_ours);
    let others = seen.conditions.iter().filter(|condition| !is_ours(condition));
    reported.conditions.extend(others.cloned());
}

/// The conditions, with the instant of each kept unless it changed. Those of others stay.
fn conditions(old: &PodStatus, new: &PodStatus, now: Timestamp) -> Vec<PodCondition> {
    let unready = names(&new.container_statuses, |status| !status.ready);
    let uninitialized = names(&new.init_container_statuses, |status| !status.ready);
    let not_ready = match new.phase.as_str() {
        phase::SUCCEEDED => Some(("PodCompleted", String::new())),
        phase::FAILED => Some(("PodFailed", String::new())),
        _ if unready.is_empty() => None,
        _ => Some(("ContainersNotReady", format!("containers with unready status: [{unready}]"))),
    };
    let not_initialized = (!uninitialized.is_empty()).then(|| {
        let message = format!("containers with incomplete status: [{uninitialized}]");
        ("ContainersNotInitialized", message)
    });
    let lacking = [None, not_initialized, not_ready.clone(), not_ready];
    let others = old.conditions.iter().filter(|condition| !is_ours(condition)).cloned();
    let ours = CONDITIONS.iter().zip(&lacking);
    let made = ours.map(|(kind, lacks)| condition(old, kind, lacks.as_ref(), now));
    made.chain(others).collect()
}

fn condition(
    old: &PodStatus,
    kind: &str,
    lacks: Option<&(&str, String)>,
    now: Timestamp,
) -> PodCondition {
    let status = if lacks.is_none() { "True" } else { "False" };
    let before = old.conditions.iter().find(|condition| condition.condition_type == kind);
    let since = before.filter(|before| before.status == status);
    let since = since.and_then(|before| before.last_transition_time);
    PodCondition {
        condition_type: kind.to_owned(),
        status: status.to_owned(),
        observed_generation: before.map_or(0, |before| before.observed_generation),
        last_probe_time: None,
        last_transition_time: since.or(Some(Time::new(now))),
        reason: lacks.map(|(reason, _)| (*reason).to_owned()).unwrap_or_default(),
        message: lacks.map(|(_, message)| message.clone()).unwrap_or_default(),
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

    fn state(now: Now) -> PodState {
        let record = Record { name: "c".into(), is_init: false, now, last: None, restarts: 0 };
        PodState {
            supervisor: 1,
            started_at: at(1),
            phase: Phase::Running,
            reason: None,
            containers: vec![record],
            notes: Vec::new(),
        }
    }

    #[test]
    fn a_condition_keeps_its_instant_until_it_changes_and_those_of_others_stay() {
        let waits = Fault::new("TooManyPods", "in line");
        let mut old = status(&pod(), &PodStatus::default(), View::Waiting(&waits), at(10)).unwrap();
        let other = PodCondition {
            condition_type: "Other".into(),
            status: "True".into(),
            ..Default::default()
        };
        let seen = PodStatus { conditions: vec![other.clone()], ..PodStatus::default() };
        merge_conditions(&mut old, &seen);
        let running = state(Now::Running { pid: 7, started_at: at(15) });
        let new = status(&pod(), &old, View::Known(&running), at(20)).unwrap();
        let since: Vec<_> = new.conditions.iter().map(|c| c.last_transition_time).collect();
        let time = |second| Some(Time::new(at(second)));
        assert_eq!(since, [time(10), time(10), time(20), time(20), None]);
        assert_eq!(new.conditions.last(), Some(&other));
        assert!(new.is_true("Ready") && !old.is_true("Ready"));
        assert_eq!(status(&pod(), &new, View::Known(&running), at(30)), Some(new));
    }

    #[test]
    fn what_is_about_to_change_is_not_reported() {
        let starting = state(Now::Starting);
        assert_eq!(status(&pod(), &PodStatus::default(), View::Known(&starting), at(1)), None);
    }
}
