//! What is kept of a Job and of a Pod.

use std::sync::Arc;

use jiff::Timestamp;
use punctual_api::job::JobStatus;
use punctual_api::meta::{LabelSelector, StringMap};
use punctual_api::well_known::labels;
use punctual_api::{Job, Pod, Time};
use punctual_client::CachedFields;
use punctual_engine::job::PodView;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

/// The identity of an object.
pub(super) type Uid = Arc<str>;

/// A Job: its text, to be read when it is looked at, and what the indexes need.
#[derive(Clone, Debug)]
pub(super) struct KnownJob {
    pub(super) uid: Uid,
    pub(super) namespace: String,
    pub(super) version: String,
    /// Whether it may want Pods that do not carry its UID: its selector is somebody's own.
    pub(super) selects_by_hand: bool,
    /// Of a Job that has ended, only what decides about the time after. Most Jobs have.
    pub(super) text: Arc<str>,
}

/// A Pod: what decisions about its Job look at, and whose it is.
#[derive(Clone, Debug)]
pub(super) struct KnownPod {
    pub(super) uid: Uid,
    pub(super) namespace: String,
    pub(super) version: String,
    pub(super) labels: StringMap,
    pub(super) controller: Controller,
    pub(super) view: PodView,
    /// Since when we know of it from the answer to our own create alone. See
    /// [`Cache`](super::cache::Cache).
    pub(super) unheard_since: Option<Timestamp>,
}

/// Who looks after a Pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Controller {
    Nobody,
    Job { uid: Uid, name: String },
    Other,
}

impl KnownJob {
    /// The Job. What the server accepted can be read; what cannot is left alone.
    pub(super) fn read_text(&self) -> Option<Job> {
        let job = serde_json::from_str(&self.text);
        job.inspect_err(|why| tracing::warn!(uid = &*self.uid, %why, "a Job is unreadable")).ok()
    }
}

impl KnownPod {
    /// The UID of the Job that made a Pod, as its label says.
    pub(super) fn labelled_uid(&self) -> Option<&str> {
        let label = |key: &str| self.labels.get(key);
        let uid = label(labels::CONTROLLER_UID).or_else(|| label(labels::LEGACY_CONTROLLER_UID));
        uid.map(String::as_str)
    }
}

/// What is read of every Job, and all that is kept of one that has ended.
#[derive(Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Head {
    metadata: HeadMeta,
    spec: HeadSpec,
    status: JobStatus,
}

#[derive(Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct HeadMeta {
    name: String,
    namespace: String,
    uid: String,
    resource_version: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    deletion_timestamp: Option<Time>,
}

#[derive(Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct HeadSpec {
    #[serde(skip_serializing_if = "Option::is_none")]
    selector: Option<LabelSelector>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ttl_seconds_after_finished: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    managed_by: Option<String>,
}

impl Head {
    /// The selector that a server makes takes the Pods that are labelled with the Job's UID.
    fn selects_by_hand(&self) -> bool {
        let Some(selector) = &self.spec.selector else {
            return false;
        };
        let by_uid = [labels::CONTROLLER_UID, labels::LEGACY_CONTROLLER_UID];
        !by_uid.iter().any(|key| selector.match_labels.get(*key) == Some(&self.metadata.uid))
    }
}

impl CachedFields for KnownJob {
    fn from_json(text: &str) -> Result<Self, serde_json::Error> {
        let head: Head = serde_json::from_str(text)?;
        let text = match head.status.is_finished() {
            true => serde_json::to_string(&head)?.into(),
            false => text.into(),
        };
        Ok(KnownJob {
            uid: head.metadata.uid.as_str().into(),
            selects_by_hand: head.selects_by_hand(),
            namespace: head.metadata.namespace,
            version: head.metadata.resource_version,
            text,
        })
    }
}

impl CachedFields for KnownPod {
    fn from_json(text: &str) -> Result<Self, serde_json::Error> {
        Ok(KnownPod::from(serde_json::from_str::<Pod>(text)?))
    }
}

impl From<Pod> for KnownPod {
    fn from(pod: Pod) -> Self {
        let controller = match pod.metadata.controller() {
            None => Controller::Nobody,
            Some(owner) if owner.kind == "Job" && owner.api_version == "batch/v1" => {
                Controller::Job { uid: owner.uid.as_str().into(), name: owner.name.clone() }
            }
            Some(_) => Controller::Other,
        };
        KnownPod {
            uid: pod.metadata.uid.as_str().into(),
            view: PodView::from_pod(&pod),
            controller,
            namespace: pod.metadata.namespace,
            version: pod.metadata.resource_version,
            labels: pod.metadata.labels,
            unheard_since: None,
        }
    }
}

/// What a server answers: the object, or something else that says nothing about it.
pub(super) struct Answer<T>(pub(super) Option<T>);

impl<'de, T: CachedFields> Deserialize<'de> for Answer<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw: &RawValue = Deserialize::deserialize(deserializer)?;
        Ok(Answer(T::from_json(raw.get()).ok()))
    }
}
