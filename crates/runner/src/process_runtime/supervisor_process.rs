//! The supervisor process of a Pod: finds it after a restart, signals it and waits for its end.

use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;

use rustix::process::{
    Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, pidfd_open, pidfd_send_signal, waitid,
};
use tokio::io::unix::AsyncFd;

use super::launcher::{self, Launcher};
use crate::pod_folder::PodFolder;
use crate::{async_fd, process_tree};

/// A supervisor process.
#[derive(Debug)]
pub(super) struct SupervisorProcess {
    pid: Pid,
    pidfd: AsyncFd<OwnedFd>,
    launcher: Launcher,
    end: SupervisorEnd,
}

/// What is to be done when the supervisor has exited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SupervisorEnd {
    /// It is a child of this process, which must wait for it.
    Wait,
    /// It has failed and did not kill the processes of its containers.
    KillOrphans,
    Nothing,
}

impl SupervisorProcess {
    /// Starts a supervisor. It leaves the session of this process, so that it outlives this process.
    pub(super) async fn start(
        folder: &PodFolder,
        launcher: &Launcher,
    ) -> io::Result<SupervisorProcess> {
        let pid = launcher.launch(folder).await?;
        let launcher = launcher.clone();
        // It is a child of this process that was not waited for, so its process ID is its own.
        let pidfd = open_pidfd(pid)?;
        Ok(SupervisorProcess { pid, pidfd, launcher, end: SupervisorEnd::Wait })
    }

    /// Finds the supervisor that holds the lock of a Pod's folder; `None` if the lock is free. The error
    /// has the kind `NotFound` if the holder of the lock has not yet written a state.
    pub(super) fn find(
        folder: &PodFolder,
        launcher: &Launcher,
    ) -> io::Result<Option<SupervisorProcess>> {
        if folder.lock()?.is_some() {
            return Ok(None);
        }
        let pid = folder.last_supervisor()?.and_then(Pid::from_raw);
        let pid = pid.ok_or(io::ErrorKind::NotFound)?;
        let pidfd = open_pidfd(pid)?;
        // It may be that of an earlier supervisor, and the process ID may belong to another process now.
        if !is_supervisor(pid, folder) {
            return Err(io::ErrorKind::NotFound.into());
        }
        let is_child = process_tree::is_child(pid);
        if is_child {
            launcher.adopt(pid);
        }
        let end = if is_child { SupervisorEnd::Wait } else { SupervisorEnd::Nothing };
        Ok(Some(SupervisorProcess { pid, pidfd, launcher: launcher.clone(), end }))
    }

    /// Tells the supervisor that a request to stop was written. A supervisor without a folder cannot read a
    /// request; it is killed, and its containers are killed with it.
    pub(super) fn stop(&self, written: io::Result<()>) -> io::Result<()> {
        let signal = match written {
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

    /// Kills the supervisor and all its descendants. The containers end with it by themselves, but not the
    /// processes that have left them. The future may be dropped and this method called again.
    pub(super) async fn kill(&self, folder: &PodFolder) {
        // Its process ID belongs to another process if it has exited.
        if is_supervisor(self.pid, folder) {
            launcher::kill_descendants(self.pid).await;
        }
        // Fails if the process has exited already.
        let _ = pidfd_send_signal(self.pidfd.get_ref(), Signal::KILL);
    }

    /// Waits until the process has exited. The future may be dropped and this method called again.
    pub(super) async fn exited(&mut self) {
        let _ = self.pidfd.readable().await;
        self.reap();
        if self.end == SupervisorEnd::KillOrphans {
            self.launcher.kill_orphans().await;
            self.end = SupervisorEnd::Nothing;
        }
    }

    /// Removes the process from the table of processes if it has exited.
    fn reap(&mut self) {
        if self.end != SupervisorEnd::Wait {
            return;
        }
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG;
        let pidfd = || WaitId::PidFd(self.pidfd.get_ref().as_fd());
        // Its process ID must not be forgotten after another process has got it.
        if matches!(waitid(pidfd(), options | WaitIdOptions::NOWAIT), Ok(None)) {
            return;
        }
        self.launcher.forget(self.pid);
        let is_success = waitid(pidfd(), options)
            .is_ok_and(|status| status.is_some_and(|status| status.exit_status() == Some(0)));
        self.end = if is_success { SupervisorEnd::Nothing } else { SupervisorEnd::KillOrphans };
    }
}

impl Drop for SupervisorProcess {
    fn drop(&mut self) {
        self.reap();
    }
}

fn open_pidfd(pid: Pid) -> io::Result<AsyncFd<OwnedFd>> {
    match pidfd_open(pid, PidfdFlags::NONBLOCK) {
        Ok(pidfd) => async_fd::register(pidfd),
        Err(rustix::io::Errno::SRCH) => Err(io::ErrorKind::NotFound.into()),
        Err(error) => Err(error.into()),
    }
}

/// Whether a process has a Pod's folder among its arguments.
fn is_supervisor(pid: Pid, folder: &PodFolder) -> bool {
    let arguments =
        std::fs::read(format!("/proc/{}/cmdline", pid.as_raw_nonzero())).unwrap_or_default();
    let path = folder.path().as_os_str().as_bytes();
    arguments.split(|byte| *byte == 0).any(|argument| argument == path)
}
