//! The lock against a second process: a file next to the store with the ID of the process.
//!
//! The operating system releases the lock when the process ends for any reason. The file itself
//! stays; without a lock it has no effect. redb locks its own file too, but it does not know which process has the
//! lock, and its file does not exist while a new store is created.

use std::{
    fs::{File, OpenOptions, TryLockError},
    io::{self, Read, Seek, Write},
    path::{Path, PathBuf},
    process,
};

use crate::{Error, file_location::FileLocation, redb_log::errors};

/// The maximum number of digits of a process ID.
const DIGITS_MAX: u64 = 20;

/// The lock of a store. Dropping it releases the lock.
#[derive(Debug)]
pub(crate) struct FileLock {
    file: File,
    path: PathBuf,
}

impl FileLock {
    /// Locks a store, or fails with [`Error::Locked`] if another process has locked it.
    pub(crate) fn acquire(store: &Path) -> Result<Self, Error> {
        let path = sibling_path(store, "lock");
        let failed = |source| errors::from_open("lock", &path, source);
        let mut file = punctual_files::open_or_create(&path).map_err(failed)?;
        match file.try_lock() {
            Ok(()) => write_process_id(&mut file).map_err(failed)?,
            Err(TryLockError::Error(source)) => return Err(failed(source)),
            Err(TryLockError::WouldBlock) => {
                let process = read_process_id(&mut file);
                return Err(Error::Locked { path: store.into(), process });
            }
        }
        Ok(Self { file, path })
    }

    /// Identifies the lock file, to find out later whether it was deleted or replaced.
    pub(crate) fn location(&self) -> Result<FileLocation, Error> {
        let metadata = self.file.metadata();
        let metadata = metadata.map_err(|source| errors::from_io("lock", &self.path, source))?;
        Ok(FileLocation::new(&self.path, &metadata))
    }
}

/// Returns options that open a file for reading and writing, and create it so that only its owner can
/// open it.
pub(crate) fn owner_only() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// Returns the path of a file next to the store: the path of the store with a suffix.
pub(crate) fn sibling_path(store: &Path, suffix: &str) -> PathBuf {
    let mut name = store.as_os_str().to_owned();
    name.push(".");
    name.push(suffix);
    name.into()
}

fn write_process_id(file: &mut File) -> io::Result<()> {
    file.set_len(0)?;
    file.rewind()?;
    write!(file, "{}", process::id())
}

/// Reads the ID of the process that has the lock; `None` while that process writes it.
fn read_process_id(file: &mut File) -> Option<u32> {
    let mut text = String::new();
    file.take(DIGITS_MAX).read_to_string(&mut text).ok()?;
    text.parse().ok()
}
