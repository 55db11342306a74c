//! One run of a container, from its start to the exit of its last process.

use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::lchown;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use punctual_client::Clock;
use rustix::process::{Pid, Signal, WaitStatus, kill_process_group};
use tokio::io::AsyncReadExt as _;
use tokio::net::unix::pipe::Receiver;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};

use super::cgroup::ContainerCgroup;
use super::container_setup::{ChildPipes, ContainerSetup, SetupFailure, SetupReport};
use super::log_writer::{LogFile, copy_output};
use super::{container_setup, exit_status, fork};
use crate::pod_folder::{PodFolder, create_private};
use crate::pod_plan::ContainerPlan;
use crate::pod_state::{ReasonAndMessage, Termination, reasons};
use crate::{bounded_file, process_tree};

/// How long the setup of a container may take. Mounts may be slow.
const SETUP_TIMEOUT: Duration = Duration::from_secs(60);
/// How long the output of a container may continue after its exit.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(2);
/// The interval at which the processes of a container that has ended are killed until none is left.
const KILL_INTERVAL: Duration = Duration::from_millis(5);
/// The maximum size of the reports of a setup.
const REPORT_BYTES_MAX: u64 = 64 * 1024;

/// The parameters of a run.
pub(super) struct ContainerRun<'a> {
    pub(super) folder: &'a PodFolder,
    pub(super) plan: &'a ContainerPlan,
    pub(super) number: u32,
    pub(super) cgroup: Option<ContainerCgroup>,
    pub(super) log_bytes_max: u64,
    /// Why no container can be started.
    pub(super) volume_failure: Option<&'a str>,
    pub(super) clock: Arc<dyn Clock>,
}

/// A running container.
#[derive(Debug)]
pub(super) struct RunningContainer {
    /// The index in the plan.
    pub(super) index: usize,
    pub(super) pid: Pid,
    pub(super) started_at: Timestamp,
    pub(super) start_instant: Instant,
    /// What the setup could not do, although the container runs.
    pub(super) warnings: Vec<String>,
    cgroup: Option<ContainerCgroup>,
    output: JoinHandle<()>,
}

/// The result of a start.
#[derive(Debug)]
pub(super) enum StartResult {
    Running(RunningContainer),
    Failed(Termination),
}

impl ContainerRun<'_> {
    /// Starts the container.
    pub(super) async fn start(self, index: usize) -> StartResult {
        let now = self.clock.now();
        if let Some(message) = self.plan.unsupported.clone() {
            let failure = SetupFailure::new(reasons::CANNOT_RUN, 127, message);
            return StartResult::Failed(start_failure(failure, now));
        }
        if let Some(message) = self.volume_failure {
            let failure = SetupFailure::new(reasons::START_ERROR, 128, message);
            return StartResult::Failed(start_failure(failure, now));
        }
        match self.launch(index, now).await {
            Ok(result) => result,
            Err(error) => {
                let failure = SetupFailure::new(reasons::START_ERROR, 128, error.to_string());
                StartResult::Failed(start_failure(failure, now))
            }
        }
    }

    async fn launch(self, index: usize, now: Timestamp) -> io::Result<StartResult> {
        self.create_folders()?;
        // All fallible steps precede the spawn: a failure after it would leave an unsupervised child.
        let (reports, child_reports) = pipe()?;
        let (stdout, child_stdout) = pipe()?;
        let (stderr, child_stderr) = pipe()?;
        let pid = self.fork(ChildPipes {
            reports: child_reports,
            stdout: child_stdout,
            stderr: child_stderr,
        })?;
        let log = self.create_log();
        let output = tokio::spawn(copy_output(stdout, stderr, log, self.clock.clone()));
        let SetupReports { warnings, failure } = read_reports(reports).await;
        if let Some(failure) = failure {
            process_tree::kill(&[pid]);
            return Ok(StartResult::Failed(start_failure(failure, now)));
        }
        Ok(StartResult::Running(RunningContainer {
            index,
            pid,
            started_at: now,
            start_instant: Instant::now(),
            warnings,
            cgroup: self.cgroup,
            output,
        }))
    }

    fn create_folders(&self) -> io::Result<()> {
        let run_folder = self.folder.run_folder(&self.plan.name);
        let scratch = run_folder.join("scratch");
        let termination_log = run_folder.join("termination-log");
        create_private(&scratch)?;
        bounded_file::create(&termination_log)?;
        create_private(&self.folder.log_folder(&self.plan.name))?;
        for path in [scratch, termination_log] {
            // Fails unless we are root. Then the container runs as our own user.
            let _ = lchown(path, self.plan.user.user, self.plan.user.group);
        }
        self.remove_old_logs();
        Ok(())
    }

    /// Removes the logs before the previous run, which can no longer be requested.
    fn remove_old_logs(&self) {
        if let Some(number) = self.number.checked_sub(2) {
            let old = self.folder.log_folder(&self.plan.name).join(format!("{number}.log"));
            let _ = fs::remove_file(crate::logs::rotated_path(&old));
            let _ = fs::remove_file(old);
        }
    }

    /// Forks the container's process. The ends of the pipes are closed in this process.
    fn fork(&self, pipes: ChildPipes) -> io::Result<Pid> {
        let setup = ContainerSetup {
            folder: self.folder,
            plan: self.plan,
            cgroups: self.cgroup.as_ref().map_or(&[], ContainerCgroup::folders),
            supervisor: rustix::process::getpid(),
        };
        match fork::fork()? {
            Some(pid) => Ok(pid),
            None => fork::run_child(|| container_setup::become_container(&setup, pipes)),
        }
    }

    fn create_log(&self) -> LogFile {
        let folder = self.folder.log_folder(&self.plan.name);
        LogFile::create(folder.join(format!("{}.log", self.number)), self.log_bytes_max)
    }
}

impl RunningContainer {
    /// Sends SIGTERM to the container's processes.
    pub(super) fn terminate(&self) {
        let _ = kill_process_group(self.pid, Signal::TERM);
    }

    /// Kills the container's processes. Returns false if some were found that may have children by now: the
    /// call must be repeated. Without a cgroup, all descendants of this process that have the container's
    /// mark are killed, or all descendants if no other container runs.
    pub(super) fn kill(&self, uid: &str, name: &str, is_last: bool) -> bool {
        if let Some(cgroup) = &self.cgroup {
            return cgroup.kill();
        }
        let _ = kill_process_group(self.pid, Signal::KILL);
        let left = if is_last {
            process_tree::descendants()
        } else {
            process_tree::descendants_in_container(uid, name)
        };
        process_tree::kill(&left);
        left.is_empty()
    }

    /// Kills the processes that a container has left behind until none is found.
    pub(super) async fn kill_remains(&self, uid: &str, name: &str, is_last: bool) {
        let give_up_at = Instant::now() + DRAIN_TIMEOUT;
        while !self.kill(uid, name, is_last) && Instant::now() < give_up_at {
            tokio::time::sleep(KILL_INTERVAL).await;
        }
    }

    /// The result of the run, after its main process has exited and the others were killed.
    pub(super) async fn terminated(
        mut self,
        status: WaitStatus,
        folder: &PodFolder,
        plan: &ContainerPlan,
        finished_at: Timestamp,
    ) -> Termination {
        if timeout(DRAIN_TIMEOUT, &mut self.output).await.is_err() {
            self.output.abort();
        }
        let is_out_of_memory = self.cgroup.as_ref().is_some_and(ContainerCgroup::is_out_of_memory);
        if let Some(cgroup) = &self.cgroup {
            cgroup.remove();
        }
        let mut termination =
            exit_status::termination(status, is_out_of_memory, self.started_at, finished_at);
        let termination_log = folder.run_folder(&plan.name).join("termination-log");
        termination.message = exit_status::read_message(&termination_log);
        termination
    }
}

/// A pipe that this process reads and a child writes.
fn pipe() -> io::Result<(Receiver, OwnedFd)> {
    let (reader, writer) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
    Ok((Receiver::from_owned_fd(reader)?, writer))
}

/// What the setup of a container has reported.
#[derive(Default)]
struct SetupReports {
    warnings: Vec<String>,
    /// `None` if the setup ended with the exec of the container's program.
    failure: Option<SetupFailure>,
}

/// Reads the reports of the setup until it has ended.
async fn read_reports(pipe: Receiver) -> SetupReports {
    let mut text = Vec::new();
    let mut pipe = pipe.take(REPORT_BYTES_MAX);
    let failure = match timeout(SETUP_TIMEOUT, pipe.read_to_end(&mut text)).await {
        Ok(Ok(_)) => None,
        Ok(Err(error)) => Some(error.to_string()),
        Err(_) => Some("setting up took too long".to_owned()),
    };
    let failed = |message: String| SetupFailure::new(reasons::START_ERROR, 128, message);
    let mut reports = SetupReports { failure: failure.map(failed), ..SetupReports::default() };
    for line in text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        match serde_json::from_slice(line) {
            Ok(SetupReport::Warning(warning)) => reports.warnings.push(warning),
            Ok(SetupReport::Failure(failure)) => reports.failure = Some(failure),
            Err(_) => {
                let message = "the setup failed without a readable reason".to_owned();
                reports.failure = Some(failed(message));
            }
        }
    }
    reports
}

fn start_failure(failure: SetupFailure, now: Timestamp) -> Termination {
    let SetupFailure { reason: ReasonAndMessage { reason, message }, exit_code } = failure;
    Termination { exit_code, signal: 0, reason, message, started_at: None, finished_at: now }
}
