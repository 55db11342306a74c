//! The lock against a second process: a file beside the store that names who holds it.
//!
//! The lock belongs to the open file, so it is gone with its process however that ended; the file
//! stays and means nothing by itself. The database under us locks its own file as well, but it
//! cannot say who has it, and it does not yet exist while a new store is made.

use std::{
    fs::{File, OpenOptions, TryLockError},
    io::{self, Read, Seek, Write},
    path::{Path, PathBuf},
    process,
};

use crate::{Error, redb_log::fault};

/// A process number has at most so many digits.
const DIGITS_MAX: u64 = 20;

/// Held as long as it lives.
#[derive(Debug)]
pub(crate) struct Lock {
    _file: File,
}

impl Lock {
    pub(crate) fn take(store: &Path) -> Result<Self, Error> {
        let path = beside(store, "lock");
        let failed = |source| fault::io("lock", &path, source);
        let mut options = OpenOptions::new();
        let mut file = options
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .map_err(failed)?;
        match file.try_lock() {
            Ok(()) => sign(&mut file).map_err(failed)?,
            Err(TryLockError::Error(source)) => return Err(failed(source)),
            Err(TryLockError::WouldBlock) => {
                return Err(Error::Locked { path: store.into(), process: holder(&mut file) });
            }
        }
        Ok(Self { _file: file })
    }
}

/// A file next to the store: its name and a suffix.
pub(crate) fn beside(store: &Path, suffix: &str) -> PathBuf {
    let mut name = store.as_os_str().to_owned();
    name.push(".");
    name.push(suffix);
    name.into()
}

fn sign(file: &mut File) -> io::Result<()> {
    file.set_len(0)?;
    file.rewind()?;
    write!(file, "{}", process::id())
}

/// The holder may be signing just now, so no number is no surprise.
fn holder(file: &mut File) -> Option<u32> {
    let mut text = String::new();
    file.take(DIGITS_MAX).read_to_string(&mut text).ok()?;
    text.parse().ok()
}
