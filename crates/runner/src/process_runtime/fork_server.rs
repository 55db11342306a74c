//! The daemon's side of the fork server: starts it and asks it for supervisors.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Resource, Rlimit, getrlimit, prlimit};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixStream;
use tokio::time::timeout;

use crate::supervisor::{FORK_SERVER_ARGUMENT, PATH_BYTES_MAX};

/// The environment of the fork server and of supervisors. The kernel gives a user namespace, which mounts need
/// without root, only to a process with one thread, and the allocator jemalloc starts another one unless it is
/// told not to. One arena is enough for one thread.
const ENVIRONMENT: [(&str, &str); 1] =
    [("_RJEM_MALLOC_CONF", "background_thread:false,narenas:1,tcache:false")];

/// How long the fork server may take for its response.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(30);

/// How the fork server is started.
#[derive(Clone, Debug)]
pub(super) struct ForkServerOptions {
    /// The program that is started as `<program> supervise --fork-server`.
    pub(super) program: PathBuf,
    /// The soft limit of open files of supervisors. `None` leaves that of this process.
    pub(super) open_files_soft_max: Option<u64>,
}

/// A fork server. It ends when this is dropped.
#[derive(Debug)]
pub(super) struct ForkServer {
    process: Child,
    connection: UnixStream,
}

impl ForkServer {
    /// Starts a fork server. `lifeline` is a pipe that closes when this process has ended.
    pub(super) async fn start(
        options: ForkServerOptions,
        lifeline: OwnedFd,
    ) -> io::Result<ForkServer> {
        let (connection, requests) = UnixStream::pair()?;
        let requests = requests.into_std()?;
        // The fork server waits for requests.
        requests.set_nonblocking(false)?;
        let spawning = move || {
            let mut command = Command::new(&options.program);
            command.arg("supervise").arg(FORK_SERVER_ARGUMENT);
            // Space for the arguments of supervisors, which replace these.
            command.arg("-".repeat(PATH_BYTES_MAX));
            command.env_clear().envs(ENVIRONMENT);
            command.stdin(OwnedFd::from(requests)).stdout(lifeline).stderr(Stdio::null());
            let process = command.spawn()?;
            if let Some(soft_max) = options.open_files_soft_max {
                limit_open_files(Pid::from_child(&process), soft_max);
            }
            io::Result::Ok(process)
        };
        let process = tokio::task::spawn_blocking(spawning).await.map_err(io::Error::other)??;
        Ok(ForkServer { process, connection })
    }

    pub(super) fn pid(&self) -> Pid {
        Pid::from_child(&self.process)
    }

    /// Starts a supervisor for each folder. After an error of the connection, which is the last result, the fork
    /// server is of no use, and it is not known whether the remaining supervisors have started.
    pub(super) async fn fork_all(&mut self, folders: &[&Path]) -> io::Result<Vec<io::Result<Pid>>> {
        let mut results = Vec::new();
        let work = async {
            self.connection.write_all(&encode_requests(folders)?).await?;
            for _ in folders {
                let mut response = [0; size_of::<i32>()];
                self.connection.read_exact(&mut response).await?;
                results.push(decode_response(i32::from_ne_bytes(response)));
            }
            Ok(())
        };
        let result: io::Result<()> = match timeout(RESPONSE_TIMEOUT, work).await {
            Ok(result) => result,
            Err(_) => Err(io::ErrorKind::TimedOut.into()),
        };
        result.map(|()| results)
    }
}

impl Drop for ForkServer {
    fn drop(&mut self) {
        // It has no work to finish. A kill needs no time, so this does not wait for long.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn encode_requests(folders: &[&Path]) -> io::Result<Vec<u8>> {
    let mut requests = Vec::new();
    for folder in folders {
        let path = folder.as_os_str().as_bytes();
        let length = u32::try_from(path.len()).map_err(io::Error::other)?;
        requests.extend_from_slice(&length.to_ne_bytes());
        requests.extend_from_slice(path);
    }
    Ok(requests)
}

fn decode_response(response: i32) -> io::Result<Pid> {
    match Pid::from_raw(response) {
        Some(pid) if response > 0 => Ok(pid),
        _ => Err(io::Error::from_raw_os_error(response.saturating_neg())),
    }
}

/// Sets the soft limit of open files of a process, which its containers inherit. This process has a higher one,
/// with which programs that use `select` or close all descriptors behave badly.
fn limit_open_files(pid: Pid, soft_max: u64) {
    let limit = Rlimit { current: Some(soft_max), ..getrlimit(Resource::Nofile) };
    // A process that has exited needs no limit.
    let _ = prlimit(Some(pid), Resource::Nofile, limit);
}
