//! [`ProcessRuntime`]: the [`PodRuntime`] that runs each Pod under a supervisor process.

mod data_access;
mod folder_remover;
mod fork_server;
mod launcher;
mod remove_tree;
mod start_log;
mod supervisor_process;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use punctual_api::Pod;
use tokio::time::{Instant, sleep, sleep_until};

use self::folder_remover::FolderRemover;
use self::fork_server::ForkServerOptions;
use self::launcher::Launcher;
use self::start_log::StartLog;
use self::supervisor_process::SupervisorProcess;
use crate::folder_watcher::{FolderWatch, FolderWatcher};
use crate::node;
use crate::pod_folder::{PodFolder, StopRequest, create_private, is_file_name};
use crate::pod_plan::{RestartBackoff, current_boot_id};
use crate::pod_runtime::{PodHandle, PodRuntime, RuntimeEvent};
use crate::pod_state::PodState;
use crate::prepare::{self, PlanSettings, PrepareError, References};

/// The default limit of a container's log on disk.
const LOG_BYTES_MAX: u64 = 20 * 1024 * 1024;

/// The default time after which a supervisor that should have exited is killed. It may need a while to kill
/// its containers and to write their results.
const KILL_DELAY: Duration = Duration::from_secs(30);

/// How long to wait for a supervisor that has taken the lock and not yet written a state.
const ATTACH_RETRY: Duration = Duration::from_millis(50);

/// The options of a [`ProcessRuntime`].
#[derive(Clone, Debug)]
pub struct ProcessRuntimeOptions {
    /// The folder that contains `pods/`.
    pub data_dir: PathBuf,
    /// The program that starts supervisors; it must pass the arguments after the first to
    /// [`supervise`](crate::supervise).
    pub program: PathBuf,
    /// The delays before containers are restarted.
    pub restart_backoff: RestartBackoff,
    /// The maximum size of the log of one container run, in two files together.
    pub log_bytes_max: u64,
    /// Whether to use cgroups where the system allows it.
    pub use_cgroups: bool,
    /// How long after the grace period of a stopped Pod its supervisor is killed if it has not exited.
    pub kill_delay: Duration,
    /// The soft limit of open files of Pods. `None` leaves that of this process.
    pub open_files_soft_max: Option<u64>,
    /// Whether processes that a killed supervisor leaves behind become children of this process and are
    /// killed. Requires that this process starts no other children.
    pub adopt_orphans: bool,
}

impl ProcessRuntimeOptions {
    /// The defaults of Kubernetes: two log files of 10 MiB.
    pub fn new(data_dir: PathBuf, program: PathBuf) -> ProcessRuntimeOptions {
        ProcessRuntimeOptions {
            data_dir,
            program,
            restart_backoff: RestartBackoff::default(),
            log_bytes_max: LOG_BYTES_MAX,
            use_cgroups: true,
            kill_delay: KILL_DELAY,
            open_files_soft_max: None,
            adopt_orphans: false,
        }
    }
}

/// Runs each Pod under a supervisor process, which outlives this process.
#[derive(Debug)]
pub struct ProcessRuntime {
    data_dir: PathBuf,
    settings: PlanSettings,
    kill_delay: Duration,
    folder_watcher: Arc<FolderWatcher>,
    folder_remover: Arc<FolderRemover>,
    start_log: Arc<StartLog>,
    launcher: Launcher,
}

impl ProcessRuntime {
    /// Creates the data directory if it does not exist. Must be called in a tokio runtime.
    pub fn new(options: ProcessRuntimeOptions) -> io::Result<ProcessRuntime> {
        create_private(&options.data_dir.join("pods"))?;
        let data_dir = options.data_dir.canonicalize()?;
        data_access::warn(&data_dir);
        let folder_remover = Arc::new(FolderRemover::start(&data_dir.join("pods"))?);
        let start_log = Arc::new(StartLog::open(&data_dir.join("pods"))?);
        let fork_server = ForkServerOptions {
            program: options.program,
            open_files_soft_max: options.open_files_soft_max,
        };
        Ok(ProcessRuntime {
            data_dir,
            settings: PlanSettings {
                restart_backoff: options.restart_backoff,
                log_bytes_max: options.log_bytes_max,
                use_cgroups: options.use_cgroups,
                boot_id: current_boot_id(),
                machine: node::machine_resources(),
            },
            kill_delay: options.kill_delay,
            folder_watcher: FolderWatcher::start()?,
            folder_remover,
            start_log,
            launcher: Launcher::start(fork_server, options.adopt_orphans)?,
        })
    }

    fn folder(&self, uid: &str) -> io::Result<PodFolder> {
        PodFolder::for_uid(&self.data_dir, uid).ok_or_else(|| io::ErrorKind::InvalidInput.into())
    }

    fn handle(
        &self,
        folder: PodFolder,
        folder_watch: FolderWatch,
        process: SupervisorProcess,
    ) -> SupervisedPod {
        let kill_delay = self.kill_delay;
        SupervisedPod { folder, folder_watch, process, kill_delay, kill_at: None }
    }

    async fn find_supervisor(&self, uid: &str) -> io::Result<Option<Box<dyn PodHandle>>> {
        let folder = self.folder(uid)?;
        loop {
            let folder_watcher = self.folder_watcher.clone();
            let launcher = self.launcher.clone();
            let pod_folder = folder.clone();
            let finding = move || find_in_folder(&pod_folder, &folder_watcher, &launcher);
            match run_blocking(finding).await {
                Ok(Some((folder_watch, process))) => {
                    return Ok(Some(Box::new(self.handle(folder, folder_watch, process))));
                }
                Ok(None) => return Ok(None),
                Err(FindError::Retry) => sleep(ATTACH_RETRY).await,
                Err(FindError::Io(error)) => return Err(error),
            }
        }
    }

    async fn start_supervisor(
        &self,
        uid: &str,
        stop_within: Option<u64>,
    ) -> io::Result<Box<dyn PodHandle>> {
        let folder = self.folder(uid)?;
        let folder_watcher = self.folder_watcher.clone();
        let pod_folder = folder.clone();
        let preparing = run_blocking(move || {
            let folder_watch = folder_watcher.watch_written_files(pod_folder.path())?;
            if let Some(grace_seconds) = stop_within {
                pod_folder.write_stop(&StopRequest { grace_seconds })?;
            }
            io::Result::Ok(folder_watch)
        });
        let folder_watch = preparing.await?;
        let process = SupervisorProcess::start(&folder, &self.launcher).await?;
        let mut handle = self.handle(folder, folder_watch, process);
        if let Some(grace_seconds) = stop_within {
            handle.set_kill_at(grace_seconds);
        }
        Ok(Box::new(handle))
    }
}

/// Runs work that may wait for a disk on a thread for such work. A slow disk, or a folder with very many
/// files, must not delay the other tasks of the caller's thread.
async fn run_blocking<T: Send + 'static, E: From<io::Error> + Send + 'static>(
    work: impl FnOnce() -> Result<T, E> + Send + 'static,
) -> Result<T, E> {
    tokio::task::spawn_blocking(work).await.map_err(io::Error::other)?
}

/// Why a supervisor was not found.
enum FindError {
    /// A supervisor has taken the lock and not yet written a state.
    Retry,
    Io(io::Error),
}

impl From<io::Error> for FindError {
    fn from(error: io::Error) -> FindError {
        FindError::Io(error)
    }
}

/// Finds the supervisor of a Pod's folder.
fn find_in_folder(
    folder: &PodFolder,
    folder_watcher: &Arc<FolderWatcher>,
    launcher: &Launcher,
) -> Result<Option<(FolderWatch, SupervisorProcess)>, FindError> {
    // The watch begins first, so that no change is missed.
    let folder_watch = folder_watcher.watch_written_files(folder.path());
    let found = SupervisorProcess::find(folder, launcher);
    if !matches!(found, Ok(Some(_))) && !folder.has_plan()? {
        let error = io::Error::new(io::ErrorKind::NotFound, "the Pod's plan is missing");
        return Err(FindError::Io(error));
    }
    match found {
        Ok(Some(process)) => Ok(Some((folder_watch?, process))),
        Ok(None) => Ok(None),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(FindError::Retry),
        Err(error) => Err(FindError::Io(error)),
    }
}

/// The UIDs of the Pods that have folders.
fn uids_of_folders(pods: &Path) -> io::Result<Vec<String>> {
    let mut uids = Vec::new();
    for entry in std::fs::read_dir(pods)? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if is_file_name(&name) {
            uids.push(name);
        }
    }
    Ok(uids)
}

impl PodRuntime for ProcessRuntime {
    fn pod_uids(&self) -> BoxFuture<'_, io::Result<Vec<String>>> {
        let pods = self.data_dir.join("pods");
        Box::pin(async move {
            let mut uids = run_blocking(move || uids_of_folders(&pods)).await?;
            // Those whose folders did not reach the disk before a loss of power.
            uids.extend(self.start_log.uids());
            uids.sort_unstable();
            uids.dedup();
            Ok(uids)
        })
    }

    fn is_valid_uid(&self, uid: &str) -> bool {
        is_file_name(uid)
    }

    fn is_prepared<'a>(&'a self, uid: &'a str) -> BoxFuture<'a, io::Result<bool>> {
        Box::pin(async move {
            let folder = self.folder(uid)?;
            // A plan without a record is that of a Pod that was never started.
            if !self.start_log.contains(uid) {
                return Ok(false);
            }
            run_blocking(move || folder.has_plan()).await
        })
    }

    fn state<'a>(&'a self, uid: &'a str) -> BoxFuture<'a, io::Result<Option<PodState>>> {
        Box::pin(async move {
            let folder = self.folder(uid)?;
            match run_blocking(move || folder.state()).await {
                // The supervisor, or its successor, writes another state.
                Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                    tracing::warn!(uid, %error, "the state of a Pod is unusable; waiting for a new one");
                    Ok(None)
                }
                state => state,
            }
        })
    }

    fn grace_seconds<'a>(&'a self, uid: &'a str) -> BoxFuture<'a, Option<u64>> {
        Box::pin(async move {
            let folder = self.folder(uid).ok()?;
            let plan = run_blocking(move || folder.plan()).await.ok()?;
            Some(plan.grace_seconds)
        })
    }

    fn prepare(
        &self,
        pod: Arc<Pod>,
        references: References,
    ) -> BoxFuture<'_, Result<(), PrepareError>> {
        let settings = self.settings.clone();
        Box::pin(async move {
            let folder = self.folder(&pod.metadata.uid)?;
            let uid = pod.metadata.uid.clone();
            if self.start_log.contains(&uid) {
                return Err(PrepareError::Lost);
            }
            run_blocking(move || prepare::prepare(&pod, &references, &folder, &settings)).await?;
            // From here on the Pod counts as started.
            Ok(self.start_log.record(&uid).await?)
        })
    }

    fn attach<'a>(&'a self, uid: &'a str) -> BoxFuture<'a, io::Result<Option<Box<dyn PodHandle>>>> {
        Box::pin(self.find_supervisor(uid))
    }

    fn start<'a>(
        &'a self,
        uid: &'a str,
        stop_within: Option<u64>,
    ) -> BoxFuture<'a, io::Result<Box<dyn PodHandle>>> {
        Box::pin(self.start_supervisor(uid, stop_within))
    }

    fn remove<'a>(&'a self, uid: &'a str) -> BoxFuture<'a, io::Result<()>> {
        Box::pin(async move {
            let folder = self.folder(uid)?;
            let folder_remover = self.folder_remover.clone();
            run_blocking(move || folder_remover.remove(folder.path())).await?;
            self.start_log.remove(uid);
            Ok(())
        })
    }
}

/// A Pod whose supervisor is running.
struct SupervisedPod {
    folder: PodFolder,
    folder_watch: FolderWatch,
    process: SupervisorProcess,
    kill_delay: Duration,
    /// When a supervisor that was asked to stop is killed.
    kill_at: Option<Instant>,
}

impl SupervisedPod {
    /// Sets when the supervisor is killed. Its successor kills what it has left behind.
    fn set_kill_at(&mut self, grace_seconds: u64) {
        let delay = Duration::from_secs(grace_seconds.min(u32::MAX.into())) + self.kill_delay;
        let kill_at = Instant::now() + delay;
        self.kill_at = Some(self.kill_at.map_or(kill_at, |before| before.min(kill_at)));
    }
}

impl PodHandle for SupervisedPod {
    fn next_event(&mut self) -> BoxFuture<'_, RuntimeEvent> {
        Box::pin(async move {
            loop {
                let kill_at = self.kill_at;
                tokio::select! {
                    () = self.folder_watch.changed() => return RuntimeEvent::StateChanged,
                    () = self.process.exited() => return RuntimeEvent::Exited,
                    () = sleep_until(kill_at.unwrap_or_else(Instant::now)), if kill_at.is_some() => {}
                }
                tracing::warn!(
                    folder = %self.folder.path().display(),
                    "a supervisor did not stop its Pod in time; killing it"
                );
                self.process.kill(&self.folder).await;
                self.kill_at = None;
            }
        })
    }

    fn stop(&mut self, grace_seconds: u64) -> BoxFuture<'_, io::Result<()>> {
        self.set_kill_at(grace_seconds);
        Box::pin(async move {
            let folder = self.folder.clone();
            let writing = run_blocking(move || folder.write_stop(&StopRequest { grace_seconds }));
            self.process.stop(writing.await)
        })
    }
}
