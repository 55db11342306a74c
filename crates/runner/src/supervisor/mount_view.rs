//! Creates mount points that the machine does not have, in the container's mount namespace only.
//!
//! For a mount point directly below `/` the root is replaced by an empty one in memory, into which all
//! entries of the machine's root are bind-mounted. Elsewhere the folder that lacks the mount point is
//! covered by an overlay of itself whose changes are in memory; mounts below the folder are moved on top of
//! it. Nothing is created on the machine's own file systems.

use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::CWD;
use rustix::mount::{
    MountFlags, MoveMountFlags, OpenTreeFlags, mount, mount_bind_recursive, move_mount, open_tree,
};

use super::safe_open;
use crate::pod_plan::{MissingSource, MountPlan};

/// The file system view of a container.
#[derive(Debug)]
pub(super) struct MountView {
    run_folder: PathBuf,
    is_user_namespace: bool,
    has_tmpfs: bool,
    /// Folders that only this view sees, in which mount points may be created.
    owned: Vec<PathBuf>,
    overlays: u32,
}

impl MountView {
    pub(super) fn new(run_folder: &Path, is_user_namespace: bool) -> MountView {
        MountView {
            run_folder: run_folder.to_owned(),
            is_user_namespace,
            has_tmpfs: false,
            owned: Vec::new(),
            overlays: 0,
        }
    }

    /// Replaces the root if a mount point has to be created directly in it.
    pub(super) fn replace_root_if_needed(&mut self, mounts: &[MountPlan]) -> io::Result<()> {
        let is_in_root = |mount: &MountPlan| nearest_folder(&mount.target) == Path::new("/");
        let is_needed = |mount: &MountPlan| !mount.target.exists() && is_in_root(mount);
        if mounts.iter().any(is_needed) { self.replace_root() } else { Ok(()) }
    }

    /// Opens a mount point, and creates it if it does not exist. Also returns its path without links.
    ///
    /// A container may own a part of the path. Links are therefore resolved once, and what they lead to is
    /// then looked up again without following any.
    pub(super) fn create_mount_point(
        &mut self,
        target: &Path,
        is_folder: bool,
    ) -> io::Result<(PathBuf, OwnedFd)> {
        let path = match target.canonicalize() {
            Ok(existing) => existing,
            Err(_) => {
                let nearest = nearest_folder(target);
                let missing = target.strip_prefix(&nearest).map_err(io::Error::other)?.to_owned();
                let nearest = nearest.canonicalize()?;
                if !self.owned.iter().any(|owned| is_owned(owned, &nearest)) {
                    self.cover(&nearest)?;
                }
                nearest.join(missing)
            }
        };
        let root = safe_open::open_root(Path::new("/"))?;
        let relative = path.strip_prefix("/").map_err(io::Error::other)?;
        let missing =
            if is_folder { MissingSource::CreateFolder } else { MissingSource::CreateFile };
        let mount_point = safe_open::open(root, relative, missing)?;
        Ok((path, mount_point))
    }

    /// Marks a mounted volume as owned.
    pub(super) fn add_owned(&mut self, target: &Path) {
        self.owned.push(target.to_owned());
    }

    fn replace_root(&mut self) -> io::Result<()> {
        let root = self.run_folder.join("root");
        fs::create_dir_all(&root)?;
        mount("tmpfs", &root, "tmpfs", MountFlags::empty(), c"mode=0755")?;
        for entry in fs::read_dir("/")? {
            bind_root_entry(&entry?, &root)?;
        }
        rustix::process::chroot(&root)?;
        std::env::set_current_dir("/")?;
        // Only the new root itself: the entries in it are the machine's.
        self.owned.push(PathBuf::from("/"));
        Ok(())
    }

    /// Covers a folder with an overlay of itself.
    fn cover(&mut self, folder: &Path) -> io::Result<()> {
        if folder.as_os_str().as_bytes().iter().any(|byte| b",:\\".contains(byte)) {
            return Err(io::Error::other("the name of the directory is not valid for an overlay"));
        }
        let memory = self.overlay_folder()?;
        let upper = memory.join("upper");
        let work = memory.join("work");
        fs::create_dir_all(&upper)?;
        fs::create_dir_all(&work)?;
        let mut mounts_below: Vec<(PathBuf, OwnedFd)> = Vec::new();
        for path in mounted_below(folder)? {
            if let Ok(mount) = clone_mount(&path) {
                mounts_below.push((path, mount));
            }
        }
        let user = if self.is_user_namespace { ",userxattr" } else { "" };
        let options = format!(
            "lowerdir={},upperdir={},workdir={}{user}",
            folder.display(),
            upper.display(),
            work.display()
        );
        let options = std::ffi::CString::new(options)?;
        mount("overlay", folder, "overlay", MountFlags::empty(), options.as_c_str())?;
        for (path, mount) in mounts_below {
            move_mount(mount, c"", CWD, &path, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)?;
        }
        self.owned.push(folder.to_owned());
        Ok(())
    }

    /// The folder in memory of the next overlay.
    fn overlay_folder(&mut self) -> io::Result<PathBuf> {
        let memory = self.run_folder.join("memory");
        if !self.has_tmpfs {
            fs::create_dir_all(&memory)?;
            mount("tmpfs", &memory, "tmpfs", MountFlags::empty(), c"mode=0700")?;
            self.has_tmpfs = true;
        }
        self.overlays += 1;
        Ok(memory.join(self.overlays.to_string()))
    }
}

/// Whether mount points may be created in `folder`, because `owned` is seen only by this view.
fn is_owned(owned: &Path, folder: &Path) -> bool {
    if owned == Path::new("/") { folder == owned } else { folder.starts_with(owned) }
}

/// The deepest existing folder above a path.
pub(super) fn nearest_folder(target: &Path) -> PathBuf {
    let found = target.ancestors().skip(1).find(|folder| folder.is_dir());
    found.unwrap_or(Path::new("/")).to_owned()
}

/// Binds an entry of the machine's root into another root.
fn bind_root_entry(entry: &fs::DirEntry, root: &Path) -> io::Result<()> {
    let from = entry.path();
    let to = root.join(entry.file_name());
    let kind = entry.file_type()?;
    if kind.is_symlink() {
        return std::os::unix::fs::symlink(fs::read_link(&from)?, &to);
    }
    if kind.is_dir() {
        fs::create_dir(&to)?;
    } else {
        fs::write(&to, "")?;
    }
    Ok(mount_bind_recursive(&from, &to)?)
}

/// Clones a mount with all mounts below it.
fn clone_mount(path: &Path) -> rustix::io::Result<OwnedFd> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_RECURSIVE;
    open_tree(CWD, path, flags)
}

/// The topmost mounts below a folder.
fn mounted_below(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mounts = fs::read_to_string("/proc/self/mountinfo")?;
    Ok(topmost(&mounts, folder))
}

fn topmost(mounts: &str, folder: &Path) -> Vec<PathBuf> {
    let points = mounts.lines().filter_map(|line| line.split(' ').nth(4)).map(unescape);
    let mut below: Vec<PathBuf> =
        points.filter(|point| point != folder && point.starts_with(folder)).collect();
    below.sort();
    below.dedup_by(|later, earlier| later.starts_with(earlier));
    below
}

/// Decodes the octal escapes of spaces and similar characters.
pub(super) fn unescape(text: &str) -> PathBuf {
    let plain = text.replace("\\040", " ").replace("\\011", "\t").replace("\\012", "\n");
    PathBuf::from(plain.replace("\\134", "\\"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_topmost_mounts_below_a_folder_are_found() {
        let mounts = "1 0 0:1 / / rw - ext4 a rw\n2 1 0:2 / /dev rw - devtmpfs d rw\n\
                      3 2 0:3 / /dev/pts rw - devpts p rw\n4 2 0:4 / /dev/shm rw - tmpfs s rw\n\
                      5 4 0:5 / /dev/shm/deep rw - tmpfs s rw\n6 1 0:6 / /devices rw - tmpfs s rw\n";
        let found = topmost(mounts, Path::new("/dev"));
        assert_eq!(found, [PathBuf::from("/dev/pts"), PathBuf::from("/dev/shm")]);
    }

    #[test]
    fn the_nearest_folder_is_the_deepest_existing_one() {
        assert_eq!(nearest_folder(Path::new("/proc/none/deeper")), Path::new("/proc"));
        assert_eq!(nearest_folder(Path::new("/nowhere-at-all")), Path::new("/"));
    }

    #[test]
    fn a_replaced_root_is_owned_but_its_entries_are_not() {
        assert!(is_owned(Path::new("/"), Path::new("/")));
        assert!(!is_owned(Path::new("/"), Path::new("/etc")));
        assert!(is_owned(Path::new("/data"), Path::new("/data/sub")));
    }
}
