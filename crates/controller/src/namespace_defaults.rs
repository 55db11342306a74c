//! What every namespace has: a service account `default`, and a config map `kube-root-ca.crt` with
//! the certificate of whoever signed the server's. Programs wait for both in a new namespace.
//!
//! What is there is known from watches alone. A create of ours that a watch has not shown yet may be
//! tried again and refused, which harms nobody; to remember it could hide that it was deleted.

mod seen;

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use punctual_client::resources::{CONFIG_MAPS, NAMESPACES, SERVICE_ACCOUNTS};
use punctual_client::{ApiClient, ApiError, EventHandler, SyncTracker, watch_resource};
use punctual_queue::{Backoff, Failure};
use serde::de::IgnoredAny;
use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use self::seen::{Account, ConfigMap, Meta, Namespace};
use crate::context::Context;
use crate::tasks::first_panic;
use crate::work_queue::{Priority, WorkQueue};

const ACCOUNT: &str = "default";
const ROOT_CA: &str = "kube-root-ca.crt";
const ROOT_CA_KEY: &str = "ca.crt";
const DESCRIPTION_KEY: &str = "kubernetes.io/description";
const DESCRIPTION: &str = "The certificate authority by which a program in this namespace can tell \
                           that it speaks with the API server. Kept up to date; changes are undone.";
const WORKERS: usize = 4;

/// Furnishes namespaces until told to stop. `root_ca` is a certificate in PEM.
pub async fn run_namespace_defaults(context: Context, root_ca: String, stop: CancellationToken) {
    let furnisher = Arc::new(Furnisher {
        calls: context.calls(),
        root_ca,
        rooms: Mutex::default(),
        queue: WorkQueue::new(Priority::Low, "namespace_defaults", Backoff::default(), &context),
    });
    let (listed, mut watches) = (SyncTracker::new(), JoinSet::new());
    let (us, client) = (|| furnisher.clone(), || context.client.clone());
    watches.spawn(watch_resource::<Namespace, _>(
        client(),
        &NAMESPACES,
        us(),
        listed.clone(),
        stop.clone(),
    ));
    watches.spawn(watch_resource::<Account, _>(
        client(),
        &SERVICE_ACCOUNTS,
        us(),
        listed.clone(),
        stop.clone(),
    ));
    watches.spawn(watch_resource::<ConfigMap, _>(
        client(),
        &CONFIG_MAPS,
        us(),
        listed.clone(),
        stop.clone(),
    ));
    tokio::select! {
        biased;
        () = stop.cancelled() => return,
        () = listed.wait_for(3) => {}
    }
    let work = |name: Arc<str>| {
        let furnisher = furnisher.clone();
        async move { furnisher.look_at(&name).await }
    };
    tokio::select! {
        biased;
        () = furnisher.queue.run(WORKERS, work, stop) => {}
        () = first_panic(&mut watches) => {}
    }
}

struct Furnisher {
    calls: ApiClient,
    root_ca: String,
    rooms: Mutex<HashMap<Arc<str>, Room>>,
    queue: Arc<WorkQueue<Arc<str>>>,
}

/// What is known of a namespace. Its parts are seen in any order.
#[derive(Clone, Debug, Default)]
struct Room {
    /// The namespace's UID, unless it is on its way out.
    namespace: Option<String>,
    /// The service account's UID.
    account: Option<String>,
    /// The config map's UID, and whether it says what it should.
    root_ca: Option<(String, bool)>,
}

impl Room {
    fn is_unknown(&self) -> bool {
        self.namespace.is_none() && self.account.is_none() && self.root_ca.is_none()
    }
}

impl Furnisher {
    fn rooms(&self) -> MutexGuard<'_, HashMap<Arc<str>, Room>> {
        self.rooms.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes what is known of a namespace, and has it looked at.
    fn change(&self, name: &str, how: impl FnOnce(&mut Room)) {
        let name: Arc<str> = name.into();
        let mut rooms = self.rooms();
        let room = rooms.entry(name.clone()).or_default();
        how(room);
        if room.is_unknown() {
            rooms.remove(&name);
        }
        self.queue.add(&name);
    }

    /// Changes all for which that is something new.
    fn change_all(&self, is_concerned: impl Fn(&Room) -> bool, how: impl Fn(&mut Room)) {
        let concerned: BTreeSet<Arc<str>> = {
            let rooms = self.rooms();
            let concerned = rooms.iter().filter(|(_, room)| is_concerned(room));
            concerned.map(|(name, _)| name.clone()).collect()
        };
        concerned.iter().for_each(|name| self.change(name, &how));
    }

    async fn look_at(&self, name: &str) -> Result<(), Failure> {
        let room = self.rooms().get(name).cloned().unwrap_or_default();
        if room.namespace.is_none() {
            return Ok(());
        }
        if room.account.is_none() {
            let metadata = json!({"name": ACCOUNT});
            let account =
                json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata});
            self.create(&path(name, "serviceaccounts"), &account).await?;
        }
        match room.root_ca {
            None => self.create(&path(name, "configmaps"), &self.config_map()).await,
            Some((uid, false)) => self.repair(name, &uid).await,
            Some((_, true)) => Ok(()),
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
        let answer = self.calls.create::<IgnoredAny>(path, object.to_string()).await;
        answer.map(drop).or_else(nothing_to_do)
    }

    /// Sets the config map right, and leaves labels and other annotations alone.
    async fn repair(&self, namespace: &str, uid: &str) -> Result<(), Failure> {
        let path = format!("{}/{ROOT_CA}", path(namespace, "configmaps"));
        let patch = json!({
            "metadata": {"uid": uid, "annotations": {DESCRIPTION_KEY: DESCRIPTION}},
            "data": {"$patch": "replace", ROOT_CA_KEY: self.root_ca},
        });
        let answer = self.calls.patch::<IgnoredAny>(&path, &patch).await;
        answer.map(drop).or_else(nothing_to_do)
    }

    fn is_right(&self, map: &ConfigMap) -> bool {
        let is_described =
            map.metadata.annotations.get(DESCRIPTION_KEY).is_some_and(|text| !text.is_empty());
        let is_it = |(key, text): (&String, &String)| key == ROOT_CA_KEY && *text == self.root_ca;
        is_described && map.data.len() == 1 && map.data.iter().all(is_it)
    }
}

fn path(namespace: &str, plural: &str) -> String {
    format!("/api/v1/namespaces/{namespace}/{plural}")
}

/// It is there already, or is another by now and will be shown, or its namespace goes.
fn nothing_to_do(refused: ApiError) -> Result<(), Failure> {
    let is_fine = refused.is_stale() || refused.is_namespace_terminating();
    if is_fine { Ok(()) } else { Err(refused.into()) }
}

impl EventHandler<Namespace> for Furnisher {
    fn apply(&self, Namespace { metadata }: Namespace) {
        let stays = metadata.deletion_timestamp.is_none();
        self.change(&metadata.name, |room| room.namespace = stays.then_some(metadata.uid));
    }

    fn delete(&self, Namespace { metadata }: Namespace) {
        self.change(&metadata.name, |room| {
            room.namespace.take_if(|uid| *uid == metadata.uid);
        });
    }

    fn retain(&self, uids: &HashSet<String>) {
        let is_gone = |room: &Room| room.namespace.as_ref().is_some_and(|uid| !uids.contains(uid));
        self.change_all(is_gone, |room| room.namespace = None);
    }
}

impl EventHandler<Account> for Furnisher {
    fn apply(&self, Account { metadata }: Account) {
        if metadata.name == ACCOUNT {
            self.change(&metadata.namespace, |room| room.account = Some(metadata.uid));
        }
    }

    fn delete(&self, Account { metadata }: Account) {
        if metadata.name == ACCOUNT {
            self.change(&metadata.namespace, |room| {
                room.account.take_if(|uid| *uid == metadata.uid);
            });
        }
    }

    fn retain(&self, uids: &HashSet<String>) {
        let is_gone = |room: &Room| room.account.as_ref().is_some_and(|uid| !uids.contains(uid));
        self.change_all(is_gone, |room| room.account = None);
    }
}

impl EventHandler<ConfigMap> for Furnisher {
    fn apply(&self, map: ConfigMap) {
        if map.metadata.name == ROOT_CA {
            let is_right = self.is_right(&map);
            let Meta { namespace, uid, .. } = map.metadata;
            self.change(&namespace, |room| room.root_ca = Some((uid, is_right)));
        }
    }

    fn delete(&self, ConfigMap { metadata, .. }: ConfigMap) {
        if metadata.name == ROOT_CA {
            self.change(&metadata.namespace, |room| {
                room.root_ca.take_if(|(uid, _)| *uid == metadata.uid);
            });
        }
    }

    fn retain(&self, uids: &HashSet<String>) {
        let is_gone =
            |room: &Room| room.root_ca.as_ref().is_some_and(|(uid, _)| !uids.contains(uid));
        self.change_all(is_gone, |room| room.root_ca = None);
    }
}
