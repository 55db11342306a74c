//! Makes mounts of a container's namespace read-only.

use std::ffi::CStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rustix::io::Errno;
use rustix::mount::{MountFlags, MountPropagationFlags, mount, mount_change, mount_remount};

use super::mount_view::unescape;

/// The mounts that stay writable if the root is read-only. Devices can be written on a read-only mount too.
const WRITABLE: [&str; 2] = ["/dev/pts", "/proc"];

/// The folder for memory that processes share.
const SHARED_MEMORY: &str = "/dev/shm";
/// Its size, as container runtimes have it.
const SHARED_MEMORY_OPTIONS: &CStr = c"mode=1777,size=64m";

/// Makes the mount at a path read-only and, if asked for, those below it.
pub(super) fn make_read_only(target: &Path, is_recursive: bool) -> io::Result<()> {
    let is_meant = |path: &Path| path == target || (is_recursive && path.starts_with(target));
    for mount in mounts()?.iter().filter(|mount| is_meant(&mount.path)) {
        mount.remount_read_only()?;
    }
    Ok(())
}

/// Mounts a folder for shared memory that only the container sees. Returns its path; `None` if the machine has
/// none or a volume is mounted there.
pub(super) fn mount_private_memory(volumes: &[PathBuf]) -> io::Result<Option<PathBuf>> {
    let path = PathBuf::from(SHARED_MEMORY);
    if !path.is_dir() || volumes.iter().any(|volume| volume.starts_with(&path)) {
        return Ok(None);
    }
    let flags = MountFlags::NOSUID | MountFlags::NODEV;
    mount("tmpfs", &path, "tmpfs", flags, SHARED_MEMORY_OPTIONS)?;
    Ok(Some(path))
}

/// Makes all mounts read-only except those below the given paths, `/dev/pts` and `/proc`.
pub(super) fn make_root_read_only(writable: &[PathBuf]) -> io::Result<()> {
    // A mount that the machine makes later would appear as a writable one.
    mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)?;
    let is_writable = |path: &Path| {
        let writable = writable.iter().map(PathBuf::as_path);
        writable.chain(WRITABLE.map(Path::new)).any(|folder| path.starts_with(folder))
    };
    for mount in mounts()?.iter().filter(|mount| !is_writable(&mount.path)) {
        match mount.remount_read_only() {
            // Another mount hides it.
            Err(Errno::INVAL | Errno::NOENT) => {}
            result => result?,
        }
    }
    Ok(())
}

/// A mount, with the flags that a remount has to repeat.
#[derive(Debug, PartialEq)]
struct Mount {
    path: PathBuf,
    flags: MountFlags,
}

impl Mount {
    fn remount_read_only(&self) -> rustix::io::Result<()> {
        if self.flags.contains(MountFlags::RDONLY) {
            return Ok(());
        }
        mount_remount(&self.path, self.flags | MountFlags::BIND | MountFlags::RDONLY, c"")
    }
}

fn mounts() -> io::Result<Vec<Mount>> {
    let text = fs::read_to_string("/proc/self/mountinfo")?;
    Ok(text.lines().filter_map(parse_mount).collect())
}

fn parse_mount(line: &str) -> Option<Mount> {
    let mut fields = line.split(' ').skip(4);
    let path = unescape(fields.next()?);
    let mut flags = MountFlags::empty();
    for option in fields.next()?.split(',') {
        flags |= match option {
            "ro" => MountFlags::RDONLY,
            "nosuid" => MountFlags::NOSUID,
            "nodev" => MountFlags::NODEV,
            "noexec" => MountFlags::NOEXEC,
            "noatime" => MountFlags::NOATIME,
            "nodiratime" => MountFlags::NODIRATIME,
            "relatime" => MountFlags::RELATIME,
            _ => MountFlags::empty(),
        };
    }
    Some(Mount { path, flags })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_flags_of_a_mount_are_read() {
        let line = "36 35 98:0 /mnt1 /a\\040b rw,nosuid,relatime master:1 - ext3 /dev/root rw";
        let flags = MountFlags::NOSUID | MountFlags::RELATIME;
        assert_eq!(parse_mount(line), Some(Mount { path: PathBuf::from("/a b"), flags }));
    }
}
