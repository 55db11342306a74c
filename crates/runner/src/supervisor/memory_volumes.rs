//! Mounts the volumes of a Pod that are in memory.
//!
//! All containers share them, so the supervisor mounts them in a mount namespace of its own, from which those
//! of the containers are copied. The machine does not see them, and they disappear with the Pod.

use std::ffi::CString;
use std::io;

use rustix::mount::{MountFlags, mount};

use super::mounts;
use crate::pod_plan::{MemoryVolume, PodPlan};

/// Mounts the volumes. Must be called while this process has one thread.
pub(super) fn mount_all(plan: &PodPlan) -> io::Result<()> {
    if plan.memory_volumes.is_empty() {
        return Ok(());
    }
    let failed =
        |error: io::Error| io::Error::other(format!("cannot mount a volume in memory: {error}"));
    mounts::enter_namespace().map_err(|error| failed(error.into()))?;
    for volume in &plan.memory_volumes {
        let flags = MountFlags::NOSUID | MountFlags::NODEV;
        let options = options(volume)?;
        mount("tmpfs", &volume.path, "tmpfs", flags, options.as_c_str())
            .map_err(|error| failed(error.into()))?;
    }
    Ok(())
}

fn options(volume: &MemoryVolume) -> io::Result<CString> {
    let mut options = "mode=0777".to_owned();
    if let Some(bytes) = volume.bytes_max {
        options.push_str(&format!(",size={bytes}"));
    }
    // Only root can give files to other groups.
    if let Some(group) = volume.group
        && rustix::process::geteuid().is_root()
    {
        options.push_str(&format!(",gid={group}"));
    }
    Ok(CString::new(options)?)
}
