//! Garbage collection: dependents go after their owners, or before them, or are let go; namespaces
//! are emptied before they go.
//!
//! Metadata of every kind is watched into a graph; what it says is to be done is done with
//! conditions on identity, so that a stale view harms nobody. An owner that is not seen is asked for
//! before anything is deleted on its account.

mod graph;
mod kinds;
mod noticed;

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

use self::graph::{Deed, Graph, Node, Owner, Uid};
use self::kinds::{WATCHED, find_kind, namespaced_kinds};
use self::noticed::Noticed;
use crate::context::Context;
use crate::tasks::first_panic;
use crate::work_queue::{Priority, WorkQueue};

/// How long a deletion that does not happen at once rests before it is carried on, so that whoever
/// asked for it, and others, see that it was asked for.
const REST: Duration = Duration::from_secs(1);
const WORKERS: usize = 8;

/// Collects until told to stop.
pub async fn run_garbage_collector(context: Context, stop: CancellationToken) {
    let backoff = Backoff::new(Duration::from_millis(100), Duration::from_secs(60));
    let collector = Arc::new(Collector {
        calls: context.calls(),
        graph: Mutex::default(),
        queue: WorkQueue::new(Priority::Low, "garbage_collector", backoff, &context),
    });
    let (listed, mut watches) = (SyncTracker::new(), JoinSet::new());
    for kind in WATCHED {
        let who = Box::new(OfKind { collector: collector.clone(), kind });
        let client = context.client.clone();
        watches.spawn(watch_resource(client, kind, who, listed.clone(), stop.clone()));
    }
    // Nothing is decided on half a world.
    tokio::select! {
        biased;
        () = stop.cancelled() => return,
        () = listed.wait_for(WATCHED.len()) => {}
    }
    let work = |uid| {
        let collector = collector.clone();
        async move { collector.look_at(&uid).await }
    };
    tokio::select! {
        biased;
        () = collector.queue.run(WORKERS, work, stop) => {}
        () = first_panic(&mut watches) => {}
    }
}

struct Collector {
    calls: ApiClient,
    graph: Mutex<Graph>,
    queue: Arc<WorkQueue<Uid>>,
}

impl Collector {
    fn graph(&self) -> MutexGuard<'_, Graph> {
        self.graph.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn node(&self, uid: &Uid) -> Option<Node> {
        self.graph().get(uid).cloned()
    }

    fn look_at_all<'a>(&self, affected: impl IntoIterator<Item = &'a Uid>) {
        affected.into_iter().for_each(|uid| self.queue.add(uid));
    }

    async fn look_at(&self, uid: &Uid) -> Result<(), Failure> {
        let (node, deeds) = {
            let graph = self.graph();
            (graph.get(uid).cloned(), graph.deeds(uid))
        };
        let Some(node) = node else {
            return Ok(());
        };
        if node.kind == &NAMESPACES && node.is_deleting {
            return self.empty(uid, &node).await;
        }
        for deed in deeds {
            self.carry_out(uid, &node, deed).await?;
        }
        Ok(())
    }

    async fn carry_out(&self, uid: &Uid, node: &Node, deed: Deed) -> Result<(), Failure> {
        match deed {
            Deed::Disown(dependent) => match self.node(&dependent) {
                Some(node) => self.disown(&dependent, &node, uid).await,
                None => Ok(()),
            },
            Deed::Delete { dependent, foreground } => match self.node(&dependent) {
                Some(node) => self.delete(&dependent, &node, foreground).await,
                None => Ok(()),
            },
            Deed::LetGo(finalizer) => self.let_go(uid, node, finalizer).await,
            Deed::CheckOwners(owners) => self.check_owners(uid, node, owners).await,
        }
    }

    /// Who has no owner left goes; who has some forgets the others.
    async fn check_owners(
        &self,
        uid: &Uid,
        node: &Node,
        doubtful: Vec<Owner>,
    ) -> Result<(), Failure> {
        let mut absent = Vec::new();
        for owner in doubtful {
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
            self.disown(uid, node, &owner).await?;
        }
        Ok(())
    }

    /// Whether an owner that is not seen is really not there. Of kinds that nobody serves we know
    /// nothing, so they are taken to be there.
    async fn is_absent(&self, node: &Node, owner: &Owner) -> Result<bool, Failure> {
        let Some(kind) = find_kind(&owner.api_version, &owner.kind) else {
            return Ok(false);
        };
        let namespace = if kind.is_namespaced { node.namespace.as_str() } else { "" };
        let path = kind.object_path(namespace, &owner.name);
        Ok(!self.calls.exists(&path, &owner.uid).await?)
    }

    async fn disown(&self, uid: &Uid, node: &Node, owner: &Uid) -> Result<(), Failure> {
        let patch = json!({"metadata": {
            "uid": &**uid,
            "ownerReferences": [{"$patch": "delete", "uid": &**owner}],
        }});
        self.patch(uid, node, &patch).await
    }

    async fn let_go(&self, uid: &Uid, node: &Node, finalizer: &str) -> Result<(), Failure> {
        let patch = remove_finalizer_patch(uid, finalizer);
        self.patch(uid, node, &patch).await
    }

    async fn patch(&self, uid: &Uid, node: &Node, patch: &Value) -> Result<(), Failure> {
        let path = node.kind.object_path(&node.namespace, &node.name);
        let patched = self.calls.patch::<IgnoredAny>(&path, patch).await;
        Ok(self.calls.none_if_deleted(patched, &path, uid).await.map(drop)?)
    }

    async fn delete(&self, uid: &Uid, node: &Node, foreground: bool) -> Result<(), Failure> {
        let policy = if foreground { "Foreground" } else { "Background" };
        let path = node.kind.object_path(&node.namespace, &node.name);
        let deleted = self.calls.delete::<IgnoredAny>(&path, policy, &json!({"uid": &**uid})).await;
        Ok(self.calls.none_if_deleted(deleted, &path, uid).await.map(drop)?)
    }

    /// Empties a namespace, and ends it when it is empty. It is looked at again when something in it
    /// has gone.
    async fn empty(&self, uid: &Uid, node: &Node) -> Result<(), Failure> {
        // Another one of that name must not be touched. While this one is there, there is none: only we
        // end it, and only here.
        let Some(mut namespace) = self.going(uid, &node.name).await? else { return Ok(()) };
        let name = &node.name;
        for kind in namespaced_kinds() {
            let path = format!("{}?propagationPolicy=Background", kind.collection_path(name));
            let emptied = self.calls.send::<IgnoredAny>(Method::DELETE, &path, None).await;
            emptied.map_err(Failure::from)?;
        }
        if self.graph().count_in(name) > 0 {
            return Ok(());
        }
        if let Some(Value::Object(spec)) = namespace.get_mut("spec") {
            spec.insert("finalizers".to_owned(), json!([]));
        }
        let path = format!("{}/finalize", NAMESPACES.object_path("", name));
        match self.calls.replace::<IgnoredAny>(&path, namespace.to_string()).await {
            Err(refused) if !refused.is_not_found() => Err(refused.into()),
            _ => Ok(()),
        }
    }

    /// The namespace, if it is this one and is to go.
    async fn going(&self, uid: &Uid, name: &str) -> Result<Option<Value>, Failure> {
        let found = self.calls.find::<Value>(&NAMESPACES.object_path("", name)).await?;
        Ok(found.filter(|found| {
            uid_of(found) == Some(uid) && found.pointer("/metadata/deletionTimestamp").is_some()
        }))
    }
}

fn uid_of(object: &Value) -> Option<&str> {
    object.pointer("/metadata/uid").and_then(Value::as_str)
}

/// One kind of objects in the graph.
struct OfKind {
    collector: Arc<Collector>,
    kind: &'static ResourceType,
}

impl EventHandler<Noticed> for OfKind {
    fn apply(&self, object: Noticed) {
        let (uid, node) = object.node(self.kind);
        let rests = node.is_going_slowly() || self.kind == &NAMESPACES && node.is_deleting;
        let mut graph = self.collector.graph();
        let is_known = graph.get(&uid).is_some_and(|known| known.is_deleting);
        let mut affected = graph.put(uid.clone(), node);
        drop(graph);
        if rests && !is_known {
            affected.retain(|other| *other != uid);
            self.collector.queue.add_after(&uid, REST);
        }
        self.collector.look_at_all(&affected);
    }

    /// What is gone leaves room in its namespace, which may wait for that.
    fn delete(&self, object: Noticed) {
        let (uid, node) = object.node(self.kind);
        let mut graph = self.collector.graph();
        let mut affected = graph.remove(&uid);
        affected.extend(graph.going_namespace(&node.namespace));
        drop(graph);
        self.collector.look_at_all(&affected);
    }

    fn retain(&self, uids: &HashSet<String>) {
        let affected = self.collector.graph().keep_only(self.kind, uids);
        self.collector.look_at_all(&affected);
    }
}
