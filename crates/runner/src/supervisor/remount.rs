//! Places to mount at that the machine does not have, made in the container's view alone.
//!
//! Below `/` that is another root: an empty one in memory, in which everything of the machine's is
//! bound where it was. Elsewhere the folder that lacks the place is covered by an overlay of itself
//! whose changes lie in memory; what is mounted below it is put back on top. Nothing is ever
//! created on the machine's own file systems.

use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::CWD;
use rustix::mount::{
    MountFlags, MoveMountFlags, OpenTreeFlags, mount, mount_bind_recursive, move_mount, open_tree,
};

use crate::plan::MountPlan;

/// The view of a container that is being built.
#[derive(Debug)]
pub(super) struct View {
    run: PathBuf,
    is_user_namespace: bool,
    has_memory: bool,
    /// Folders in which places may be made, because they are this view's alone.
    owned: Vec<PathBuf>,
    overlays: u32,
}

impl View {
    pub(super) fn new(run: &Path, is_user_namespace: bool) -> View {
        let run = run.to_owned();
        View { run, is_user_namespace, has_memory: false, owned: Vec::new(), overlays: 0 }
    }

    /// Makes another root if one of the places would lie directly in it.
    pub(super) fn make_places(&mut self, mounts: &[MountPlan]) -> io::Result<()> {
        let is_in_root = |mount: &MountPlan| nearest(&mount.target) == Path::new("/");
        let lacks = |mount: &MountPlan| !mount.target.exists() && is_in_root(mount);
        if mounts.iter().any(lacks) { self.make_root() } else { Ok(()) }
    }

    /// Makes sure that there is something to mount on.
    pub(super) fn make_place(&mut self, target: &Path, is_folder: bool) -> io::Result<()> {
        if target.symlink_metadata().is_ok() {
            return Ok(());
        }
        let nearest = nearest(target);
        if !self.owned.iter().any(|owned| owns(owned, &nearest)) {
            self.cover(&nearest)?;
        }
        if is_folder {
            return fs::create_dir_all(target);
        }
        target.parent().map_or(Ok(()), fs::create_dir_all)?;
        fs::write(target, "")
    }

    /// Remembers that what is here is the Pod's.
    pub(super) fn own(&mut self, target: &Path) {
        self.owned.push(target.to_owned());
    }

    fn make_root(&mut self) -> io::Result<()> {
        let root = self.run.join("root");
        fs::create_dir_all(&root)?;
        mount("tmpfs", &root, "tmpfs", MountFlags::empty(), c"mode=0755")?;
        for entry in fs::read_dir("/")? {
            keep(&entry?, &root)?;
        }
        rustix::process::chroot(&root)?;
        std::env::set_current_dir("/")?;
        // The folder itself and no deeper: what was bound into it is the machine's.
        self.owned.push(PathBuf::from("/"));
        Ok(())
    }

    /// Covers a folder with an overlay of itself.
    fn cover(&mut self, folder: &Path) -> io::Result<()> {
        if folder.as_os_str().as_bytes().iter().any(|byte| b",:\\".contains(byte)) {
            return Err(io::Error::other("a folder with such a name cannot be covered"));
        }
        let memory = self.memory()?;
        let (upper, work) = (memory.join("upper"), memory.join("work"));
        fs::create_dir_all(&upper)?;
        fs::create_dir_all(&work)?;
        let below = mounted_below(folder)?;
        let kept: Vec<(PathBuf, OwnedFd)> =
            below.into_iter().filter_map(|path| Some((path.clone(), take(&path).ok()?))).collect();
        let user = if self.is_user_namespace { ",userxattr" } else { "" };
        let options = format!(
            "lowerdir={},upperdir={},workdir={}{user}",
            folder.display(),
            upper.display(),
            work.display()
        );
        let options = std::ffi::CString::new(options)?;
        mount("overlay", folder, "overlay", MountFlags::empty(), options.as_c_str())?;
        for (path, tree) in kept {
            move_mount(tree, c"", CWD, &path, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)?;
        }
        self.owned.push(folder.to_owned());
        Ok(())
    }

    /// A folder in memory for the next overlay.
    fn memory(&mut self) -> io::Result<PathBuf> {
        let memory = self.run.join("memory");
        if !self.has_memory {
            fs::create_dir_all(&memory)?;
            mount("tmpfs", &memory, "tmpfs", MountFlags::empty(), c"mode=0700")?;
            self.has_memory = true;
        }
        self.overlays += 1;
        Ok(memory.join(self.overlays.to_string()))
    }
}

/// Whether a place in `folder` may be made because `owned` is this view's alone.
fn owns(owned: &Path, folder: &Path) -> bool {
    if owned == Path::new("/") { folder == owned } else { folder.starts_with(owned) }
}

/// The deepest folder on the way to a place that exists.
fn nearest(target: &Path) -> PathBuf {
    let found = target.ancestors().skip(1).find(|folder| folder.is_dir());
    found.unwrap_or(Path::new("/")).to_owned()
}

/// Keeps an entry of the machine's root in another one.
fn keep(entry: &fs::DirEntry, root: &Path) -> io::Result<()> {
    let (from, to) = (entry.path(), root.join(entry.file_name()));
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

/// A copy of what is mounted somewhere, with everything below it.
fn take(path: &Path) -> rustix::io::Result<OwnedFd> {
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

/// Spaces and the like are written as octal numbers.
fn unescape(text: &str) -> PathBuf {
    let plain = text.replace("\\040", " ").replace("\\011", "\t").replace("\\012", "\n");
    PathBuf::from(plain.replace("\\134", "\\"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_topmost_mounts_below_a_folder_are_put_back() {
        let mounts = "1 0 0:1 / / rw - ext4 a rw\n2 1 0:2 / /dev rw - devtmpfs d rw\n\
                      3 2 0:3 / /dev/pts rw - devpts p rw\n4 2 0:4 / /dev/shm rw - tmpfs s rw\n\
                      5 4 0:5 / /dev/shm/deep rw - tmpfs s rw\n6 1 0:6 / /devices rw - tmpfs s rw\n";
        let found = topmost(mounts, Path::new("/dev"));
        assert_eq!(found, [PathBuf::from("/dev/pts"), PathBuf::from("/dev/shm")]);
    }

    #[test]
    fn the_nearest_folder_is_the_deepest_that_exists() {
        assert_eq!(nearest(Path::new("/proc/none/deeper")), Path::new("/proc"));
        assert_eq!(nearest(Path::new("/nowhere-at-all")), Path::new("/"));
    }

    #[test]
    fn another_root_is_owned_itself_but_not_what_is_bound_into_it() {
        assert!(owns(Path::new("/"), Path::new("/")));
        assert!(!owns(Path::new("/"), Path::new("/etc")));
        assert!(owns(Path::new("/data"), Path::new("/data/sub")));
    }
}
