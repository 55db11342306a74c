//! The supervisor of one Pod: a separate process that outlives the daemon (the process `punctual up`).
//!
//! It is started with the Pod's folder. It takes the lock in the folder, or exits if another supervisor
//! holds it, so that only one process starts, restarts and stops containers. It calls no API: the plan is
//! in the folder, a stop request is a file and a signal, and every result is written to `state.json`
//! before the next step.
//!
//! A container is started as a child of this same program (`container_setup`): the child sets up its
//! session, cgroup, mounts and user and then executes the container's program. No code runs between fork
//! and exec.

mod cgroup;
mod container;
mod container_setup;
mod exit_status;
mod hidden_data;
mod log_writer;
mod memory_volumes;
mod mount_view;
mod mounts;
mod pid_namespace;
mod pod_lifecycle;
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

pub(crate) use self::mounts::unshare;
use self::pod_lifecycle::PodLifecycle;
use crate::pod_folder::{PodFolder, SupervisorLock};
use crate::pod_plan::PodPlan;
use crate::pod_state::PodState;

/// The environment variable, and its value, that keeps the allocator jemalloc from starting a thread. The
/// kernel gives a user namespace, which mounts need without root, only to a process with one thread.
pub(crate) const SINGLE_THREAD_VARIABLE: [&str; 2] =
    ["_RJEM_MALLOC_CONF", "background_thread:false"];

/// Supervises a Pod, or becomes a container of one. This is the hidden command `supervise`.
///
/// The arguments are the Pod's folder and, for a container, its name, the process ID of its supervisor
/// and perhaps its cgroup. Only the daemon and the supervisor call it.
pub fn supervise(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let result = match arguments.as_slice() {
        [folder] => supervise_pod(Path::new(folder)),
        [folder, container @ ..] => {
            Ok(container_setup::become_container(Path::new(folder), container))
        }
        [] => Err(io::Error::other("usage: supervise <pod directory>")),
    };
    result.unwrap_or_else(|error| {
        // The daemon redirects this to `supervisor.log` in the Pod's folder.
        let _ = writeln!(io::stderr(), "{error}");
        ExitCode::FAILURE
    })
}

fn supervise_pod(folder: &Path) -> io::Result<ExitCode> {
    close_inherited()?;
    let folder = PodFolder::new(folder.canonicalize()?);
    let Some(lock) = folder.lock()? else { return Ok(ExitCode::SUCCESS) };
    lock.write_pid(rustix::process::getpid())?;
    signals::reset_dispositions();
    detach()?;
    let plan = folder.plan()?;
    set_process_name(&plan.name);
    // Before the runtime starts threads: a process with several gets no user namespace.
    let volume_failure = memory_volumes::mount_all(&plan).err().map(|error| error.to_string());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let result = runtime.block_on(run(folder, plan, volume_failure, &lock));
    result.map(|()| ExitCode::SUCCESS)
}

/// Closes the files that the parent process left open, so that the Pod neither uses nor keeps them.
#[expect(
    unsafe_code,
    reason = "only at the start of a process it is certain that no other code owns a descriptor"
)]
fn close_inherited() -> io::Result<()> {
    let names = std::fs::read_dir("/proc/self/fd")?.map(|entry| Ok(entry?.file_name()));
    let names = names.collect::<io::Result<Vec<OsString>>>()?;
    let numbers = names.iter().filter_map(|name| name.to_str()?.parse::<RawFd>().ok());
    for number in numbers.filter(|number| *number > 2) {
        // The list contains the descriptor that read it, which is closed now.
        if Path::new("/proc/self/fd").join(number.to_string()).symlink_metadata().is_ok() {
            // SAFETY: this process has one thread and has opened no file, so no other code owns it.
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

async fn run(
    folder: PodFolder,
    plan: PodPlan,
    volume_failure: Option<String>,
    _lock: &SupervisorLock,
) -> io::Result<()> {
    let clock = SystemClock;
    let state = match folder.state() {
        // The state is lost, and containers may have run.
        Err(error) if error.kind() == io::ErrorKind::InvalidData => {
            Some(PodState::lost(&plan, clock.now()))
        }
        state => state?,
    };
    if state.as_ref().is_some_and(|state| state.phase.is_final()) {
        return Ok(());
    }
    let mut lifecycle = PodLifecycle::new(folder, plan, state, Arc::new(clock));
    lifecycle.volume_failure = volume_failure;
    lifecycle.run().await
}

/// Sets the name that `ps` and `top` show. The kernel keeps the first 15 bytes.
fn set_process_name(pod: &str) {
    if let Ok(name) = CString::new(format!("pod:{pod}")) {
        let _ = rustix::thread::set_name(&name);
    }
}
