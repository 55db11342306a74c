//! Detects that an open file was deleted or replaced under its path.

use std::{
    fs::{self, Metadata},
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

use crate::Error;

/// The path of an open file, and which file it had when it was opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileLocation {
    path: PathBuf,
    device: u64,
    inode: u64,
}

impl FileLocation {
    pub(crate) fn new(path: &Path, metadata: &Metadata) -> Self {
        Self { path: path.into(), device: metadata.dev(), inode: metadata.ino() }
    }

    /// Fails if the path has no file or another one. Writes to the open file would be lost then.
    pub(crate) fn check(&self) -> Result<(), Error> {
        let is_same = fs::metadata(&self.path)
            .is_ok_and(|found| (found.dev(), found.ino()) == (self.device, self.inode));
        if is_same { Ok(()) } else { Err(Error::Replaced { path: self.path.clone() }) }
    }
}
