//! Watches: initial objects and then every change of the selected objects.

use punctual_api::Status;
use punctual_store::{Change as StoreChange, Error, StoreEntry, Watch};

use super::{CollectionRef, ListPage, Registry, store_error};
use crate::request::ListOptions;
use crate::selector::Selector;
use crate::stored::StoredObject;

/// An event of a watch.
#[derive(Clone, Debug)]
pub(crate) enum WatchEvent {
    Added(StoredObject),
    Modified(StoredObject),
    Deleted(StoredObject),
}

/// A watch of a collection. It has no queue: it reads the store's history as fast as its client
/// reads.
pub(crate) struct ObjectWatch {
    collection: CollectionRef,
    selector: Selector,
    /// Objects that existed at the start and were not returned yet.
    initial: Option<InitialObjects>,
    /// The revision of the initial objects, if the client asked for a bookmark after them. It is sent once.
    initial_revision: Option<u64>,
    watch: Watch,
}

/// The initial objects of a watch. They are read from the snapshot when the client accepts them, so
/// that a watch needs little memory.
struct InitialObjects {
    page: ListPage,
    /// The key of the last object that was read.
    last: Option<String>,
    read: std::vec::IntoIter<(String, StoredObject)>,
}

/// Number of initial objects that are read from the snapshot at a time.
const OBJECTS_PER_READ: usize = 64;

impl InitialObjects {
    fn new(page: ListPage) -> InitialObjects {
        InitialObjects { page, last: None, read: Vec::new().into_iter() }
    }

    fn next_object(&mut self) -> Result<Option<StoredObject>, Status> {
        if self.read.as_slice().is_empty() {
            self.read = self.page.items(self.last.as_deref(), OBJECTS_PER_READ)?.into_iter();
        }
        Ok(self.read.next().map(|(key, stored)| {
            self.last = Some(key);
            stored
        }))
    }
}

impl Registry {
    /// Starts a watch of a collection.
    pub(crate) fn watch(
        &self,
        collection: &CollectionRef,
        options: &ListOptions,
    ) -> Result<ObjectWatch, Status> {
        // Without a version, or with version zero, the watch starts with the existing objects.
        let wants_initial =
            options.sends_initial_events.unwrap_or(matches!(options.version, None | Some(0)));
        let (initial, from) = match options.version {
            _ if wants_initial => {
                let unpaged =
                    ListOptions { limit: 0, continue_token: String::new(), ..options.clone() };
                let page = self.list(collection, &unpaged)?;
                let revision = page.revision;
                (Some(InitialObjects::new(page)), revision)
            }
            Some(version) if version > 0 => (None, version),
            _ => (None, self.store.revision()),
        };
        let watch =
            self.store.watch(&collection.prefix(), from).map_err(|error| watch_error(&error))?;
        Ok(ObjectWatch {
            collection: collection.clone(),
            selector: options.selector.clone(),
            initial,
            initial_revision: (options.sends_initial_events == Some(true)).then_some(from),
            watch,
        })
    }
}

/// Converts an error of the store. After an expired error, clients list again.
pub(crate) fn watch_error(error: &Error) -> Status {
    match error {
        Error::Compacted { requested, compacted } => {
            Status::expired(format!("too old resource version: {requested} ({compacted})"))
        }
        // The version comes from another store or from before a restore.
        Error::FutureRevision { requested, revision } => {
            Status::expired(format!("unknown resource version: {requested} (current: {revision})"))
        }
        other => store_error(other),
    }
}

impl ObjectWatch {
    /// Returns the next initial object, or `None` after the last one.
    pub(crate) fn next_initial(&mut self) -> Result<Option<StoredObject>, Status> {
        let Some(initial) = &mut self.initial else { return Ok(None) };
        let next = initial.next_object()?;
        if next.is_none() {
            // Also releases the snapshot.
            self.initial = None;
        }
        Ok(next)
    }

    /// Returns the revision of the initial objects on the first call, if the client asked for the
    /// bookmark that ends them.
    pub(crate) fn take_initial_revision(&mut self) -> Option<u64> {
        self.initial_revision.take()
    }

    /// Waits for the next change of a selected object. Returns `None` when the store closes.
    pub(crate) async fn next(&mut self) -> Result<Option<WatchEvent>, Status> {
        loop {
            let change = self.watch.next().await.map_err(|error| watch_error(&error))?;
            let Some(change) = change else {
                return Ok(None);
            };
            if let Some(event) = self.event(&change)? {
                return Ok(Some(event));
            }
        }
    }

    /// Returns the revision up to which all changes were returned.
    pub(crate) fn progress(&mut self) -> Result<u64, Status> {
        self.watch.progress().map_err(|error| watch_error(&error))
    }

    /// Converts a change of the store to an event. An object that stops matching the selector
    /// counts as deleted, one that starts matching as added.
    fn event(&self, change: &StoreChange) -> Result<Option<WatchEvent>, Status> {
        if !self.selector.may_match(&change.key) {
            return Ok(None);
        }
        let old = self.select(change.previous.as_ref())?;
        let new = self.select(change.current.as_ref())?;
        let at = |stored: StoredObject| StoredObject { revision: change.revision, ..stored };
        Ok(match (old, new) {
            (None, None) => None,
            (None, Some(new)) => Some(WatchEvent::Added(at(new))),
            (Some(_), Some(new)) => Some(WatchEvent::Modified(at(new))),
            (Some(old), None) => Some(WatchEvent::Deleted(at(old))),
        })
    }

    fn select(&self, entry: Option<&StoreEntry>) -> Result<Option<StoredObject>, Status> {
        let Some(entry) = entry else {
            return Ok(None);
        };
        let stored = StoredObject::from_entry(self.collection.served, entry);
        let is_selected =
            self.selector.is_everything() || self.selector.matches(&stored.to_json()?);
        Ok(is_selected.then_some(stored))
    }
}
