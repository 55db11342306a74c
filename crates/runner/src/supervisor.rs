//! The supervisor of one Pod: a process of its own that outlives the daemon.
//!
//! It is started with the Pod's folder, takes the lock there or leaves quietly, and from then on is
//! the only one who starts, restarts, stops and remembers. It asks nobody for anything: the plan is
//! in the folder, a stop comes as a file and a signal, and what happened goes into `state.json`
//! before anything is done on top of it.
//!
//! A container is started by this same program as its own first process (`stage`): it sets up
//! session, cgroup, mounts and user from the inside and then becomes the container's program, so
//! nothing needs to happen between a fork and an exec.

mod cgroup;
mod container;
mod exit;
mod life;
mod mounts;
mod output;
mod remount;
mod stage;
mod tree;

use std::ffi::OsString;
use std::io::{self, Write as _};
use std::os::fd::{FromRawFd as _, OwnedFd, RawFd};
use std::path::Path;
use std::process::ExitCode;

use self::life::Life;
use crate::folder::{Folder, Lock};

/// Runs a Pod, or becomes a container of one: the whole of the hidden command `supervise`.
///
/// The arguments are the Pod's folder, and for a container its name, its supervisor and perhaps its
/// cgroup; only the daemon and the supervisor itself write them.
pub fn supervise(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let result = match arguments.as_slice() {
        [folder] => supervise_pod(Path::new(folder)),
        [folder, stage @ ..] => Ok(stage::become_container(Path::new(folder), stage)),
        [] => Err(io::Error::other("usage: supervise <pod folder>")),
    };
    result.unwrap_or_else(|error| {
        // Nobody else can be told: the daemon keeps this output in the Pod's folder.
        let _ = writeln!(io::stderr(), "{error}");
        ExitCode::FAILURE
    })
}

fn supervise_pod(folder: &Path) -> io::Result<ExitCode> {
    close_inherited()?;
    let folder = Folder::new(folder.canonicalize()?);
    let Some(lock) = folder.lock()? else { return Ok(ExitCode::SUCCESS) };
    detach()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let result = runtime.block_on(run(folder, &lock));
    result.map(|()| ExitCode::SUCCESS)
}

/// Closes what whoever started the daemon had left open: a Pod must neither use it nor keep it.
#[expect(
    unsafe_code,
    reason = "only the first lines of a process can know that nobody owns a file"
)]
fn close_inherited() -> io::Result<()> {
    let names = std::fs::read_dir("/proc/self/fd")?.map(|entry| Ok(entry?.file_name()));
    let names = names.collect::<io::Result<Vec<OsString>>>()?;
    let numbers = names.iter().filter_map(|name| name.to_str()?.parse::<RawFd>().ok());
    for number in numbers.filter(|number| *number > 2) {
        // The list itself was open while it was read, and is not any more.
        if Path::new("/proc/self/fd").join(number.to_string()).symlink_metadata().is_ok() {
            // SAFETY: this process has one thread and has opened nothing, so nobody else owns it.
            drop(unsafe { OwnedFd::from_raw_fd(number) });
        }
    }
    Ok(())
}

/// Leaves the daemon's session, so that neither its end nor its terminal's reaches the Pod.
fn detach() -> io::Result<()> {
    // Refused to the leader of a session, who needs none.
    let _ = rustix::process::setsid();
    std::env::set_current_dir("/")?;
    // What a container leaves behind comes to us, not to init, and can be found and ended.
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
    Ok(())
}

async fn run(folder: Folder, _lock: &Lock) -> io::Result<()> {
    let known = folder.state()?;
    if known.as_ref().is_some_and(|state| state.phase.is_final()) {
        return Ok(());
    }
    Life::new(folder, known)?.run().await
}
