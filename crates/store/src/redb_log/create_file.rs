//! Creates a new file under a temporary name and renames it after it is complete. Otherwise a crash
//! could leave an incomplete file that can never be opened.

use std::{
    fs::{self, File},
    io,
    path::Path,
};

use redb::{Database, ReadableDatabase, TableError};

use super::{HEADER, ROWS, builder, errors, header::LogHeader, write_header};
use crate::{Error, file_lock::sibling_path};

/// Creates the file if it does not exist. The caller must have the lock.
pub(super) fn create_if_missing(path: &Path) -> Result<(), Error> {
    if path.try_exists().map_err(|source| errors::from_io("access", path, source))? {
        return Ok(());
    }
    let temporary = sibling_path(path, "new");
    create_database(&temporary).map_err(|error| errors::from_redb("create", &temporary, error))?;
    rename_durably(&temporary, path).map_err(|source| errors::from_io("create", path, source))
}

fn create_database(temporary: &Path) -> Result<(), redb::Error> {
    if let Err(error) = fs::remove_file(temporary)
        && error.kind() != io::ErrorKind::NotFound
    {
        return Err(error.into());
    }
    let database = builder().create(temporary)?;
    create_tables(&database)
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
