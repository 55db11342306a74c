//! Lists and watches the objects of one kind, and passes every change to a handler.
//!
//! kube's watcher implements the protocol: pages, bookmarks, expired versions, retries. This module parses
//! objects from their JSON text, so that a cache keeps only the fields that it needs, and an object
//! that does not parse does not hide the others.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::{Api, ApiResource};
use kube::core::DynamicResourceScope;
use kube::runtime::WatchStreamExt as _;
use kube::runtime::utils::{Backoff, ResetTimerBackoff};
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Client, Resource};
use punctual_api::{CronJob, RunRequest};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::resources::ResourceType;
use crate::shared_watches::SharedWatches;

/// The fields of an object that a cache keeps.
pub trait CachedFields: Sized + Clone + Send + Sync + 'static {
    /// Parses the fields from the object's JSON text.
    fn from_json(text: &str) -> Result<Self, serde_json::Error>;
}

/// A cache may keep the text itself.
impl CachedFields for Arc<str> {
    fn from_json(text: &str) -> Result<Self, serde_json::Error> {
        Ok(text.into())
    }
}

/// A cache may keep whole RunRequests.
impl CachedFields for RunRequest {
    fn from_json(text: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text)
    }
}

/// A cache may keep whole CronJobs.
impl CachedFields for CronJob {
    fn from_json(text: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text)
    }
}

/// Receives the changes that a watch reports.
pub trait EventHandler<T>: Send + Sync {
    /// A list starts. Each object in it is passed to [`apply`](EventHandler::apply). At its end,
    /// [`retain`](EventHandler::retain) gets the UIDs of all of them.
    fn list_started(&self) {}
    /// An object was added or changed, or is part of a list.
    fn apply(&self, object: T);
    /// An object was deleted; this is its last state.
    fn delete(&self, object: T);
    /// A list is complete: objects with other UIDs than these no longer exist.
    fn retain(&self, uids: &HashSet<String>);
}

/// Counts the watches whose first list is complete. Clones share the same count.
#[derive(Clone, Debug)]
pub struct SyncTracker {
    count: watch::Sender<usize>,
}

impl SyncTracker {
    /// A tracker that counts zero.
    pub fn new() -> SyncTracker {
        SyncTracker { count: watch::Sender::new(0) }
    }

    pub(crate) fn increment(&self) {
        self.count.send_modify(|count| *count += 1);
    }

    /// Waits until this number of watches have completed their first list.
    pub async fn wait_for(&self, watches: usize) {
        let mut count = self.count.subscribe();
        // This never fails, because `self` holds a sender.
        let _ = count.wait_for(|count| *count >= watches).await;
    }
}

impl Default for SyncTracker {
    fn default() -> SyncTracker {
        SyncTracker::new()
    }
}

/// The delay before a dropped watch is resumed: doubled with each failure until the watch is stable.
struct WatchBackoff {
    next: Duration,
}

impl WatchBackoff {
    const MIN: Duration = Duration::from_millis(200);
    const MAX: Duration = Duration::from_secs(10);
    /// A watch that has not failed for this long is stable.
    const RESET_AFTER: Duration = Duration::from_secs(30);
}

impl Default for WatchBackoff {
    fn default() -> WatchBackoff {
        WatchBackoff { next: WatchBackoff::MIN }
    }
}

impl Iterator for WatchBackoff {
    type Item = Duration;

    fn next(&mut self) -> Option<Duration> {
        let next = self.next;
        self.next = WatchBackoff::MAX.min(next * 2);
        Some(next)
    }
}

impl Backoff for WatchBackoff {
    fn reset(&mut self) {
        *self = WatchBackoff::default();
    }
}

/// Returns the backoff of a watch. A list that has started may still fail, so only time without a
/// failure resets it.
pub(crate) fn new_backoff() -> impl Backoff {
    ResetTimerBackoff::new(WatchBackoff::default(), WatchBackoff::RESET_AFTER)
}

/// The objects to watch: one kind, in all namespaces or in one, perhaps with a field selector.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct WatchScope {
    resource: ApiResource,
    namespace: Option<String>,
    field_selector: Option<String>,
}

impl WatchScope {
    /// One kind in one namespace, or in all namespaces if there is none.
    pub fn new(resource: &ResourceType, namespace: Option<String>) -> WatchScope {
        WatchScope { resource: resource.api_resource(), namespace, field_selector: None }
    }

    /// The same scope, restricted to objects that match a field selector.
    pub fn with_field_selector(self, selector: String) -> WatchScope {
        WatchScope { field_selector: Some(selector), ..self }
    }

    pub(crate) fn api<T: CachedFields>(&self, client: Client) -> Api<WatchedObject<T>> {
        match &self.namespace {
            Some(namespace) => Api::namespaced_with(client, namespace, &self.resource),
            None => Api::all_with(client, &self.resource),
        }
    }

    pub(crate) fn field_selector(&self) -> Option<String> {
        self.field_selector.clone()
    }

    /// Logs a failed list, which needs an operator.
    pub(crate) fn log_list_error(&self, error: &dyn fmt::Display) {
        let WatchScope { resource, namespace, .. } = self;
        tracing::warn!(%error, kind = resource.kind, namespace, "list failed; retrying");
    }

    /// Logs a dropped watch, which is routine.
    pub(crate) fn log_dropped(&self, error: &dyn fmt::Display) {
        let WatchScope { resource, namespace, .. } = self;
        tracing::debug!(%error, kind = resource.kind, namespace, "watch dropped; resuming");
    }
}

impl From<&ResourceType> for WatchScope {
    fn from(resource: &ResourceType) -> WatchScope {
        WatchScope::new(resource, None)
    }
}

/// Where the changes of a watch come from.
#[derive(Clone)]
pub enum WatchSource {
    /// A watch of its own.
    Own(Client),
    /// A watch that other components of the process use too.
    Shared(SharedWatches),
}

impl From<Client> for WatchSource {
    fn from(client: Client) -> WatchSource {
        WatchSource::Own(client)
    }
}

/// Lists and watches a kind until `stop` is cancelled, and passes every change to the handler.
pub async fn watch_resource<T: CachedFields, H: EventHandler<T>>(
    source: impl Into<WatchSource>,
    scope: impl Into<WatchScope>,
    handler: impl Deref<Target = H>,
    synced: SyncTracker,
    stop: CancellationToken,
) {
    let scope = scope.into();
    let watching = async {
        match source.into() {
            WatchSource::Own(client) => watch_alone(client, &scope, &*handler, &synced).await,
            WatchSource::Shared(watches) => watches.watch(&scope, &*handler, &synced).await,
        }
    };
    tokio::select! {
        biased;
        () = stop.cancelled() => {}
        () = watching => {}
    }
}

/// Lists and watches a kind with a watch of its own.
async fn watch_alone<T: CachedFields, H: EventHandler<T>>(
    client: Client,
    scope: &WatchScope,
    handler: &H,
    synced: &SyncTracker,
) {
    let api = scope.api::<T>(client);
    let config =
        watcher::Config { field_selector: scope.field_selector(), ..watcher::Config::default() };
    let mut events = watcher(api, config).backoff(new_backoff()).boxed();
    let mut uids = HashSet::new();
    let mut is_first = true;
    while let Some(event) = events.next().await {
        match event {
            Ok(Event::Init) => {
                uids.clear();
                handler.list_started();
            }
            Ok(Event::InitApply(object)) => {
                uids.extend(object.meta.uid.clone());
                object.pass_to(|fields| handler.apply(fields));
            }
            Ok(Event::InitDone) => {
                let uids = std::mem::take(&mut uids);
                handler.retain(&uids);
                if std::mem::take(&mut is_first) {
                    synced.increment();
                }
            }
            Ok(Event::Apply(object)) => object.pass_to(|fields| handler.apply(fields)),
            Ok(Event::Delete(object)) => object.pass_to(|fields| handler.delete(fields)),
            Err(watcher::Error::InitialListFailed(error)) => scope.log_list_error(&error),
            Err(error) => scope.log_dropped(&error),
        }
    }
}

/// An object of a watch: the metadata that kube's watcher needs, and the fields for the cache.
#[derive(Clone)]
pub(crate) struct WatchedObject<T> {
    meta: ObjectMeta,
    /// `None` if the object does not parse.
    fields: Option<T>,
}

impl<T> WatchedObject<T> {
    pub(crate) fn pass_to(self, handle: impl FnOnce(T)) {
        if let Some(fields) = self.fields {
            handle(fields);
        }
    }

    pub(crate) fn fields(&self) -> Option<&T> {
        self.fields.as_ref()
    }

    /// The resource version; empty if there is none.
    pub(crate) fn version(&self) -> &str {
        self.meta.resource_version.as_deref().unwrap_or_default()
    }
}

/// Parses the fields of an object. Logs an object that does not parse and returns `None`, so that it
/// does not hide the others.
pub(crate) fn parse_fields<T: CachedFields>(text: &str, meta: &ObjectMeta) -> Option<T> {
    let ObjectMeta { namespace, name, .. } = meta;
    let fields = T::from_json(text).inspect_err(
        |error| tracing::warn!(?namespace, ?name, %error, "could not parse an object; ignoring it"),
    );
    fields.ok()
}

impl<T> fmt::Debug for WatchedObject<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.meta.name.fmt(f)
    }
}

/// The part of any object that kube's watcher reads.
#[derive(Default, Deserialize)]
#[serde(default)]
struct ObjectHeader {
    metadata: HeaderMetadata,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct HeaderMetadata {
    name: Option<String>,
    namespace: Option<String>,
    uid: Option<String>,
    resource_version: Option<String>,
}

impl<'de, T: CachedFields> Deserialize<'de> for WatchedObject<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw: &RawValue = Deserialize::deserialize(deserializer)?;
        let text = raw.get();
        let header: ObjectHeader = serde_json::from_str(text).map_err(serde::de::Error::custom)?;
        let HeaderMetadata { name, namespace, uid, resource_version } = header.metadata;
        let meta = ObjectMeta { name, namespace, uid, resource_version, ..ObjectMeta::default() };
        let fields = parse_fields(text, &meta);
        Ok(WatchedObject { meta, fields })
    }
}

impl<T> Resource for WatchedObject<T> {
    type DynamicType = ApiResource;
    type Scope = DynamicResourceScope;

    fn kind(resource: &ApiResource) -> Cow<'_, str> {
        resource.kind.as_str().into()
    }

    fn group(resource: &ApiResource) -> Cow<'_, str> {
        resource.group.as_str().into()
    }

    fn version(resource: &ApiResource) -> Cow<'_, str> {
        resource.version.as_str().into()
    }

    fn plural(resource: &ApiResource) -> Cow<'_, str> {
        resource.plural.as_str().into()
    }

    fn meta(&self) -> &ObjectMeta {
        &self.meta
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.meta
    }
}
