//! The process of a supervisor: started, found, signalled and waited for.

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

use crate::async_fd;
use crate::pod_folder::{PodFolder, StopRequest};

/// A supervisor process.
#[derive(Debug)]
pub(super) struct SupervisorProcess {
    pidfd: AsyncFd<OwnedFd>,
    /// Set if it is a child of this process, which then has to be reaped.
    child: Option<Child>,
}

impl SupervisorProcess {
    /// Starts a supervisor. It leaves our session itself, so that it outlives this process.
    pub(super) fn start(program: &Path, folder: &PodFolder) -> io::Result<SupervisorProcess> {
        let mut options = OpenOptions::new();
        options.create(true).append(true).mode(0o600);
        let error_log = options.open(folder.path().join("supervisor.log"))?;
        let mut command = tokio::process::Command::new(program);
        command.arg("supervise").arg(folder.path()).env_clear();
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(error_log);
        let child = command.spawn()?;
        let pid = child.id().and_then(|id| i32::try_from(id).ok());
        let pid = pid.ok_or_else(|| io::Error::other("the supervisor exited at once"))?;
        Ok(SupervisorProcess { pidfd: open_pidfd(pid)?, child: Some(child) })
    }

    /// Finds the supervisor that holds the lock of a Pod's folder; `None` if the lock is free. The error
    /// has the kind `NotFound` if the holder of the lock has not yet written its process ID.
    pub(super) fn find(folder: &PodFolder) -> io::Result<Option<SupervisorProcess>> {
        if folder.lock()?.is_some() {
            return Ok(None);
        }
        let pid = folder.state()?.map(|state| state.supervisor).ok_or(io::ErrorKind::NotFound)?;
        let pidfd = open_pidfd(pid)?;
        // The process ID may be that of an earlier supervisor and belong to another process now.
        if !is_supervisor(pid, folder) {
            return Err(io::ErrorKind::NotFound.into());
        }
        Ok(Some(SupervisorProcess { pidfd, child: None }))
    }

    /// Requests a stop of the Pod, or an earlier stop. A supervisor without a folder cannot read a
    /// request; it is killed, and its containers are killed with it.
    pub(super) fn stop(&self, folder: &PodFolder, grace_seconds: u64) -> io::Result<()> {
        let signal = match folder.write_stop(&StopRequest { grace_seconds }) {
            Ok(()) => Signal::TERM,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Signal::KILL,
            Err(error) => return Err(error),
        };
        match pidfd_send_signal(self.pidfd.get_ref(), signal) {
            // The process has exited already.
            Err(rustix::io::Errno::SRCH) => Ok(()),
            other => Ok(other?),
        }
    }

    /// Waits until the process has exited. The future may be dropped and this method called again.
    pub(super) async fn exited(&mut self) {
        match &mut self.child {
            Some(child) => drop(child.wait().await),
            None => drop(self.pidfd.readable().await),
        }
    }
}

fn open_pidfd(pid: i32) -> io::Result<AsyncFd<OwnedFd>> {
    let pid = Pid::from_raw(pid).ok_or(io::ErrorKind::NotFound)?;
    match pidfd_open(pid, PidfdFlags::NONBLOCK) {
        Ok(pidfd) => async_fd::register(pidfd),
        Err(rustix::io::Errno::SRCH) => Err(io::ErrorKind::NotFound.into()),
        Err(error) => Err(error.into()),
    }
}

/// Whether a process has a Pod's folder among its arguments.
fn is_supervisor(pid: i32, folder: &PodFolder) -> bool {
    let arguments = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let path = folder.path().as_os_str().as_bytes();
    arguments.split(|byte| *byte == 0).any(|argument| argument == path)
}
