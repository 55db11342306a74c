//! The Events that the runner records about a Pod, each once.

use std::collections::HashSet;

use punctual_api::Pod;
use punctual_api::event::PendingEvent;
use punctual_api::meta::ObjectReference;

use crate::pod_state::{
    ContainerRecord, PodState, ReasonAndMessage, RunState, Termination, reasons,
};

/// The Events of a Pod that were recorded, so that each is recorded once.
#[derive(Debug, Default)]
pub(super) struct RecordedEvents(HashSet<PendingEvent>);

impl RecordedEvents {
    /// Adds an Event. Returns whether it is new.
    pub(super) fn insert(&mut self, event: &PendingEvent) -> bool {
        self.0.insert(event.clone())
    }
}

/// Whether an Event reports an end, which may have happened while no daemon was running.
pub(super) fn reports_end(event: &PendingEvent) -> bool {
    ["Failed", reasons::DEADLINE].contains(&event.reason)
}

/// The reference to a Pod in Events.
pub(super) fn pod_reference(pod: &Pod) -> ObjectReference {
    let meta = &pod.metadata;
    ObjectReference {
        kind: "Pod".to_owned(),
        namespace: meta.namespace.clone(),
        name: meta.name.clone(),
        uid: meta.uid.clone(),
        api_version: "v1".to_owned(),
        resource_version: meta.resource_version.clone(),
        ..ObjectReference::default()
    }
}

/// All Events of a state. The same occurrence always gives the same Event.
pub(super) fn events_of_state(state: &PodState) -> Vec<PendingEvent> {
    let mut events: Vec<PendingEvent> =
        state.containers.iter().flat_map(events_of_container).collect();
    events.extend(state.warnings.iter().map(event_of_warning));
    if let Some(cause) = &state.stop_reason
        && cause.reason == reasons::DEADLINE
    {
        events.push(PendingEvent::normal(reasons::DEADLINE, cause.message.clone()));
    }
    events
}

fn events_of_container(record: &ContainerRecord) -> Vec<PendingEvent> {
    let name = &record.name;
    let terminations: Vec<&Termination> =
        record.last_termination.iter().chain(record.termination()).collect();
    let mut events = Vec::new();
    for termination in &terminations {
        if [reasons::CANNOT_RUN, reasons::START_ERROR].contains(&&*termination.reason) {
            let message = format!("Error: {}", termination.message);
            events.push(PendingEvent::warning("Failed", message));
        } else if is_failure(termination) {
            let message = format!("Error: container {name:?} failed: {}", end_text(termination));
            events.push(PendingEvent::warning("Failed", message));
        }
    }
    let has_started = terminations.iter().any(|termination| termination.started_at.is_some());
    if record.is_running() || has_started {
        events.push(PendingEvent::normal("Started", format!("Container started: {name}")));
    }
    if let RunState::Waiting(cause) = &record.current
        && cause.reason == reasons::BACK_OFF
    {
        let message = format!("Back-off restarting failed container {name}");
        events.push(PendingEvent::warning("BackOff", message));
    }
    events
}

/// Whether a run failed, unless it was asked to end: then its end is no surprise.
fn is_failure(termination: &Termination) -> bool {
    const SIGTERM_EXIT_CODE: i32 = 143;
    !termination.is_success() && termination.exit_code != SIGTERM_EXIT_CODE
}

/// How a run ended. The message of a program does not contain its exit code.
fn end_text(termination: &Termination) -> String {
    let Termination { exit_code, message, .. } = termination;
    if message.starts_with("exit code") || message.starts_with("killed") {
        return message.clone();
    }
    format!("exit code {exit_code}: {message}")
}

fn event_of_warning(warning: &ReasonAndMessage) -> PendingEvent {
    let reason = match warning.reason.as_str() {
        reasons::LIMITS_NOT_SET => reasons::LIMITS_NOT_SET,
        _ => "FailedKillPod",
    };
    PendingEvent::warning(reason, warning.message.clone())
}
