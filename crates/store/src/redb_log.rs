//! The log in a redb file: one table of rows by revision, and one header that describes the rows.
//!
//! redb verifies its pages only during repair. So every row has its own checksum, and the header has a
//! digest of all revisions. A flipped bit or a lost page is detected on load and never served.
//!
//! redb's quick repair stays off. It would save a scan of the file after an unclean shutdown, but
//! loading reads the whole file anyway, and the scan verifies every page. Quick repair also needs a
//! second fsync and the state of the allocator in every commit, which doubles the latency of single
//! writes.

use std::path::{Path, PathBuf};

use redb::{
    Builder, Database, ReadableDatabase, ReadableTable, StorageBackend, TableDefinition,
    WriteTransaction,
};

use crate::{
    Error,
    file_lock::FileLock,
    log::{CommitBatch, Log, LogContents},
};

mod create_file;
pub(crate) mod errors;
mod header;
mod row;

use header::LogHeader;

/// Reads are served from memory, so the cache is only for the pages of a commit.
const CACHE_BYTES: usize = 4 << 20;

const ROWS: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("rows");
const HEADER: TableDefinition<'_, (), &[u8]> = TableDefinition::new("record");

/// The log in a redb file. It locks the file until it is dropped.
#[derive(Debug)]
pub struct RedbLog {
    database: Database,
    header: LogHeader,
    path: PathBuf,
    /// Released after the database is closed.
    _lock: Option<FileLock>,
}

impl RedbLog {
    /// Opens the log in a file, or creates it.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let lock = FileLock::acquire(path)?;
        create_file::create_if_missing(path)?;
        let database = catch_panic(path, || {
            builder().open(path).map_err(|error| errors::from_redb("open", path, error.into()))
        })?;
        Ok(Self { database, header: LogHeader::default(), path: path.into(), _lock: Some(lock) })
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
        Ok(Self { database, header: LogHeader::default(), path: path.into(), _lock: None })
    }

    /// Loads and verifies the log. Loads before the integrity check, because redb replaces a corrupted
    /// state by an older one.
    fn load_verified(&mut self) -> Result<LogContents, LoadError> {
        let contents = self.read()?;
        // Without this check, a corrupted list of free pages would let a commit overwrite used pages.
        if !self.database.check_integrity()? && self.read()? != contents {
            return Err("its newest pages are incomplete".to_owned().into());
        }
        Ok(contents)
    }

    fn read(&mut self) -> Result<LogContents, LoadError> {
        let transaction = self.database.begin_read()?;
        let header = transaction.open_table(HEADER)?;
        let header = header.get(())?.ok_or("it has no header".to_owned())?;
        self.header = LogHeader::decode(header.value())?;
        let table = transaction.open_table(ROWS)?;
        let mut rows = Vec::new();
        let mut found = LogHeader::default();
        for row in table.iter()? {
            let (revision, bytes) = row?;
            let revision = revision.value();
            let row = row::decode(revision, bytes.value())
                .ok_or_else(|| format!("the row of revision {revision} has a wrong checksum"))?;
            found.add(row.revision);
            rows.push(row);
        }
        self.header.check_rows(&found)?;
        let LogHeader { revision, compacted, .. } = self.header;
        Ok(LogContents { revision, compacted, rows })
    }

    fn write(&self, batch: &CommitBatch<'_>, header: &LogHeader) -> Result<(), redb::Error> {
        let transaction = self.database.begin_write()?;
        let mut rows = transaction.open_table(ROWS)?;
        let mut bytes = Vec::new();
        for change in batch.changes {
            row::encode(change, &mut bytes);
            rows.insert(change.revision, bytes.as_slice())?;
        }
        for revision in batch.dropped {
            rows.remove(revision)?;
        }
        drop(rows);
        write_header(&transaction, header)?;
        Ok(transaction.commit()?)
    }
}

impl Log for RedbLog {
    fn path(&self) -> &Path {
        &self.path
    }

    fn load(&mut self) -> Result<LogContents, Error> {
        self.load_verified().map_err(|error| match error {
            LoadError::Redb(error) => errors::from_redb("read", &self.path, error),
            LoadError::UnsupportedFormat(found) => {
                let path = self.path.clone();
                Error::UnsupportedFormat { path, found, supported: header::FORMAT }
            }
            LoadError::Corrupted(detail) => Error::Corrupted { path: self.path.clone(), detail },
        })
    }

    fn commit(&mut self, batch: &CommitBatch<'_>) -> Result<(), Error> {
        let header = self.header.with_batch(batch);
        self.write(batch, &header)
            .map_err(|error| errors::from_redb("write", &self.path, error))?;
        self.header = header;
        Ok(())
    }

    fn shrink(&mut self) -> Result<(), Error> {
        let shrunk = self.database.compact();
        shrunk.map_err(|error| errors::from_redb("shrink", &self.path, error.into()))?;
        Ok(())
    }
}

/// Why the log cannot be loaded.
enum LoadError {
    Redb(redb::Error),
    UnsupportedFormat(u64),
    Corrupted(String),
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

/// Calls `open`. redb may panic if the file is corrupted; report that as corruption.
fn catch_panic<T>(path: &Path, open: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
    let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(open));
    result.unwrap_or_else(|_| {
        Err(Error::Corrupted { path: path.into(), detail: "redb cannot open it".into() })
    })
}

#[cfg(test)]
mod tests;
