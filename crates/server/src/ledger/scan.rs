//! Merges ranges of the archive to one sequence of records, newest slot first.

use std::collections::{BinaryHeap, HashMap};
use std::sync::Arc;

use punctual_api::Status;
use punctual_store::{ArchiveRange, ArchiveReader, Error};

use super::archive_error;
use super::encoding::{self, ArchivedRecord};
use super::identity::{OwnerId, RecordPosition};
use super::keys::{self, KeyRange, RecordClass};
use super::owner::Owner;

/// Where the keys of a range are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RangeTable {
    Records,
    Classes,
}

/// A key and its value.
type ArchivedPair = (Vec<u8>, Vec<u8>);

/// Returns the next pair of a range. Skips damaged values, so that one of them does not make all lists
/// fail.
pub(super) fn next_readable(
    pairs: &mut impl Iterator<Item = Result<ArchivedPair, Error>>,
) -> Result<Option<ArchivedPair>, Error> {
    loop {
        match pairs.next() {
            Some(Err(Error::Corrupted { path, detail })) => {
                tracing::error!(
                    "{}: {detail}; a slot record is left out; stop the server and run `punctual check`",
                    path.display()
                );
            }
            next => return next.transpose(),
        }
    }
}

/// A range and the record at its end.
struct ScanHead {
    position: RecordPosition,
    table: RangeTable,
    /// The decision and result, in a range of classes.
    class: Option<RecordClass>,
    /// The encoded record, in a range of records.
    value: Vec<u8>,
    range: usize,
}

impl ScanHead {
    fn rank(&self) -> (&RecordPosition, Option<RecordClass>, usize) {
        (&self.position, self.class, self.range)
    }
}

impl PartialEq for ScanHead {
    fn eq(&self, other: &Self) -> bool {
        self.rank() == other.rank()
    }
}

impl Eq for ScanHead {}

impl PartialOrd for ScanHead {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for ScanHead {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.rank().cmp(&other.rank())
    }
}

/// An archived record that is not decoded yet.
pub(super) struct ScannedRecord {
    pub(super) position: RecordPosition,
    class: Option<RecordClass>,
    value: Vec<u8>,
}

/// A merge of ranges.
pub(super) struct ArchiveScan<'a> {
    reader: &'a ArchiveReader,
    ranges: Vec<ArchiveRange<'a>>,
    heads: BinaryHeap<ScanHead>,
}

impl<'a> ArchiveScan<'a> {
    pub(super) fn new(
        reader: &'a ArchiveReader,
        ranges: &[(RangeTable, KeyRange)],
    ) -> Result<ArchiveScan<'a>, Status> {
        let mut scan = ArchiveScan { reader, ranges: Vec::new(), heads: BinaryHeap::new() };
        for (table, keys) in ranges {
            let (start, end) = keys.bounds();
            let range = reader.range(start, end).map_err(|error| archive_error(&error))?;
            scan.ranges.push(range);
            scan.advance(*table, scan.ranges.len() - 1)?;
        }
        Ok(scan)
    }

    /// Moves the next record of a range to the heads.
    fn advance(&mut self, table: RangeTable, range: usize) -> Result<(), Status> {
        let Some(pairs) = self.ranges.get_mut(range).map(Iterator::by_ref) else { return Ok(()) };
        let mut pairs = pairs.rev();
        while let Some((key, value)) =
            next_readable(&mut pairs).map_err(|error| archive_error(&error))?
        {
            let (position, class) = match table {
                RangeTable::Records => (keys::record_position(&key), None),
                RangeTable::Classes => (keys::class_position(&key), keys::class_of(&key)),
            };
            if let Some(position) = position {
                self.heads.push(ScanHead { position, table, class, value, range });
                return Ok(());
            }
        }
        Ok(())
    }

    /// Returns the next record.
    pub(super) fn next_record(&mut self) -> Result<Option<ScannedRecord>, Status> {
        let Some(head) = self.heads.pop() else { return Ok(None) };
        self.advance(head.table, head.range)?;
        Ok(Some(ScannedRecord { position: head.position, class: head.class, value: head.value }))
    }

    /// Decodes a record; `None` if its entry of the classes is outdated.
    pub(super) fn decode(
        &self,
        scanned: ScannedRecord,
        owner: &Owner,
    ) -> Result<Option<ArchivedRecord>, Status> {
        let ScannedRecord { position, class, value } = scanned;
        let value = match class {
            None => value,
            Some(_) => match self.reader.get(&keys::record(&position)) {
                Ok(value) => value.unwrap_or_default(),
                Err(Error::Corrupted { .. }) => Vec::new(),
                Err(error) => return Err(archive_error(&error)),
            },
        };
        let archived = encoding::decode(owner, &position, &value);
        Ok(archived.filter(|it| class.is_none_or(|class| class == RecordClass::new(&it.record))))
    }
}

/// Reads owners, each once.
pub(super) struct OwnerCache<'a> {
    reader: &'a ArchiveReader,
    /// The deleted namespaces whose records still exist, with the revisions of their deletion.
    deleted_namespaces: Vec<(String, u64)>,
    owners: HashMap<OwnerId, Option<Arc<Owner>>>,
}

impl<'a> OwnerCache<'a> {
    pub(super) fn new(reader: &'a ArchiveReader) -> Result<OwnerCache<'a>, Error> {
        let mut deleted_namespaces = Vec::new();
        let keys = keys::deleted_namespaces();
        let (start, end) = keys.bounds();
        let mut markers = reader.range(start, end)?;
        while let Some((key, _)) = next_readable(&mut markers)? {
            let parsed = keys::parse_deleted_namespace(&key);
            deleted_namespaces
                .extend(parsed.map(|(namespace, revision)| (namespace.to_owned(), revision)));
        }
        Ok(OwnerCache { reader, deleted_namespaces, owners: HashMap::new() })
    }

    /// Returns an owner; `None` if it is unknown or its namespace was deleted.
    pub(super) fn get(&mut self, id: OwnerId) -> Result<Option<Arc<Owner>>, Error> {
        if let Some(owner) = self.owners.get(&id) {
            return Ok(owner.clone());
        }
        let row = match self.reader.get(&keys::owner(id)) {
            Err(Error::Corrupted { .. }) => None,
            row => row?,
        };
        let owner = row.and_then(|row| Owner::decode(&row));
        let owner = owner.filter(|owner| !self.is_deleted(owner)).map(Arc::new);
        self.owners.insert(id, owner.clone());
        Ok(owner)
    }

    /// Whether the namespace of an owner was deleted.
    fn is_deleted(&self, owner: &Owner) -> bool {
        let mut deleted = self.deleted_namespaces.iter();
        deleted.any(|(name, revision)| *name == owner.namespace && owner.created <= *revision)
    }
}
