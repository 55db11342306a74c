//! Hides the data directory from a container, in the container's mount namespace.
//!
//! The data directory has the keys and tokens of the server, its store, and the folders of other Pods. An empty
//! folder in memory is mounted over it, and what belongs to the container is mounted again in that folder: its
//! working directory, its termination log and the volumes of its Pod.

use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::mount::{MountFlags, UnmountFlags, mount, mount_remount, unmount};

use super::mounts::attach;
use super::safe_open;
use crate::pod_folder::{PodFolder, create_private};
use crate::pod_plan::MissingSource;

/// The flags of the mount that hides the data directory.
const FLAGS: MountFlags = MountFlags::NOSUID.union(MountFlags::NODEV);

/// The data directory and what a container sees of it.
pub(super) struct HiddenData {
    data_dir: PathBuf,
    run_folder: PathBuf,
    kept: Vec<KeptPath>,
}

/// A folder or file that stays visible.
struct KeptPath {
    path: PathBuf,
    source: OwnedFd,
    is_folder: bool,
}

impl HiddenData {
    /// Opens what stays visible. Must be called before a mount can hide it.
    pub(super) fn open(folder: &PodFolder, container: &str) -> io::Result<HiddenData> {
        let is_root = |path: &&Path| *path == Path::new("/");
        let data_dir = folder.data_dir().filter(|path| !is_root(path));
        let data_dir = data_dir.ok_or_else(|| io::Error::other("it is the root directory"))?;
        let run_folder = folder.run_folder(container);
        let mut kept = vec![
            KeptPath::open(run_folder.join("scratch"), true)?,
            KeptPath::open(run_folder.join("termination-log"), false)?,
        ];
        match KeptPath::open(folder.path().join("volumes"), true) {
            // The Pod has no volumes.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            volumes => kept.push(volumes?),
        }
        Ok(HiddenData { data_dir: data_dir.to_owned(), run_folder, kept })
    }

    /// Hides the data directory. It is visible as before if this fails.
    pub(super) fn hide(&self) -> io::Result<()> {
        mount("tmpfs", &self.data_dir, "tmpfs", FLAGS, c"mode=0700,size=64k")?;
        let result = self.mount_kept();
        if result.is_err() {
            unmount(&self.data_dir, UnmountFlags::DETACH)?;
        }
        result
    }

    fn mount_kept(&self) -> io::Result<()> {
        // The mount points of the container's own view.
        for name in ["root", "memory"] {
            create_private(&self.run_folder.join(name))?;
        }
        let root = safe_open::open_root(&self.data_dir)?;
        for kept in &self.kept {
            if kept.is_folder {
                create_private(&kept.path)?;
            } else {
                fs::write(&kept.path, "")?;
            }
            let relative = kept.path.strip_prefix(&self.data_dir).map_err(io::Error::other)?;
            let mount_point = safe_open::open(&root, relative, MissingSource::Fail)?;
            attach(&kept.source, &mount_point)?;
        }
        // What a container writes there would be lost.
        let flags = FLAGS | MountFlags::BIND | MountFlags::RDONLY;
        Ok(mount_remount(&self.data_dir, flags, c"")?)
    }
}

impl KeptPath {
    fn open(path: PathBuf, is_folder: bool) -> io::Result<KeptPath> {
        let source = safe_open::open_root(&path)?;
        Ok(KeptPath { path, source, is_folder })
    }
}
