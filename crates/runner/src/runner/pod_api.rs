//! The API calls of the runner: Pods, their statuses, and the objects that they refer to.

use std::collections::HashSet;

use punctual_api::Pod;
use punctual_api::pod::PodStatus;
use punctual_client::resources::PODS;
use punctual_client::{
    ApiClient, ApiError, CachedFields, EventHandler, SyncTracker, WatchScope, watch_resource,
};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use crate::prepare::{MissingReference, References};

/// Calls about Pods and the objects that they refer to.
#[derive(Clone)]
pub(super) struct PodApi {
    client: kube::Client,
    api: ApiClient,
}

impl PodApi {
    pub(super) fn new(client: kube::Client, api: ApiClient) -> PodApi {
        PodApi { client, api }
    }

    /// Reads a Pod; `None` if it was deleted, even if another Pod has its name.
    pub(super) async fn find(&self, pod: &Pod) -> Result<Option<Pod>, ApiError> {
        let found = self.api.find::<Pod>(&pod_path(pod)).await?;
        Ok(found.filter(|found| found.metadata.uid == pod.metadata.uid))
    }

    /// Writes the changed fields of a Pod's status, and returns the new resourceVersion; `None` if the Pod
    /// was deleted. The write must name the version that it changes: one that arrives late, after its
    /// caller timed out, must not replace a newer status.
    pub(super) async fn write_status(
        &self,
        pod: &Pod,
        resource_version: &str,
        old: &PodStatus,
        new: &PodStatus,
    ) -> Result<Option<String>, ApiError> {
        let path = pod_path(pod);
        let metadata = json!({"uid": pod.metadata.uid, "resourceVersion": resource_version});
        let patch = json!({"metadata": metadata, "status": diff(old, new)?});
        let result =
            self.api.merge_patch::<VersionedObject>(&format!("{path}/status"), &patch).await;
        let written = self.api.none_if_deleted(result, &path, &pod.metadata.uid).await?;
        Ok(written.map(|written| written.metadata.resource_version))
    }

    /// Deletes a Pod that has ended, without a grace period. Succeeds if the Pod was deleted already.
    pub(super) async fn delete(&self, pod: &Pod) -> Result<(), ApiError> {
        let path = pod_path(pod);
        let uid = &pod.metadata.uid;
        let options = json!({"gracePeriodSeconds": 0, "preconditions": {"uid": uid}});
        let result = self.api.delete_with_options::<IgnoredAny>(&path, options).await;
        self.api.none_if_deleted(result, &path, uid).await.map(drop)
    }

    /// Reads the objects that a Pod refers to, as far as they exist.
    pub(super) async fn references(&self, pod: &Pod) -> Result<References, ApiError> {
        let mut references = References::default();
        for (kind, name) in References::find_in_pod(pod) {
            let path = kind.resource().object_path(&pod.metadata.namespace, &name);
            if let Some(object) = self.api.find::<Value>(&path).await? {
                // An object that does not parse counts as missing, which the Pod's status shows.
                let _ = references.add(kind, name, object);
            }
        }
        Ok(references)
    }

    /// Waits until a missing reference exists or has changed.
    pub(super) async fn wait_for_change(&self, namespace: &str, missing: &MissingReference) {
        let scope = WatchScope::new(missing.kind.resource(), Some(namespace.to_owned()))
            .with_field_selector(format!("metadata.name={}", missing.name));
        let changed = CancellationToken::new();
        let handler = ChangeHandler {
            resource_version: missing.resource_version.clone(),
            changed: changed.clone(),
        };
        watch_resource(self.client.clone(), scope, &handler, SyncTracker::new(), changed).await;
    }
}

fn pod_path(pod: &Pod) -> String {
    PODS.object_path(&pod.metadata.namespace, &pod.metadata.name)
}

/// Cancels a token when an object has another resourceVersion.
struct ChangeHandler {
    resource_version: String,
    changed: CancellationToken,
}

#[derive(Clone, Deserialize)]
struct VersionedObject {
    metadata: VersionedMetadata,
}

#[derive(Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
struct VersionedMetadata {
    resource_version: String,
}

impl CachedFields for VersionedObject {
    fn from_json(text: &str) -> Result<VersionedObject, serde_json::Error> {
        serde_json::from_str(text)
    }
}

impl EventHandler<VersionedObject> for ChangeHandler {
    fn apply(&self, object: VersionedObject) {
        if object.metadata.resource_version != self.resource_version {
            self.changed.cancel();
        }
    }

    fn delete(&self, _object: VersionedObject) {}

    fn retain(&self, _uids: &HashSet<String>) {}
}

/// A merge patch that turns one status into another.
fn diff(old: &PodStatus, new: &PodStatus) -> serde_json::Result<Map<String, Value>> {
    let old = to_map(old)?;
    let new = to_map(new)?;
    let mut patch = Map::new();
    for key in old.keys().filter(|key| !new.contains_key(*key)) {
        patch.insert(key.clone(), Value::Null);
    }
    for (key, value) in new {
        if old.get(&key) != Some(&value) {
            patch.insert(key, value);
        }
    }
    Ok(patch)
}

fn to_map(status: &PodStatus) -> serde_json::Result<Map<String, Value>> {
    match serde_json::to_value(status)? {
        Value::Object(map) => Ok(map),
        _ => Ok(Map::new()),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use punctual_server::{ADMIN_GROUP, Config, Server, User};
    use punctual_store::{Options, Store};

    use super::*;

    #[tokio::test]
    async fn a_status_write_that_arrives_late_does_not_replace_a_newer_status() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path().join("store"), Options::default()).unwrap();
        let server = Server::start(Config::new(store)).await.unwrap();
        let router = server.local_router(User::new("runner", ADMIN_GROUP));
        let client = kube::Client::new(router, "default");
        let pods = PodApi::new(client.clone(), ApiClient::new(client, Arc::new(())));
        let object = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"},
            "spec": {"nodeName": "node", "containers": [{"name": "c", "image": "i"}]}});
        let collection = PODS.collection_path("default");
        let pod: Pod = pods.api.create(&collection, object.to_string()).await.unwrap();
        let status = |phase: &str| PodStatus { phase: phase.to_owned(), ..pod.status.clone() };
        let created = &pod.metadata.resource_version;
        let running = status("Running");
        let version = pods.write_status(&pod, created, &pod.status, &running).await.unwrap();
        let version = version.unwrap();
        pods.write_status(&pod, &version, &running, &status("Succeeded")).await.unwrap();
        // The network delivers the first request once more.
        let late = pods.write_status(&pod, created, &pod.status, &running).await;
        assert!(late.unwrap_err().is_conflict());
        assert_eq!(pods.find(&pod).await.unwrap().unwrap().status.phase, "Succeeded");
    }
}
