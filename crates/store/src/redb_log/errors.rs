//! Converts errors of the operating system and of redb.

use std::{io, path::Path};

use crate::Error;

/// Converts an error of [`punctual_files`], which uses `InvalidData` if something else is
/// in the place of the file. That is not damage of the store.
pub(crate) fn from_open(action: &'static str, path: &Path, source: io::Error) -> Error {
    match source.kind() {
        io::ErrorKind::InvalidData => Error::Io { action, path: path.to_owned(), source },
        _ => from_io(action, path, source),
    }
}

pub(crate) fn from_io(action: &'static str, path: &Path, source: io::Error) -> Error {
    let path = path.to_owned();
    match source.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            Error::DiskFull { path, source }
        }
        io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::PermissionDenied => {
            Error::ReadOnly { path, source }
        }
        io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof => {
            Error::Corrupted { path, detail: source.to_string() }
        }
        _ => Error::Io { action, path, source },
    }
}

pub(crate) fn from_redb(action: &'static str, path: &Path, error: redb::Error) -> Error {
    let path_owned = path.to_owned();
    match error {
        redb::Error::Io(source) => from_io(action, path, source),
        redb::Error::DatabaseAlreadyOpen => Error::Locked { path: path_owned, process: None },
        redb::Error::UpgradeRequired(found) => Error::Corrupted {
            path: path_owned,
            detail: format!("it has the old redb file format {found}"),
        },
        redb::Error::Corrupted(detail) => Error::Corrupted { path: path_owned, detail },
        redb::Error::RepairAborted => {
            Error::Corrupted { path: path_owned, detail: "redb cannot repair it".into() }
        }
        error @ (redb::Error::TableDoesNotExist(_) | redb::Error::TableTypeMismatch { .. }) => {
            Error::Corrupted { path: path_owned, detail: error.to_string() }
        }
        error => Error::Io { action, path: path_owned, source: io::Error::other(error) },
    }
}
