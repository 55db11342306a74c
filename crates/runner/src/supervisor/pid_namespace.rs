//! A PID namespace for a container: all its processes end with its main process, and it sees no others.
//!
//! ```text
//!  supervisor ─▶ this process, which waits ─▶ init, process 1 of the namespace ─▶ the container's program
//! ```
//!
//! The program is not process 1, because the kernel protects process 1 from signals that it does not handle,
//! so most programs would ignore SIGTERM. When init exits, the kernel kills all others of the namespace.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt as _;
use std::process::ExitStatus;

use rustix::mount::{MountFlags, mount};
use rustix::process::{Pid, Signal, WaitOptions};
use rustix::thread::UnshareFlags;

use super::fork::fork;
use super::{mounts, signals};

/// The exit status if the status of the program is unknown, because the setup failed.
const SETUP_FAILED: i32 = 128;

/// Enters a new PID namespace. Returns only in the process that becomes the container's program, or with
/// an error. Must be called in the container's own mount namespace.
pub(super) fn enter(report_pipe: &mut OwnedFd) -> io::Result<()> {
    let failed = |what: &str, error: io::Error| {
        io::Error::other(format!(
            "cannot create the PID namespace of the container: {what}: {error}; run punctual as root, or \
             remove the annotation punctual.dev/pid-namespace"
        ))
    };
    mounts::unshare(UnshareFlags::NEWPID).map_err(|error| failed("unshare", error.into()))?;
    let (status_reader, status_writer) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
    // This process and init ignore the signals that are sent to all processes of the container.
    signals::ignore_all();
    if let Some(init) = fork().map_err(|error| failed("fork", error))? {
        drop(status_writer);
        close_report_pipe(report_pipe)?;
        exit_like_program(init, status_reader);
    }
    drop(status_reader);
    // The namespace ends when the waiting process is killed.
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    mount("proc", "/proc", "proc", flags, None::<&std::ffi::CStr>)
        .map_err(|error| failed("mount /proc", error.into()))?;
    if let Some(program) = fork().map_err(|error| failed("fork", error))? {
        close_report_pipe(report_pipe)?;
        run_init(program, status_writer);
    }
    signals::reset_dispositions();
    Ok(())
}

/// Closes this process's copy of the pipe, which must close when the container's program is running.
fn close_report_pipe(report_pipe: &mut OwnedFd) -> io::Result<()> {
    Ok(rustix::io::dup2(File::open("/dev/null")?, report_pipe)?)
}

/// Reaps the processes of the namespace until the container's program has exited, and reports its status.
fn run_init(program: Pid, status_pipe: OwnedFd) -> ! {
    loop {
        match rustix::process::wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) if pid == program => {
                let _ = File::from(status_pipe).write_all(&status.as_raw().to_ne_bytes());
                std::process::exit(0)
            }
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(_) => std::process::exit(SETUP_FAILED),
        }
    }
}

/// Waits for init and exits as the container's program did: with its status or by its signal.
fn exit_like_program(init: Pid, status_pipe: OwnedFd) -> ! {
    let mut bytes = [0; size_of::<i32>()];
    let is_read = File::from(status_pipe).read_exact(&mut bytes).is_ok();
    let _ =
        rustix::io::retry_on_intr(|| rustix::process::waitpid(Some(init), WaitOptions::empty()));
    if !is_read {
        std::process::exit(SETUP_FAILED);
    }
    let status = ExitStatus::from_raw(i32::from_ne_bytes(bytes));
    if let Some(signal) = status.signal() {
        signals::exit_by_signal(signal);
    }
    std::process::exit(status.code().unwrap_or(SETUP_FAILED))
}
