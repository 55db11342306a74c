//! What a write of a CronJob moves to the archive: all records but the newest of the schedule and those of
//! active runs.

use std::collections::BTreeMap;

use punctual_api::Status;
use punctual_api::field::{BadValue, FieldError, FieldPath};
use punctual_api::slot_record::{RunResult, SlotRecord};
use punctual_api::status::GroupKind;
use punctual_store::{ArchiveOp, StoreEntry};
use serde::Deserialize as _;
use serde_json::Value;

use super::OWNER_RESOURCES;
use super::encoding::{self, ArchivedRecord};
use super::identity::RecordPosition;
use super::keys::{self, RecordClass};
use super::owner::{Owner, read_labels};
use crate::resource::ServedResource;

/// The maximum number of records in a written status.
const RECORDS_MAX: usize = 4096;
/// The maximum length of each text of a record.
const TEXT_BYTES_MAX: usize = 4 << 10;

/// A record of a status.
struct StatusRecord {
    record: SlotRecord,
    /// The record as it was written, which may have fields that this program does not know.
    json: Value,
}

type StatusRecords = BTreeMap<RecordPosition, StatusRecord>;

/// Moves records out of the new status of a CronJob. Returns the operations that archive them. Other kinds
/// have no records.
pub(crate) fn settle_update(
    served: &ServedResource,
    entry: &StoreEntry,
    old: &Value,
    new: &mut Value,
) -> Result<Vec<ArchiveOp>, Status> {
    if !OWNER_RESOURCES.contains(&served.resource) || !has_slots(old) && !has_slots(new) {
        return Ok(Vec::new());
    }
    let owner = Owner::new(new, entry);
    let before = read_stored(&owner, old);
    let after = read_written(&owner, served.group_kind(), new)?;
    let newest = after.iter().rfind(|(_, it)| it.record.is_scheduled()).map(|(at, _)| at.clone());
    let mut kept = Vec::new();
    let mut settled = Settled { owner: &owner, entry, before: &before, ops: Vec::new() };
    for (position, record) in &after {
        if Some(position) == newest.as_ref() || record.record.is_running() {
            kept.push(record.json.clone());
        } else {
            settled.archive(position, &record.record);
        }
    }
    // Records that the client left out stay known: they were acknowledged.
    for (position, record) in before.iter().filter(|(position, _)| !after.contains_key(position)) {
        settled.archive(position, &ended(&record.record));
    }
    if !settled.ops.is_empty() || read_labels(old) != read_labels(new) {
        settled.write_owner();
    }
    let ops = settled.ops;
    set_slots(new, kept);
    Ok(ops)
}

/// Returns the operations that archive all records of a deleted CronJob.
pub(crate) fn settle_deletion(
    served: &ServedResource,
    entry: &StoreEntry,
    object: &Value,
) -> Vec<ArchiveOp> {
    if !OWNER_RESOURCES.contains(&served.resource) || !has_slots(object) {
        return Vec::new();
    }
    let owner = Owner::new(object, entry);
    let before = read_stored(&owner, object);
    let mut settled = Settled { owner: &owner, entry, before: &before, ops: Vec::new() };
    for (position, record) in &before {
        settled.archive(position, &ended(&record.record));
    }
    settled.write_owner();
    settled.ops
}

/// Returns the operation that hides the records of a deleted namespace until they are deleted. Those of a
/// later namespace with the same name are not hidden, because its CronJobs have later revisions.
pub(crate) fn settle_namespace_deletion(name: &str, revision: u64) -> Vec<ArchiveOp> {
    vec![ArchiveOp::put(keys::deleted_namespace(name, revision), "")]
}

/// The operations of one write.
struct Settled<'a> {
    owner: &'a Owner,
    entry: &'a StoreEntry,
    before: &'a StatusRecords,
    ops: Vec<ArchiveOp>,
}

impl Settled<'_> {
    fn archive(&mut self, position: &RecordPosition, record: &SlotRecord) {
        let is_unchanged = self.before.get(position).is_some_and(|it| it.record == *record);
        // A changed record gets a version that no earlier object of it has.
        let revision = self.entry.modified + u64::from(!is_unchanged);
        let archived = ArchivedRecord { record: record.clone(), revision };
        let value = encoding::encode(self.owner, position, &archived);
        let class = RecordClass::new(record);
        self.ops.push(ArchiveOp::put(keys::record(position), value));
        self.ops.push(ArchiveOp::put(keys::class(&self.owner.namespace, class, position), ""));
    }

    fn write_owner(&mut self) {
        self.ops.push(ArchiveOp::put(keys::owner(self.owner.id()), self.owner.encode()));
        self.ops.push(ArchiveOp::put(keys::name(self.owner), ""));
    }
}

/// Returns a record of a run that is not observed any more.
fn ended(record: &SlotRecord) -> SlotRecord {
    let mut record = record.clone();
    if record.is_running() {
        record.result = Some(RunResult::Unknown);
    }
    record
}

fn slots(object: &Value) -> &[Value] {
    object.pointer("/status/slots").and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn has_slots(object: &Value) -> bool {
    !slots(object).is_empty()
}

fn set_slots(object: &mut Value, kept: Vec<Value>) {
    let Some(Value::Object(status)) = object.get_mut("status") else { return };
    if kept.is_empty() {
        status.remove("slots");
    } else {
        status.insert("slots".to_owned(), Value::Array(kept));
    }
}

/// Returns the records of a stored status.
fn read_stored(owner: &Owner, object: &Value) -> StatusRecords {
    let read = |json: &Value| {
        let record = SlotRecord::deserialize(json).ok()?;
        Some((RecordPosition::new(owner, &record)?, StatusRecord { record, json: json.clone() }))
    };
    slots(object).iter().filter_map(read).collect()
}

/// Returns the records of a written status. Of two with the same identity the last one counts.
fn read_written(
    owner: &Owner,
    kind: GroupKind<'_>,
    object: &Value,
) -> Result<StatusRecords, Status> {
    let status = FieldPath::root("status");
    let path = status.child("slots");
    let invalid = |error: FieldError| Status::invalid(kind, &owner.name, &[error]);
    let slots = slots(object);
    if slots.len() > RECORDS_MAX {
        return Err(invalid(FieldError::too_many(&path, slots.len(), RECORDS_MAX)));
    }
    let mut records = StatusRecords::new();
    for (index, json) in slots.iter().enumerate() {
        let path = path.index(index);
        let record = SlotRecord::deserialize(json).map_err(|why| {
            invalid(FieldError::invalid(&path, BadValue::json(json), why.to_string()))
        })?;
        check_texts(&path, &record).map_err(invalid)?;
        let position = RecordPosition::new(owner, &record).ok_or_else(|| {
            let slot = path.child("slot");
            let detail = "must be a time from 1970 to 9999";
            invalid(FieldError::invalid(&slot, BadValue::json(&record.slot), detail))
        })?;
        records.insert(position, StatusRecord { record, json: json.clone() });
    }
    Ok(records)
}

/// Checks that a record fits into the archive.
fn check_texts(path: &FieldPath<'_>, record: &SlotRecord) -> Result<(), FieldError> {
    let job = record.job.clone().unwrap_or_default();
    let texts = [
        ("reason", &record.reason),
        ("message", &record.message),
        ("job", &job.name),
        ("job", &job.uid),
        ("request", &record.request),
        ("failureReason", &record.failure_reason),
    ];
    match texts.iter().find(|(_, text)| text.len() > TEXT_BYTES_MAX) {
        Some((field, _)) => Err(FieldError::too_long(&path.child(field), TEXT_BYTES_MAX)),
        None => Ok(()),
    }
}
