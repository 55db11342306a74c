//! The garbage collector and the namespace controller.
//!
//! It deletes objects whose owners were deleted, carries out foreground and orphan deletions, and empties
//! namespaces that are being deleted.
//!
//! The metadata of every kind is watched into a graph, and the graph returns the actions for each object. Every write
//! has the UID as a precondition, so that a stale cache does no harm. An owner that is not cached is
//! read before any of its dependents is deleted.

mod cached_metadata;
mod graph;
mod kinds;

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use http::Method;
use punctual_client::resources::NAMESPACES;
use punctual_client::{
    ApiClient, EventHandler, ResourceType, SyncTracker, remove_finalizer_patch, watch_resource,
};
use punctual_queue::{Backoff, Failure};
use serde::de::IgnoredAny;
use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use self::cached_metadata::CachedMetadata;
use self::graph::{Action, GraphNode, OwnerGraph, OwnerRef, Uid};
use self::kinds::{WATCHED, find_kind, namespaced_kinds};
use crate::context::Context;
use crate::tasks::wait_for_panic;
use crate::work_queue::{Priority, WorkQueue};

/// How long a deletion that needs several steps waits before the first step, so that clients can observe
/// `deletionTimestamp`.
const DELETION_DELAY: Duration = Duration::from_secs(1);
const WORKERS: usize = 8;

/// Runs the garbage collector until `stop` is cancelled.
pub async fn run_garbage_collector(context: Context, stop: CancellationToken) {
    let backoff = Backoff::new(Duration::from_millis(100), Duration::from_secs(60));
    let collector = Arc::new(GarbageCollector {
        api: context.api_client(),
        graph: Mutex::default(),
        queue: WorkQueue::new(Priority::Low, "garbage_collector", backoff, &context),
    });
    let synced = SyncTracker::new();
    let mut watches = JoinSet::new();
    for kind in WATCHED {
        let handler = Box::new(KindHandler { collector: collector.clone(), kind });
        let source = context.watch_source();
        watches.spawn(watch_resource(source, kind, handler, synced.clone(), stop.clone()));
    }
    // Decisions need the lists of all kinds.
    tokio::select! {
        biased;
        () = stop.cancelled() => return,
        () = synced.wait_for(WATCHED.len()) => {}
    }
    let reconcile = |uid| {
        let collector = collector.clone();
        async move { collector.reconcile(&uid).await }
    };
    tokio::select! {
        biased;
        () = collector.queue.run(WORKERS, reconcile, stop) => {}
        () = wait_for_panic(&mut watches) => {}
    }
}

struct GarbageCollector {
    api: ApiClient,
    graph: Mutex<OwnerGraph>,
    queue: Arc<WorkQueue<Uid>>,
}

impl GarbageCollector {
    fn graph(&self) -> MutexGuard<'_, OwnerGraph> {
        self.graph.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn node(&self, uid: &Uid) -> Option<GraphNode> {
        self.graph().get(uid).cloned()
    }

    fn queue_all<'a>(&self, affected: impl IntoIterator<Item = &'a Uid>) {
        for uid in affected {
            self.queue.add(uid);
        }
    }

    async fn reconcile(&self, uid: &Uid) -> Result<(), Failure> {
        let (node, actions) = {
            let graph = self.graph();
            (graph.get(uid).cloned(), graph.actions(uid))
        };
        let Some(node) = node else { return Ok(()) };
        if node.is_terminating_namespace() {
            return self.finalize_namespace(uid, &node).await;
        }
        for action in actions {
            self.execute(uid, &node, action).await?;
        }
        Ok(())
    }

    async fn execute(&self, uid: &Uid, node: &GraphNode, action: Action) -> Result<(), Failure> {
        match action {
            Action::RemoveOwnerReference(dependent) => match self.node(&dependent) {
                Some(node) => self.remove_owner_reference(&dependent, &node, uid).await,
                None => Ok(()),
            },
            Action::Delete { dependent, foreground } => match self.node(&dependent) {
                Some(node) => self.delete(&dependent, &node, foreground).await,
                None => Ok(()),
            },
            Action::RemoveFinalizer(finalizer) => self.remove_finalizer(uid, node, finalizer).await,
            Action::CheckOwners(owners) => self.check_owners(uid, node, owners).await,
        }
    }

    /// Deletes an object if none of its owners exists. Otherwise removes the references to owners that do not
    /// exist.
    async fn check_owners(
        &self,
        uid: &Uid,
        node: &GraphNode,
        uncached: Vec<OwnerRef>,
    ) -> Result<(), Failure> {
        let mut absent = Vec::new();
        for owner in uncached {
            if self.is_absent(node, &owner).await? {
                absent.push(owner.uid);
            }
        }
        if absent.is_empty() {
            return Ok(());
        }
        if absent.len() == node.owners.len() {
            return self.delete(uid, node, false).await;
        }
        for owner in absent {
            self.remove_owner_reference(uid, node, &owner).await?;
        }
        Ok(())
    }

    /// Whether an owner that is not cached does not exist. Owners of kinds that are not watched are assumed to exist.
    async fn is_absent(&self, node: &GraphNode, owner: &OwnerRef) -> Result<bool, Failure> {
        let Some(kind) = find_kind(&owner.api_version, &owner.kind) else {
            return Ok(false);
        };
        let namespace = if kind.is_namespaced { node.namespace.as_str() } else { "" };
        let path = kind.object_path(namespace, &owner.name);
        Ok(!self.api.exists(&path, &owner.uid).await?)
    }

    async fn remove_owner_reference(
        &self,
        uid: &Uid,
        node: &GraphNode,
        owner: &Uid,
    ) -> Result<(), Failure> {
        let patch = json!({"metadata": {
            "uid": &**uid,
            "ownerReferences": [{"$patch": "delete", "uid": &**owner}],
        }});
        self.patch(uid, node, &patch).await
    }

    async fn remove_finalizer(
        &self,
        uid: &Uid,
        node: &GraphNode,
        finalizer: &str,
    ) -> Result<(), Failure> {
        let patch = remove_finalizer_patch(uid, finalizer);
        self.patch(uid, node, &patch).await
    }

    async fn patch(&self, uid: &Uid, node: &GraphNode, patch: &Value) -> Result<(), Failure> {
        let path = node.path();
        let patched = self.api.patch::<IgnoredAny>(&path, patch).await;
        Ok(self.api.none_if_deleted(patched, &path, uid).await.map(drop)?)
    }

    async fn delete(&self, uid: &Uid, node: &GraphNode, foreground: bool) -> Result<(), Failure> {
        let policy = if foreground { "Foreground" } else { "Background" };
        let path = node.path();
        let deleted = self.api.delete::<IgnoredAny>(&path, policy, &json!({"uid": &**uid})).await;
        Ok(self.api.none_if_deleted(deleted, &path, uid).await.map(drop)?)
    }

    /// Deletes everything in a namespace, and finalizes the namespace when it is empty. It is reconciled again when an
    /// object in it was deleted.
    async fn finalize_namespace(&self, uid: &Uid, node: &GraphNode) -> Result<(), Failure> {
        // A later namespace of the same name must not be emptied. There is none while this one exists,
        // because only this function finalizes it.
        let namespace = self.read_terminating_namespace(uid, &node.name).await?;
        let Some(mut namespace) = namespace else { return Ok(()) };
        for kind in namespaced_kinds() {
            let path = format!("{}?propagationPolicy=Background", kind.collection_path(&node.name));
            self.api.send::<IgnoredAny>(Method::DELETE, &path, None).await?;
        }
        if self.graph().count_in(&node.name) > 0 {
            return Ok(());
        }
        if let Some(Value::Object(spec)) = namespace.get_mut("spec") {
            spec.insert("finalizers".to_owned(), json!([]));
        }
        let path = format!("{}/finalize", node.path());
        match self.api.replace::<IgnoredAny>(&path, namespace.to_string()).await {
            Err(error) if !error.is_not_found() => Err(error.into()),
            _ => Ok(()),
        }
    }

    /// Reads a namespace. Returns `None` if it has another UID or is not being deleted.
    async fn read_terminating_namespace(
        &self,
        uid: &Uid,
        name: &str,
    ) -> Result<Option<Value>, Failure> {
        let found = self.api.find::<Value>(&NAMESPACES.object_path("", name)).await?;
        Ok(found.filter(|namespace| {
            let found_uid = namespace.pointer("/metadata/uid").and_then(Value::as_str);
            found_uid == Some(uid) && namespace.pointer("/metadata/deletionTimestamp").is_some()
        }))
    }
}

/// Applies the watch events of one kind to the graph.
struct KindHandler {
    collector: Arc<GarbageCollector>,
    kind: &'static ResourceType,
}

impl EventHandler<CachedMetadata> for KindHandler {
    fn apply(&self, object: CachedMetadata) {
        let (uid, node) = object.into_node(self.kind);
        let needs_delay = node.needs_deletion_steps() || node.is_terminating_namespace();
        let mut graph = self.collector.graph();
        let was_deleting = graph.get(&uid).is_some_and(|cached| cached.is_deleting);
        let mut affected = graph.apply(uid.clone(), node);
        drop(graph);
        if needs_delay && !was_deleting {
            affected.retain(|other| *other != uid);
            self.collector.queue.add_after(&uid, DELETION_DELAY);
        }
        self.collector.queue_all(&affected);
    }

    /// Also queues the namespace of the object, which may be waiting to become empty.
    fn delete(&self, object: CachedMetadata) {
        let (uid, node) = object.into_node(self.kind);
        let mut graph = self.collector.graph();
        let mut affected = graph.remove(&uid);
        affected.extend(graph.terminating_namespace(&node.namespace));
        drop(graph);
        self.collector.queue_all(&affected);
    }

    fn retain(&self, uids: &HashSet<String>) {
        let affected = self.collector.graph().retain(self.kind, uids);
        self.collector.queue_all(&affected);
    }
}
