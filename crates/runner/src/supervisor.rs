//! The supervisor of one Pod: a separate process that outlives the daemon.
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
mod log_writer;
mod mount_view;
mod mounts;
mod pod_lifecycle;
mod process_tree;

use std::ffi::OsString;
use std::io::{self, Write as _};
use std::os::fd::{FromRawFd as _, OwnedFd, RawFd};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use punctual_client::SystemClock;

use self::pod_lifecycle::PodLifecycle;
use crate::pod_folder::{PodFolder, SupervisorLock};

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
        [] => Err(io::Error::other("usage: supervise <pod folder>")),
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
    detach()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let result = runtime.block_on(run(folder, &lock));
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

async fn run(folder: PodFolder, _lock: &SupervisorLock) -> io::Result<()> {
    let state = folder.state()?;
    if state.as_ref().is_some_and(|state| state.phase.is_final()) {
        return Ok(());
    }
    PodLifecycle::new(folder, state, Arc::new(SystemClock))?.run().await
}
