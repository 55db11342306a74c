//! Files that only their owner may read, written whole or not at all.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use super::PkiError;
use crate::secret_file;

/// Makes a folder that only its owner may enter.
pub(super) fn folder(folder: &Path) -> Result<(), PkiError> {
    secret_file::create_folder(folder).map_err(|source| failed("make", folder, source))
}

/// What a file holds, or what is made for it if there is none.
pub(super) fn read_or_make(
    path: &Path,
    make: impl FnOnce() -> Result<String, PkiError>,
) -> Result<String, PkiError> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(text),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let text = make()?;
            write(path, &text)?;
            Ok(text)
        }
        Err(source) => Err(failed("read", path, source)),
    }
}

/// Writes a file beside its place, then puts it there, so that a crash leaves the old one or the new.
pub(super) fn write(path: &Path, text: &str) -> Result<(), PkiError> {
    let mut aside = path.to_owned().into_os_string();
    aside.push(".new");
    let aside = std::path::PathBuf::from(aside);
    let written = secret_file::create_options().write(true).truncate(true).open(&aside).and_then(
        |mut file| {
            file.write_all(text.as_bytes())?;
            file.sync_all()
        },
    );
    written.and_then(|()| fs::rename(&aside, path)).map_err(|source| failed("write", path, source))
}

fn failed(doing: &'static str, path: &Path, source: io::Error) -> PkiError {
    PkiError::File { doing, path: path.to_owned(), source }
}
