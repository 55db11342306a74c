//! The container's own view of the file system.
//!
//! Volumes are bound to where the container wants them, in a mount namespace of its own: the
//! machine never sees them, and they are gone with the container's last process. A place that does
//! not exist on the machine is made in that view alone (`remount`). Where the system allows no
//! namespace, the container starts without its volumes and a note says so.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rustix::io::Errno;
use rustix::mount::{
    MountFlags, MountPropagationFlags, mount_bind_recursive, mount_change, mount_remount,
};
use rustix::thread::UnshareFlags;

use super::remount::View;
use crate::plan::{ContainerPlan, Missing, MountPlan};
use crate::state::{Fault, reasons};

/// Mounts what the container wants; what could not be done is in the notes.
pub(super) fn apply(plan: &ContainerPlan, run: &Path) -> io::Result<Vec<Fault>> {
    for mount in &plan.mounts {
        create_source(mount)?;
    }
    let message = message_mount(plan, run);
    if plan.mounts.is_empty() && (message.is_none() || !rustix::process::geteuid().is_root()) {
        return Ok(Vec::new());
    }
    let namespace = match enter() {
        Ok(namespace) => namespace,
        Err(error) => return Ok(Vec::from_iter(unmounted(plan, &error))),
    };
    let mut mounts: Vec<MountPlan> = plan.mounts.clone();
    // Device files do not work on an overlay in another user's namespace.
    mounts.extend(message.filter(|_| namespace == Namespace::Root));
    // What lies deeper is mounted later, or what lies above would hide it.
    mounts.sort_by_key(|mount| mount.target.components().count());
    let mut view = View::new(run, namespace == Namespace::User);
    view.make_places(&mounts)?;
    mounts.iter().try_for_each(|mount| bind(mount, &mut view))?;
    Ok(Vec::new())
}

/// Whose namespace it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Namespace {
    Root,
    /// A namespace of users too, in which we are the only one.
    User,
}

/// Leaves the machine's mounts: later ones of the machine are seen, ours are not seen there.
fn enter() -> rustix::io::Result<Namespace> {
    let (user, group) = (rustix::process::geteuid(), rustix::process::getegid());
    let namespace = match unshare(UnshareFlags::NEWNS) {
        Ok(()) => Namespace::Root,
        Err(Errno::PERM) => {
            unshare(UnshareFlags::NEWUSER | UnshareFlags::NEWNS)?;
            map_self(user.as_raw(), group.as_raw()).map_err(|_| Errno::PERM)?;
            Namespace::User
        }
        Err(other) => return Err(other),
    };
    mount_change("/", MountPropagationFlags::DOWNSTREAM | MountPropagationFlags::REC)?;
    Ok(namespace)
}

#[expect(unsafe_code, reason = "the call has no safe form")]
fn unshare(flags: UnshareFlags) -> rustix::io::Result<()> {
    // SAFETY: unsafe is only the unsharing of the table of open files, which no caller asks for.
    unsafe { rustix::thread::unshare_unsafe(flags) }
}

/// In the new namespace of users we are who we are outside.
fn map_self(user: u32, group: u32) -> io::Result<()> {
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/uid_map", format!("{user} {user} 1"))?;
    fs::write("/proc/self/gid_map", format!("{group} {group} 1"))
}

fn unmounted(plan: &ContainerPlan, error: &Errno) -> Option<Fault> {
    let targets: Vec<_> =
        plan.mounts.iter().map(|mount| mount.target.display().to_string()).collect();
    let message = format!(
        "container {:?} starts without {}: this system allows no mount namespace ({error}). The \
         volumes are in the folders that the variables PUNCTUAL_VOLUME_<NAME> name",
        plan.name,
        targets.join(", ")
    );
    (!targets.is_empty()).then(|| Fault::new(reasons::VOLUMES_NOT_MOUNTED, message))
}

/// The file that the container writes its last words to.
fn message_mount(plan: &ContainerPlan, run: &Path) -> Option<MountPlan> {
    let target = PathBuf::from(&plan.termination_message_path);
    target.is_absolute().then(|| MountPlan {
        source: run.join("termination-log"),
        target,
        read_only: false,
        missing: Missing::Fails,
    })
}

fn create_source(mount: &MountPlan) -> io::Result<()> {
    let failed = |error| io::Error::other(format!("volume {}: {error}", mount.source.display()));
    match mount.missing {
        _ if mount.source.exists() => Ok(()),
        Missing::Fails => Err(failed(io::ErrorKind::NotFound.into())),
        Missing::Folder => fs::create_dir_all(&mount.source).map_err(failed),
        Missing::File => fs::write(&mount.source, "").map_err(failed),
    }
}

fn bind(mount: &MountPlan, view: &mut View) -> io::Result<()> {
    let failed = |error: io::Error| {
        io::Error::other(format!("cannot mount at {}: {error}", mount.target.display()))
    };
    let is_folder = mount.source.is_dir();
    view.make_place(&mount.target, is_folder).map_err(failed)?;
    mount_bind_recursive(&mount.source, &mount.target).map_err(|error| failed(error.into()))?;
    view.own(&mount.target);
    if mount.read_only {
        make_read_only(&mount.target).map_err(|error| failed(error.into()))?;
    }
    Ok(())
}

fn make_read_only(target: &Path) -> rustix::io::Result<()> {
    let read_only = MountFlags::BIND | MountFlags::RDONLY;
    match mount_remount(target, read_only, c"") {
        // What the machine forbids on a file system cannot be allowed in a user's namespace.
        Err(Errno::PERM) => {
            mount_remount(target, read_only | MountFlags::NOSUID | MountFlags::NODEV, c"")
        }
        other => other,
    }
}
