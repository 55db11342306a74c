//! The log in a file of redb: one table of rows by revision, and one record that says what the rows
//! must add up to.
//!
//! redb checks its pages only when it repairs them. Here every row carries its own checksum and the
//! record a digest of all revisions, so a flipped bit or a lost page is found at the start and
//! never served.
//!
//! redb's quick repair stays off. It would save a walk over the file after an unclean stop, but the
//! whole file is read at the start anyway, that walk checks every page, and with a second fsync and
//! the allocator's state in every commit single writes would take twice as long.

use std::path::{Path, PathBuf};

use redb::{
    Builder, Database, ReadableDatabase, ReadableTable, StorageBackend, TableDefinition,
    WriteTransaction,
};

use crate::{
    Error,
    lock::Lock,
    log::{Batch, Loaded, Log},
};

mod create;
pub(crate) mod fault;
mod record;
mod row;

use record::Record;

/// Everything is served from memory, so the cache is only for the pages of a commit.
const CACHE_BYTES: usize = 4 << 20;

const ROWS: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("rows");
const RECORD: TableDefinition<'_, (), &[u8]> = TableDefinition::new("record");

/// The log in a file of redb, locked as long as it lives.
#[derive(Debug)]
pub struct RedbLog {
    database: Database,
    record: Record,
    path: PathBuf,
    /// Let go after the database.
    _lock: Option<Lock>,
}

impl RedbLog {
    /// Opens the log in a file, or makes a new one.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let lock = Lock::take(path)?;
        create::if_missing(path)?;
        let database = guarded(path, || {
            builder().open(path).map_err(|error| fault::redb("open", path, error.into()))
        })?;
        Ok(Self { database, record: Record::default(), path: path.into(), _lock: Some(lock) })
    }

    /// The log on storage of your own, such as memory, or a disk that fails when told to.
    pub fn over(storage: impl StorageBackend) -> Result<Self, Error> {
        let path = Path::new("the storage");
        let database = guarded(path, || {
            let database = builder().create_with_backend(storage);
            database.map_err(|error| fault::redb("open", path, error.into()))
        })?;
        create::tables(&database).map_err(|error| fault::redb("prepare", path, error))?;
        Ok(Self { database, record: Record::default(), path: path.into(), _lock: None })
    }

    /// Reads before redb checks, because redb answers damage with an older state if it has one.
    fn verified(&mut self) -> Result<Loaded, Refusal> {
        let loaded = self.read()?;
        // A damaged list of free pages shows nowhere until a commit overwrites what is in use.
        if !self.database.check_integrity()? && self.read()? != loaded {
            return Err("its newest pages are not whole".to_owned().into());
        }
        Ok(loaded)
    }

    fn read(&mut self) -> Result<Loaded, Refusal> {
        let transaction = self.database.begin_read()?;
        let record = transaction.open_table(RECORD)?;
        let record = record.get(())?.ok_or("it has no record".to_owned())?;
        self.record = Record::decode(record.value())?;
        let table = transaction.open_table(ROWS)?;
        let mut rows = Vec::new();
        let mut found = Record::default();
        for row in table.iter()? {
            let (revision, bytes) = row?;
            let row = row::decode(revision.value(), bytes.value())?;
            found.add(row.revision);
            rows.push(row);
        }
        self.record.compare(&found)?;
        let Record { revision, compacted, .. } = self.record;
        Ok(Loaded { revision, compacted, rows })
    }

    fn write(&self, batch: &Batch<'_>, record: &Record) -> Result<(), redb::Error> {
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
        keep(&transaction, record)?;
        Ok(transaction.commit()?)
    }
}

impl Log for RedbLog {
    fn path(&self) -> &Path {
        &self.path
    }

    fn load(&mut self) -> Result<Loaded, Error> {
        self.verified().map_err(|refusal| match refusal {
            Refusal::Redb(error) => fault::redb("read", &self.path, error),
            Refusal::Format(found) => {
                Error::Format { path: self.path.clone(), found, known: record::FORMAT }
            }
            Refusal::Damage(detail) => Error::Damaged { path: self.path.clone(), detail },
        })
    }

    fn commit(&mut self, batch: &Batch<'_>) -> Result<(), Error> {
        let record = self.record.after(batch);
        self.write(batch, &record).map_err(|error| fault::redb("write", &self.path, error))?;
        self.record = record;
        Ok(())
    }

    fn shrink(&mut self) -> Result<(), Error> {
        let shrunk = self.database.compact();
        shrunk.map_err(|error| fault::redb("shrink", &self.path, error.into()))?;
        Ok(())
    }
}

/// Why the file is not read.
enum Refusal {
    Redb(redb::Error),
    Format(u64),
    Damage(String),
}

impl From<String> for Refusal {
    fn from(detail: String) -> Self {
        Self::Damage(detail)
    }
}

impl From<redb::TransactionError> for Refusal {
    fn from(error: redb::TransactionError) -> Self {
        Self::Redb(error.into())
    }
}

impl From<redb::TableError> for Refusal {
    fn from(error: redb::TableError) -> Self {
        Self::Redb(error.into())
    }
}

impl From<redb::DatabaseError> for Refusal {
    fn from(error: redb::DatabaseError) -> Self {
        Self::Redb(error.into())
    }
}

impl From<redb::StorageError> for Refusal {
    fn from(error: redb::StorageError) -> Self {
        Self::Redb(error.into())
    }
}

fn builder() -> Builder {
    let mut builder = Builder::new();
    builder.set_cache_size(CACHE_BYTES);
    builder
}

fn keep(transaction: &WriteTransaction, record: &Record) -> Result<(), redb::Error> {
    transaction.open_table(RECORD)?.insert((), record.encode().as_slice())?;
    Ok(())
}

/// A damaged file may make redb panic; that too is only a damaged file.
fn guarded<T>(path: &Path, open: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
    let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(open));
    result.unwrap_or_else(|_| {
        Err(Error::Damaged { path: path.into(), detail: "it cannot be opened".into() })
    })
}

#[cfg(test)]
mod tests;
