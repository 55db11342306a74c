//! Opens and creates paths below a folder without following links.
//!
//! The folder may be writable for a container, which could replace any part of the path by a link to another
//! place of the machine, even while we open the path. Every part is therefore opened relative to the part before
//! it, and a link is an error.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Component, Path};

use rustix::fs::{FileType, Mode, OFlags, fstat, mkdirat, openat};
use rustix::io::Errno;

use crate::pod_plan::MissingSource;

/// Opens a folder that we trust, as the start of paths below it.
pub(super) fn open_root(path: &Path) -> io::Result<OwnedFd> {
    Ok(rustix::fs::open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?)
}

/// Opens a path below a folder. Creates its missing parts as `missing` says: folders, and a folder or an
/// empty file at its end.
pub(super) fn open(
    root: impl AsFd,
    relative: &Path,
    missing: MissingSource,
) -> io::Result<OwnedFd> {
    let mut current = openat(root, ".", OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
    let mut parts = relative.components().peekable();
    while let Some(part) = parts.next() {
        let name = match part {
            Component::Normal(name) => Path::new(name),
            Component::CurDir => continue,
            _ => return Err(io::Error::other("the path leads out of its volume")),
        };
        let is_last = parts.peek().is_none();
        current = match open_part(&current, name) {
            Err(error) if is_missing(&error) && missing != MissingSource::Fail => {
                create_part(&current, name, is_last && missing == MissingSource::CreateFile)?;
                open_part(&current, name)?
            }
            other => other?,
        };
    }
    Ok(current)
}

fn is_missing(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound
}

fn open_part(folder: &OwnedFd, name: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let part = openat(folder, name, flags, Mode::empty())?;
    if FileType::from_raw_mode(fstat(&part)?.st_mode) == FileType::Symlink {
        let message = format!("{:?} is a link, and links are not followed", name.display());
        return Err(io::Error::other(message));
    }
    Ok(part)
}

fn create_part(folder: &OwnedFd, name: &Path, is_file: bool) -> io::Result<()> {
    let created = if is_file {
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
        openat(folder, name, flags, Mode::from_raw_mode(0o644)).map(drop)
    } else {
        mkdirat(folder, name, Mode::from_raw_mode(0o755))
    };
    match created {
        // Another container of the Pod has created it at the same time.
        Err(Errno::EXIST) => Ok(()),
        other => Ok(other?),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn paths_are_created_below_the_folder_and_links_are_not_followed() {
        let data = tempfile::tempdir().unwrap();
        let outside = data.path().join("outside");
        let volume = data.path().join("volume");
        fs::create_dir_all(volume.join("a")).unwrap();
        fs::create_dir(&outside).unwrap();
        symlink(&outside, volume.join("link")).unwrap();
        symlink(outside.join("new"), volume.join("a/dangling")).unwrap();
        let root = open_root(&volume).unwrap();
        let folder = MissingSource::CreateFolder;
        open(&root, Path::new("a/b/c"), folder).unwrap();
        open(&root, Path::new("a/x/file"), MissingSource::CreateFile).unwrap();
        assert!(volume.join("a/b/c").is_dir() && volume.join("a/x/file").is_file());
        for path in ["link", "link/x", "link/x/y", "a/dangling", "../outside", "/etc"] {
            for missing in [folder, MissingSource::CreateFile, MissingSource::Fail] {
                assert!(open(&root, Path::new(path), missing).is_err(), "{path}");
            }
        }
        assert_eq!(fs::read_dir(&outside).unwrap().count(), 0, "nothing was created outside");
        let missing = open(&root, Path::new("none"), MissingSource::Fail).unwrap_err();
        assert_eq!(missing.kind(), io::ErrorKind::NotFound);
    }
}
