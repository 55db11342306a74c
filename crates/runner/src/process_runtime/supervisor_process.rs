//! Starts the supervisor process of a Pod, finds it after a restart, signals it and waits for its
//! end.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;

use rustix::process::{
    Pid, PidfdFlags, Resource, Rlimit, Signal, getrlimit, pidfd_open, pidfd_send_signal, prlimit,
};
use tokio::io::unix::AsyncFd;
use tokio::process::Child;

use super::child_processes::{self, ChildProcesses};
use crate::pod_folder::PodFolder;
use crate::supervisor::SINGLE_THREAD_VARIABLE;
use crate::{async_fd, bounded_file};

/// A supervisor process.
#[derive(Debug)]
pub(super) struct SupervisorProcess {
    pid: Pid,
    pidfd: AsyncFd<OwnedFd>,
    children: Arc<ChildProcesses>,
    /// Set if the supervisor is a child of this process, which must reap it.
    child: Option<Child>,
}

impl SupervisorProcess {
    /// Starts a supervisor. The supervisor itself leaves the session of this process, so that it outlives this
    /// process.
    pub(super) fn start(
        program: &Path,
        folder: &PodFolder,
        open_files_soft_max: Option<u64>,
        children: &Arc<ChildProcesses>,
    ) -> io::Result<SupervisorProcess> {
        let error_log = open_error_log(folder)?;
        let mut command = tokio::process::Command::new(program);
        let [name, value] = SINGLE_THREAD_VARIABLE;
        command.arg("supervise").arg(folder.path()).env_clear().env(name, value);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(error_log);
        let child = children.spawn(&mut command)?;
        let pid = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        let pid = pid.ok_or_else(|| io::Error::other("the supervisor exited at once"))?;
        if let Some(soft_max) = open_files_soft_max {
            limit_open_files(pid, soft_max);
        }
        let children = children.clone();
        Ok(SupervisorProcess { pid, pidfd: open_pidfd(pid)?, children, child: Some(child) })
    }

    /// Finds the supervisor that holds the lock of a Pod's folder; `None` if the lock is free. The error
    /// has the kind `NotFound` if the holder of the lock has not yet written its process ID.
    pub(super) fn find(
        folder: &PodFolder,
        children: &Arc<ChildProcesses>,
    ) -> io::Result<Option<SupervisorProcess>> {
        if folder.lock()?.is_some() {
            return Ok(None);
        }
        let pid = folder.lock_holder()?.and_then(Pid::from_raw).ok_or(io::ErrorKind::NotFound)?;
        let pidfd = open_pidfd(pid)?;
        // The process ID may be that of an earlier supervisor and belong to another process now.
        if !is_supervisor(pid, folder) {
            return Err(io::ErrorKind::NotFound.into());
        }
        let children = children.clone();
        Ok(Some(SupervisorProcess { pid, pidfd, children, child: None }))
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
            child_processes::kill_descendants(self.pid).await;
        }
        // Fails if the process has exited already.
        let _ = pidfd_send_signal(self.pidfd.get_ref(), Signal::KILL);
    }

    /// Waits until the process has exited. The future may be dropped and this method called again.
    pub(super) async fn exited(&mut self) {
        let Some(child) = &mut self.child else { return drop(self.pidfd.readable().await) };
        let is_success = child.wait().await.is_ok_and(|status| status.success());
        if !is_success {
            // It did not kill the processes of its containers.
            self.children.kill_orphans().await;
        }
    }
}

/// The file for the errors of a supervisor. What has its name and is no file is replaced.
fn open_error_log(folder: &PodFolder) -> io::Result<File> {
    let path = folder.path().join("supervisor.log");
    match bounded_file::open_append(&path) {
        Err(error) if error.kind() == io::ErrorKind::InvalidData => bounded_file::create(&path),
        result => result,
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

/// Sets the soft limit of open files of a supervisor, which its containers inherit. This process has a
/// higher one, with which programs that use `select` or close all descriptors behave badly.
fn limit_open_files(pid: Pid, soft_max: u64) {
    let limit = Rlimit { current: Some(soft_max), ..getrlimit(Resource::Nofile) };
    // A supervisor that has exited needs no limit.
    let _ = prlimit(Some(pid), Resource::Nofile, limit);
}
