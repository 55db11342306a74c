//! Opens regular files without waiting, and reads a bounded part of them.
//!
//! Another process of the same user, such as a container, can put a FIFO, a device, a link or a huge
//! file in place of a file of ours. None of them may block or fill this process. An error of the kind
//! [`io::ErrorKind::InvalidData`] says what is in the place of the file and what to do.

use std::fs::{self, File, FileType, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::{FileTypeExt as _, OpenOptionsExt as _};
use std::path::Path;

use rustix::fs::OFlags;

/// The maximum size of a small text file: a token, a certificate, a name.
pub const TEXT_BYTES_MAX: u64 = 4 << 20;

/// The mode of a new file.
const OWNER_ONLY: u32 = 0o600;

/// Opens a regular file for reading.
pub fn open(path: &Path) -> io::Result<File> {
    open_regular(OpenOptions::new().read(true), path)
}

/// Opens a regular file of a user for reading, which a link may lead to.
pub fn open_linked(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).custom_flags(OFlags::NONBLOCK.bits().cast_signed());
    let opened = options.open(path);
    let file_type = match &opened {
        Ok(file) => file.metadata()?.file_type(),
        Err(_) => match fs::metadata(path) {
            Ok(metadata) => metadata.file_type(),
            Err(_) => return opened,
        },
    };
    require_regular(opened, file_type)
}

/// Opens a regular file for appending, and creates it if it does not exist. Only its owner can open the
/// new file.
pub fn open_append(path: &Path) -> io::Result<File> {
    open_regular(OpenOptions::new().create(true).append(true), path)
}

/// Opens a regular file for reading and writing, and creates it if it does not exist. Only its owner can
/// open the new file.
pub fn open_or_create(path: &Path) -> io::Result<File> {
    open_regular(OpenOptions::new().create(true).truncate(false).read(true).write(true), path)
}

/// Creates an empty file in place of what has its name. Only its owner can open it.
pub fn create(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(OWNER_ONLY);
    match options.open(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            fs::remove_file(path)?;
            options.open(path)
        }
        result => result,
    }
}

/// Reads a regular file of at most this size.
pub fn read(path: &Path, bytes_max: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path)?.take(bytes_max.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > bytes_max {
        return Err(unusable(&format!("has more than {bytes_max} bytes")));
    }
    Ok(bytes)
}

/// Reads a regular file of at most [`TEXT_BYTES_MAX`] bytes.
pub fn read_text(path: &Path) -> io::Result<String> {
    String::from_utf8(read(path, TEXT_BYTES_MAX)?).map_err(|_| unusable("is not a text"))
}

/// Opens a file without waiting for the other end of a FIFO and without following a link.
fn open_regular(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    let flags = (OFlags::NONBLOCK | OFlags::NOFOLLOW).bits().cast_signed();
    let opened = options.mode(OWNER_ONLY).custom_flags(flags).open(path);
    let file_type = match &opened {
        Ok(file) => file.metadata()?.file_type(),
        // What cannot be opened for writing, or at all, may be something else than a file.
        Err(_) => match fs::symlink_metadata(path) {
            Ok(metadata) => metadata.file_type(),
            Err(_) => return opened,
        },
    };
    require_regular(opened, file_type)
}

fn require_regular(opened: io::Result<File>, file_type: FileType) -> io::Result<File> {
    match describe(file_type) {
        None => opened,
        Some(found) => Err(unusable(&format!("is {found} and not a regular file"))),
    }
}

/// Returns what is in the place of a regular file.
fn describe(file_type: FileType) -> Option<&'static str> {
    if file_type.is_file() {
        return None;
    }
    Some(if file_type.is_symlink() {
        "a link"
    } else if file_type.is_dir() {
        "a directory"
    } else if file_type.is_fifo() {
        "a FIFO"
    } else if file_type.is_socket() {
        "a socket"
    } else {
        "a device"
    })
}

fn unusable(found: &str) -> io::Error {
    let message = format!("it {found}; remove it, or put the right file in its place");
    io::Error::new(io::ErrorKind::InvalidData, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn create_fifo(path: &Path) {
        let mode = rustix::fs::Mode::from_raw_mode(OWNER_ONLY);
        let fifo = rustix::fs::FileType::Fifo;
        rustix::fs::mknodat(rustix::fs::CWD, path, fifo, mode, 0).unwrap();
    }

    #[test]
    fn fifos_links_folders_sockets_and_huge_files_are_refused_without_waiting() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        create_fifo(&path("a FIFO"));
        fs::write(path("file"), "12345").unwrap();
        std::os::unix::fs::symlink("file", path("a link")).unwrap();
        fs::create_dir(path("a directory")).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(path("a socket")).unwrap();
        for name in ["a FIFO", "a link", "a directory", "a socket"] {
            let opened = [
                read(&path(name), 100).map(drop),
                open_append(&path(name)).map(drop),
                open_or_create(&path(name)).map(drop),
            ];
            for result in opened {
                let error = result.unwrap_err();
                assert_eq!(error.kind(), io::ErrorKind::InvalidData, "{name}: {error}");
                assert!(error.to_string().contains(name), "{name}: {error}");
            }
        }
        assert!(read(Path::new("/dev/zero"), 100).unwrap_err().to_string().contains("a device"));
        assert_eq!(read(&path("file"), 5).unwrap(), b"12345");
        assert_eq!(read(&path("file"), 4).unwrap_err().kind(), io::ErrorKind::InvalidData);
        assert_eq!(read(&path("none"), 4).unwrap_err().kind(), io::ErrorKind::NotFound);
        fs::write(path("binary"), [0xff]).unwrap();
        assert_eq!(read_text(&path("binary")).unwrap_err().kind(), io::ErrorKind::InvalidData);
    }

    #[test]
    fn a_link_may_lead_to_a_file_of_a_user_and_to_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        create_fifo(&path("fifo"));
        fs::write(path("file"), "12345").unwrap();
        for target in ["file", "fifo", "none"] {
            std::os::unix::fs::symlink(target, path(&format!("to-{target}"))).unwrap();
        }
        assert!(open_linked(&path("to-file")).is_ok());
        for name in ["fifo", "to-fifo"] {
            let error = open_linked(&path(name)).unwrap_err();
            assert!(error.to_string().contains("is a FIFO"), "{name}: {error}");
        }
        let error = open_linked(&path("to-none")).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn a_new_file_replaces_what_has_its_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        create_fifo(&path("fifo"));
        fs::write(path("file"), "12345").unwrap();
        std::os::unix::fs::symlink("file", path("link")).unwrap();
        for name in ["fifo", "link"] {
            create(&path(name)).unwrap();
            assert!(path(name).symlink_metadata().unwrap().is_file(), "{name}");
        }
        assert_eq!(fs::read(path("file")).unwrap(), b"12345", "the link was not followed");
    }
}
