//! One watch of each kind, shared by all components of a process.
//!
//! ```text
//!  server ──one watch──▶ SharedWatch task ──bounded channels──▶ subscribers ──▶ their handlers
//!     └──────────────────── one list for each subscriber ───────────▲
//! ```
//!
//! A subscriber first joins the shared watch and then lists, so no change is lost: changes that are
//! not newer than the list are skipped. Lists are not shared, because that would need all objects in
//! memory a second time, and because a subscriber may have to list after an event of its own. The
//! text of a change is shared by all subscribers, and each parses the fields that its cache keeps.
//!
//! A subscriber that does not take its changes for [`STALL_MAX`] is removed, and the others continue.
//! It then joins and lists again, as all do when the watch expires.

mod shared_watch;
#[cfg(test)]
mod tests;

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use kube::api::{Api, ListParams};
use kube::{Client, Resource as _};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;

use self::shared_watch::{JoinRequest, SharedEvent, SharedWatch};
use crate::resource_version::{is_newer, is_older};
use crate::watch::{
    CachedFields, EventHandler, SyncTracker, WatchScope, WatchedObject, new_backoff, parse_fields,
};

/// How long the watch waits for a subscriber whose channel is full.
const STALL_MAX: Duration = Duration::from_secs(5);
/// The capacity of the channel of a subscriber.
const CHANNEL_CAPACITY: usize = 1024;
/// The maximum number of objects in a page of a list.
const PAGE_SIZE: u32 = 500;

/// The shared watches of a process. Clones share them; they end with the last clone.
#[derive(Clone)]
pub struct SharedWatches {
    client: Client,
    running: Arc<Mutex<RunningWatches>>,
}

/// The watches that were started, each with the channel for join requests.
#[derive(Default)]
struct RunningWatches {
    joins: HashMap<WatchScope, mpsc::Sender<JoinRequest>>,
    /// Dropping the set aborts the tasks.
    tasks: JoinSet<()>,
}

/// A place in a shared watch.
struct Subscription {
    /// The version from which on the subscriber gets all changes.
    position: String,
    events: mpsc::Receiver<SharedEvent>,
}

impl SharedWatches {
    /// Shared watches that use this client. Must be used within a tokio runtime.
    pub fn new(client: Client) -> SharedWatches {
        SharedWatches { client, running: Arc::default() }
    }

    /// Passes every change of a scope to the handler, until the future is dropped.
    pub(crate) async fn watch<T: CachedFields, H: EventHandler<T>>(
        &self,
        scope: &WatchScope,
        handler: &H,
        synced: &SyncTracker,
    ) {
        let api = scope.api::<T>(self.client.clone());
        let mut backoff = new_backoff();
        let mut is_first = true;
        loop {
            let subscription = self.join(scope).await;
            match list(&api, scope, handler).await {
                // Changes between the two versions would be lost.
                Ok(version) if is_older(&version, &subscription.position) => {
                    tracing::debug!(version, "the list is older than the watch; listing again");
                }
                Ok(version) => {
                    if std::mem::take(&mut is_first) {
                        synced.increment();
                    }
                    subscription.follow(&version, handler).await;
                    tracing::debug!(?scope, "the shared watch was interrupted; listing again");
                }
                Err(error) => scope.log_list_error(&error),
            }
            tokio::time::sleep(backoff.next().unwrap_or(STALL_MAX)).await;
        }
    }

    /// Joins the watch of a scope, and starts it if it is the first subscriber. Waits until the server
    /// can be reached.
    async fn join(&self, scope: &WatchScope) -> Subscription {
        loop {
            let joins = self.start(scope);
            let (sender, events) = mpsc::channel(CHANNEL_CAPACITY);
            let (reply, position) = oneshot::channel();
            let request = JoinRequest { events: sender, position: reply };
            if joins.send(request).await.is_ok()
                && let Ok(position) = position.await
            {
                return Subscription { position, events };
            }
        }
    }

    /// Returns the channel for join requests to a watch, which is started if it does not run.
    fn start(&self, scope: &WatchScope) -> mpsc::Sender<JoinRequest> {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        let RunningWatches { joins, tasks } = &mut *running;
        if let Some(sender) = joins.get(scope).filter(|sender| !sender.is_closed()) {
            return sender.clone();
        }
        let (sender, requests) = mpsc::channel(1);
        joins.insert(scope.clone(), sender.clone());
        tasks.spawn(SharedWatch::new(scope.clone(), &self.client, requests).run());
        sender
    }
}

impl Subscription {
    /// Passes the changes after a version to the handler until the subscriber is removed.
    async fn follow<T: CachedFields, H: EventHandler<T>>(mut self, version: &str, handler: &H) {
        while let Some(event) = self.events.recv().await {
            let object = event.object();
            if !is_newer(object.version(), version) {
                continue;
            }
            let Some(text) = object.fields() else { continue };
            let Some(fields) = parse_fields(text, object.meta()) else { continue };
            match event {
                SharedEvent::Applied(_) => handler.apply(fields),
                SharedEvent::Deleted(_) => handler.delete(fields),
            }
        }
    }
}

/// Passes a list to the handler, page by page, and returns its version.
async fn list<T: CachedFields, H: EventHandler<T>>(
    api: &Api<WatchedObject<T>>,
    scope: &WatchScope,
    handler: &H,
) -> Result<String, kube::Error> {
    handler.list_started();
    let mut uids = HashSet::new();
    let field_selector = scope.field_selector();
    let mut params = ListParams { field_selector, ..ListParams::default() }.limit(PAGE_SIZE);
    loop {
        let page = api.list(&params).await?;
        for object in page.items {
            uids.extend(object.meta().uid.clone());
            object.pass_to(|fields| handler.apply(fields));
        }
        let next = page.metadata.continue_.filter(|token| !token.is_empty());
        let Some(token) = next else {
            handler.retain(&uids);
            return Ok(page.metadata.resource_version.unwrap_or_default());
        };
        params = params.continue_token(&token);
    }
}
