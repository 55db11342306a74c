//! Removes a folder with everything in it, whatever a container has put there.
//!
//! Folders that are not empty are moved up to the top folder and emptied there, so a tree of any depth needs
//! neither stack nor descriptors in proportion. Links are removed, never followed.

use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{AsFd, AsRawFd as _, OwnedFd};
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Dir, Mode, OFlags, fstat, openat, renameat, unlinkat};
use rustix::io::Errno;

/// Removes a folder and its content, or a file. Continues after an error and returns the first one. Succeeds
/// if there is nothing to remove.
pub(super) fn remove_tree(path: &Path) -> io::Result<()> {
    let top = match open_folder(CWD, path) {
        Ok(top) => top,
        Err(Errno::NOENT) => return Ok(()),
        Err(Errno::NOTDIR | Errno::LOOP) => return std::fs::remove_file(path),
        Err(error) => return Err(error.into()),
    };
    let device = fstat(&top)?.st_dev;
    let mut removal = TreeRemoval { top, device, moved: 0, has_progress: true, error: None };
    while removal.has_progress {
        removal.has_progress = false;
        removal.error = None;
        removal.empty_top()?;
    }
    match removal.error {
        Some(error) => Err(error.into()),
        None => Ok(unlinkat(CWD, path, AtFlags::REMOVEDIR)?),
    }
}

struct TreeRemoval {
    top: OwnedFd,
    /// The file system of the folder. Others are not entered.
    device: u64,
    /// The number of folders that were moved up.
    moved: u64,
    /// Whether this pass has removed or moved something.
    has_progress: bool,
    /// The first error of this pass.
    error: Option<Errno>,
}

/// The result of removing one entry of a folder.
enum EntryRemoval {
    Removed,
    IsFilledFolder,
}

impl TreeRemoval {
    /// Removes the files and the empty folders of the top folder, and empties its other folders.
    fn empty_top(&mut self) -> rustix::io::Result<()> {
        for name in names(&self.top)? {
            let name = name?;
            let result = match remove_entry(&self.top, &name) {
                Ok(EntryRemoval::IsFilledFolder) => self.empty_folder(&name),
                other => other.map(|_| ()),
            };
            self.record(result);
        }
        Ok(())
    }

    /// Removes what a folder has, moves its filled folders up, and removes the folder.
    fn empty_folder(&mut self, name: &CStr) -> rustix::io::Result<()> {
        let folder = open_folder(&self.top, name)?;
        if fstat(&folder)?.st_dev != self.device {
            return Err(Errno::XDEV);
        }
        for child in names(&folder)? {
            let child = child?;
            let result = match remove_entry(&folder, &child) {
                Ok(EntryRemoval::IsFilledFolder) => self.move_up(&folder, &child),
                other => other.map(|_| ()),
            };
            self.record(result);
        }
        drop(folder);
        unlinkat(&self.top, name, AtFlags::REMOVEDIR)
    }

    fn move_up(&mut self, folder: &OwnedFd, name: &CStr) -> rustix::io::Result<()> {
        // A user can move a folder only with the right to write in it.
        drop(open_folder(folder, name)?);
        loop {
            self.moved += 1;
            match renameat(folder, name, &self.top, format!("moved-{}", self.moved)) {
                // The name is taken.
                Err(Errno::EXIST | Errno::NOTEMPTY | Errno::NOTDIR) => {}
                result => return result,
            }
        }
    }

    fn record(&mut self, result: rustix::io::Result<()>) {
        match result {
            Ok(()) => self.has_progress = true,
            Err(error) => self.error = self.error.or(Some(error)),
        }
    }
}

/// Opens a folder, no link, with all rights of its owner.
fn open_folder<P: rustix::path::Arg + Copy>(at: impl AsFd, name: P) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let path = openat(&at, name, flags | OFlags::PATH, Mode::empty())?;
    if fstat(&path)?.st_mode & 0o700 != 0o700 {
        // Fails if another user owns it. The attempt to read it then tells the reason.
        let link = format!("/proc/self/fd/{}", path.as_raw_fd());
        let _ = rustix::fs::chmod(link, Mode::RWXU);
    }
    openat(path, c".", flags, Mode::empty())
}

fn remove_entry(folder: &OwnedFd, name: &CStr) -> rustix::io::Result<EntryRemoval> {
    match unlinkat(folder, name, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => return Ok(EntryRemoval::Removed),
        Err(Errno::ISDIR | Errno::PERM) => {}
        Err(error) => return Err(error),
    }
    match unlinkat(folder, name, AtFlags::REMOVEDIR) {
        Ok(()) | Err(Errno::NOENT) => Ok(EntryRemoval::Removed),
        Err(Errno::NOTEMPTY | Errno::EXIST) => Ok(EntryRemoval::IsFilledFolder),
        Err(error) => Err(error),
    }
}

/// The names in a folder. They may change meanwhile; then another pass is needed.
fn names(
    folder: &OwnedFd,
) -> rustix::io::Result<impl Iterator<Item = rustix::io::Result<CString>> + use<>> {
    let entries = Dir::read_from(folder)?;
    let names = entries.map(|entry| entry.map(|entry| entry.file_name().to_owned()));
    Ok(names.filter(|name| !matches!(name, Ok(name) if [c".", c".."].contains(&name.as_c_str()))))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    #[test]
    fn a_tree_with_links_and_closed_folders_is_removed_and_links_are_not_followed() {
        let data = tempfile::tempdir().unwrap();
        let tree = data.path().join("tree");
        let outside = data.path().join("outside");
        fs::create_dir(&outside).unwrap();
        fs::write(outside.join("file"), "").unwrap();
        fs::create_dir_all(tree.join("a/b/c")).unwrap();
        fs::create_dir_all(tree.join("moved-1/d")).unwrap();
        fs::write(tree.join("moved-2"), "").unwrap();
        fs::write(tree.join("a/b/c/file"), "").unwrap();
        symlink(&outside, tree.join("a/link")).unwrap();
        for closed in ["a/b/c", "a/b"] {
            fs::set_permissions(tree.join(closed), fs::Permissions::from_mode(0o000)).unwrap();
        }
        remove_tree(&tree).unwrap();
        assert!(!tree.exists());
        assert!(outside.join("file").exists());
        remove_tree(&tree).unwrap();
        symlink(&outside, &tree).unwrap();
        remove_tree(&tree).unwrap();
        assert!(tree.symlink_metadata().is_err() && outside.join("file").exists());
    }

    /// A recursive removal needs a descriptor and a part of the stack for each level.
    #[test]
    fn a_tree_deeper_than_the_longest_path_is_removed() {
        let data = tempfile::tempdir().unwrap();
        let tree = data.path().join("tree");
        fs::create_dir(&tree).unwrap();
        let mut current = open_folder(CWD, tree.as_path()).unwrap();
        for _ in 0..3000 {
            rustix::fs::mkdirat(&current, c"d", Mode::RWXU).unwrap();
            current = open_folder(&current, c"d").unwrap();
        }
        drop(current);
        remove_tree(&tree).unwrap();
        assert!(!tree.exists());
    }
}
