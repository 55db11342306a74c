//! The keys of the archive. The first byte is the table:
//!
//! | table | key | value |
//! |---|---|---|
//! | owners | owner | the CronJob |
//! | names | namespace, name, owner | empty |
//! | records | owner, slot, variant | the record |
//! | classes | hash of the namespace, decision and result, slot, owner, variant | empty |
//! | deleted namespaces | namespace, revision | empty |
//!
//! The table of classes is the index of lists: a list with any filter merges few of its ranges.

use std::ops::Bound;

use punctual_api::slot_record::{RunResult, SlotDecision, SlotRecord};
use punctual_store::ArchiveOp;

use super::identity::{OWNER_BYTES, OwnerId, RecordPosition, SLOT_BYTES, encode_slot, hash};
use super::owner::Owner;

const OWNERS: u8 = b'o';
const NAMES: u8 = b'n';
const RECORDS: u8 = b'r';
const CLASSES: u8 = b'c';
const DELETED_NAMESPACES: u8 = b'd';
const END: u8 = 0;

const NAMESPACE_BYTES: usize = 3;
/// The bytes of a key of the classes before the position.
const CLASS_PREFIX_BYTES: usize = 1 + NAMESPACE_BYTES + 1;

/// A part of the hash of a namespace. Namespaces may share it, so the owner of a record decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct NamespaceId([u8; NAMESPACE_BYTES]);

impl NamespaceId {
    pub(super) fn new(namespace: &str) -> NamespaceId {
        NamespaceId(hash(&[namespace]))
    }
}

/// The decision and the result of a record in one number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct RecordClass(pub(super) u8);

/// The number of results, and of a missing one.
const RESULTS: u8 = 8;

impl RecordClass {
    pub(super) fn new(record: &SlotRecord) -> RecordClass {
        let decision = position(&SlotDecision::ALL, &record.decision);
        let result = record.result.map_or(0, |result| position(&RunResult::ALL, &result) + 1);
        RecordClass(decision * RESULTS + result)
    }

    /// Returns the decision and the result; `None` if this program does not know them.
    pub(super) fn parts(self) -> Option<(SlotDecision, Option<RunResult>)> {
        let decision = SlotDecision::ALL.get(usize::from(self.0 / RESULTS))?;
        let result = match usize::from(self.0 % RESULTS) {
            0 => None,
            number => Some(*RunResult::ALL.get(number - 1)?),
        };
        Some((*decision, result))
    }
}

fn position<T: PartialEq>(all: &[T], value: &T) -> u8 {
    let index = all.iter().position(|known| known == value).unwrap_or_default();
    u8::try_from(index).unwrap_or_default()
}

/// A range of keys.
#[derive(Clone, Debug)]
pub(super) struct KeyRange {
    pub(super) start: Vec<u8>,
    /// The end, which is not in the range.
    pub(super) end: Vec<u8>,
}

impl KeyRange {
    fn prefix(prefix: Vec<u8>) -> KeyRange {
        KeyRange { end: following(&prefix), start: prefix }
    }

    pub(super) fn bounds(&self) -> (Bound<&[u8]>, Bound<&[u8]>) {
        (Bound::Included(&self.start), Bound::Excluded(&self.end))
    }
}

/// Returns the first key after all keys with a prefix.
fn following(prefix: &[u8]) -> Vec<u8> {
    let mut end = prefix.to_vec();
    while let Some(last) = end.pop() {
        if last < u8::MAX {
            end.push(last + 1);
            return end;
        }
    }
    vec![u8::MAX; OWNER_BYTES]
}

pub(super) fn owner(owner: OwnerId) -> Vec<u8> {
    [&[OWNERS], owner.as_bytes()].concat()
}

pub(super) fn owners() -> KeyRange {
    KeyRange::prefix(vec![OWNERS])
}

/// Returns the owner whose row these operations write.
pub(super) fn written_owner(ops: &[ArchiveOp]) -> Option<OwnerId> {
    let row = ops.iter().find_map(|op| op.key.strip_prefix(&[OWNERS]))?;
    OwnerId::from_bytes(row)
}

/// Returns the owner of a key of the table of owners or of names.
pub(super) fn owner_of(key: &[u8]) -> Option<OwnerId> {
    OwnerId::from_bytes(key.last_chunk::<OWNER_BYTES>()?)
}

pub(super) fn name(owner: &Owner) -> Vec<u8> {
    let mut key = names_prefix(&owner.namespace, &owner.name);
    key.extend_from_slice(owner.id().as_bytes());
    key
}

/// The names in a namespace.
pub(super) fn names_in(namespace: &str) -> KeyRange {
    KeyRange::prefix([&[NAMES], namespace.as_bytes(), &[END]].concat())
}

/// The owners with a namespace and a name, one for each UID.
pub(super) fn names_of(namespace: &str, name: &str) -> KeyRange {
    KeyRange::prefix(names_prefix(namespace, name))
}

fn names_prefix(namespace: &str, name: &str) -> Vec<u8> {
    [&[NAMES], namespace.as_bytes(), &[END], name.as_bytes(), &[END]].concat()
}

/// The names in namespaces after this one, or in all.
pub(super) fn names_after(namespace: Option<&str>) -> KeyRange {
    let end = following(&[NAMES]);
    match namespace {
        None => KeyRange { start: vec![NAMES], end },
        Some(namespace) => KeyRange { start: names_in(namespace).end, end },
    }
}

/// Returns the namespace of a key of the table of names.
pub(super) fn namespace_of(key: &[u8]) -> Option<&str> {
    let path = key.strip_prefix(&[NAMES])?;
    let end = path.iter().position(|byte| *byte == END)?;
    std::str::from_utf8(path.get(..end)?).ok()
}

pub(super) fn record(position: &RecordPosition) -> Vec<u8> {
    let slot = encode_slot(position.slot());
    [&[RECORDS], position.owner().as_bytes(), &slot, position.variant()].concat()
}

/// Returns the position of a key of the records.
pub(super) fn record_position(key: &[u8]) -> Option<RecordPosition> {
    let rest = key.strip_prefix(&[RECORDS])?;
    let (owner, rest) = rest.split_first_chunk::<OWNER_BYTES>()?;
    let (slot, variant) = rest.split_first_chunk::<SLOT_BYTES>()?;
    RecordPosition::decode(&[slot, owner.as_slice(), variant].concat())
}

/// The records of an owner.
pub(super) fn records_of(owner: OwnerId) -> KeyRange {
    KeyRange::prefix([&[RECORDS], owner.as_bytes()].concat())
}

/// The records of an owner in a range of slots, before a position.
pub(super) fn records_between(owner: OwnerId, bounds: &PositionBounds) -> KeyRange {
    let prefix = [&[RECORDS], owner.as_bytes()].concat();
    let start = [prefix.as_slice(), &encode_slot(bounds.first_slot)].concat();
    let end = [prefix.as_slice(), &encode_slot(bounds.end_slot)].concat();
    let mut range = KeyRange { start, end };
    if let Some(before) = &bounds.before {
        // Of the records of the same slot, those of smaller owners follow.
        let end = match owner.cmp(&before.owner()) {
            std::cmp::Ordering::Less => [prefix, encode_slot(before.slot() + 1).to_vec()].concat(),
            std::cmp::Ordering::Equal => record(before),
            std::cmp::Ordering::Greater => [prefix, encode_slot(before.slot()).to_vec()].concat(),
        };
        range.end = range.end.min(end);
    }
    range
}

/// The slots from the first up to the end, which is excluded, before a position.
#[derive(Clone, Debug)]
pub(super) struct PositionBounds {
    pub(super) first_slot: i64,
    pub(super) end_slot: i64,
    pub(super) before: Option<RecordPosition>,
}

pub(super) fn class(namespace: &str, class: RecordClass, position: &RecordPosition) -> Vec<u8> {
    let mut key = class_prefix(NamespaceId::new(namespace), class);
    key.extend(position.encode());
    key
}

fn class_prefix(namespace: NamespaceId, class: RecordClass) -> Vec<u8> {
    [&[CLASSES], &namespace.0[..], &[class.0]].concat()
}

/// The records of a class, in a range of slots, before a position.
pub(super) fn class_between(
    namespace: NamespaceId,
    class: RecordClass,
    bounds: &PositionBounds,
) -> KeyRange {
    let prefix = class_prefix(namespace, class);
    let start = [prefix.as_slice(), &encode_slot(bounds.first_slot)].concat();
    let mut end = [prefix.as_slice(), &encode_slot(bounds.end_slot)].concat();
    if let Some(before) = &bounds.before {
        end = end.min([prefix, before.encode()].concat());
    }
    KeyRange { start, end }
}

/// The keys of a namespace with a class below this one, or with any.
pub(super) fn classes_below(namespace: NamespaceId, class: Option<RecordClass>) -> KeyRange {
    let prefix = [&[CLASSES], &namespace.0[..]].concat();
    match class {
        None => KeyRange::prefix(prefix),
        Some(class) => KeyRange { start: prefix, end: class_prefix(namespace, class) },
    }
}

/// Returns the class of a key of the classes.
pub(super) fn class_of(key: &[u8]) -> Option<RecordClass> {
    key.get(CLASS_PREFIX_BYTES - 1).copied().map(RecordClass)
}

/// Returns the position of a key of the classes.
pub(super) fn class_position(key: &[u8]) -> Option<RecordPosition> {
    RecordPosition::decode(key.get(CLASS_PREFIX_BYTES..)?)
}

pub(super) fn deleted_namespace(namespace: &str, revision: u64) -> Vec<u8> {
    [&[DELETED_NAMESPACES], namespace.as_bytes(), &[END], &revision.to_be_bytes()].concat()
}

pub(super) fn deleted_namespaces() -> KeyRange {
    KeyRange::prefix(vec![DELETED_NAMESPACES])
}

/// Returns a deleted namespace and the revision of its deletion.
pub(super) fn parse_deleted_namespace(key: &[u8]) -> Option<(&str, u64)> {
    let path = key.strip_prefix(&[DELETED_NAMESPACES])?;
    let (path, revision) = path.split_last_chunk::<8>()?;
    let namespace = std::str::from_utf8(path.strip_suffix(&[END])?).ok()?;
    Some((namespace, u64::from_be_bytes(*revision)))
}
