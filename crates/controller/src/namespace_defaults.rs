//! Creates the objects that every namespace has by default: the ServiceAccount `default`, and the ConfigMap
//! `kube-root-ca.crt` with the certificate authority of the API server. Programs wait for both in a
//! new namespace.
//!
//! The state of a namespace comes from watches alone. If the watch does not show our create yet, it may be sent again
//! and refused, which does no harm. Remembering it instead could hide a deletion.

mod cached_objects;

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use punctual_client::resources::{CONFIG_MAPS, NAMESPACES, SERVICE_ACCOUNTS};
use punctual_client::{ApiClient, ApiError, EventHandler, SyncTracker, watch_resource};
use punctual_queue::{Backoff, Failure};
use serde::de::IgnoredAny;
use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use self::cached_objects::{CachedConfigMap, CachedMeta, CachedNamespace, CachedServiceAccount};
use crate::context::Context;
use crate::tasks::wait_for_panic;
use crate::work_queue::{Priority, WorkQueue};

const SERVICE_ACCOUNT: &str = "default";
const ROOT_CA: &str = "kube-root-ca.crt";
const ROOT_CA_KEY: &str = "ca.crt";
const DESCRIPTION_KEY: &str = "kubernetes.io/description";
const DESCRIPTION: &str = "The certificate authority of the API server, for programs in this \
                           namespace. Punctual maintains this ConfigMap and reverts changes.";
const WORKERS: usize = 4;

/// Runs the controller until `stop` is cancelled. `root_ca` is a PEM certificate.
pub async fn run_namespace_defaults(context: Context, root_ca: String, stop: CancellationToken) {
    let controller = Arc::new(NamespaceDefaults {
        api: context.api_client(),
        root_ca,
        namespaces: Mutex::default(),
        queue: WorkQueue::new(Priority::Low, "namespace_defaults", Backoff::default(), &context),
    });
    let mut watches = JoinSet::new();
    let synced = controller.watch(&context, &mut watches, &stop);
    tokio::select! {
        biased;
        () = stop.cancelled() => return,
        () = synced.wait_for(watches.len()) => {}
    }
    let reconcile = |name: Arc<str>| {
        let controller = controller.clone();
        async move { controller.reconcile(&name).await }
    };
    tokio::select! {
        biased;
        () = controller.queue.run(WORKERS, reconcile, stop) => {}
        () = wait_for_panic(&mut watches) => {}
    }
}

struct NamespaceDefaults {
    api: ApiClient,
    root_ca: String,
    namespaces: Mutex<HashMap<Arc<str>, NamespaceState>>,
    queue: Arc<WorkQueue<Arc<str>>>,
}

/// The cached state of a namespace. The watches show its parts in any order.
#[derive(Clone, Debug, Default)]
struct NamespaceState {
    /// The UID of the namespace, unless it is being deleted.
    uid: Option<String>,
    /// The UID of the ServiceAccount.
    service_account: Option<String>,
    root_ca: Option<RootCaConfigMap>,
}

#[derive(Clone, Debug)]
struct RootCaConfigMap {
    uid: String,
    is_correct: bool,
}

impl NamespaceState {
    fn is_empty(&self) -> bool {
        self.uid.is_none() && self.service_account.is_none() && self.root_ca.is_none()
    }
}

impl NamespaceDefaults {
    /// Starts the watches. Each counts once in the result when it is synced.
    fn watch(
        self: &Arc<Self>,
        context: &Context,
        watches: &mut JoinSet<()>,
        stop: &CancellationToken,
    ) -> SyncTracker {
        let synced = SyncTracker::new();
        watches.spawn(watch_resource::<CachedNamespace, _>(
            context.watch_source(),
            &NAMESPACES,
            self.clone(),
            synced.clone(),
            stop.clone(),
        ));
        watches.spawn(watch_resource::<CachedServiceAccount, _>(
            context.watch_source(),
            &SERVICE_ACCOUNTS,
            self.clone(),
            synced.clone(),
            stop.clone(),
        ));
        watches.spawn(watch_resource::<CachedConfigMap, _>(
            context.watch_source(),
            &CONFIG_MAPS,
            self.clone(),
            synced.clone(),
            stop.clone(),
        ));
        synced
    }

    fn namespaces(&self) -> MutexGuard<'_, HashMap<Arc<str>, NamespaceState>> {
        self.namespaces.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Updates the state of a namespace and queues it.
    fn update(&self, name: &str, update: impl FnOnce(&mut NamespaceState)) {
        let name: Arc<str> = name.into();
        let mut namespaces = self.namespaces();
        let state = namespaces.entry(name.clone()).or_default();
        update(state);
        if state.is_empty() {
            namespaces.remove(&name);
        }
        self.queue.add(&name);
    }

    /// Updates all namespaces for which `is_affected` returns true.
    fn update_all(
        &self,
        is_affected: impl Fn(&NamespaceState) -> bool,
        update: impl Fn(&mut NamespaceState),
    ) {
        let affected: BTreeSet<Arc<str>> = {
            let namespaces = self.namespaces();
            let affected = namespaces.iter().filter(|(_, state)| is_affected(state));
            affected.map(|(name, _)| name.clone()).collect()
        };
        for name in &affected {
            self.update(name, &update);
        }
    }

    async fn reconcile(&self, name: &str) -> Result<(), Failure> {
        let state = self.namespaces().get(name).cloned().unwrap_or_default();
        if state.uid.is_none() {
            return Ok(());
        }
        if state.service_account.is_none() {
            let metadata = json!({"name": SERVICE_ACCOUNT});
            let account =
                json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata});
            self.create(&SERVICE_ACCOUNTS.collection_path(name), &account).await?;
        }
        match state.root_ca {
            None => self.create(&CONFIG_MAPS.collection_path(name), &self.config_map()).await,
            Some(config_map) if !config_map.is_correct => {
                self.repair_config_map(name, &config_map.uid).await
            }
            Some(_) => Ok(()),
        }
    }

    fn config_map(&self) -> Value {
        json!({
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": ROOT_CA, "annotations": {DESCRIPTION_KEY: DESCRIPTION}},
            "data": {ROOT_CA_KEY: self.root_ca},
        })
    }

    async fn create(&self, path: &str, object: &Value) -> Result<(), Failure> {
        let created = self.api.create::<IgnoredAny>(path, object.to_string()).await;
        created.map(drop).or_else(ignore_expected)
    }

    /// Restores the data and the description. Labels and other annotations stay unchanged.
    async fn repair_config_map(&self, namespace: &str, uid: &str) -> Result<(), Failure> {
        let path = CONFIG_MAPS.object_path(namespace, ROOT_CA);
        let patch = json!({
            "metadata": {"uid": uid, "annotations": {DESCRIPTION_KEY: DESCRIPTION}},
            "data": {"$patch": "replace", ROOT_CA_KEY: self.root_ca},
        });
        let patched = self.api.patch::<IgnoredAny>(&path, &patch).await;
        patched.map(drop).or_else(ignore_expected)
    }

    fn is_correct(&self, map: &CachedConfigMap) -> bool {
        let description = map.metadata.annotations.get(DESCRIPTION_KEY);
        let has_description = description.is_some_and(|text| !text.is_empty());
        let has_root_ca = map.data.get(ROOT_CA_KEY) == Some(&self.root_ca);
        has_description && has_root_ca && map.data.len() == 1
    }
}

/// Ignores errors that need no retry: the object exists already, or changed so that the watch will show it, or its
/// namespace is being deleted.
fn ignore_expected(error: ApiError) -> Result<(), Failure> {
    if error.is_stale() || error.is_namespace_terminating() { Ok(()) } else { Err(error.into()) }
}

impl EventHandler<CachedNamespace> for NamespaceDefaults {
    fn apply(&self, CachedNamespace { metadata }: CachedNamespace) {
        let is_deleting = metadata.deletion_timestamp.is_some();
        self.update(&metadata.name, |state| {
            state.uid = if is_deleting { None } else { Some(metadata.uid) };
        });
    }

    fn delete(&self, CachedNamespace { metadata }: CachedNamespace) {
        self.update(&metadata.name, |state| {
            state.uid.take_if(|uid| *uid == metadata.uid);
        });
    }

    fn retain(&self, uids: &HashSet<String>) {
        let is_removed =
            |state: &NamespaceState| state.uid.as_ref().is_some_and(|uid| !uids.contains(uid));
        self.update_all(is_removed, |state| state.uid = None);
    }
}

impl EventHandler<CachedServiceAccount> for NamespaceDefaults {
    fn apply(&self, CachedServiceAccount { metadata }: CachedServiceAccount) {
        if metadata.name == SERVICE_ACCOUNT {
            self.update(&metadata.namespace, |state| state.service_account = Some(metadata.uid));
        }
    }

    fn delete(&self, CachedServiceAccount { metadata }: CachedServiceAccount) {
        if metadata.name == SERVICE_ACCOUNT {
            self.update(&metadata.namespace, |state| {
                state.service_account.take_if(|uid| *uid == metadata.uid);
            });
        }
    }

    fn retain(&self, uids: &HashSet<String>) {
        let is_removed = |state: &NamespaceState| {
            state.service_account.as_ref().is_some_and(|uid| !uids.contains(uid))
        };
        self.update_all(is_removed, |state| state.service_account = None);
    }
}

impl EventHandler<CachedConfigMap> for NamespaceDefaults {
    fn apply(&self, map: CachedConfigMap) {
        if map.metadata.name == ROOT_CA {
            let is_correct = self.is_correct(&map);
            let CachedMeta { namespace, uid, .. } = map.metadata;
            self.update(&namespace, |state| {
                state.root_ca = Some(RootCaConfigMap { uid, is_correct });
            });
        }
    }

    fn delete(&self, CachedConfigMap { metadata, .. }: CachedConfigMap) {
        if metadata.name == ROOT_CA {
            self.update(&metadata.namespace, |state| {
                state.root_ca.take_if(|map| map.uid == metadata.uid);
            });
        }
    }

    fn retain(&self, uids: &HashSet<String>) {
        let is_removed = |state: &NamespaceState| {
            state.root_ca.as_ref().is_some_and(|map| !uids.contains(&map.uid))
        };
        self.update_all(is_removed, |state| state.root_ca = None);
    }
}
