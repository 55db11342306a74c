//! The fork server: a small process with one thread that the daemon starts once. It forks a supervisor for
//! each Pod.
//!
//! A fork of it is much cheaper than the execution of this program, and supervisors share its memory. The
//! supervisors are its siblings, so they are children of the daemon and do not depend on the fork server.
//!
//! Standard input is a stream socket to the daemon. A request is the length of a Pod's folder and its path; the
//! response is the process ID of the supervisor, or a negative error number. The fork server ends with the
//! connection. Standard output is a pipe whose other end the daemon holds while it lives ([`Lifeline`]).

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use super::cgroup::CgroupMounts;
use super::{Inherited, close_inherited, fork, process_title, signals, supervise_pod, write_error};
use crate::pod_folder::PodFolder;

/// The argument of the hidden command `supervise` that starts a fork server.
pub(crate) const ARGUMENT: &str = "--fork-server";
/// The maximum length of a path.
pub(crate) const PATH_BYTES_MAX: usize = 4096;

/// A pipe that is closed when the daemon that started this process has ended.
#[derive(Debug)]
pub(super) struct Lifeline(OwnedFd);

impl Lifeline {
    /// Whether the daemon has ended. Its successor does not count.
    pub(super) fn is_cut(&self) -> bool {
        // Nothing is ever written to the pipe, and a read does not wait.
        !matches!(rustix::io::read(&self.0, &mut [0; 1]), Err(rustix::io::Errno::AGAIN))
    }
}

/// Serves requests until the daemon closes the connection.
pub(super) fn serve() -> io::Result<ExitCode> {
    close_inherited()?;
    signals::reset_dispositions();
    // Signals to the session of the daemon do not reach this process. Fails if it leads a session already.
    let _ = rustix::process::setsid();
    std::env::set_current_dir("/")?;
    let mut requests =
        UnixStream::from(rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3)?);
    let lifeline = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdout(), 3)?;
    rustix::io::ioctl_fionbio(&lifeline, true)?;
    let null = File::options().read(true).write(true).open("/dev/null")?;
    rustix::stdio::dup2_stdin(&null)?;
    rustix::stdio::dup2_stdout(&null)?;
    drop(null);
    let inherited = Inherited { lifeline: Some(Lifeline(lifeline)), cgroups: CgroupMounts::find() };
    let _ = process_title::set(&["supervise", ARGUMENT].map(OsString::from));
    while let Some(folder) = read_request(&mut requests)? {
        let response = match fork::fork_sibling() {
            Ok(Some(pid)) => pid.as_raw_nonzero().get(),
            Ok(None) => {
                drop(requests);
                fork::run_child(|| become_supervisor(&folder, inherited));
            }
            Err(error) => -error.raw_os_error().unwrap_or(libc::EIO),
        };
        requests.write_all(&response.to_ne_bytes())?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Reads a request; `None` at the end of the connection.
fn read_request(requests: &mut UnixStream) -> io::Result<Option<PathBuf>> {
    let mut length = [0; size_of::<u32>()];
    match requests.read_exact(&mut length) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        result => result?,
    }
    let length = usize::try_from(u32::from_ne_bytes(length)).unwrap_or(usize::MAX);
    if length > PATH_BYTES_MAX {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut path = vec![0; length];
    requests.read_exact(&mut path)?;
    Ok(Some(PathBuf::from(OsString::from_vec(path))))
}

/// Supervises a Pod in a process that was just forked. Returns the exit status.
fn become_supervisor(folder: &Path, inherited: Inherited) -> i32 {
    let error_log = PodFolder::new(folder);
    std::panic::set_hook(Box::new(move |panic| write_error(&error_log, &panic.to_string())));
    let title = [OsString::from("supervise"), folder.into()];
    let result = match process_title::set(&title) {
        Ok(()) => supervise_pod(folder, inherited),
        // The daemon finds a supervisor by its arguments, so the program is executed with them.
        Err(_) => Err(Command::new("/proc/self/exe").args(&title).exec()),
    };
    match result {
        Ok(()) => 0,
        Err(error) => {
            write_error(&PodFolder::new(folder), &error.to_string());
            1
        }
    }
}
