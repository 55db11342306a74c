//! Starts supervisors and kills orphans. One task does both, so that a new supervisor is never taken for an
//! orphan.
//!
//! A container can kill its supervisor. Its main process ends with the supervisor, but processes that have left
//! it do not, and without a cgroup a new supervisor does not find them. They therefore become children of this
//! process, the nearest subreaper, which kills them.

use std::collections::HashSet;
use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use rustix::process::{Pid, WaitOptions, waitpid};
use tokio::sync::{mpsc, oneshot};
use tokio::task::spawn_blocking;
use tokio::time::{Instant, sleep};

use super::fork_server::{ForkServer, ForkServerOptions};
use crate::pod_folder::PodFolder;
use crate::process_tree;

/// How long orphans are killed until none is left.
const KILL_TIMEOUT: Duration = Duration::from_secs(10);
/// The interval at which they are killed.
const KILL_INTERVAL: Duration = Duration::from_millis(5);
/// The maximum number of supervisors that are requested at a time.
const BATCH_MAX: usize = 64;

/// The task that starts supervisors. Clones share it. It ends when the last one is dropped.
#[derive(Clone, Debug)]
pub(super) struct Launcher {
    requests: mpsc::UnboundedSender<Request>,
    /// Whether orphaned descendants become children of this process.
    is_subreaper: bool,
}

#[derive(Debug)]
enum Request {
    Launch(Launch),
    /// A supervisor that an earlier runtime of this process has started.
    Adopt(Pid),
    /// A supervisor has exited, and its process ID is about to become free.
    Forget(Pid),
    /// Kills the orphans that are there now. The response is whether there were any.
    KillOrphans(oneshot::Sender<bool>),
}

#[derive(Debug)]
struct Launch {
    folder: PathBuf,
    response: oneshot::Sender<io::Result<Pid>>,
}

impl Launcher {
    /// Starts the task. With `adopt_orphans`, only it may start children of this process.
    pub(super) fn start(options: ForkServerOptions, adopt_orphans: bool) -> io::Result<Launcher> {
        let mut inherited = HashSet::new();
        if adopt_orphans {
            inherited.extend(process_tree::children(rustix::process::getpid()));
            rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
        }
        let (reader, writer) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
        let task = LauncherTask {
            options,
            lifeline: reader,
            _held_lifeline: writer,
            server: None,
            inherited,
            supervisors: HashSet::new(),
        };
        let (requests, receiver) = mpsc::unbounded_channel();
        tokio::spawn(task.run(receiver));
        Ok(Launcher { requests, is_subreaper: adopt_orphans })
    }

    /// Starts the supervisor of a Pod.
    pub(super) async fn launch(&self, folder: &PodFolder) -> io::Result<Pid> {
        let (response, result) = oneshot::channel();
        let launch = Launch { folder: folder.path().to_owned(), response };
        let stopped = || io::Error::other("supervisors are no longer started");
        self.requests.send(Request::Launch(launch)).map_err(|_| stopped())?;
        result.await.map_err(|_| stopped())?
    }

    /// Tells the task of a supervisor that is a child of this process.
    pub(super) fn adopt(&self, supervisor: Pid) {
        let _ = self.requests.send(Request::Adopt(supervisor));
    }

    /// Must be called before a supervisor that has exited is waited for.
    pub(super) fn forget(&self, supervisor: Pid) {
        let _ = self.requests.send(Request::Forget(supervisor));
    }

    /// Kills the orphans that a supervisor has left, until none is found.
    pub(super) async fn kill_orphans(&self) {
        let give_up_at = Instant::now() + KILL_TIMEOUT;
        while self.is_subreaper && self.kill_present_orphans().await {
            if Instant::now() > give_up_at {
                return warn_of_survivors();
            }
            sleep(KILL_INTERVAL).await;
        }
    }

    async fn kill_present_orphans(&self) -> bool {
        let (response, result) = oneshot::channel();
        let _ = self.requests.send(Request::KillOrphans(response));
        result.await.unwrap_or(false)
    }
}

struct LauncherTask {
    options: ForkServerOptions,
    /// The pipe of which this process alone has the other end, so that it closes with this process.
    lifeline: OwnedFd,
    _held_lifeline: OwnedFd,
    server: Option<ForkServer>,
    /// The children that this process had before it was a subreaper.
    inherited: HashSet<Pid>,
    supervisors: HashSet<Pid>,
}

impl LauncherTask {
    async fn run(mut self, mut requests: mpsc::UnboundedReceiver<Request>) {
        // The first Pod does not have to wait for the start of the program. A failure is reported with a Pod.
        let _ = self.start_server().await;
        let mut batch = Vec::new();
        while requests.recv_many(&mut batch, BATCH_MAX).await > 0 {
            let mut launches = Vec::new();
            for request in batch.drain(..) {
                match request {
                    Request::Launch(launch) => launches.push(launch),
                    Request::Adopt(pid) => drop(self.supervisors.insert(pid)),
                    Request::Forget(pid) => drop(self.supervisors.remove(&pid)),
                    Request::KillOrphans(response) => {
                        let _ = response.send(self.kill_present_orphans().await);
                    }
                }
            }
            self.launch_all(launches).await;
        }
    }

    /// Starts supervisors. If the fork server fails, another one is started for the next request.
    async fn launch_all(&mut self, launches: Vec<Launch>) {
        let folders: Vec<_> = launches.iter().map(|launch| launch.folder.as_path()).collect();
        if folders.is_empty() {
            return;
        }
        let results = match self.start_server().await {
            Ok(server) => server.fork_all(&folders).await,
            Err(error) => Err(error),
        };
        let results = results.unwrap_or_else(|error| {
            tracing::warn!(%error, "the process that starts Pods failed; starting another one");
            self.server = None;
            let failed = || Err(io::Error::new(error.kind(), error.to_string()));
            launches.iter().map(|_| failed()).collect()
        });
        for (launch, result) in launches.into_iter().zip(results) {
            self.supervisors.extend(result.as_ref().ok());
            let _ = launch.response.send(result);
        }
    }

    async fn start_server(&mut self) -> io::Result<&mut ForkServer> {
        let server = match self.server.take() {
            Some(server) => server,
            None => ForkServer::start(self.options.clone(), self.lifeline.try_clone()?).await?,
        };
        Ok(self.server.insert(server))
    }

    /// Kills the orphans that are there now. Returns whether there were any.
    async fn kill_present_orphans(&self) -> bool {
        let mut own: HashSet<Pid> = self.supervisors.union(&self.inherited).copied().collect();
        own.extend(self.server.as_ref().map(ForkServer::pid));
        let kill = move || {
            let mut orphans = process_tree::children(rustix::process::getpid());
            orphans.retain(|pid| !own.contains(pid));
            for orphan in &orphans {
                process_tree::kill(&process_tree::descendants_of(*orphan));
                process_tree::kill(&[*orphan]);
                // Only its parent can remove it from the table of processes.
                let _ = waitpid(Some(*orphan), WaitOptions::NOHANG);
            }
            !orphans.is_empty()
        };
        spawn_blocking(kill).await.unwrap_or(false)
    }
}

/// Kills the descendants of a supervisor that does not do it itself, until none is found.
pub(super) async fn kill_descendants(supervisor: Pid) {
    let kill = move || {
        let left = process_tree::descendants_of(supervisor);
        process_tree::kill(&left);
        !left.is_empty()
    };
    let kill = Arc::new(kill);
    let give_up_at = Instant::now() + KILL_TIMEOUT;
    loop {
        let kill = kill.clone();
        if !spawn_blocking(move || kill()).await.unwrap_or(false) {
            return;
        }
        if Instant::now() > give_up_at {
            return warn_of_survivors();
        }
        sleep(KILL_INTERVAL).await;
    }
}

fn warn_of_survivors() {
    tracing::warn!("processes that a Pod has left behind could not be killed");
}
