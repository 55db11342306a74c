//! Mounts the volumes of a container.
//!
//! Volumes are bind-mounted in a mount namespace of the container, so they are invisible to the rest of the
//! machine and disappear with the container's last process. A mount point that does not exist on the
//! machine is created only in that namespace (`mount_view`). Where a volume cannot be mounted, the container
//! does not start. The namespace also hides the data directory (`hidden_data`).

use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::FileType;
use rustix::io::Errno;
use rustix::mount::{
    MountPropagationFlags, MoveMountFlags, OpenTreeFlags, mount_change, move_mount, open_tree,
};
use rustix::thread::UnshareFlags;

use super::hidden_data::HiddenData;
use super::mount_view::{MountView, nearest_folder};
use super::{read_only, safe_open};
use crate::pod_folder::PodFolder;
use crate::pod_plan::{ContainerPlan, MissingSource, MountPlan, SCRATCH_MOUNT_POINT};

/// Mounts the volumes of a container. Any failure is an error: a program that expects a volume must not
/// run without it.
pub(super) fn mount_volumes(plan: &ContainerPlan, folder: &PodFolder) -> io::Result<Mounted> {
    let Some(namespace) = enter_namespace_if_needed(plan)? else {
        return Ok(Mounted { implicit_mounts: ImplicitMounts::Absent, warning: None });
    };
    let run_folder = &folder.run_folder(&plan.name);
    let mut mounts: Vec<MountPlan> = plan.mounts.clone();
    mounts.extend(implicit_mounts(plan, run_folder, namespace));
    // A mount hides what was mounted below it before, so outer targets come first.
    mounts.sort_by_key(|mount| mount.target.components().count());
    // All sources are opened before a mount can hide one.
    let sources = mounts.iter().map(open_source).collect::<io::Result<Vec<OwnedFd>>>()?;
    let hidden = HiddenData::open(folder, &plan.name).and_then(|data| data.hide());
    let mut view = MountView::new(run_folder, namespace == MountNamespace::User);
    view.replace_root_if_needed(&mounts)?;
    let mut targets = Vec::new();
    for (mount, source) in mounts.iter().zip(sources) {
        targets.push(bind(mount, &source, &mut view)?);
    }
    if plan.security.is_root_read_only {
        let failed = |error| io::Error::other(format!("cannot make the root read-only: {error}"));
        targets.extend(read_only::mount_private_memory(&targets).map_err(failed)?);
        read_only::make_root_read_only(&targets).map_err(failed)?;
    }
    let implicit_mounts = match namespace {
        MountNamespace::Root => ImplicitMounts::Present,
        MountNamespace::User => ImplicitMounts::Absent,
    };
    let warning = |error| {
        let name = &plan.name;
        format!(
            "container {name:?} can read the data directory of punctual: cannot hide it: {error}"
        )
    };
    Ok(Mounted { implicit_mounts, warning: hidden.err().map(warning) })
}

/// The result of mounting the volumes of a container.
#[derive(Debug)]
pub(super) struct Mounted {
    pub(super) implicit_mounts: ImplicitMounts,
    /// Set if the data directory could not be hidden.
    pub(super) warning: Option<String>,
}

/// The mounts that the manifest does not mention: the termination log and the scratch folder.
fn implicit_mounts(
    plan: &ContainerPlan,
    run_folder: &Path,
    namespace: MountNamespace,
) -> Vec<MountPlan> {
    let mut mounts = Vec::new();
    // In a user namespace `/dev` would need an overlay, on which device files do not work.
    if namespace == MountNamespace::Root {
        mounts.extend(termination_log_mount(plan, run_folder));
        mounts.extend(scratch_mount(plan, run_folder));
    }
    if plan.security.is_root_read_only {
        // Mounted at their own places, they can stay writable.
        for name in ["scratch", "termination-log"] {
            let path = run_folder.join(name);
            mounts.push(writable_mount(path.clone(), path));
        }
    }
    mounts
}

/// Whether the termination log and, if planned, the scratch folder are mounted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ImplicitMounts {
    Present,
    Absent,
}

/// Enters a mount namespace; `None` if the container needs none. Volumes need one, and a PID namespace with
/// its own `/proc`. Without it the container finds its termination log through a variable.
fn enter_namespace_if_needed(plan: &ContainerPlan) -> io::Result<Option<MountNamespace>> {
    if plan.mounts.is_empty() && !plan.security.is_root_read_only && !plan.has_pid_namespace {
        // A user namespace would keep the container from using programs such as sudo.
        let is_entered = rustix::process::geteuid().is_root() && enter_root_namespace().is_ok();
        return Ok(is_entered.then_some(MountNamespace::Root));
    }
    let failed = |error: Errno| io::Error::other(namespace_failure(plan, error));
    enter_namespace().map(Some).map_err(failed)
}

/// Enters a new mount namespace, in a new user namespace if we lack the right.
pub(super) fn enter_namespace() -> rustix::io::Result<MountNamespace> {
    match enter_root_namespace() {
        Ok(()) => Ok(MountNamespace::Root),
        Err(Errno::PERM) => enter_user_namespace().map(|()| MountNamespace::User),
        Err(error) => Err(error),
    }
}

/// The kind of mount namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MountNamespace {
    /// Created by root.
    Root,
    /// In a user namespace that has only our own user.
    User,
}

/// Enters a new mount namespace. Later mounts of the machine appear in it, but not the other way round.
fn enter_root_namespace() -> rustix::io::Result<()> {
    unshare(UnshareFlags::NEWNS)?;
    mount_change("/", MountPropagationFlags::DOWNSTREAM | MountPropagationFlags::REC)
}

/// Enters a new mount namespace in a new user namespace. The kernel refuses this to a process with more
/// than one thread.
fn enter_user_namespace() -> rustix::io::Result<()> {
    let user = rustix::process::geteuid();
    let group = rustix::process::getegid();
    unshare(UnshareFlags::NEWUSER | UnshareFlags::NEWNS)?;
    map_self(user.as_raw(), group.as_raw()).map_err(|_| Errno::PERM)?;
    mount_change("/", MountPropagationFlags::DOWNSTREAM | MountPropagationFlags::REC)
}

#[expect(unsafe_code, reason = "rustix has no safe function for this")]
pub(crate) fn unshare(flags: UnshareFlags) -> rustix::io::Result<()> {
    // SAFETY: only unsharing the table of open files is unsafe, and no caller requests that.
    unsafe { rustix::thread::unshare_unsafe(flags) }
}

/// Maps our user and group to themselves in the new user namespace.
fn map_self(user: u32, group: u32) -> io::Result<()> {
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/uid_map", format!("{user} {user} 1"))?;
    fs::write("/proc/self/gid_map", format!("{group} {group} 1"))
}

fn namespace_failure(plan: &ContainerPlan, error: Errno) -> String {
    if plan.mounts.is_empty() {
        return format!(
            "this system allows no mount namespace to our user ({error}), which readOnlyRootFilesystem and \
             the annotation punctual.dev/pid-namespace need. Run punctual as root, or allow user \
             namespaces (see the sysctls user.max_user_namespaces, kernel.unprivileged_userns_clone and \
             kernel.apparmor_restrict_unprivileged_userns)"
        );
    }
    let targets: Vec<_> =
        plan.mounts.iter().map(|mount| mount.target.display().to_string()).collect();
    format!(
        "cannot mount {}: this system allows no mount namespace to our user ({error}). Run punctual as \
         root, or allow user namespaces (see the sysctls user.max_user_namespaces, \
         kernel.unprivileged_userns_clone and kernel.apparmor_restrict_unprivileged_userns), or remove \
         the volumeMounts and use the directories in the variables PUNCTUAL_VOLUME_<NAME>",
        targets.join(", ")
    )
}

/// The mount of the file that the container writes its termination message to.
fn termination_log_mount(plan: &ContainerPlan, run_folder: &Path) -> Option<MountPlan> {
    let target = PathBuf::from(&plan.termination_message_path);
    target.is_absolute().then(|| writable_mount(run_folder.join("termination-log"), target))
}

fn writable_mount(source: PathBuf, target: PathBuf) -> MountPlan {
    MountPlan {
        source,
        sub_path: PathBuf::new(),
        target,
        read_only: false,
        is_recursively_read_only: false,
        missing_source: MissingSource::Fail,
    }
}

/// The mount of the scratch folder for a user who may not enter the data directory.
fn scratch_mount(plan: &ContainerPlan, run_folder: &Path) -> Option<MountPlan> {
    plan.has_scratch_mount.then(|| {
        // The mount point is created on the machine, because an overlay of `/run` would hide its sockets. If
        // this fails, it is created only in the namespace.
        let _ = create_public_folder(Path::new(SCRATCH_MOUNT_POINT));
        writable_mount(run_folder.join("scratch"), PathBuf::from(SCRATCH_MOUNT_POINT))
    })
}

/// Creates a folder and its parent, which all users may enter.
fn create_public_folder(path: &Path) -> io::Result<()> {
    for folder in path.parent().into_iter().chain([path]) {
        if !folder.exists() {
            fs::create_dir(folder)?;
            fs::set_permissions(folder, fs::Permissions::from_mode(0o755))?;
        }
    }
    Ok(())
}

/// Opens what is mounted, and creates it if it is missing and may be created.
fn open_source(mount: &MountPlan) -> io::Result<OwnedFd> {
    let path = mount.source.join(&mount.sub_path);
    let failed = |error| io::Error::other(format!("volume {}: {error}", path.display()));
    if !mount.sub_path.as_os_str().is_empty() {
        let volume = safe_open::open_root(&mount.source).map_err(failed)?;
        return safe_open::open(volume, &mount.sub_path, mount.missing_source).map_err(failed);
    }
    match safe_open::open_root(&mount.source) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            create_source(&mount.source, mount.missing_source).map_err(failed)
        }
        opened => opened.map_err(failed),
    }
}

/// Creates a path of the machine. Links in its missing part are not followed: a container can make a link to
/// any place, and we may be root. As a kubelet does, the folder of a file is not created.
fn create_source(path: &Path, missing: MissingSource) -> io::Result<OwnedFd> {
    let nearest = nearest_folder(path);
    if missing == MissingSource::CreateFile && path.parent() != Some(&nearest) {
        return Err(io::ErrorKind::NotFound.into());
    }
    let relative = path.strip_prefix(&nearest).map_err(io::Error::other)?;
    safe_open::open(safe_open::open_root(&nearest)?, relative, missing)
}

/// Mounts a source. Returns the path of the mount without links.
fn bind(mount: &MountPlan, source: &OwnedFd, view: &mut MountView) -> io::Result<PathBuf> {
    let failed = |error: io::Error| {
        io::Error::other(format!("cannot mount at {}: {error}", mount.target.display()))
    };
    let mode = rustix::fs::fstat(source).map_err(|error| failed(error.into()))?.st_mode;
    let is_folder = FileType::from_raw_mode(mode) == FileType::Directory;
    let (target, mount_point) =
        view.create_mount_point(&mount.target, is_folder).map_err(failed)?;
    attach(source, &mount_point).map_err(|error| failed(error.into()))?;
    view.add_owned(&target);
    if mount.read_only {
        read_only::make_read_only(&target, mount.is_recursively_read_only).map_err(failed)?;
    }
    Ok(target)
}

/// Mounts a copy of a folder or file, with all mounts below it, at a mount point.
pub(super) fn attach(source: &OwnedFd, mount_point: &OwnedFd) -> rustix::io::Result<()> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_EMPTY_PATH
        | OpenTreeFlags::AT_RECURSIVE;
    let tree = open_tree(source, c"", flags)?;
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
    move_mount(tree, c"", mount_point, c"", flags)
}
