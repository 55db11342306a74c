//! Watches: objects of one kind, as they are now and as they change.
//!
//! The watching itself is kube's (pages, bookmarks, 410, backoff). Here objects are read as the text
//! that came, so that whoever watches keeps what they need and nothing else, and one object that
//! nobody can read does not hide the others.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;
use std::ops::Deref;
use std::time::Duration;

use futures::StreamExt as _;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::{Api, ApiResource};
use kube::core::{DynamicResourceScope, GroupVersionKind};
use kube::runtime::WatchStreamExt as _;
use kube::runtime::utils::{Backoff, ResetTimerBackoff};
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Client, Resource};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// What is kept of an object.
pub(crate) trait Summary: Sized + Clone + Send + Sync + 'static {
    /// Reads it out of the object's text.
    fn read(text: &str) -> Result<Self, serde_json::Error>;
}

/// Whoever wants to know.
pub(crate) trait Watcher<T>: Send + Sync {
    /// An object is new, or has changed, or is listed once more.
    fn put(&self, object: T);
    /// An object is gone; this is how it was last seen.
    fn remove(&self, object: T);
    /// A list is complete: objects with other UIDs than these are gone.
    fn keep_only(&self, uids: &HashSet<String>);
}

/// Who waits until every kind was listed once: nothing is decided on half a world.
#[derive(Clone, Debug)]
pub(crate) struct Listed {
    count: watch::Sender<usize>,
}

impl Listed {
    pub(crate) fn new() -> Listed {
        Listed { count: watch::Sender::new(0) }
    }

    /// Waits until so many kinds were listed.
    pub(crate) async fn wait_for(&self, kinds: usize) {
        let mut count = self.count.subscribe();
        // It cannot be closed: we hold a sender.
        let _ = count.wait_for(|count| *count >= kinds).await;
    }
}

/// How long to wait before a watch that was cut is tried again: longer each time, until it lasts for a while.
/// A server that is back is to be heard soon, and one that is not is asked a few times a minute.
struct Patience {
    next: Duration,
}

impl Patience {
    const MIN: Duration = Duration::from_millis(200);
    const MAX: Duration = Duration::from_secs(10);
    const CALM: Duration = Duration::from_secs(30);
}

impl Default for Patience {
    fn default() -> Patience {
        Patience { next: Patience::MIN }
    }
}

impl Iterator for Patience {
    type Item = Duration;

    fn next(&mut self) -> Option<Duration> {
        let next = self.next;
        self.next = Patience::MAX.min(next * 2);
        Some(next)
    }
}

impl Backoff for Patience {
    fn reset(&mut self) {
        *self = Patience::default();
    }
}

/// What is watched: a kind, everywhere or in one namespace.
pub(crate) struct At {
    resource: ApiResource,
    namespace: Option<String>,
}

impl At {
    /// A kind in one namespace, or everywhere if none is given.
    pub(crate) fn new(resource: ApiResource, namespace: Option<String>) -> At {
        At { resource, namespace }
    }

    fn api<T: Summary>(&self, client: Client) -> Api<Seen<T>> {
        match &self.namespace {
            Some(namespace) => Api::namespaced_with(client, namespace, &self.resource),
            None => Api::all_with(client, &self.resource),
        }
    }

    /// That a watch is cut happens; what cannot be listed at all somebody has to look at.
    fn tell(&self, error: &watcher::Error) {
        let (kind, namespace) = (&self.resource.kind, &self.namespace);
        match error {
            watcher::Error::InitialListFailed(why) => {
                tracing::warn!(%why, kind, namespace, "could not be listed");
            }
            _ => tracing::debug!(%error, kind, namespace, "a watch was cut"),
        }
    }
}

impl From<ApiResource> for At {
    fn from(resource: ApiResource) -> At {
        At::new(resource, None)
    }
}

/// Watches a kind until told to stop.
pub(crate) async fn follow<T: Summary, W: Watcher<T>>(
    client: Client,
    at: impl Into<At>,
    who: impl Deref<Target = W>,
    listed: Listed,
    stop: CancellationToken,
) {
    let at = at.into();
    let api = at.api::<T>(client);
    // To begin a list is no success yet: only after a while without a failure it is short again.
    let backoff = ResetTimerBackoff::new(Patience::default(), Patience::CALM);
    let events = watcher(api, watcher::Config::default()).backoff(backoff);
    let mut events = events.take_until(stop.cancelled_owned()).boxed();
    let (mut there, mut is_first) = (HashSet::new(), true);
    while let Some(event) = events.next().await {
        match event {
            Ok(Event::Init) => there.clear(),
            Ok(Event::InitApply(seen)) => {
                there.extend(seen.meta.uid.clone());
                seen.tell(|object| who.put(object));
            }
            Ok(Event::InitDone) => {
                let there = std::mem::take(&mut there);
                who.keep_only(&there);
                if std::mem::take(&mut is_first) {
                    listed.count.send_modify(|count| *count += 1);
                }
            }
            Ok(Event::Apply(seen)) => seen.tell(|object| who.put(object)),
            Ok(Event::Delete(seen)) => seen.tell(|object| who.remove(object)),
            Err(error) => at.tell(&error),
        }
    }
}

/// How a kind is addressed.
pub(crate) fn resource(api_version: &str, kind: &str, plural: &str) -> ApiResource {
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, version, kind), plural)
}

/// An object in a watch.
#[derive(Clone)]
struct Seen<T> {
    meta: ObjectMeta,
    object: Option<T>,
}

impl<T> Seen<T> {
    fn tell(self, to: impl FnMut(T)) {
        self.object.into_iter().for_each(to);
    }
}

impl<T> fmt::Debug for Seen<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.meta.name.fmt(f)
    }
}

/// What kube's watcher needs to know of any object.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Head {
    metadata: HeadMeta,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct HeadMeta {
    name: Option<String>,
    namespace: Option<String>,
    uid: Option<String>,
    resource_version: Option<String>,
}

impl<'de, T: Summary> Deserialize<'de> for Seen<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw: &RawValue = Deserialize::deserialize(deserializer)?;
        let text = raw.get();
        let head: Head = serde_json::from_str(text).map_err(serde::de::Error::custom)?;
        let HeadMeta { name, namespace, uid, resource_version } = head.metadata;
        let object = T::read(text)
            .inspect_err(|why| tracing::warn!(?namespace, ?name, %why, "an object is unreadable"));
        let meta = ObjectMeta { name, namespace, uid, resource_version, ..ObjectMeta::default() };
        Ok(Seen { meta, object: object.ok() })
    }
}

impl<T> Resource for Seen<T> {
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
