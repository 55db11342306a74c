//! One run of a container, from its start to the exit of its last process.

use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::chown;
use std::process::{Child, Command};
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
use super::container_setup::SetupReport;
use super::log_writer::{LogFile, copy_output};
use super::{exit_status, process_tree};
use crate::pod_folder::{PodFolder, create_private};
use crate::pod_plan::{CONTAINER_MARK, ContainerPlan, container_mark};
use crate::pod_state::{Explanation, Termination, reasons};

/// How long the setup of a container may take. Mounts may be slow.
const SETUP_TIMEOUT: Duration = Duration::from_secs(60);
/// How long the output of a container may continue after its exit.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(2);
/// The maximum size of all setup reports.
const REPORTS_BYTES_MAX: u64 = 64 * 1024;

/// The parameters of a run.
pub(super) struct ContainerRun<'a> {
    pub(super) folder: &'a PodFolder,
    pub(super) uid: &'a str,
    pub(super) plan: &'a ContainerPlan,
    pub(super) number: u32,
    pub(super) cgroup: Option<ContainerCgroup>,
    pub(super) log_bytes_max: u64,
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
    cgroup: Option<ContainerCgroup>,
    output: JoinHandle<()>,
}

/// The result of a start.
#[derive(Debug)]
pub(super) enum StartResult {
    Running(RunningContainer),
    Failed(Termination),
}

/// The ends of the pipes that the child gets as standard input, output and error.
struct ChildPipes {
    reports: OwnedFd,
    stdout: OwnedFd,
    stderr: OwnedFd,
}

impl ContainerRun<'_> {
    /// Starts the container. Also returns warnings about features that could not be set up.
    pub(super) async fn start(self, index: usize) -> (StartResult, Vec<Explanation>) {
        let now = self.clock.now();
        if let Some(message) = self.plan.unsupported.clone() {
            let reason = Explanation::new(reasons::CANNOT_RUN, message);
            return (StartResult::Failed(start_failure(reason, 127, now)), Vec::new());
        }
        match self.launch(index, now).await {
            Ok(result) => result,
            Err(error) => {
                let reason = Explanation::new(reasons::START_ERROR, error.to_string());
                (StartResult::Failed(start_failure(reason, 128, now)), Vec::new())
            }
        }
    }

    async fn launch(
        self,
        index: usize,
        now: Timestamp,
    ) -> io::Result<(StartResult, Vec<Explanation>)> {
        self.create_folders()?;
        // All fallible steps precede the spawn: a failure after it would leave an unsupervised child.
        let (reports, child_reports) = pipe()?;
        let (stdout, child_stdout) = pipe()?;
        let (stderr, child_stderr) = pipe()?;
        let child = self.spawn(ChildPipes {
            reports: child_reports,
            stdout: child_stdout,
            stderr: child_stderr,
        })?;
        let pid = Pid::from_child(&child);
        let log = self.create_log();
        let output = tokio::spawn(copy_output(stdout, stderr, log, self.clock.clone()));
        let mut warnings = Vec::new();
        for report in read_reports(reports).await {
            match report {
                SetupReport::Warning(warning) => warnings.push(warning),
                SetupReport::Failed { reason, exit_code } => {
                    process_tree::kill(&[pid]);
                    let termination = start_failure(reason, exit_code, now);
                    return Ok((StartResult::Failed(termination), warnings));
                }
            }
        }
        let container = RunningContainer {
            index,
            pid,
            started_at: now,
            start_instant: Instant::now(),
            cgroup: self.cgroup,
            output,
        };
        Ok((StartResult::Running(container), warnings))
    }

    fn create_folders(&self) -> io::Result<()> {
        let run_folder = self.folder.run_folder(&self.plan.name);
        let scratch = run_folder.join("scratch");
        let termination_log = run_folder.join("termination-log");
        create_private(&scratch)?;
        fs::write(&termination_log, "")?;
        create_private(&self.folder.log_folder(&self.plan.name))?;
        for path in [scratch, termination_log] {
            // Fails unless we are root. Then the container runs as our own user.
            let _ = chown(path, self.plan.user.user, self.plan.user.group);
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

    /// Starts this same program, even if its file was replaced in the meantime.
    fn spawn(&self, pipes: ChildPipes) -> io::Result<Child> {
        let mut command = Command::new("/proc/self/exe");
        command.arg("supervise").arg(self.folder.path()).arg(&self.plan.name);
        command.arg(rustix::process::getpid().as_raw_nonzero().to_string());
        command.args(self.cgroup.as_ref().map(ContainerCgroup::path));
        // The mark is set from the start, so that a later supervisor finds every process.
        command.env_clear().env(CONTAINER_MARK, container_mark(self.uid, &self.plan.name));
        command.stdin(pipes.reports).stdout(pipes.stdout).stderr(pipes.stderr).spawn()
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

    /// Kills the container's processes.
    pub(super) fn kill(&self, uid: &str, name: &str) {
        if !self.cgroup.as_ref().is_some_and(ContainerCgroup::kill) {
            let _ = kill_process_group(self.pid, Signal::KILL);
            process_tree::kill(&process_tree::processes_of_container(uid, name));
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
        let is_out_of_memory = self.cgroup.as_ref().is_some_and(|cgroup| cgroup.oom_kills() > 0);
        if let Some(cgroup) = &self.cgroup {
            // The counters of the cgroup are for one run.
            let _ = fs::remove_dir(cgroup.path());
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

/// Reads all reports of the setup, which ends with the exec of the container's program or an exit.
async fn read_reports(pipe: Receiver) -> Vec<SetupReport> {
    let failed = |message: String| vec![SetupReport::failed(reasons::START_ERROR, 128, message)];
    let mut text = Vec::new();
    match timeout(SETUP_TIMEOUT, pipe.take(REPORTS_BYTES_MAX).read_to_end(&mut text)).await {
        Ok(Ok(_)) => {
            let lines = text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
            lines.filter_map(|line| serde_json::from_slice(line).ok()).collect()
        }
        Ok(Err(error)) => failed(error.to_string()),
        Err(_) => failed("setting up took too long".to_owned()),
    }
}

fn start_failure(reason: Explanation, exit_code: i32, now: Timestamp) -> Termination {
    let Explanation { reason, message } = reason;
    Termination { exit_code, signal: 0, reason, message, started_at: None, finished_at: now }
}
