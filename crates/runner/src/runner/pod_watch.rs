//! Turns the watch of Pods into updates for the runner.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use punctual_api::{ObjectMeta, Pod};
use punctual_client::{CachedFields, EventHandler};
use serde::Deserialize;
use tokio::sync::mpsc;

/// A change of the Pods of this node.
#[derive(Debug)]
pub(super) enum PodUpdate {
    /// All Pods. `uids` also has those of Pods that do not parse: they are not run, but they exist.
    Listed { pods: Vec<Arc<Pod>>, uids: HashSet<String> },
    /// A Pod was created or changed.
    Applied(Arc<Pod>),
    /// A Pod's object was deleted.
    Deleted { uid: String },
}

/// A Pod of the watch.
#[derive(Clone, Debug)]
pub(super) struct WatchedPod {
    uid: String,
    /// `None` if the Pod does not parse.
    pod: Option<Arc<Pod>>,
}

#[derive(Deserialize)]
struct PodHeader {
    metadata: ObjectMeta,
}

impl CachedFields for WatchedPod {
    fn from_json(text: &str) -> Result<WatchedPod, serde_json::Error> {
        match serde_json::from_str::<Pod>(text) {
            Ok(mut pod) => {
                // The runner does not need them, and they take much memory.
                pod.metadata.managed_fields = None;
                let uid = pod.metadata.uid.clone();
                Ok(WatchedPod { uid, pod: Some(Arc::new(pod)) })
            }
            Err(error) => {
                let ObjectMeta { namespace, name, uid, .. } =
                    serde_json::from_str::<PodHeader>(text)?.metadata;
                tracing::warn!(%error, namespace, name, "could not parse a Pod; not running it");
                Ok(WatchedPod { uid, pod: None })
            }
        }
    }
}

/// Collects the Pods of a list and sends updates.
#[derive(Debug)]
pub(super) struct PodWatchHandler {
    node_name: String,
    updates: mpsc::UnboundedSender<PodUpdate>,
    /// The Pods of a list that is not complete; `None` while no list is in progress.
    listing: Mutex<Option<Vec<Arc<Pod>>>>,
}

impl PodWatchHandler {
    /// A handler of the Pods of one node. It ignores those of other nodes.
    pub(super) fn new(node_name: &str) -> (PodWatchHandler, mpsc::UnboundedReceiver<PodUpdate>) {
        let (updates, receiver) = mpsc::unbounded_channel();
        let node_name = node_name.to_owned();
        (PodWatchHandler { node_name, updates, listing: Mutex::default() }, receiver)
    }

    fn is_foreign(&self, pod: &Pod) -> bool {
        pod.spec.node_name != self.node_name
    }

    fn listing(&self) -> MutexGuard<'_, Option<Vec<Arc<Pod>>>> {
        self.listing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The runner drops its receiver only when it ends, and then it needs no more updates.
    fn send(&self, update: PodUpdate) {
        let _ = self.updates.send(update);
    }
}

impl EventHandler<WatchedPod> for PodWatchHandler {
    fn list_started(&self) {
        *self.listing() = Some(Vec::new());
    }

    fn apply(&self, WatchedPod { pod, .. }: WatchedPod) {
        let Some(pod) = pod.filter(|pod| !self.is_foreign(pod)) else { return };
        match &mut *self.listing() {
            Some(pods) => pods.push(pod),
            None => self.send(PodUpdate::Applied(pod)),
        }
    }

    fn delete(&self, WatchedPod { uid, pod }: WatchedPod) {
        // A Pod that does not parse may be one of this node.
        if pod.is_none_or(|pod| !self.is_foreign(&pod)) {
            self.send(PodUpdate::Deleted { uid });
        }
    }

    fn retain(&self, uids: &HashSet<String>) {
        let pods = self.listing().take().unwrap_or_default();
        self.send(PodUpdate::Listed { pods, uids: uids.clone() });
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn pod(uid: &str, mut spec: Value) -> WatchedPod {
        spec["nodeName"] = json!(if uid == "foreign" { "other" } else { "node" });
        let object = json!({"metadata": {"name": uid, "uid": uid}, "spec": spec});
        WatchedPod::from_json(&object.to_string()).unwrap()
    }

    #[test]
    fn a_list_is_one_update_without_pods_that_do_not_parse_and_pods_of_other_nodes() {
        let (handler, mut updates) = PodWatchHandler::new("node");
        handler.list_started();
        handler.apply(pod("a", json!({"containers": []})));
        handler.apply(pod("foreign", json!({"containers": []})));
        handler.apply(pod("odd", json!({"containers": "none"})));
        let uids = HashSet::from(["a".to_owned(), "odd".to_owned()]);
        handler.retain(&uids);
        handler.apply(pod("foreign", json!({"containers": []})));
        handler.delete(pod("foreign", json!({"containers": []})));
        handler.apply(pod("b", json!({"containers": []})));
        handler.delete(pod("odd", json!({"containers": "none"})));
        let listed = updates.try_recv().unwrap();
        assert!(matches!(listed, PodUpdate::Listed { pods, uids: all }
            if pods.len() == 1 && all == uids));
        let applied = updates.try_recv().unwrap();
        assert!(matches!(applied, PodUpdate::Applied(pod) if pod.metadata.uid == "b"));
        let deleted = updates.try_recv().unwrap();
        assert!(matches!(deleted, PodUpdate::Deleted { uid } if uid == "odd"));
    }
}
