//! A file that only its owner can read, and that replaces an existing one when it is complete.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

/// A file under a temporary name. It is removed unless it is committed.
pub(crate) struct PrivateFile {
    file: File,
    path: PathBuf,
    temporary: PathBuf,
}

impl PrivateFile {
    /// Creates the temporary file. Never opens an existing file or follows a link.
    pub(crate) fn create(path: &Path) -> io::Result<PrivateFile> {
        let mut temporary = path.as_os_str().to_owned();
        temporary.push(format!(".{}.new", std::process::id()));
        let temporary = PathBuf::from(temporary);
        let flags = OFlags::NOFOLLOW.bits().cast_signed();
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).mode(0o600).custom_flags(flags);
        let file = options.open(&temporary)?;
        Ok(PrivateFile { file, path: path.to_owned(), temporary })
    }

    pub(crate) fn temporary_path(&self) -> &Path {
        &self.temporary
    }

    /// Makes the file durable and renames it.
    pub(crate) fn commit(self) -> io::Result<()> {
        self.file.sync_all()?;
        fs::rename(&self.temporary, &self.path)
    }
}

impl Write for PrivateFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Drop for PrivateFile {
    fn drop(&mut self) {
        // After a commit the temporary name does not exist.
        let _ = fs::remove_file(&self.temporary);
    }
}
