//! Opens files of a Pod's folder without waiting, and reads a bounded part of them.
//!
//! A container that runs as our own user can put a FIFO, a link or a huge file in place of our files. None of
//! them may block or fill the daemon or a supervisor.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use rustix::fs::OFlags;

/// The flags with which an open neither waits for the other end of a FIFO nor follows a link.
fn no_wait_flags() -> i32 {
    (OFlags::NONBLOCK | OFlags::NOFOLLOW).bits().cast_signed()
}

/// Opens a regular file for reading. The error has the kind `InvalidData` if the path is something else.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    check_regular(OpenOptions::new().read(true).custom_flags(no_wait_flags()).open(path))
}

/// Opens a regular file for appending, and creates it if it does not exist.
pub(crate) fn open_append(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.create(true).append(true).mode(0o600).custom_flags(no_wait_flags());
    check_regular(options.open(path))
}

/// Creates an empty file in place of what has its name.
pub(crate) fn create(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(0o600);
    match options.open(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            fs::remove_file(path)?;
            options.open(path)
        }
        result => result,
    }
}

/// Reads a regular file of at most this size.
pub(crate) fn read(path: &Path, bytes_max: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path)?.take(bytes_max.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > bytes_max {
        return Err(unusable(format!("is larger than {bytes_max} bytes")));
    }
    Ok(bytes)
}

fn check_regular(opened: io::Result<File>) -> io::Result<File> {
    let file = match opened {
        // A link, or a FIFO that no process reads.
        Err(error) if is_errno(&error, rustix::io::Errno::LOOP) => {
            return Err(unusable("is a link".to_owned()));
        }
        Err(error) if is_errno(&error, rustix::io::Errno::NXIO) => {
            return Err(unusable("is not a regular file".to_owned()));
        }
        other => other?,
    };
    if file.metadata()?.is_file() {
        Ok(file)
    } else {
        Err(unusable("is not a regular file".to_owned()))
    }
}

fn is_errno(error: &io::Error, errno: rustix::io::Errno) -> bool {
    error.raw_os_error() == Some(errno.raw_os_error())
}

fn unusable(why: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fifos_links_folders_and_huge_files_are_refused_without_waiting() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let mode = rustix::fs::Mode::from_raw_mode(0o600);
        rustix::fs::mknodat(rustix::fs::CWD, path("fifo"), rustix::fs::FileType::Fifo, mode, 0)
            .unwrap();
        fs::write(path("file"), "12345").unwrap();
        std::os::unix::fs::symlink("file", path("link")).unwrap();
        fs::create_dir(path("folder")).unwrap();
        for name in ["fifo", "link", "folder"] {
            let error = read(&path(name), 100).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidData, "{name}: {error}");
        }
        assert_eq!(read(&path("file"), 5).unwrap(), b"12345");
        assert_eq!(read(&path("file"), 4).unwrap_err().kind(), io::ErrorKind::InvalidData);
        assert_eq!(read(&path("none"), 4).unwrap_err().kind(), io::ErrorKind::NotFound);
        assert!(open_append(&path("fifo")).is_err());
        create(&path("fifo")).unwrap();
        create(&path("link")).unwrap();
        assert!(path("fifo").is_file());
        assert_eq!(fs::read(path("file")).unwrap(), b"12345", "the link was not followed");
    }
}
