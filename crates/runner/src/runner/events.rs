//! Events: what happened to a Pod, for people. Few, and never waited for.

use std::collections::HashSet;

use jiff::Timestamp;
use kube::api::DynamicObject;
use punctual_api::event::{Event, EventSource};
use punctual_api::meta::{ObjectMeta, ObjectReference};
use punctual_api::{Pod, Time};

use crate::state::{End, Fault, Now, PodState, Record, reasons};

/// Who reports.
const COMPONENT: &str = "punctual-runner";

/// Something to tell.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Note {
    is_warning: bool,
    reason: &'static str,
    message: String,
}

/// What has been told of a Pod, so that nothing is told twice.
#[derive(Debug, Default)]
pub(super) struct Told(HashSet<Note>);

impl Note {
    pub(super) fn normal(reason: &'static str, message: impl Into<String>) -> Note {
        Note { is_warning: false, reason, message: message.into() }
    }

    pub(super) fn warning(reason: &'static str, message: impl Into<String>) -> Note {
        Note { is_warning: true, reason, message: message.into() }
    }

    /// Whether it tells that something ended, which may have been while nobody was there to tell.
    pub(super) fn is_about_an_end(&self) -> bool {
        ["Failed", reasons::DEADLINE].contains(&self.reason)
    }

    /// The event of a note; none if it cannot be made.
    pub(super) fn event(&self, pod: &Pod, node: &str, now: Timestamp) -> Option<DynamicObject> {
        let meta = &pod.metadata;
        let name = format!("{}.{:x}", meta.name, now.as_nanosecond());
        let namespace = meta.namespace.clone();
        let event = Event {
            api_version: "v1".to_owned(),
            kind: "Event".to_owned(),
            metadata: ObjectMeta { name, namespace, ..ObjectMeta::default() },
            involved_object: involved(pod),
            reason: self.reason.to_owned(),
            message: self.message.clone(),
            source: EventSource { component: COMPONENT.to_owned(), host: node.to_owned() },
            first_timestamp: Some(Time::new(now)),
            last_timestamp: Some(Time::new(now)),
            count: 1,
            event_type: if self.is_warning { "Warning" } else { "Normal" }.to_owned(),
            reporting_component: COMPONENT.to_owned(),
            reporting_instance: node.to_owned(),
            ..Event::default()
        };
        serde_json::to_value(event).and_then(serde_json::from_value).ok()
    }
}

impl Told {
    /// Whether a note is new; it is not from now on.
    pub(super) fn is_new(&mut self, note: &Note) -> bool {
        self.0.insert(note.clone())
    }
}

fn involved(pod: &Pod) -> ObjectReference {
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

/// Everything that a state has to tell; the same thing has the same note.
pub(super) fn notes(state: &PodState) -> Vec<Note> {
    let containers = state.containers.iter().flat_map(of_container);
    let noted = state.notes.iter().map(of_note);
    let deadline = state.reason.iter().filter(|why| why.reason == reasons::DEADLINE);
    let deadline = deadline.map(|why| Note::normal(reasons::DEADLINE, why.message.clone()));
    containers.chain(noted).chain(deadline).collect()
}

fn of_container(record: &Record) -> Vec<Note> {
    let mut notes = Vec::new();
    let name = &record.name;
    let failed = |end: &End| {
        let is_failure = [reasons::CANNOT_RUN, reasons::START_ERROR].contains(&&*end.reason);
        is_failure.then(|| Note::warning("Failed", format!("Error: {}", end.message)))
    };
    let ends = record.last.iter().chain(record.end());
    notes.extend(ends.clone().filter_map(failed));
    if record.is_running() || ends.clone().any(|end| end.started_at.is_some()) {
        notes.push(Note::normal("Started", format!("Container started: {name}")));
    }
    if matches!(&record.now, Now::Waiting(fault) if fault.reason == reasons::BACK_OFF) {
        let message = format!("Back-off restarting failed container {name}");
        notes.push(Note::warning("BackOff", message));
    }
    notes
}

fn of_note(note: &Fault) -> Note {
    let reason = match note.reason.as_str() {
        reasons::VOLUMES_NOT_MOUNTED => reasons::VOLUMES_NOT_MOUNTED,
        reasons::LIMITS_NOT_SET => reasons::LIMITS_NOT_SET,
        _ => "FailedKillPod",
    };
    Note::warning(reason, note.message.clone())
}
