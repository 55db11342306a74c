//! What the runner asks of the API.

use std::time::Duration;

use futures::StreamExt as _;
use kube::api::{
    Api, ApiResource, DeleteParams, DynamicObject, Patch, PatchParams, PostParams, Preconditions,
};
use kube::runtime::{WatchStreamExt as _, watcher};
use punctual_api::Pod;
use punctual_api::pod::PodStatus;
use serde_json::{Map, Value, json};

use crate::prepare::{Kind, Sources, Unmet};

/// How long a call may take; the client itself would wait for ever.
const CALL_MAX: Duration = Duration::from_secs(30);

/// Why a call did not do what was asked.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CallError {
    /// The object is gone, or is another one of the same name.
    #[error("the object is gone")]
    Gone,
    /// Somebody else was faster.
    #[error("the object changed meanwhile")]
    Conflict,
    #[error("the API did not answer in time")]
    TimedOut,
    #[error("the API refused")]
    Refused(#[source] Box<kube::Error>),
    #[error("the API gave something that is not what it should be")]
    Unreadable(#[source] serde_json::Error),
}

/// The API, as the runner uses it.
#[derive(Clone)]
pub(super) struct Cluster {
    client: kube::Client,
}

impl Cluster {
    pub(super) fn new(client: kube::Client) -> Cluster {
        Cluster { client }
    }

    /// All Pods, for watching.
    pub(super) fn pods(&self) -> Api<DynamicObject> {
        Api::all_with(self.client.clone(), &resource("Pod", "pods"))
    }

    fn namespaced(&self, namespace: &str, kind: &str, plural: &str) -> Api<DynamicObject> {
        Api::namespaced_with(self.client.clone(), namespace, &resource(kind, plural))
    }

    /// A Pod as it is now; none if it is gone or another one has its name.
    pub(super) async fn pod(&self, pod: &Pod) -> Result<Option<Pod>, CallError> {
        let api = self.namespaced(&pod.metadata.namespace, "Pod", "pods");
        let found = call(api.get_opt(&pod.metadata.name)).await?;
        let found = found.map(read_pod).transpose()?;
        Ok(found.filter(|found| found.metadata.uid == pod.metadata.uid))
    }

    /// Writes what changed of a Pod's status.
    pub(super) async fn write_status(
        &self,
        pod: &Pod,
        old: &PodStatus,
        new: &PodStatus,
    ) -> Result<(), CallError> {
        let api = self.namespaced(&pod.metadata.namespace, "Pod", "pods");
        let status = difference(old, new).map_err(CallError::Unreadable)?;
        let patch = json!({"metadata": {"uid": pod.metadata.uid}, "status": status});
        let params = PatchParams::default();
        let patch = Patch::Merge(&patch);
        let written = call(api.patch_status(&pod.metadata.name, &params, &patch)).await;
        self.unless_gone(pod, written.map(drop)).await
    }

    /// A conflict means that another Pod has the name, or that the same call will do next time.
    async fn unless_gone(&self, pod: &Pod, result: Result<(), CallError>) -> Result<(), CallError> {
        match result {
            Err(CallError::Conflict) if self.pod(pod).await?.is_none() => Err(CallError::Gone),
            other => other,
        }
    }

    /// Lets a Pod go that has ended.
    pub(super) async fn delete(&self, pod: &Pod) -> Result<(), CallError> {
        let api = self.namespaced(&pod.metadata.namespace, "Pod", "pods");
        let uid = Some(pod.metadata.uid.clone());
        let preconditions = Some(Preconditions { uid, resource_version: None });
        let params = DeleteParams {
            grace_period_seconds: Some(0),
            preconditions,
            ..DeleteParams::default()
        };
        let deleted = call(api.delete(&pod.metadata.name, &params)).await;
        match self.unless_gone(pod, deleted.map(drop)).await {
            Err(CallError::Gone) => Ok(()),
            other => other,
        }
    }

    /// Everything that a Pod refers to, as far as it is there.
    pub(super) async fn sources(&self, pod: &Pod) -> Result<Sources, CallError> {
        let mut sources = Sources::default();
        for (kind, name) in Sources::wanted(pod) {
            let api = self.namespaced(&pod.metadata.namespace, kind.name(), kind.plural());
            if let Some(object) = call(api.get_opt(&name)).await? {
                let object = serde_json::to_value(object).map_err(CallError::Unreadable)?;
                // An object that cannot be read is as good as none, and the Pod's status says so.
                let _ = sources.add(kind, name, object);
            }
        }
        Ok(sources)
    }

    /// Returns when something that was not good enough is another one.
    pub(super) async fn changed(&self, namespace: &str, unmet: &Unmet) {
        let Unmet { kind, name, version, .. } = unmet;
        let api: Api<DynamicObject> = self.namespaced(namespace, Kind::name(*kind), kind.plural());
        let stream = watcher::watch_object(api, name).default_backoff();
        let mut stream = std::pin::pin!(stream);
        while let Some(seen) = stream.next().await {
            let seen = seen.ok().flatten().and_then(|object| object.metadata.resource_version);
            if seen.is_some_and(|seen| seen != *version) {
                return;
            }
        }
    }

    /// Writes an event; nobody waits for it to succeed.
    pub(super) async fn record(
        &self,
        namespace: &str,
        event: &DynamicObject,
    ) -> Result<(), CallError> {
        let api = self.namespaced(namespace, "Event", "events");
        call(api.create(&PostParams::default(), event)).await.map(drop)
    }
}

/// Reads a Pod; who manages which of its fields is of no interest.
pub(super) fn read_pod(mut object: DynamicObject) -> Result<Pod, CallError> {
    object.metadata.managed_fields = None;
    let value = serde_json::to_value(object).map_err(CallError::Unreadable)?;
    serde_json::from_value(value).map_err(CallError::Unreadable)
}

fn resource(kind: &str, plural: &str) -> ApiResource {
    ApiResource {
        group: String::new(),
        version: "v1".to_owned(),
        api_version: "v1".to_owned(),
        kind: kind.to_owned(),
        plural: plural.to_owned(),
    }
}

/// A merge patch from one status to another.
fn difference(old: &PodStatus, new: &PodStatus) -> serde_json::Result<Map<String, Value>> {
    let object = |status: &PodStatus| match serde_json::to_value(status) {
        Ok(Value::Object(object)) => Ok(object),
        Ok(_) => Ok(Map::new()),
        Err(error) => Err(error),
    };
    let (old, new) = (object(old)?, object(new)?);
    let gone: Vec<String> = old.keys().filter(|key| !new.contains_key(*key)).cloned().collect();
    let changed = new.into_iter().filter(|(key, value)| old.get(key) != Some(value));
    let mut patch: Map<String, Value> = changed.collect();
    patch.extend(gone.into_iter().map(|key| (key, Value::Null)));
    Ok(patch)
}

async fn call<T>(call: impl Future<Output = kube::Result<T>>) -> Result<T, CallError> {
    match tokio::time::timeout(CALL_MAX, call).await {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(kube::Error::Api(status))) if status.code == 404 => Err(CallError::Gone),
        Ok(Err(kube::Error::Api(status))) if status.code == 409 => Err(CallError::Conflict),
        Ok(Err(error)) => Err(CallError::Refused(Box::new(error))),
        Err(_) => Err(CallError::TimedOut),
    }
}
