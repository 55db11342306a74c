//! The supervisor of one Pod: a separate process that outlives the daemon (the process `punctual up`).
//!
//! It is given the Pod's folder. It takes the lock in the folder, or exits if another supervisor holds it, so
//! that only one process starts, restarts and stops containers. It calls no API: the plan is in the folder, a
//! stop request is a file and a signal, and every result is written to `state.json` before the next step.
//!
//! The daemon starts supervisors through a fork server (`fork_server`). A supervisor has one thread and forks a
//! container's process, which sets up its session, cgroup, mounts and user (`container_setup`) and then
//! executes the container's program.

mod cgroup;
mod container;
mod container_setup;
mod exit_status;
mod fork;
mod fork_server;
mod hidden_data;
mod log_writer;
mod memory_volumes;
mod mount_view;
mod mounts;
mod pid_namespace;
mod pod_lifecycle;
mod process_title;
mod read_only;
mod safe_open;
mod seccomp;
mod security;
mod signals;
mod volume_sizes;

use std::ffi::{CString, OsString};
use std::io::{self, Write as _};
use std::os::fd::{FromRawFd as _, OwnedFd, RawFd};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use punctual_client::{Clock as _, SystemClock};

use self::cgroup::{CgroupMounts, PodCgroup};
use self::fork_server::Lifeline;
pub(crate) use self::fork_server::{ARGUMENT as FORK_SERVER_ARGUMENT, PATH_BYTES_MAX};
pub(crate) use self::mounts::unshare;
use self::pod_lifecycle::{PodLifecycle, StartState};
use crate::bounded_file;
use crate::pod_folder::PodFolder;
use crate::pod_plan::PodPlan;
use crate::pod_state::PodState;

/// Supervises a Pod, or starts supervisors for the daemon. This is the hidden command `supervise`.
///
/// The argument is the Pod's folder, or that of the fork server and others that it ignores.
pub fn supervise(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let result = match arguments.as_slice() {
        [first, ..] if first == FORK_SERVER_ARGUMENT => fork_server::serve(),
        [folder] => close_inherited()
            .and_then(|()| {
                let inherited = Inherited { lifeline: None, cgroups: CgroupMounts::find() };
                supervise_pod(Path::new(folder), inherited)
            })
            .map(|()| ExitCode::SUCCESS),
        _ => Err(io::Error::other("usage: supervise <pod directory>")),
    };
    result.unwrap_or_else(|error| {
        let _ = writeln!(io::stderr(), "{error}");
        ExitCode::FAILURE
    })
}

/// What a supervisor gets from the fork server.
struct Inherited {
    /// `None` if no fork server has started it.
    lifeline: Option<Lifeline>,
    cgroups: CgroupMounts,
}

fn supervise_pod(folder: &Path, inherited: Inherited) -> io::Result<()> {
    let folder = PodFolder::new(folder.canonicalize()?);
    let Some(_lock) = folder.lock()? else { return Ok(()) };
    signals::reset_dispositions();
    detach()?;
    let plan = folder.plan()?;
    set_process_name(&plan.name);
    let volume_failure = memory_volumes::mount_all(&plan).err().map(|error| error.to_string());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let Some(state) = start_state(&folder, &plan)? else { return Ok(()) };
        let Inherited { lifeline, cgroups } = inherited;
        let cgroup = if plan.use_cgroups { PodCgroup::create(&plan, &cgroups) } else { None };
        let mut lifecycle = PodLifecycle::new(folder, plan, state, Arc::new(SystemClock));
        lifecycle.cgroup = cgroup;
        lifecycle.volume_failure = volume_failure;
        lifecycle.lifeline = lifeline;
        lifecycle.run().await
    })
}

/// Closes the files that the parent process left open, so that the Pod neither uses nor keeps them.
fn close_inherited() -> io::Result<()> {
    close_all_but(-1)
}

/// Closes all files but the standard streams and one other.
#[expect(
    unsafe_code,
    reason = "only at the start of a process it is certain that no other code owns a descriptor"
)]
fn close_all_but(kept: RawFd) -> io::Result<()> {
    let names = std::fs::read_dir("/proc/self/fd")?.map(|entry| Ok(entry?.file_name()));
    let names = names.collect::<io::Result<Vec<OsString>>>()?;
    let numbers = names.iter().filter_map(|name| name.to_str()?.parse::<RawFd>().ok());
    for number in numbers.filter(|number| *number > 2 && *number != kept) {
        // The list contains the descriptor that read it, which is closed now.
        if Path::new("/proc/self/fd").join(number.to_string()).symlink_metadata().is_ok() {
            // SAFETY: the process has just been executed or forked. It has one thread and has opened no file, so
            // no other code owns the descriptor, or its owner is in code of the parent, which does not continue
            // in this process.
            drop(unsafe { OwnedFd::from_raw_fd(number) });
        }
    }
    Ok(())
}

/// Leaves the daemon's session, so that signals to it or its terminal do not reach the Pod.
fn detach() -> io::Result<()> {
    // Fails for a session leader, which has left the daemon's session already.
    let _ = rustix::process::setsid();
    std::env::set_current_dir("/")?;
    // Orphaned processes of containers become our children instead of init's, so that we find them.
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
    Ok(())
}

/// The state that an earlier supervisor has left, [`StartState::First`] if there was none; `None` if the Pod
/// has ended.
fn start_state(folder: &PodFolder, plan: &PodPlan) -> io::Result<Option<StartState>> {
    let now = SystemClock.now();
    let state = match folder.state() {
        // The state is lost, and containers may have run.
        Err(error) if error.kind() == io::ErrorKind::InvalidData => Some(PodState::lost(plan, now)),
        state => state?,
    };
    if state.as_ref().is_some_and(|state| state.phase.is_final()) {
        return Ok(None);
    }
    if plan.is_of_this_boot() {
        return Ok(Some(state.map_or(StartState::First, StartState::TakeOver)));
    }
    // The machine has stopped, and the last states may not have been on its disk.
    let mut state = state.unwrap_or_else(|| PodState::lost(plan, now));
    state.mark_unfinished_as_started();
    Ok(Some(StartState::TakeOver(state)))
}

/// Appends an error to `supervisor.log` in the Pod's folder. What has its name and is no file is replaced.
fn write_error(folder: &PodFolder, message: &str) {
    let path = folder.path().join("supervisor.log");
    let file = match bounded_file::open_append(&path) {
        Err(error) if error.kind() == io::ErrorKind::InvalidData => bounded_file::create(&path),
        result => result,
    };
    if let Ok(mut file) = file {
        let _ = writeln!(file, "{message}");
    }
}

/// Sets the name that `ps` and `top` show. The kernel keeps the first 15 bytes.
fn set_process_name(pod: &str) {
    if let Ok(name) = CString::new(format!("pod:{pod}")) {
        let _ = rustix::thread::set_name(&name);
    }
}
