//! A new file is made under another name and appears only when it is whole: a crash in the middle
//! would otherwise leave a file that can never be opened.

use std::{
    fs::{self, File},
    io,
    path::Path,
};

use redb::{Database, ReadableDatabase, TableError};

use super::{RECORD, ROWS, builder, fault, keep, record::Record};
use crate::{Error, lock::beside};

/// Makes the file if there is none. The lock must be held.
pub(super) fn if_missing(path: &Path) -> Result<(), Error> {
    if path.try_exists().map_err(|source| fault::io("find", path, source))? {
        return Ok(());
    }
    let draft = beside(path, "new");
    make(&draft).map_err(|error| fault::redb("make", &draft, error))?;
    appear(&draft, path).map_err(|source| fault::io("make", path, source))
}

fn make(draft: &Path) -> Result<(), redb::Error> {
    if let Err(error) = fs::remove_file(draft)
        && error.kind() != io::ErrorKind::NotFound
    {
        return Err(error.into());
    }
    let database = builder().create(draft)?;
    tables(&database)
}

/// The rename is durable only once the folder is.
fn appear(draft: &Path, path: &Path) -> io::Result<()> {
    fs::rename(draft, path)?;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
}

/// Makes the tables unless they are there.
pub(super) fn tables(database: &Database) -> Result<(), redb::Error> {
    match database.begin_read()?.open_table(RECORD) {
        Ok(_) => return Ok(()),
        Err(TableError::TableDoesNotExist(_)) => {}
        Err(error) => return Err(error.into()),
    }
    let transaction = database.begin_write()?;
    transaction.open_table(ROWS)?;
    keep(&transaction, &Record::default())?;
    Ok(transaction.commit()?)
}
