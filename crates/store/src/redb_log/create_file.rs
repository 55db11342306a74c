//! Creates the file of a store under a temporary name and renames it after it is complete.
//! Otherwise a crash could leave an incomplete file that can never be opened.

use std::{
    fs::{self, File},
    io,
    path::Path,
    sync::Arc,
};

use redb::{Database, ReadableDatabase, TableError};

use super::{ARCHIVE, HEADER, ROWS, builder, errors, header::LogHeader, row, write_header};
use crate::{
    ArchiveContents, Error,
    archive::encode_value,
    change::StoreEntry,
    file_lock::{self, sibling_path},
};

/// Creates the file if it does not exist. The caller must have the lock.
pub(super) fn create_if_missing(path: &Path) -> Result<(), Error> {
    if path.try_exists().map_err(|source| errors::from_io("access", path, source))? {
        return Ok(());
    }
    replace(path, create_tables)
}

/// Replaces the file by one with these entries and this archive. The change history of the new file is empty. The
/// caller must have the lock.
pub(crate) fn write_entries(
    path: &Path,
    revision: u64,
    entries: &[(Arc<str>, StoreEntry)],
    archive: &ArchiveContents,
) -> Result<(), Error> {
    replace(path, |database| fill(database, revision, entries, archive))
}

/// Writes a new file and renames it to the path.
fn replace(
    path: &Path,
    fill: impl FnOnce(&Database) -> Result<(), redb::Error>,
) -> Result<(), Error> {
    let temporary = sibling_path(path, "new");
    let created = create_empty(&temporary).and_then(|database| fill(&database));
    created.map_err(|error| errors::from_redb("create", &temporary, error))?;
    rename_durably(&temporary, path).map_err(|source| errors::from_io("create", path, source))
}

fn create_empty(temporary: &Path) -> Result<Database, redb::Error> {
    if let Err(error) = fs::remove_file(temporary)
        && error.kind() != io::ErrorKind::NotFound
    {
        return Err(error.into());
    }
    // An existing file is never opened, so a link that another user made is not followed.
    let file = file_lock::owner_only().create_new(true).open(temporary)?;
    Ok(builder().create_file(file)?)
}

/// Writes one row for each entry, and the archive.
fn fill(
    database: &Database,
    revision: u64,
    entries: &[(Arc<str>, StoreEntry)],
    archive: &ArchiveContents,
) -> Result<(), redb::Error> {
    let mut by_revision: Vec<_> = entries.iter().collect();
    by_revision.sort_unstable_by_key(|(_, entry)| entry.modified);
    let mut header = LogHeader::at(revision);
    let transaction = database.begin_write()?;
    let mut rows = transaction.open_table(ROWS)?;
    let mut bytes = Vec::new();
    for (key, entry) in by_revision {
        row::encode_value(entry.modified, key, Some(entry), &mut bytes);
        rows.insert(entry.modified, bytes.as_slice())?;
        header.add(entry.modified);
    }
    drop(rows);
    if !archive.is_empty() {
        let mut table = transaction.open_table(ARCHIVE)?;
        for (key, value) in archive.iter() {
            encode_value(key, value, &mut bytes);
            table.insert(key, bytes.as_slice())?;
        }
    }
    write_header(&transaction, &header)?;
    Ok(transaction.commit()?)
}

/// Renames a file and syncs its directory, because the rename is durable only then.
fn rename_durably(temporary: &Path, path: &Path) -> io::Result<()> {
    fs::rename(temporary, path)?;
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    File::open(directory.unwrap_or(Path::new(".")))?.sync_all()
}

/// Creates the tables if they do not exist.
pub(super) fn create_tables(database: &Database) -> Result<(), redb::Error> {
    match database.begin_read()?.open_table(HEADER) {
        Ok(_) => return Ok(()),
        Err(TableError::TableDoesNotExist(_)) => {}
        Err(error) => return Err(error.into()),
    }
    let transaction = database.begin_write()?;
    transaction.open_table(ROWS)?;
    write_header(&transaction, &LogHeader::default())?;
    Ok(transaction.commit()?)
}
