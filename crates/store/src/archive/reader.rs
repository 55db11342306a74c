//! Reads the archive at one commit, from a redb file or from memory.

use std::{
    ops::Bound,
    path::{Path, PathBuf},
    sync::{Arc, PoisonError, RwLock},
};

use bytes::Bytes;
use imbl::shared_ptr::DefaultSharedPtr;
use redb::{Database, Range, ReadOnlyTable, ReadableDatabase, TableDefinition, TableError};

use super::{
    decode_value,
    memory::{ArchiveMap, MemoryArchive},
};
use crate::{Error, redb_log::errors};

pub(crate) const ARCHIVE_TABLE: &str = "archive";
pub(crate) const ARCHIVE: TableDefinition<'_, &[u8], &[u8]> = TableDefinition::new(ARCHIVE_TABLE);

type ArchiveTable = ReadOnlyTable<&'static [u8], &'static [u8]>;

/// The archive of a store. Clones share it.
#[derive(Clone)]
pub struct Archive {
    source: ArchiveSource,
}

#[derive(Clone)]
enum ArchiveSource {
    Memory(MemoryArchive),
    Redb(RedbArchive),
}

/// A database that readers share with its log, which closes it. The write lock is taken only to close
/// and to compact it.
#[derive(Clone)]
pub(crate) struct RedbArchive {
    pub(crate) database: Arc<RwLock<Option<Database>>>,
    pub(crate) path: PathBuf,
    pub(crate) is_file: bool,
}

impl Archive {
    pub(crate) fn in_database(archive: RedbArchive) -> Self {
        Self { source: ArchiveSource::Redb(archive) }
    }

    /// Whether reads access a file, so that they must run on a thread that may block.
    pub fn is_file(&self) -> bool {
        match &self.source {
            ArchiveSource::Memory(_) => false,
            ArchiveSource::Redb(archive) => archive.is_file,
        }
    }

    /// Returns a reader of the archive at the newest commit. Pages that it may read are not reused for
    /// new data, so it should not be kept for long.
    pub fn read(&self) -> Result<ArchiveReader, Error> {
        let (view, path) = match &self.source {
            ArchiveSource::Memory(archive) => {
                (ArchiveView::Memory(archive.snapshot()), PathBuf::from("memory"))
            }
            ArchiveSource::Redb(archive) => {
                (ArchiveView::Redb(archive.open_table()?), archive.path.clone())
            }
        };
        Ok(ArchiveReader { view, path })
    }
}

impl From<MemoryArchive> for Archive {
    fn from(archive: MemoryArchive) -> Self {
        Self { source: ArchiveSource::Memory(archive) }
    }
}

impl RedbArchive {
    /// Opens the table at the newest commit; `None` if nothing was archived yet.
    fn open_table(&self) -> Result<Option<ArchiveTable>, Error> {
        let failed = |error| errors::from_redb("read the archive of", &self.path, error);
        let database = self.database.read().unwrap_or_else(PoisonError::into_inner);
        let database = database.as_ref().ok_or(Error::Closed)?;
        let transaction = database.begin_read().map_err(|error| failed(error.into()))?;
        match transaction.open_table(ARCHIVE) {
            Ok(table) => Ok(Some(table)),
            Err(TableError::TableDoesNotExist(_)) => Ok(None),
            Err(error) => Err(failed(error.into())),
        }
    }
}

/// The archive at one commit.
pub struct ArchiveReader {
    view: ArchiveView,
    path: PathBuf,
}

enum ArchiveView {
    Memory(ArchiveMap),
    Redb(Option<ArchiveTable>),
}

impl ArchiveReader {
    /// Returns the value of a key.
    pub fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, Error> {
        match &self.view {
            ArchiveView::Memory(pairs) => Ok(pairs.get(key).map(|value| value.to_vec())),
            ArchiveView::Redb(None) => Ok(None),
            ArchiveView::Redb(Some(table)) => {
                let stored = table.get(key).map_err(|error| failed(&self.path, error.into()))?;
                let value = stored.map(|stored| verified(&self.path, key, stored.value()));
                value.transpose()
            }
        }
    }

    /// Returns the pairs in a range of keys, which can be read from both ends.
    pub fn range(&self, start: Bound<&[u8]>, end: Bound<&[u8]>) -> Result<ArchiveRange<'_>, Error> {
        let pairs = match &self.view {
            _ if is_empty(start, end) => PairRange::Empty,
            ArchiveView::Redb(None) => PairRange::Empty,
            ArchiveView::Memory(pairs) => {
                PairRange::Memory(Box::new(pairs.range::<_, [u8]>((start, end))))
            }
            ArchiveView::Redb(Some(table)) => {
                let range = table.range::<&[u8]>((start, end));
                PairRange::Redb(Box::new(range.map_err(|error| failed(&self.path, error.into()))?))
            }
        };
        Ok(ArchiveRange { pairs, path: &self.path })
    }
}

/// Whether a range has no keys. The maps panic or fail if its start is after its end.
fn is_empty(start: Bound<&[u8]>, end: Bound<&[u8]>) -> bool {
    match (start, end) {
        (Bound::Included(start), Bound::Included(end)) => start > end,
        (Bound::Included(start) | Bound::Excluded(start), Bound::Excluded(end))
        | (Bound::Excluded(start), Bound::Included(end)) => start >= end,
        (Bound::Unbounded, _) | (_, Bound::Unbounded) => false,
    }
}

fn failed(path: &Path, error: redb::Error) -> Error {
    errors::from_redb("read the archive of", path, error)
}

fn verified(path: &Path, key: &[u8], stored: &[u8]) -> Result<Vec<u8>, Error> {
    let value = decode_value(key, stored).ok_or_else(|| Error::Corrupted {
        path: path.into(),
        detail: "a value of its archive has a wrong checksum".into(),
    })?;
    Ok(value.to_vec())
}

/// Keys and values in a range of keys. An error does not end it, because the pairs after a damaged one
/// are readable.
pub struct ArchiveRange<'a> {
    pairs: PairRange<'a>,
    path: &'a Path,
}

type MemoryRange<'a> = imbl::ordmap::RangedIter<'a, Bytes, Bytes, DefaultSharedPtr>;

enum PairRange<'a> {
    Empty,
    Memory(Box<MemoryRange<'a>>),
    Redb(Box<Range<'static, &'static [u8], &'static [u8]>>),
}

/// A key and its value, or why they cannot be read.
type ReadPair = Result<(Vec<u8>, Vec<u8>), Error>;

impl ArchiveRange<'_> {
    fn next_with(&mut self, end: RangeEnd) -> Option<ReadPair> {
        match &mut self.pairs {
            PairRange::Empty => None,
            PairRange::Memory(pairs) => {
                let pair = match end {
                    RangeEnd::Front => pairs.next(),
                    RangeEnd::Back => pairs.next_back(),
                };
                pair.map(|(key, value)| Ok((key.to_vec(), value.to_vec())))
            }
            PairRange::Redb(pairs) => {
                let pair = match end {
                    RangeEnd::Front => pairs.next(),
                    RangeEnd::Back => pairs.next_back(),
                };
                Some(match pair? {
                    Ok((key, stored)) => verified(self.path, key.value(), stored.value())
                        .map(|value| (key.value().to_vec(), value)),
                    Err(error) => {
                        // redb may return the same error forever.
                        self.pairs = PairRange::Empty;
                        Err(failed(self.path, error.into()))
                    }
                })
            }
        }
    }
}

#[derive(Clone, Copy)]
enum RangeEnd {
    Front,
    Back,
}

impl Iterator for ArchiveRange<'_> {
    type Item = ReadPair;

    fn next(&mut self) -> Option<ReadPair> {
        self.next_with(RangeEnd::Front)
    }
}

impl DoubleEndedIterator for ArchiveRange<'_> {
    fn next_back(&mut self) -> Option<ReadPair> {
        self.next_with(RangeEnd::Back)
    }
}
