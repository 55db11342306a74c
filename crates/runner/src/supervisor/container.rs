//! One run of a container, from its first process to its last.

use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::chown;
use std::path::Path;
use std::process::{Child, Command};
use std::time::Duration;

use jiff::Timestamp;
use rustix::process::{Pid, Signal, WaitStatus, kill_process_group};
use tokio::io::AsyncReadExt as _;
use tokio::net::unix::pipe::Receiver;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};

use super::cgroup::Group;
use super::output::{self, Log};
use super::stage::Report;
use super::{exit, tree};
use crate::folder::{Folder, create_private};
use crate::plan::{ContainerPlan, MARK, mark};
use crate::state::{End, Fault, reasons};

/// How long a container may take to be set up; its mounts may be slow, but not that slow.
const SETUP_MAX: Duration = Duration::from_secs(60);
/// How long the outputs of an ended container may take to run dry.
const DRAIN_MAX: Duration = Duration::from_secs(2);
/// The most that the first process has to say about the start.
const REPORT_MAX: u64 = 64 * 1024;

/// What a run needs to know.
#[derive(Debug)]
pub(super) struct Run<'a> {
    pub(super) folder: &'a Folder,
    pub(super) uid: &'a str,
    pub(super) plan: &'a ContainerPlan,
    pub(super) number: u32,
    pub(super) group: Option<Group>,
    pub(super) log_bytes_max: u64,
}

/// A container that runs.
#[derive(Debug)]
pub(super) struct Live {
    /// Its place in the plan.
    pub(super) index: usize,
    pub(super) pid: Pid,
    pub(super) started_at: Timestamp,
    pub(super) since: Instant,
    group: Option<Group>,
    output: JoinHandle<()>,
}

/// What came of a start.
#[derive(Debug)]
pub(super) enum Started {
    Running(Live),
    Failed(End),
}

impl Run<'_> {
    /// Starts the container; the notes are about what could not be had.
    pub(super) async fn start(self, index: usize) -> (Started, Vec<Fault>) {
        let now = crate::clock::now();
        if let Some(refusal) = self.plan.refusal.clone() {
            let fault = Fault::new(reasons::CANNOT_RUN, refusal);
            return (Started::Failed(never_ran(fault, 127, now)), Vec::new());
        }
        match self.launch(index, now).await {
            Ok(outcome) => outcome,
            Err(error) => {
                let fault = Fault::new(reasons::START_ERROR, error.to_string());
                (Started::Failed(never_ran(fault, 128, now)), Vec::new())
            }
        }
    }

    async fn launch(self, index: usize, now: Timestamp) -> io::Result<(Started, Vec<Fault>)> {
        self.make_folders()?;
        // All that may fail comes before the start: what nobody follows would run on unseen.
        let (line, for_line) = pipe()?;
        let ((out, for_out), (err, for_err)) = (pipe()?, pipe()?);
        let child = self.spawn([for_line, for_out, for_err])?;
        let pid = Pid::from_child(&child);
        let output = tokio::spawn(output::pump(out, err, self.log()));
        let reports = read_reports(line).await;
        let mut notes = Vec::new();
        for report in reports {
            match report {
                Report::Note(note) => notes.push(note),
                Report::Failed { fault, exit_code } => {
                    tree::kill(&[pid]);
                    return Ok((Started::Failed(never_ran(fault, exit_code, now)), notes));
                }
            }
        }
        let since = Instant::now();
        let live = Live { index, pid, started_at: now, since, group: self.group, output };
        Ok((Started::Running(live), notes))
    }

    fn make_folders(&self) -> io::Result<()> {
        let run = self.folder.run(&self.plan.name);
        let scratch = run.join("scratch");
        create_private(&scratch)?;
        fs::write(run.join("termination-log"), "")?;
        create_private(&self.folder.logs(&self.plan.name))?;
        for path in [scratch, run.join("termination-log")] {
            // Refused where we are not root, and then the user is ours anyway.
            let _ = chown(path, self.plan.user.user, self.plan.user.group);
        }
        self.forget_old_logs();
        Ok(())
    }

    /// Only the run before this one can still be asked for.
    fn forget_old_logs(&self) {
        if let Some(number) = self.number.checked_sub(2) {
            let old = self.folder.logs(&self.plan.name).join(format!("{number}.log"));
            let _ = fs::remove_file(crate::logs::older(&old));
            let _ = fs::remove_file(old);
        }
    }

    /// This same program, even if it was replaced on the disk meanwhile.
    fn spawn(&self, [line, out, err]: [OwnedFd; 3]) -> io::Result<Child> {
        let mut command = Command::new("/proc/self/exe");
        command.arg("supervise").arg(self.folder.path()).arg(&self.plan.name);
        command.arg(rustix::process::getpid().as_raw_nonzero().to_string());
        command.args(self.group.as_ref().map(Group::path));
        // The mark is there from the first moment: what we leave behind must be found.
        command.env_clear().env(MARK, mark(self.uid, &self.plan.name));
        command.stdin(line).stdout(out).stderr(err).spawn()
    }

    fn log(&self) -> Log {
        let path = self.folder.logs(&self.plan.name).join(format!("{}.log", self.number));
        Log::create(path, self.log_bytes_max)
    }
}

impl Live {
    /// Asks the container's processes to end.
    pub(super) fn terminate(&self) {
        let _ = kill_process_group(self.pid, Signal::TERM);
    }

    /// Ends the container's processes, as far as they can be found without its main process.
    pub(super) fn kill(&self, uid: &str, name: &str) {
        if !self.group.as_ref().is_some_and(Group::kill) {
            let _ = kill_process_group(self.pid, Signal::KILL);
            tree::kill(&tree::of_container(uid, name));
        }
    }

    /// What came of the container, once its main process has ended and the rest with it.
    pub(super) async fn end(
        mut self,
        status: WaitStatus,
        folder: &Folder,
        plan: &ContainerPlan,
    ) -> End {
        let finished_at = crate::clock::now();
        if timeout(DRAIN_MAX, &mut self.output).await.is_err() {
            self.output.abort();
        }
        let is_out_of_memory = self.group.as_ref().is_some_and(|group| group.oom_kills() > 0);
        if let Some(group) = &self.group {
            // Its counts are this run's; the next one begins with its own.
            let _ = fs::remove_dir(group.path());
        }
        let mut end = exit::end(status, is_out_of_memory, self.started_at, finished_at);
        end.message = exit::message(&folder.run(&plan.name).join("termination-log"));
        end
    }
}

/// A pipe that is read here and written by a child.
fn pipe() -> io::Result<(Receiver, OwnedFd)> {
    let (reader, writer) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
    Ok((Receiver::from_owned_fd(reader)?, writer))
}

/// Everything the first process says, until it is the container's program or gone.
async fn read_reports(line: Receiver) -> Vec<Report> {
    let mut text = Vec::new();
    match timeout(SETUP_MAX, line.take(REPORT_MAX).read_to_end(&mut text)).await {
        Ok(Ok(_)) => {
            let lines = text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
            lines.filter_map(|line| serde_json::from_slice(line).ok()).collect()
        }
        Ok(Err(error)) => vec![Report::failed(reasons::START_ERROR, 128, error.to_string())],
        Err(_) => vec![Report::failed(reasons::START_ERROR, 128, "setting up took too long")],
    }
}

fn never_ran(fault: Fault, exit_code: i32, now: Timestamp) -> End {
    let Fault { reason, message } = fault;
    End { exit_code, signal: 0, reason, message, started_at: None, finished_at: now }
}

/// The last words of a log, for a container that left no others.
pub(super) fn last_words(logs: &Path, number: u32) -> String {
    crate::logs::last_words(&logs.join(format!("{number}.log")))
}
