//! The supervisors, as the daemon sees them: started, found again, told to stop, missed.

use std::fs::OpenOptions;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::process::Stdio;

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use tokio::io::unix::AsyncFd;
use tokio::process::Child;

use crate::folder::{Folder, Stop};
use crate::readiness;

/// A supervisor that runs.
#[derive(Debug)]
pub(super) struct Process {
    handle: AsyncFd<OwnedFd>,
    /// Ours to bury, if we started it.
    child: Option<Child>,
}

impl Process {
    /// Starts a supervisor. It leaves our session itself, so that our end is not its own.
    pub(super) fn start(program: &Path, folder: &Folder) -> io::Result<Process> {
        let mut options = OpenOptions::new();
        options.create(true).append(true).mode(0o600);
        let complaints = options.open(folder.path().join("supervisor.log"))?;
        let mut command = tokio::process::Command::new(program);
        command.arg("supervise").arg(folder.path()).env_clear();
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(complaints);
        let child = command.spawn()?;
        let pid = child.id().and_then(|id| i32::try_from(id).ok());
        let handle = open(pid.ok_or_else(|| io::Error::other("it ended at once"))?)?;
        Ok(Process { handle, child: Some(child) })
    }

    /// The supervisor that has a Pod's folder; none if nobody has it, and not found if somebody has
    /// but has not said who it is.
    pub(super) fn find(folder: &Folder) -> io::Result<Option<Process>> {
        if folder.lock()?.is_some() {
            return Ok(None);
        }
        let pid = folder.state()?.map(|state| state.supervisor).ok_or(io::ErrorKind::NotFound)?;
        let handle = open(pid)?;
        // The number may be of a supervisor that is gone, and be somebody else's by now.
        if !is_supervisor(pid, folder) {
            return Err(io::ErrorKind::NotFound.into());
        }
        Ok(Some(Process { handle, child: None }))
    }

    /// Tells it to stop the Pod, or to stop it sooner. One whose folder is gone can be told nothing;
    /// it is ended, and its containers with it.
    pub(super) fn stop(&self, folder: &Folder, grace_seconds: u64) -> io::Result<()> {
        let signal = match folder.write_stop(&Stop { grace_seconds }) {
            Ok(()) => Signal::TERM,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Signal::KILL,
            Err(error) => return Err(error),
        };
        match pidfd_send_signal(self.handle.get_ref(), signal) {
            // It is gone already.
            Err(rustix::io::Errno::SRCH) => Ok(()),
            other => Ok(other?),
        }
    }

    /// Returns when it has ended. May be dropped and called again.
    pub(super) async fn gone(&mut self) {
        match &mut self.child {
            Some(child) => drop(child.wait().await),
            None => drop(self.handle.readable().await),
        }
    }
}

fn open(pid: i32) -> io::Result<AsyncFd<OwnedFd>> {
    let pid = Pid::from_raw(pid).ok_or(io::ErrorKind::NotFound)?;
    match pidfd_open(pid, PidfdFlags::NONBLOCK) {
        Ok(handle) => readiness::of(handle),
        Err(rustix::io::Errno::SRCH) => Err(io::ErrorKind::NotFound.into()),
        Err(error) => Err(error.into()),
    }
}

/// Whether a process was started with a Pod's folder.
fn is_supervisor(pid: i32, folder: &Folder) -> bool {
    let command = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let wanted = folder.path().as_os_str().as_bytes();
    command.split(|byte| *byte == 0).any(|argument| argument == wanted)
}
