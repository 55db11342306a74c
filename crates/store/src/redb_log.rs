//! The log in a redb file: one table of rows by revision, one header that describes the rows, and the
//! table of the archive, which exists after its first write.
//!
//! redb verifies its pages only during repair. So every row has its own checksum, and the header has a
//! digest of all revisions. A flipped bit or a lost page is detected on load and never served.
//!
//! redb's quick repair stays off. It would save a scan of the file after an unclean shutdown, but
//! loading reads the whole file anyway, and the scan verifies every page. Quick repair also needs a
//! second fsync and the state of the allocator in every commit, which doubles the latency of single
//! writes.

use std::{
    collections::BTreeMap,
    fmt, fs,
    path::{Path, PathBuf},
    sync::{Arc, PoisonError, RwLock},
};

use redb::{
    Builder, CompactionError, Database, ReadTransaction, ReadableDatabase, ReadableTable,
    ReadableTableMetadata, StorageBackend, TableDefinition, TableError, WriteTransaction,
};

use crate::{
    Archive, CodecError, Error, FileLocation, StoreEntry, ValueCodec,
    archive::{self, ARCHIVE, ArchiveContents, ArchiveOp, RedbArchive},
    codec::{self, Codec},
    file_lock::FileLock,
    log::{CommitBatch, Log, LogContents},
};

pub(crate) mod create_file;
pub(crate) mod errors;
pub(crate) mod header;
pub(crate) mod row;

use header::LogHeader;

/// Reads are served from memory, so the cache is only for the pages of a commit.
const CACHE_BYTES: usize = 4 << 20;

/// Up to this size, the archive is kept in memory while the file is checked, so that no value of it is lost
/// if redb replaces its newest commit by an older one.
const CHECKED_ARCHIVE_BYTES_MAX: usize = 32 << 20;

pub(crate) const ROWS_TABLE: &str = "rows";
pub(crate) const HEADER_TABLE: &str = "record";
const ROWS: TableDefinition<'_, u64, &[u8]> = TableDefinition::new(ROWS_TABLE);
const HEADER: TableDefinition<'_, (), &[u8]> = TableDefinition::new(HEADER_TABLE);

/// The log in a redb file. It locks the file until it is dropped.
pub struct RedbLog {
    archive: RedbArchive,
    header: LogHeader,
    path: PathBuf,
    codec: Codec,
    /// The store and its lock. Empty if the log is not in a file.
    locations: Vec<FileLocation>,
    /// Released after the database is closed.
    _lock: Option<FileLock>,
}

impl RedbLog {
    /// Opens the log in a file, or creates it.
    pub fn open(path: &Path) -> Result<Self, Error> {
        Self::open_with_codec(path, None)
    }

    /// Opens the log in a file whose values have a codec, or creates it.
    pub fn open_with_codec(path: &Path, codec: Option<Arc<dyn ValueCodec>>) -> Result<Self, Error> {
        let lock = FileLock::acquire(path)?;
        create_file::create_if_missing(path)?;
        // redb would wait for the other end of a FIFO.
        drop(punctual_files::open(path).map_err(|source| errors::from_open("open", path, source))?);
        let database = catch_panic(path, || {
            builder().open(path).map_err(|error| errors::from_redb("open", path, error.into()))
        })?;
        let failed = |source| errors::from_io("access", path, source);
        let store = FileLocation::new(path, &fs::metadata(path).map_err(failed)?);
        let locations = vec![store, lock.location()?];
        let header = LogHeader::default();
        Ok(Self {
            archive: share(database, path, true),
            header,
            path: path.into(),
            codec,
            locations,
            _lock: Some(lock),
        })
    }

    /// Opens the log on a storage backend, such as memory or a disk with injected faults.
    pub fn with_backend(storage: impl StorageBackend) -> Result<Self, Error> {
        let path = Path::new("the storage backend");
        let database = catch_panic(path, || {
            let database = builder().create_with_backend(storage);
            database.map_err(|error| errors::from_redb("open", path, error.into()))
        })?;
        create_file::create_tables(&database)
            .map_err(|error| errors::from_redb("prepare", path, error))?;
        let header = LogHeader::default();
        Ok(Self {
            archive: share(database, path, false),
            header,
            path: path.into(),
            codec: None,
            locations: Vec::new(),
            _lock: None,
        })
    }

    /// Loads and verifies the log. Loads before the integrity check, because redb replaces a corrupted
    /// state by an older one.
    fn load_verified(&mut self) -> Result<LogContents, LoadError> {
        let contents = self.read()?;
        let archived = self.check_archive(CHECKED_ARCHIVE_BYTES_MAX)?;
        // Without this check, a corrupted list of free pages would let a commit overwrite used pages.
        let is_intact = self.with_database(|database| Ok(database.check_integrity()?))?;
        if !is_intact
            && (self.read()? != contents || self.check_archive(0)?.digest != archived.digest)
        {
            self.rewrite(contents, archived.contents)?;
            return Err("its newest pages are incomplete".to_owned().into());
        }
        Ok(contents)
    }

    /// Calls the function with exclusive use of the database.
    fn with_database<T>(
        &self,
        call: impl FnOnce(&mut Database) -> Result<T, LoadError>,
    ) -> Result<T, LoadError> {
        let mut database = self.archive.database.write().unwrap_or_else(PoisonError::into_inner);
        call(database.as_mut().ok_or_else(closed)?)
    }

    fn begin_read(&self) -> Result<ReadTransaction, LoadError> {
        let database = self.archive.database.read().unwrap_or_else(PoisonError::into_inner);
        Ok(database.as_ref().ok_or_else(closed)?.begin_read()?)
    }

    fn begin_write(&self) -> Result<WriteTransaction, LoadError> {
        let database = self.archive.database.read().unwrap_or_else(PoisonError::into_inner);
        Ok(database.as_ref().ok_or_else(closed)?.begin_write()?)
    }

    /// Reads and verifies all pairs of the archive. Returns them if they have at most `bytes_max` bytes.
    fn check_archive(&self, bytes_max: usize) -> Result<CheckedArchive, LoadError> {
        let mut checked =
            CheckedArchive { digest: (0, 0), contents: Some(ArchiveContents::default()) };
        let mut bytes = 0;
        self.visit_archive(|key, value| {
            let (count, sum) = checked.digest;
            checked.digest = (count + 1, sum.wrapping_add(archive::digest(key, value)));
            bytes += key.len() + value.len();
            if bytes > bytes_max {
                checked.contents = None;
            }
            if let Some(contents) = &mut checked.contents {
                contents.push(key, value);
            }
        })?;
        Ok(checked)
    }

    fn visit_archive(&self, mut visit: impl FnMut(&[u8], &[u8])) -> Result<(), LoadError> {
        let table = match self.begin_read()?.open_table(ARCHIVE) {
            Err(TableError::TableDoesNotExist(_)) => return Ok(()),
            table => table?,
        };
        let mut count = 0;
        for pair in table.range::<&[u8]>(..)? {
            let (key, stored) = pair?;
            let value = archive::decode_value(key.value(), stored.value())
                .ok_or_else(|| "a value of its archive has a wrong checksum".to_owned())?;
            visit(key.value(), value);
            count += 1;
        }
        let expected = table.len()?;
        if count != expected {
            return Err(format!("its archive has {count} of {expected} values").into());
        }
        Ok(())
    }

    fn error(&self, action: &'static str, error: LoadError) -> Error {
        let path = self.path.clone();
        match error {
            LoadError::Redb(error) => errors::from_redb(action, &path, error),
            LoadError::UnsupportedFormat(found) => {
                Error::UnsupportedFormat { path, found, supported: header::FORMAT }
            }
            LoadError::Corrupted(detail) => Error::Corrupted { path, detail },
            LoadError::Codec(source) => Error::Codec { path, source },
        }
    }

    /// Replaces the file by one with the same entries, because redb has replaced its contents by older
    /// ones. The next open reads the new file.
    fn rewrite(
        &self,
        contents: LogContents,
        archive: Option<ArchiveContents>,
    ) -> Result<(), LoadError> {
        if self._lock.is_none() {
            return Ok(());
        }
        let revision = contents.revision;
        let rows = contents.rows.into_iter().map(|row| (row.key.clone(), row));
        let newest: BTreeMap<_, _> = rows.collect();
        let entries = newest.into_values().filter_map(|row| Some((row.key, row.current?)));
        let encode = |(key, entry): (Arc<str>, StoreEntry)| {
            let entry = codec::encode(&self.codec, &key, &entry)?;
            Ok((key, entry))
        };
        let entries: Vec<_> = entries.map(encode).collect::<Result<_, CodecError>>()?;
        let archive = match archive {
            Some(archive) => archive,
            // The archive of the commit before is better than none.
            None => self.check_archive(usize::MAX)?.contents.unwrap_or_default(),
        };
        create_file::write_entries(&self.path, revision, &entries, &archive)
            .map_err(|error| LoadError::Corrupted(error.to_string()))
    }

    fn read(&mut self) -> Result<LogContents, LoadError> {
        let transaction = self.begin_read()?;
        let header = transaction.open_table(HEADER)?;
        let header = header.get(())?.ok_or("it has no header".to_owned())?;
        self.header = LogHeader::decode(header.value())?;
        let table = transaction.open_table(ROWS)?;
        let mut rows = Vec::new();
        let mut found = LogHeader::default();
        for row in table.iter()? {
            let (revision, bytes) = row?;
            let revision = revision.value();
            let mut row = row::decode(revision, bytes.value())
                .ok_or_else(|| format!("the row of revision {revision} has a wrong checksum"))?;
            if let Some(entry) = row.current.take() {
                row.current = Some(codec::decode(&self.codec, &row.key, entry)?.0);
            }
            found.add(row.revision);
            rows.push(row);
        }
        self.header.check_rows(&found)?;
        let LogHeader { revision, compacted, .. } = self.header;
        Ok(LogContents { revision, compacted, rows })
    }

    fn write(&self, batch: &CommitBatch<'_>, header: &LogHeader) -> Result<(), LoadError> {
        let transaction = self.begin_write()?;
        let mut rows = transaction.open_table(ROWS)?;
        let mut bytes = Vec::new();
        for change in batch.changes {
            let current = change.current.as_ref();
            let current = current.map(|entry| codec::encode(&self.codec, &change.key, entry));
            let current = current.transpose().map_err(LoadError::Codec)?;
            row::encode_value(change.revision, &change.key, current.as_ref(), &mut bytes);
            rows.insert(change.revision, bytes.as_slice())?;
        }
        for revision in batch.dropped {
            rows.remove(revision)?;
        }
        drop(rows);
        write_archive(&transaction, batch.archive_ops)?;
        write_header(&transaction, header)?;
        Ok(transaction.commit()?)
    }
}

impl fmt::Debug for RedbLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedbLog").field("path", &self.path).finish_non_exhaustive()
    }
}

impl Log for RedbLog {
    fn path(&self) -> &Path {
        &self.path
    }

    fn load(&mut self) -> Result<LogContents, Error> {
        self.load_verified().map_err(|error| self.error("read", error))
    }

    fn commit(&mut self, batch: &CommitBatch<'_>) -> Result<(), Error> {
        self.locations.iter().try_for_each(FileLocation::check)?;
        let header = self.header.with_batch(batch);
        self.write(batch, &header).map_err(|error| self.error("write", error))?;
        self.header = header;
        Ok(())
    }

    fn locations(&self) -> &[FileLocation] {
        &self.locations
    }

    fn shrink(&mut self) -> Result<(), Error> {
        let shrunk = self.with_database(|database| match database.compact() {
            // A reader of the archive uses the pages. The space stays in use until the next call.
            Err(CompactionError::TransactionInProgress) => Ok(()),
            shrunk => Ok(shrunk.map(drop)?),
        });
        shrunk.map_err(|error| self.error("shrink", error))
    }

    fn archive(&self) -> Option<Archive> {
        Some(Archive::in_database(self.archive.clone()))
    }
}

impl Drop for RedbLog {
    /// Closes the database before the lock is released, although readers of the archive share it.
    fn drop(&mut self) {
        let mut database = self.archive.database.write().unwrap_or_else(PoisonError::into_inner);
        drop(database.take());
    }
}

fn share(database: Database, path: &Path, is_file: bool) -> RedbArchive {
    let database = Arc::new(RwLock::new(Some(database)));
    RedbArchive { database, path: path.into(), is_file }
}

fn closed() -> LoadError {
    LoadError::Corrupted("it is closed".to_owned())
}

/// The archive before the integrity check.
struct CheckedArchive {
    /// The number of the pairs, and the sum of their digests.
    digest: (u64, u64),
    contents: Option<ArchiveContents>,
}

/// Why the log cannot be loaded.
pub(crate) enum LoadError {
    Redb(redb::Error),
    UnsupportedFormat(u64),
    Corrupted(String),
    Codec(CodecError),
}

impl From<CodecError> for LoadError {
    fn from(error: CodecError) -> Self {
        Self::Codec(error)
    }
}

impl From<CompactionError> for LoadError {
    fn from(error: CompactionError) -> Self {
        Self::Redb(error.into())
    }
}

impl From<redb::CommitError> for LoadError {
    fn from(error: redb::CommitError) -> Self {
        Self::Redb(error.into())
    }
}

impl From<redb::Error> for LoadError {
    fn from(error: redb::Error) -> Self {
        Self::Redb(error)
    }
}

impl From<String> for LoadError {
    fn from(detail: String) -> Self {
        Self::Corrupted(detail)
    }
}

impl From<redb::TransactionError> for LoadError {
    fn from(error: redb::TransactionError) -> Self {
        Self::Redb(error.into())
    }
}

impl From<redb::TableError> for LoadError {
    fn from(error: redb::TableError) -> Self {
        Self::Redb(error.into())
    }
}

impl From<redb::DatabaseError> for LoadError {
    fn from(error: redb::DatabaseError) -> Self {
        Self::Redb(error.into())
    }
}

impl From<redb::StorageError> for LoadError {
    fn from(error: redb::StorageError) -> Self {
        Self::Redb(error.into())
    }
}

fn builder() -> Builder {
    let mut builder = Builder::new();
    builder.set_cache_size(CACHE_BYTES);
    builder
}

fn write_header(transaction: &WriteTransaction, header: &LogHeader) -> Result<(), redb::Error> {
    transaction.open_table(HEADER)?.insert((), header.encode().as_slice())?;
    Ok(())
}

/// Applies operations to the archive. Its table is created by the first one, so that a file without an
/// archive stays as earlier versions wrote it.
fn write_archive(transaction: &WriteTransaction, ops: &[ArchiveOp]) -> Result<(), redb::Error> {
    if ops.is_empty() {
        return Ok(());
    }
    let mut table = transaction.open_table(ARCHIVE)?;
    let mut stored = Vec::new();
    for ArchiveOp { key, value } in ops {
        match value {
            Some(value) => {
                archive::encode_value(key, value, &mut stored);
                table.insert(&**key, stored.as_slice())?;
            }
            None => {
                table.remove(&**key)?;
            }
        }
    }
    Ok(())
}

/// Calls `open`. redb may panic if the file is corrupted; report that as corruption.
fn catch_panic<T>(path: &Path, open: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
    let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(open));
    result.unwrap_or_else(|_| {
        Err(Error::Corrupted { path: path.into(), detail: "redb cannot open it".into() })
    })
}

#[cfg(test)]
mod tests;
