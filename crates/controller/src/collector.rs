//! Garbage collection: dependents go after their owners, or before them, or are let go; namespaces
//! are emptied before they go.
//!
//! Metadata of every kind is watched into a graph; what it says is to be done is done with
//! conditions on identity, so that a stale view harms nobody. An owner that is not seen is asked for
//! before anything is deleted on its account.

mod graph;
mod kinds;

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::StreamExt as _;
use http::Method;
use jiff::SignedDuration;
use kube::api::{Api, ApiResource, DynamicObject, PartialObjectMeta};
use kube::runtime::watcher::Event;
use kube::runtime::{WatchStreamExt as _, watcher};
use kube::{Client, ResourceExt as _};
use punctual_queue::{Backoff, Failure};
use serde::de::IgnoredAny;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use self::graph::{Deed, FOREGROUND, Graph, Node, ORPHAN, Owner, Uid};
use self::kinds::{EVENT, Kind, NAMESPACE, WATCHED};
use crate::calls::{Calls, Refused};
use crate::clock::Clock;
use crate::driver::{Driver, Rank};
use crate::tasks::first_panic;
use crate::tools::Tools;

/// The metadata of any object.
type Seen = PartialObjectMeta<DynamicObject>;

/// How long a deletion that does not happen at once rests before it is carried on, so that whoever
/// asked for it, and others, see that it was asked for.
const REST: SignedDuration = SignedDuration::from_secs(1);
const WORKERS: usize = 8;

/// Collects until told to stop.
pub async fn collect(tools: Tools, stop: CancellationToken) {
    let calls = tools.calls();
    let backoff = Backoff::new(Duration::from_millis(100), Duration::from_secs(60));
    let driver = Driver::new(Rank::Later, "garbage_collector", backoff, &tools);
    let Tools { client, clock, .. } = tools;
    let collector = Arc::new(Collector { calls, client, graph: Mutex::default(), driver, clock });
    let (listed, mut all_listed) = watch::channel(0);
    let mut watches = JoinSet::new();
    for kind in WATCHED {
        watches.spawn(collector.clone().follow(kind, listed.clone(), stop.clone()));
    }
    // Nothing is decided on half a world.
    tokio::select! {
        () = stop.cancelled() => return,
        _ = all_listed.wait_for(|count| *count == WATCHED.len()) => {}
    }
    let work = |uid| {
        let collector = collector.clone();
        async move { collector.look_at(&uid).await }
    };
    tokio::select! {
        () = collector.driver.run(WORKERS, work, stop) => {}
        () = first_panic(&mut watches) => {}
    }
}

struct Collector {
    client: Client,
    calls: Calls,
    graph: Mutex<Graph>,
    driver: Arc<Driver<Uid>>,
    clock: Arc<dyn Clock>,
}

impl Collector {
    fn graph(&self) -> MutexGuard<'_, Graph> {
        self.graph.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn node(&self, uid: &Uid) -> Option<Node> {
        self.graph().get(uid).cloned()
    }

    /// Watches a kind into the graph.
    async fn follow(
        self: Arc<Self>,
        kind: &'static Kind,
        listed: watch::Sender<usize>,
        stop: CancellationToken,
    ) {
        let resource = ApiResource {
            group: kind.group.to_owned(),
            version: kind.version.to_owned(),
            api_version: match kind.group {
                "" => kind.version.to_owned(),
                group => format!("{group}/{}", kind.version),
            },
            kind: kind.kind.to_owned(),
            plural: kind.plural.to_owned(),
        };
        let api: Api<Seen> = Api::all_with(self.client.clone(), &resource);
        let events = watcher(api, watcher::Config::default()).default_backoff();
        let mut events = events.take_until(stop.cancelled_owned()).boxed();
        let (mut there, mut is_first) = (BTreeSet::new(), true);
        while let Some(event) = events.next().await {
            let affected = match event {
                Ok(Event::Init) => {
                    there.clear();
                    Vec::new()
                }
                Ok(Event::InitApply(object)) => {
                    there.extend(object.uid().map(Uid::from));
                    self.put(kind, &object)
                }
                Ok(Event::Apply(object)) => self.put(kind, &object),
                Ok(Event::InitDone) => {
                    if std::mem::take(&mut is_first) {
                        listed.send_modify(|count| *count += 1);
                    }
                    self.graph().keep_only(kind, &there)
                }
                Ok(Event::Delete(object)) => {
                    object.uid().map(|uid| self.remove(&uid.into(), &object)).unwrap_or_default()
                }
                Err(error) => {
                    tracing::debug!(%error, kind = kind.kind, "a watch was cut");
                    Vec::new()
                }
            };
            affected.iter().for_each(|uid| self.driver.add(uid));
        }
    }

    fn put(&self, kind: &'static Kind, object: &Seen) -> Vec<Uid> {
        let Some((uid, node)) = node_of(kind, object) else {
            return Vec::new();
        };
        let rests = node.is_going_slowly() || kind == &NAMESPACE && node.is_deleting;
        let is_known = self.graph().get(&uid).is_some_and(|known| known.is_deleting);
        let mut affected = self.graph().put(uid.clone(), node);
        if rests && !is_known {
            affected.retain(|other| *other != uid);
            let at = self.clock.now().saturating_add(REST).unwrap_or_default();
            self.driver.set_wake(&uid, Some(at));
        }
        affected
    }

    /// What is gone leaves room in its namespace, which may wait for that.
    fn remove(&self, uid: &Uid, object: &Seen) -> Vec<Uid> {
        let mut graph = self.graph();
        let mut affected = graph.remove(uid);
        affected.extend(object.namespace().and_then(|name| graph.going_namespace(&name)));
        affected
    }

    async fn look_at(&self, uid: &Uid) -> Result<(), Failure> {
        let (node, deeds) = {
            let graph = self.graph();
            (graph.get(uid).cloned(), graph.deeds(uid))
        };
        let Some(node) = node else {
            return Ok(());
        };
        if node.kind == &NAMESPACE && node.is_deleting {
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
        let Some(kind) = Kind::of(&owner.api_version, &owner.kind) else {
            return Ok(false);
        };
        let namespace = if kind.is_namespaced { node.namespace.as_str() } else { "" };
        let path = kind.path(namespace, &owner.name);
        match self.calls.get::<Value>(&path).await {
            Ok(found) => {
                Ok(found.pointer("/metadata/uid").and_then(Value::as_str) != Some(&*owner.uid))
            }
            Err(refused) if refused.is_not_found() => Ok(true),
            Err(refused) => Err(refused.into()),
        }
    }

    async fn disown(&self, uid: &Uid, node: &Node, owner: &Uid) -> Result<(), Failure> {
        let patch = json!({"metadata": {
            "uid": &**uid,
            "ownerReferences": [{"$patch": "delete", "uid": &**owner}],
        }});
        self.patch(node, &patch).await
    }

    async fn let_go(&self, uid: &Uid, node: &Node, finalizer: &str) -> Result<(), Failure> {
        let patch = json!({"metadata": {
            "uid": &**uid,
            "$deleteFromPrimitiveList/finalizers": [finalizer],
        }});
        self.patch(node, &patch).await
    }

    async fn patch(&self, node: &Node, patch: &Value) -> Result<(), Failure> {
        let path = node.kind.path(&node.namespace, &node.name);
        self.calls.patch::<IgnoredAny>(&path, patch).await.map(drop).or_else(gone_is_fine)
    }

    async fn delete(&self, uid: &Uid, node: &Node, foreground: bool) -> Result<(), Failure> {
        let policy = if foreground { "Foreground" } else { "Background" };
        let path = node.kind.path(&node.namespace, &node.name);
        self.calls.delete(&path, uid, policy).await.or_else(gone_is_fine)
    }

    /// Empties a namespace, and ends it when it is empty. It is looked at again when something in it
    /// has gone.
    async fn empty(&self, uid: &Uid, node: &Node) -> Result<(), Failure> {
        // Another one of that name must not be touched. While this one is there, there is none: only we
        // end it, and only here.
        let Some(mut namespace) = self.going(uid, &node.name).await? else { return Ok(()) };
        let name = &node.name;
        let kinds = WATCHED.into_iter().chain([&EVENT]).filter(|kind| kind.is_namespaced);
        for kind in kinds {
            let path = format!("{}?propagationPolicy=Background", kind.collection(name));
            let emptied = self.calls.send::<IgnoredAny>(Method::DELETE, &path, None).await;
            emptied.map_err(Failure::from)?;
        }
        if self.graph().count_in(name) > 0 {
            return Ok(());
        }
        if let Some(Value::Object(spec)) = namespace.get_mut("spec") {
            spec.insert("finalizers".to_owned(), json!([]));
        }
        let path = format!("{}/finalize", NAMESPACE.path("", name));
        let answer = self.calls.replace::<IgnoredAny>(&path, namespace.to_string()).await;
        answer.map(drop).or_else(gone_is_fine)
    }

    /// The namespace, if it is this one and is to go.
    async fn going(&self, uid: &Uid, name: &str) -> Result<Option<Value>, Failure> {
        match self.calls.get::<Value>(&NAMESPACE.path("", name)).await {
            Ok(found) => {
                let is_it = found.pointer("/metadata/uid").and_then(Value::as_str) == Some(uid);
                let is_going = found.pointer("/metadata/deletionTimestamp").is_some();
                Ok(Some(found).filter(|_| is_it && is_going))
            }
            Err(refused) if refused.is_not_found() => Ok(None),
            Err(refused) => Err(refused.into()),
        }
    }
}

/// What is gone, or is another by now, needs nothing from us.
fn gone_is_fine(refused: Refused) -> Result<(), Failure> {
    match refused.is_not_found() || refused.is_conflict() {
        true => Ok(()),
        false => Err(refused.into()),
    }
}

fn node_of(kind: &'static Kind, object: &Seen) -> Option<(Uid, Node)> {
    let uid = Uid::from(object.uid()?);
    let owners = object.owner_references().iter().map(|owner| Owner {
        uid: owner.uid.as_str().into(),
        api_version: owner.api_version.clone(),
        kind: owner.kind.clone(),
        name: owner.name.clone(),
        blocks: owner.block_owner_deletion == Some(true),
    });
    let has = |finalizer: &str| object.finalizers().iter().any(|name| name == finalizer);
    let node = Node {
        kind,
        namespace: object.namespace().unwrap_or_default(),
        name: object.name_any(),
        owners: owners.collect(),
        is_deleting: object.metadata.deletion_timestamp.is_some(),
        orphans: has(ORPHAN),
        waits_for_dependents: has(FOREGROUND),
    };
    Some((uid, node))
}
