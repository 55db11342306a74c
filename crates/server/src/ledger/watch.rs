//! Watches of records, derived from the changes of CronJobs. A change has the records that its write
//! archived, so a record that was changed and archived in one write is reported, too.
//!
//! A watch reports new and changed records. It does not report that old records were deleted.

use std::collections::{BTreeMap, VecDeque};

use punctual_api::Status;
use punctual_store::{Change as StoreChange, Watch};
use serde_json::Value;

use super::encoding;
use super::identity::RecordPosition;
use super::keys;
use super::live::{self, LiveRecords};
use super::object::{self, RecordParts};
use super::owner::Owner;
use super::query::RecordQuery;
use super::{OWNER_RESOURCES, run_blocking};
use crate::registry::{CollectionRef, Registry, WatchEvent, resource_prefix, watch_error};
use crate::request::ListOptions;
use crate::selector::Selector;
use crate::stored::StoredObject;

/// Number of initial records that are read at a time.
const RECORDS_PER_READ: usize = 256;

/// A watch of records.
pub(crate) struct SlotRecordWatch {
    /// The prefixes of the keys of the CronJobs.
    prefixes: [String; 2],
    selector: Selector,
    /// Records that existed at the start and were not returned yet.
    initial: Option<InitialRecords>,
    initial_revision: Option<u64>,
    watch: Watch,
    /// Events of the last change.
    pending: VecDeque<WatchEvent>,
    /// The revision of the pending events.
    pending_revision: u64,
    registry: Registry,
}

struct InitialRecords {
    /// `None` only while a batch is read.
    query: Option<RecordQuery>,
    read: VecDeque<StoredObject>,
}

impl Registry {
    /// Starts a watch of records.
    pub(crate) async fn watch_records(
        &self,
        collection: &CollectionRef,
        options: &ListOptions,
    ) -> Result<SlotRecordWatch, Status> {
        let wants_initial =
            options.sends_initial_events.unwrap_or(matches!(options.version, None | Some(0)));
        let (initial, from) = match options.version {
            _ if wants_initial => {
                let unpaged =
                    ListOptions { limit: 0, continue_token: String::new(), ..options.clone() };
                let (query, revision) = self.query_records(collection, &unpaged).await?;
                let read = VecDeque::new();
                (Some(InitialRecords { query: Some(query), read }), revision)
            }
            Some(version) if version > 0 => (None, version),
            _ => (None, self.store.revision()),
        };
        let oldest = self.ledger.first_revision;
        if from < oldest {
            return Err(Status::expired(format!("too old resource version: {from} ({oldest})")));
        }
        let prefix = |resource| match collection.namespace.as_str() {
            "" => resource_prefix(resource),
            namespace => format!("{}{namespace}/", resource_prefix(resource)),
        };
        Ok(SlotRecordWatch {
            prefixes: OWNER_RESOURCES.map(prefix),
            selector: options.selector.clone(),
            initial,
            initial_revision: (options.sends_initial_events == Some(true)).then_some(from),
            watch: self.store.watch("/", from).map_err(|error| watch_error(&error))?,
            pending: VecDeque::new(),
            pending_revision: from,
            registry: self.clone(),
        })
    }
}

impl SlotRecordWatch {
    /// Returns the next initial record, or `None` after the last one.
    pub(crate) async fn next_initial(&mut self) -> Result<Option<StoredObject>, Status> {
        loop {
            let Some(initial) = &mut self.initial else { return Ok(None) };
            if let Some(next) = initial.read.pop_front() {
                return Ok(Some(next));
            }
            let Some(mut query) = initial.query.take().filter(|query| !query.is_ended) else {
                self.initial = None;
                return Ok(None);
            };
            let batch = run_blocking(self.registry.store.archive(), move || {
                let items = query.read(RECORDS_PER_READ)?;
                Ok((query, items))
            });
            let (query, items) = batch.await?;
            let read = items.into_iter().map(|(_, item)| item).collect();
            self.initial = Some(InitialRecords { query: Some(query), read });
        }
    }

    pub(crate) fn take_initial_revision(&mut self) -> Option<u64> {
        self.initial_revision.take()
    }

    /// Waits for the next event. Returns `None` when the store closes.
    pub(crate) async fn next(&mut self) -> Result<Option<WatchEvent>, Status> {
        loop {
            if let Some(event) = self.pending.pop_front() {
                return Ok(Some(event));
            }
            let change = self.watch.next().await.map_err(|error| watch_error(&error))?;
            let Some(change) = change else { return Ok(None) };
            if self.prefixes.iter().any(|prefix| change.key.starts_with(prefix)) {
                self.pending_revision = change.revision;
                self.pending = self.events(&change).into();
            }
        }
    }

    /// Returns the revision up to which all events were returned.
    pub(crate) fn progress(&mut self) -> Result<u64, Status> {
        if !self.pending.is_empty() {
            return Ok(self.pending_revision - 1);
        }
        self.watch.progress().map_err(|error| watch_error(&error))
    }

    /// Returns the events of a change of a CronJob, oldest slot first.
    fn events(&self, change: &StoreChange) -> Vec<WatchEvent> {
        let mut before = LiveRecords::new();
        if let Some(entry) = &change.previous {
            live::add_records(entry, &mut before);
        }
        let mut after = LiveRecords::new();
        if let Some(entry) = &change.current {
            live::add_records(entry, &mut after);
        }
        let mut objects: BTreeMap<RecordPosition, Value> = archived_objects(change);
        for (position, live) in &after {
            let parts = RecordParts {
                owner: &live.owner,
                position,
                record: &live.record,
                revision: change.revision,
            };
            objects.insert(position.clone(), parts.to_json());
        }
        let event = |(position, new): (RecordPosition, Value)| {
            let old = before.get(&position).map(|live| {
                let parts = RecordParts {
                    owner: &live.owner,
                    position: &position,
                    record: &live.record,
                    revision: change.revision,
                };
                parts.to_json()
            });
            self.event(old, new, change.revision)
        };
        objects.into_iter().filter_map(event).collect()
    }

    /// Returns the event of a record. One that starts matching the selector counts as added, one that stops
    /// matching as deleted.
    fn event(&self, old: Option<Value>, new: Value, revision: u64) -> Option<WatchEvent> {
        if old.as_ref() == Some(&new) {
            return None;
        }
        let old = old.filter(|old| self.selector.matches(old));
        let is_selected = self.selector.matches(&new);
        match old {
            None if !is_selected => None,
            None => Some(WatchEvent::Added(object::to_stored(&new, revision))),
            Some(_) if is_selected => Some(WatchEvent::Modified(object::to_stored(&new, revision))),
            Some(old) => Some(WatchEvent::Deleted(object::to_stored(&old, revision))),
        }
    }
}

/// Returns the records that the write of a change archived.
fn archived_objects(change: &StoreChange) -> BTreeMap<RecordPosition, Value> {
    let values = || change.archive_ops.iter().filter_map(|op| Some((&op.key, op.value.as_ref()?)));
    let owner_key = |owner: &Owner| keys::owner(owner.id());
    let owner = values()
        .find_map(|(key, value)| Owner::decode(value).filter(|owner| owner_key(owner) == **key));
    let Some(owner) = owner else { return BTreeMap::new() };
    let object = |(key, value): (&bytes::Bytes, &bytes::Bytes)| {
        let position = keys::record_position(key)?;
        let archived = encoding::decode(&owner, &position, value)?;
        let parts = RecordParts {
            owner: &owner,
            position: &position,
            record: &archived.record,
            revision: change.revision,
        };
        let json = parts.to_json();
        Some((position, json))
    };
    values().filter_map(object).collect()
}
