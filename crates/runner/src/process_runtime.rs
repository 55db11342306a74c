//! [`ProcessRuntime`]: the [`PodRuntime`] that runs each Pod under a supervisor process.

mod supervisor_process;

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use punctual_api::Pod;
use tokio::time::{Instant, sleep, sleep_until};

use self::supervisor_process::SupervisorProcess;
use crate::folder_watcher::{FolderWatch, FolderWatcher};
use crate::node;
use crate::pod_folder::{PodFolder, StopRequest, create_private, is_file_name};
use crate::pod_plan::RestartBackoff;
use crate::pod_runtime::{PodHandle, PodRuntime, RuntimeEvent};
use crate::pod_state::PodState;
use crate::prepare::{self, PlanSettings, PrepareError, References};

/// The default limit of a container's log on disk.
const LOG_BYTES_MAX: u64 = 20 * 1024 * 1024;

/// The default time after which a supervisor that should have exited is killed. It may need a while to kill
/// its containers and to write their results.
const KILL_DELAY: Duration = Duration::from_secs(30);

/// How long to wait for a supervisor that has taken the lock and not yet written its process ID.
const ATTACH_RETRY: Duration = Duration::from_millis(50);

/// The options of a [`ProcessRuntime`].
#[derive(Clone, Debug)]
pub struct ProcessRuntimeOptions {
    /// The folder that contains `pods/`.
    pub data_dir: PathBuf,
    /// The program that is started as `<program> supervise <folder>`.
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
        }
    }
}

/// Runs each Pod under a supervisor process, which outlives this process.
#[derive(Debug)]
pub struct ProcessRuntime {
    data_dir: PathBuf,
    program: PathBuf,
    open_files_soft_max: Option<u64>,
    settings: PlanSettings,
    kill_delay: Duration,
    folder_watcher: Arc<FolderWatcher>,
}

impl ProcessRuntime {
    /// Creates the data directory if it does not exist. Must be called in a tokio runtime.
    pub fn new(options: ProcessRuntimeOptions) -> io::Result<ProcessRuntime> {
        create_private(&options.data_dir.join("pods"))?;
        Ok(ProcessRuntime {
            data_dir: options.data_dir.canonicalize()?,
            program: options.program,
            open_files_soft_max: options.open_files_soft_max,
            settings: PlanSettings {
                restart_backoff: options.restart_backoff,
                log_bytes_max: options.log_bytes_max,
                use_cgroups: options.use_cgroups,
                machine: node::machine_resources(),
            },
            kill_delay: options.kill_delay,
            folder_watcher: FolderWatcher::start()?,
        })
    }

    fn folder(&self, uid: &str) -> io::Result<PodFolder> {
        PodFolder::of_pod(&self.data_dir, uid).ok_or_else(|| io::ErrorKind::InvalidInput.into())
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
        // The watch begins first, so that no change is missed.
        let folder_watch = self.folder_watcher.watch(folder.path());
        loop {
            let found = SupervisorProcess::find(&folder);
            if !matches!(found, Ok(Some(_))) && !folder.has_plan()? {
                return Err(io::Error::new(io::ErrorKind::NotFound, "the Pod's plan is missing"));
            }
            match found {
                Ok(Some(process)) => {
                    let folder_watch = folder_watch?;
                    return Ok(Some(Box::new(self.handle(folder, folder_watch, process))));
                }
                Ok(None) => return Ok(None),
                Err(error) if error.kind() == io::ErrorKind::NotFound => sleep(ATTACH_RETRY).await,
                Err(error) => return Err(error),
            }
        }
    }
}

impl PodRuntime for ProcessRuntime {
    fn pod_uids(&self) -> io::Result<Vec<String>> {
        let entries = std::fs::read_dir(self.data_dir.join("pods"))?;
        entries.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned())).collect()
    }

    fn is_valid_uid(&self, uid: &str) -> bool {
        is_file_name(uid)
    }

    fn is_prepared(&self, uid: &str) -> io::Result<bool> {
        self.folder(uid)?.has_plan()
    }

    fn state<'a>(&'a self, uid: &'a str) -> BoxFuture<'a, io::Result<Option<PodState>>> {
        Box::pin(async move {
            let folder = self.folder(uid)?;
            // A slow disk must not delay the other tasks of this thread.
            let reading = tokio::task::spawn_blocking(move || folder.state());
            match reading.await.map_err(io::Error::other)? {
                // The supervisor, or its successor, writes another state.
                Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                    tracing::warn!(uid, %error, "the state of a Pod is unusable; waiting for a new one");
                    Ok(None)
                }
                state => state,
            }
        })
    }

    fn grace_seconds(&self, uid: &str) -> Option<u64> {
        let plan = self.folder(uid).and_then(|folder| folder.plan());
        plan.ok().map(|plan| plan.grace_seconds)
    }

    fn prepare(
        &self,
        pod: Arc<Pod>,
        references: References,
    ) -> BoxFuture<'_, Result<(), PrepareError>> {
        let settings = self.settings.clone();
        Box::pin(async move {
            let folder = self.folder(&pod.metadata.uid)?;
            let preparing = tokio::task::spawn_blocking(move || {
                prepare::prepare(&pod, &references, &folder, &settings)
            });
            preparing.await.map_err(io::Error::other)?
        })
    }

    fn attach<'a>(&'a self, uid: &'a str) -> BoxFuture<'a, io::Result<Option<Box<dyn PodHandle>>>> {
        Box::pin(self.find_supervisor(uid))
    }

    fn start(&self, uid: &str, stop_within: Option<u64>) -> io::Result<Box<dyn PodHandle>> {
        let folder = self.folder(uid)?;
        let folder_watch = self.folder_watcher.watch(folder.path())?;
        if let Some(grace_seconds) = stop_within {
            folder.write_stop(&StopRequest { grace_seconds })?;
        }
        let process = SupervisorProcess::start(&self.program, &folder, self.open_files_soft_max)?;
        let mut handle = self.handle(folder, folder_watch, process);
        if let Some(grace_seconds) = stop_within {
            handle.set_kill_at(grace_seconds);
        }
        Ok(Box::new(handle))
    }

    fn remove(&self, uid: &str) -> io::Result<()> {
        self.folder(uid)?.remove()
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
                self.process.kill();
                self.kill_at = None;
            }
        })
    }

    fn stop(&mut self, grace_seconds: u64) -> io::Result<()> {
        self.set_kill_at(grace_seconds);
        self.process.stop(&self.folder, grace_seconds)
    }
}
