//! The records in the statuses of CronJobs.

use std::collections::BTreeMap;
use std::sync::Arc;

use punctual_api::meta::StringMap;
use punctual_api::slot_record::SlotRecord;
use punctual_store::{Snapshot, StoreEntry};
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

/// Returns the records in the statuses of the CronJobs in a namespace, of all namespaces without one. With
/// a name, only those of the CronJobs with this name.
pub(super) fn read_records(
    snapshot: &Snapshot,
    namespace: Option<&str>,
    cron_job: Option<&str>,
) -> LiveRecords {
    let mut records = LiveRecords::new();
    for resource in OWNER_RESOURCES {
        let mut prefix = resource_prefix(resource);
        if let Some(namespace) = namespace {
            prefix = format!("{prefix}{namespace}/");
        }
        if let (Some(_), Some(name)) = (namespace, cron_job) {
            if let Some(entry) = snapshot.get(&format!("{prefix}{name}")) {
                add_records(entry, &mut records);
            }
            continue;
        }
        for (key, entry) in snapshot.prefix(&prefix) {
            if cron_job.is_none_or(|name| key.rsplit('/').next() == Some(name)) {
                add_records(entry, &mut records);
            }
        }
    }
    records
}
