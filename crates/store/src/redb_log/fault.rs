//! From what the system and redb say to what people can do about it.

use std::{io, path::Path};

use crate::Error;

pub(crate) fn io(doing: &'static str, path: &Path, source: io::Error) -> Error {
    let path = path.to_owned();
    match source.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            Error::DiskFull { path, source }
        }
        io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::PermissionDenied => {
            Error::ReadOnly { path, source }
        }
        io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof => {
            Error::Damaged { path, detail: source.to_string() }
        }
        _ => Error::Io { doing, path, source },
    }
}

pub(crate) fn redb(doing: &'static str, path: &Path, error: redb::Error) -> Error {
    let path_owned = path.to_owned();
    match error {
        redb::Error::Io(source) => io(doing, path, source),
        redb::Error::DatabaseAlreadyOpen => Error::Locked { path: path_owned, process: None },
        redb::Error::UpgradeRequired(found) => Error::Damaged {
            path: path_owned,
            detail: format!("it is in the old file format {found} of redb"),
        },
        redb::Error::Corrupted(detail) => Error::Damaged { path: path_owned, detail },
        redb::Error::RepairAborted => {
            Error::Damaged { path: path_owned, detail: "it cannot be repaired".into() }
        }
        error @ (redb::Error::TableDoesNotExist(_) | redb::Error::TableTypeMismatch { .. }) => {
            Error::Damaged { path: path_owned, detail: error.to_string() }
        }
        error => Error::Io { doing, path: path_owned, source: io::Error::other(error) },
    }
}
