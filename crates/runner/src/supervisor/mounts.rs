//! Mounts the volumes of a container.
//!
//! Volumes are bind-mounted in a mount namespace of the container, so they are invisible to the rest of the
//! machine and disappear with the container's last process. A mount point that does not exist on the
//! machine is created only in that namespace (`mount_view`). Where the system allows no namespace, the
//! container starts without its volumes and a warning is reported.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rustix::io::Errno;
use rustix::mount::{
    MountFlags, MountPropagationFlags, mount_bind_recursive, mount_change, mount_remount,
};
use rustix::thread::UnshareFlags;

use super::mount_view::MountView;
use crate::pod_plan::{ContainerPlan, MissingSource, MountPlan};
use crate::pod_state::{Explanation, reasons};

/// Mounts the volumes of a container. Returns warnings about volumes that could not be mounted.
pub(super) fn mount_volumes(
    plan: &ContainerPlan,
    run_folder: &Path,
) -> io::Result<Vec<Explanation>> {
    for mount in &plan.mounts {
        create_source(mount)?;
    }
    let termination_log = termination_log_mount(plan, run_folder);
    if plan.mounts.is_empty()
        && (termination_log.is_none() || !rustix::process::geteuid().is_root())
    {
        return Ok(Vec::new());
    }
    let namespace = match enter_namespace() {
        Ok(namespace) => namespace,
        Err(error) => return Ok(Vec::from_iter(not_mounted_warning(plan, &error))),
    };
    let mut mounts: Vec<MountPlan> = plan.mounts.clone();
    // In a user namespace `/dev` would need an overlay, on which device files do not work.
    if namespace == MountNamespace::Root {
        mounts.extend(termination_log);
    }
    // A mount hides what was mounted below it before, so outer targets come first.
    mounts.sort_by_key(|mount| mount.target.components().count());
    let mut view = MountView::new(run_folder, namespace == MountNamespace::User);
    view.replace_root_if_needed(&mounts)?;
    for mount in &mounts {
        bind(mount, &mut view)?;
    }
    Ok(Vec::new())
}

/// The kind of mount namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MountNamespace {
    /// Created by root.
    Root,
    /// In a user namespace that has only our own user.
    User,
}

/// Enters a new mount namespace. Later mounts of the machine appear in it, but not the other way round.
fn enter_namespace() -> rustix::io::Result<MountNamespace> {
    let user = rustix::process::geteuid();
    let group = rustix::process::getegid();
    let namespace = match unshare(UnshareFlags::NEWNS) {
        Ok(()) => MountNamespace::Root,
        Err(Errno::PERM) => {
            unshare(UnshareFlags::NEWUSER | UnshareFlags::NEWNS)?;
            map_self(user.as_raw(), group.as_raw()).map_err(|_| Errno::PERM)?;
            MountNamespace::User
        }
        Err(other) => return Err(other),
    };
    mount_change("/", MountPropagationFlags::DOWNSTREAM | MountPropagationFlags::REC)?;
    Ok(namespace)
}

#[expect(unsafe_code, reason = "rustix has no safe function for this")]
fn unshare(flags: UnshareFlags) -> rustix::io::Result<()> {
    // SAFETY: only unsharing the table of open files is unsafe, and no caller requests that.
    unsafe { rustix::thread::unshare_unsafe(flags) }
}

/// Maps our user and group to themselves in the new user namespace.
fn map_self(user: u32, group: u32) -> io::Result<()> {
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/uid_map", format!("{user} {user} 1"))?;
    fs::write("/proc/self/gid_map", format!("{group} {group} 1"))
}

fn not_mounted_warning(plan: &ContainerPlan, error: &Errno) -> Option<Explanation> {
    let targets: Vec<_> =
        plan.mounts.iter().map(|mount| mount.target.display().to_string()).collect();
    if targets.is_empty() {
        return None;
    }
    let message = format!(
        "container {:?} starts without {}: this system allows no mount namespace ({error}). The \
         volumes are in the folders that the variables PUNCTUAL_VOLUME_<NAME> name",
        plan.name,
        targets.join(", ")
    );
    Some(Explanation::new(reasons::VOLUMES_NOT_MOUNTED, message))
}

/// The mount of the file that the container writes its termination message to.
fn termination_log_mount(plan: &ContainerPlan, run_folder: &Path) -> Option<MountPlan> {
    let target = PathBuf::from(&plan.termination_message_path);
    target.is_absolute().then(|| MountPlan {
        source: run_folder.join("termination-log"),
        target,
        read_only: false,
        missing_source: MissingSource::Fail,
    })
}

fn create_source(mount: &MountPlan) -> io::Result<()> {
    let failed = |error| io::Error::other(format!("volume {}: {error}", mount.source.display()));
    if mount.source.exists() {
        return Ok(());
    }
    match mount.missing_source {
        MissingSource::Fail => Err(failed(io::ErrorKind::NotFound.into())),
        MissingSource::CreateFolder => fs::create_dir_all(&mount.source).map_err(failed),
        MissingSource::CreateFile => fs::write(&mount.source, "").map_err(failed),
    }
}

fn bind(mount: &MountPlan, view: &mut MountView) -> io::Result<()> {
    let failed = |error: io::Error| {
        io::Error::other(format!("cannot mount at {}: {error}", mount.target.display()))
    };
    let is_folder = mount.source.is_dir();
    view.create_mount_point(&mount.target, is_folder).map_err(failed)?;
    mount_bind_recursive(&mount.source, &mount.target).map_err(|error| failed(error.into()))?;
    view.add_owned(&mount.target);
    if mount.read_only {
        make_read_only(&mount.target).map_err(|error| failed(error.into()))?;
    }
    Ok(())
}

fn make_read_only(target: &Path) -> rustix::io::Result<()> {
    let read_only = MountFlags::BIND | MountFlags::RDONLY;
    match mount_remount(target, read_only, c"") {
        // In a user namespace the restrictions of the original mount must be kept.
        Err(Errno::PERM) => {
            mount_remount(target, read_only | MountFlags::NOSUID | MountFlags::NODEV, c"")
        }
        other => other,
    }
}
