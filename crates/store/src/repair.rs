//! Replaces the file of a store by one with other contents: after damage, and from a backup.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use crate::{
    Error, Salvage, StoreEntry, ValueCodec,
    file_lock::{FileLock, sibling_path},
    redb_log::{create_file, errors},
};

/// How far the revisions of a restored store are ahead of its backup. A client that has seen changes
/// after the backup must not take the changes after the restore for those.
const RESTORE_REVISIONS: u64 = 1_000_000;

/// Replaces a damaged file by its undamaged entries if the damage is confined to known keys. Returns
/// `None` and changes nothing if it is not. The damaged file stays under another name.
pub(crate) fn repair(path: &Path) -> Result<Option<Salvage>, Error> {
    let _lock = FileLock::acquire(path)?;
    let salvage = Salvage::read_file(path)?;
    if salvage.damage.is_none() {
        return Ok(Some(salvage));
    }
    if !salvage.damage.is_confined() {
        return Ok(None);
    }
    replace(path, &salvage)?;
    Ok(Some(salvage))
}

fn replace(path: &Path, salvage: &Salvage) -> Result<(), Error> {
    keep_damaged(path).map_err(|source| errors::from_io("keep a copy of", path, source))?;
    create_file::write_entries(path, salvage.revision, &salvage.entries, &salvage.archive)
}

/// Rewrites the whole file if the stored form of a value is not current, so that no earlier form stays
/// in unused pages. Leaves a damaged file to [`repair`].
pub(crate) fn rewrite_values(path: &Path, codec: &dyn ValueCodec) -> Result<(), Error> {
    let _lock = FileLock::acquire(path)?;
    if !path.try_exists().map_err(|source| errors::from_io("access", path, source))? {
        return Ok(());
    }
    let contents = Salvage::read_file(path)?;
    if !contents.damage.is_none() {
        return Ok(());
    }
    let failed = |source| Error::Codec { path: path.into(), source };
    let mut is_current = true;
    let mut entries = Vec::with_capacity(contents.entries.len());
    for (key, entry) in contents.entries {
        let decoded = codec.decode(&key, &entry.value).map_err(failed)?;
        let mut value = entry.value;
        if !decoded.is_current {
            is_current = false;
            value = codec.encode(&key, &decoded.value).map_err(failed)?;
        }
        entries.push((key, StoreEntry { value, ..entry }));
    }
    if is_current {
        return Ok(());
    }
    create_file::write_entries(path, contents.revision, &entries, &contents.archive)
}

/// Returns where the damaged file of a store is kept.
pub fn damaged_path(path: &Path) -> PathBuf {
    sibling_path(path, "damaged")
}

/// Gives the file a second name. The path itself always has a file, because a missing one would be
/// created empty.
fn keep_damaged(path: &Path) -> io::Result<()> {
    let kept = damaged_path(path);
    if let Err(error) = fs::remove_file(&kept)
        && error.kind() != io::ErrorKind::NotFound
    {
        return Err(error);
    }
    fs::hard_link(path, &kept).or_else(|_| fs::copy(path, &kept).map(drop))
}

/// Replaces a damaged file by its undamaged entries. The damaged file stays under another name. An
/// undamaged file is not changed.
pub fn salvage_store(path: &Path) -> Result<Salvage, Error> {
    let _lock = FileLock::acquire(path)?;
    let salvage = Salvage::read_file(path)?;
    if !salvage.damage.is_none() {
        replace(path, &salvage)?;
    }
    Ok(salvage)
}

/// Reads the file of a store that no process uses.
pub fn read_store(path: &Path) -> Result<Salvage, Error> {
    let _lock = FileLock::acquire(path)?;
    Salvage::read_file(path)
}

/// Creates a store with the entries of a backup. The file must not exist. The revisions of the store
/// continue far after those of the backup, so that clients list again.
pub fn restore_backup(path: &Path, backup: &Salvage) -> Result<(), Error> {
    let revision = backup.revision.saturating_add(RESTORE_REVISIONS);
    let _lock = FileLock::acquire(path)?;
    if path.try_exists().map_err(|source| errors::from_io("access", path, source))? {
        let source = io::ErrorKind::AlreadyExists.into();
        return Err(Error::Io { action: "create", path: path.into(), source });
    }
    create_file::write_entries(path, revision, &backup.entries, &backup.archive)
}
