//! The records in the statuses of CronJobs.

use std::collections::BTreeMap;
use std::sync::Arc;

use punctual_api::meta::StringMap;
use punctual_api::slot_record::SlotRecord;
use punctual_store::{Change as StoreChange, Snapshot, Store, StoreEntry};
use serde::Deserialize;

use super::OWNER_RESOURCES;
use super::identity::RecordPosition;
use super::owner::Owner;
use crate::registry::resource_prefix;

/// A record in a status.
#[derive(Clone, Debug)]
pub(super) struct LiveRecord {
    pub(super) owner: Arc<Owner>,
    pub(super) record: SlotRecord,
    /// The version of the CronJob.
    pub(super) revision: u64,
}

/// The records of statuses by their positions.
pub(super) type LiveRecords = BTreeMap<RecordPosition, LiveRecord>;

/// The fields of a CronJob that records depend on.
#[derive(Default, Deserialize)]
#[serde(default)]
struct CronJobFields {
    kind: String,
    metadata: MetadataFields,
    status: StatusFields,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct MetadataFields {
    namespace: String,
    name: String,
    uid: String,
    labels: StringMap,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct StatusFields {
    slots: Vec<SlotRecord>,
}

/// Adds the records in the status of a stored CronJob.
pub(super) fn add_records(entry: &StoreEntry, records: &mut LiveRecords) {
    let fields: CronJobFields = serde_json::from_slice(&entry.value).unwrap_or_default();
    if fields.status.slots.is_empty() {
        return;
    }
    let MetadataFields { namespace, name, uid, labels } = fields.metadata;
    let created = entry.created;
    let owner = Arc::new(Owner { kind: fields.kind, namespace, name, uid, created, labels });
    for record in fields.status.slots {
        if let Some(position) = RecordPosition::new(&owner, &record) {
            let owner = owner.clone();
            records.insert(position, LiveRecord { owner, record, revision: entry.modified });
        }
    }
}

/// Which records are in statuses, and in the statuses of which keys. It is updated by the changes since the
/// last list, because decoding all CronJobs takes long.
#[derive(Debug, Default)]
pub(super) struct LiveIndex {
    /// The revision that the index describes; 0 if it is empty.
    revision: u64,
    positions: BTreeMap<RecordPosition, Arc<str>>,
    by_key: BTreeMap<Arc<str>, Vec<RecordPosition>>,
}

impl LiveIndex {
    /// Returns the newest snapshot after updating the index to it.
    pub(super) fn update(&mut self, store: &Store) -> Snapshot {
        let snapshot = store.snapshot();
        match store.changes_since(self.revision) {
            Ok((changes, _)) if self.revision > 0 => {
                let is_new = |change: &&Arc<StoreChange>| change.revision <= snapshot.revision();
                let owners = changes.iter().filter(is_new).filter(|it| is_owner_key(&it.key));
                for change in owners {
                    self.set(&change.key, change.current.as_ref());
                }
            }
            // The changes are compacted, or nothing was indexed yet.
            _ => {
                *self = LiveIndex::default();
                for prefix in OWNER_RESOURCES.map(resource_prefix) {
                    for (key, entry) in snapshot.prefix(&prefix) {
                        self.set(key, Some(entry));
                    }
                }
            }
        }
        self.revision = snapshot.revision();
        snapshot
    }

    /// Sets the records of a CronJob.
    fn set(&mut self, key: &Arc<str>, entry: Option<&StoreEntry>) {
        for position in self.by_key.remove(key).unwrap_or_default() {
            self.positions.remove(&position);
        }
        let mut records = LiveRecords::new();
        if let Some(entry) = entry {
            add_records(entry, &mut records);
        }
        if records.is_empty() {
            return;
        }
        let positions: Vec<_> = records.into_keys().collect();
        self.positions.extend(positions.iter().map(|position| (position.clone(), key.clone())));
        self.by_key.insert(key.clone(), positions);
    }

    /// Returns the records of CronJobs in a namespace, or in all, oldest slot first. With a name, only those
    /// of the CronJobs with this name.
    pub(super) fn select(
        &self,
        namespace: Option<&str>,
        cron_job: Option<&str>,
    ) -> Vec<(RecordPosition, Arc<str>)> {
        let is_selected = |key: &Arc<str>| {
            let mut path = key.rsplit('/');
            let name = path.next();
            let owner_namespace = path.next();
            cron_job.is_none_or(|wanted| name == Some(wanted))
                && namespace.is_none_or(|wanted| owner_namespace == Some(wanted))
        };
        let selected = self.positions.iter().filter(|(_, key)| is_selected(key));
        selected.map(|(position, key)| (position.clone(), key.clone())).collect()
    }
}

fn is_owner_key(key: &str) -> bool {
    OWNER_RESOURCES.map(resource_prefix).iter().any(|prefix| key.starts_with(prefix))
}
