//! Files that only their owner may read. They are replaced atomically.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use super::PkiError;
use crate::secret_file;

/// Creates a folder that only its owner may enter.
pub(super) fn create_folder(folder: &Path) -> Result<(), PkiError> {
    secret_file::create_folder(folder).map_err(|source| file_error("create", folder, source))
}

/// Reads a file. If it does not exist, creates it first.
pub(super) fn read_or_create(
    path: &Path,
    create: impl FnOnce() -> Result<String, PkiError>,
) -> Result<String, PkiError> {
    match punctual_files::read_text(path) {
        Ok(text) => Ok(text),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let text = create()?;
            write(path, &text)?;
            Ok(text)
        }
        Err(source) => Err(file_error("read", path, source)),
    }
}

/// Writes a temporary file and renames it, so that a crash leaves either the old file or the new
/// one.
pub(super) fn write(path: &Path, text: &str) -> Result<(), PkiError> {
    let mut temporary = path.to_owned().into_os_string();
    temporary.push(".new");
    let temporary = std::path::PathBuf::from(temporary);
    replace(path, &temporary, text).map_err(|source| file_error("write", path, source))
}

fn replace(path: &Path, temporary: &Path, text: &str) -> io::Result<()> {
    let mut file = secret_file::create_new(temporary)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    fs::rename(temporary, path)
}

pub(super) fn file_error(action: &'static str, path: &Path, source: io::Error) -> PkiError {
    PkiError::File { action, path: path.to_owned(), source }
}
