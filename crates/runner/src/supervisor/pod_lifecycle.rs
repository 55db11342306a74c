//! The lifecycle of a Pod: starts and restarts its containers until the Pod has ended.
//!
//! One loop performs the steps that are due (`run_due_steps`) and waits for the next event: the exit of a
//! child, a signal or a point in time. Every important step is written to the state before the next one.

mod termination;

use std::io;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt as _;
use jiff::Timestamp;
use punctual_client::Clock;
use rustix::process::{WaitOptions, WaitStatus};
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::{Instant, sleep_until};

use super::cgroup::{ContainerCgroup, PodCgroup};
use super::container::{ContainerRun, RunningContainer, StartResult};
use super::fork_server::Lifeline;
use super::{exit_status, volume_sizes};
use crate::logs::{FAILURE_TAIL, MESSAGE_TAIL, read_log_tail};
use crate::pod_folder::PodFolder;
use crate::pod_plan::{ContainerPlan, PodPlan, RestartPolicy};
use crate::pod_state::{
    ContainerRecord, PodPhase, PodState, ReasonAndMessage, RunState, Termination, reasons,
};
use crate::state_file::StateFile;

/// The longest backoff, so that adding it to an instant cannot overflow.
const BACKOFF_MAX: Duration = Duration::from_secs(30 * 24 * 3600);
/// The delay before a failed write is retried.
const WRITE_RETRY: Duration = Duration::from_secs(1);

/// A Pod that is running.
pub(super) struct PodLifecycle {
    folder: PodFolder,
    plan: PodPlan,
    state: PodState,
    state_file: StateFile,
    clock: Arc<dyn Clock>,
    /// `None` where no cgroups can be made.
    pub(super) cgroup: Option<PodCgroup>,
    running: Vec<RunningContainer>,
    /// When each container may be started.
    next_starts: Vec<NextStart>,
    /// When the grace period of a Pod that is being stopped ends.
    kill_at: Option<Instant>,
    /// Whether an earlier supervisor may have left processes behind.
    is_takeover: bool,
    /// Why no container can be started: a volume of the Pod could not be mounted.
    pub(super) volume_failure: Option<String>,
    /// `None` if this supervisor does not know whether the daemon lives.
    pub(super) lifeline: Option<Lifeline>,
}

/// What a supervisor begins with.
pub(super) enum StartState {
    /// The Pod was never started.
    First,
    /// An earlier supervisor may have left processes behind.
    TakeOver(PodState),
}

/// What to do if the state cannot be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OnWriteFailure {
    /// Try again: the next step must not happen before.
    Retry,
    Ignore,
}

#[derive(Clone, Copy, Debug)]
struct NextStart {
    at: Instant,
    /// The backoff before this start; `None` before the first restart.
    backoff: Option<Duration>,
}

impl PodLifecycle {
    pub(super) fn new(
        folder: PodFolder,
        plan: PodPlan,
        start: StartState,
        clock: Arc<dyn Clock>,
    ) -> PodLifecycle {
        let is_takeover = matches!(start, StartState::TakeOver(_));
        let state = match start {
            StartState::First => PodState::new(&plan, clock.now()),
            StartState::TakeOver(state) => state,
        };
        let first_start = NextStart { at: Instant::now(), backoff: None };
        PodLifecycle {
            next_starts: vec![first_start; plan.containers.len()],
            state_file: folder.state_file(),
            folder,
            plan,
            state,
            clock,
            cgroup: None,
            running: Vec::new(),
            kill_at: None,
            is_takeover,
            volume_failure: None,
            lifeline: None,
        }
    }

    pub(super) async fn run(mut self) -> io::Result<()> {
        let mut child_exits = signal(SignalKind::child())?;
        let mut stop_signals = signal(SignalKind::terminate())?;
        self.state.supervisor_pid = rustix::process::getpid().as_raw_nonzero().get();
        if self.is_takeover {
            self.take_over().await;
            self.write_state(OnWriteFailure::Retry).await?;
        }
        self.apply_stop_request().await?;
        let limits = self.plan.size_limits.clone();
        let interval = Duration::from_millis(self.plan.size_check_ms.max(1));
        let mut exceeded = std::pin::pin!(volume_sizes::exceeded(limits, interval).fuse());
        while !self.run_due_steps().await? {
            let wake_at = self.wake_at();
            tokio::select! {
                _ = child_exits.recv() => self.reap_children().await?,
                _ = stop_signals.recv() => self.apply_stop_request().await?,
                limit = &mut exceeded => self.evict(&limit).await?,
                () = sleep_until(wake_at.unwrap_or_else(Instant::now)), if wake_at.is_some() => {}
            }
        }
        self.finish(&mut child_exits).await
    }

    /// Performs the steps that are due. Returns true when the Pod has ended.
    async fn run_due_steps(&mut self) -> io::Result<bool> {
        if self.kill_at.is_none() && self.is_past_deadline() {
            let message = "Pod was active on the node longer than the specified deadline";
            let reason = ReasonAndMessage::new(reasons::DEADLINE, message);
            self.stop(Some(reason), self.plan.grace_seconds).await?;
        }
        if let Some(kill_at) = self.kill_at {
            if Instant::now() >= kill_at {
                self.kill_containers();
            }
            return Ok(self.running.is_empty());
        }
        while let Some(index) = self.next_due_container() {
            self.start_container(index).await?;
            if self.kill_at.is_some() {
                return Ok(self.running.is_empty());
            }
        }
        Ok(self.running.is_empty() && self.is_concluded())
    }

    /// When the next step is due.
    fn wake_at(&self) -> Option<Instant> {
        if self.kill_at.is_some() {
            return self.kill_at.filter(|at| *at > Instant::now());
        }
        let starts = self.startable().filter_map(|index| self.next_starts.get(index));
        starts.map(|start| start.at).chain(self.deadline()).min()
    }

    // Starts.

    /// The containers that wait only for the end of their backoff.
    fn startable(&self) -> impl Iterator<Item = usize> {
        let records = self.state.containers.iter();
        let pending_init =
            records.clone().position(|record| record.is_init && !record.has_succeeded());
        let is_startable = move |(index, record): &(usize, &ContainerRecord)| {
            let is_next = match pending_init {
                Some(init) => *index == init,
                None => !record.is_init,
            };
            is_next && matches!(record.current, RunState::Waiting(_))
        };
        records.enumerate().filter(is_startable).map(|(index, _)| index)
    }

    fn next_due_container(&self) -> Option<usize> {
        let now = Instant::now();
        let is_due =
            |index: &usize| self.next_starts.get(*index).is_some_and(|start| start.at <= now);
        self.startable().find(is_due)
    }

    async fn start_container(&mut self, index: usize) -> io::Result<()> {
        let is_init = self.plan.containers.get(index).is_some_and(|plan| plan.is_init);
        if !is_init {
            self.state.phase = PodPhase::Running;
        }
        if let Some(record) = self.state.containers.get_mut(index) {
            record.restarts += u32::from(record.last_termination.is_some());
            record.current = RunState::Starting;
        }
        // Written before the start, so that after a crash it is known that it may have happened.
        self.write_state(OnWriteFailure::Retry).await?;
        let Some(plan) = self.plan.containers.get(index) else { return Ok(()) };
        let number = self.state.containers.get(index).map_or(0, |record| record.restarts);
        let (cgroup, limits_warning) = self.create_cgroup(plan);
        let run = ContainerRun {
            folder: &self.folder,
            plan,
            number,
            cgroup,
            log_bytes_max: self.plan.log_bytes_max,
            volume_failure: self.volume_failure.as_deref(),
            clock: self.clock.clone(),
        };
        let result = run.start(index).await;
        if let Some(warning) = limits_warning {
            self.state.add_warning(warning);
        }
        match result {
            StartResult::Running(container) => {
                let pid = container.pid.as_raw_nonzero().get();
                let started_at = container.started_at;
                for warning in &container.warnings {
                    let reason = reasons::DATA_DIRECTORY_VISIBLE;
                    self.state.add_warning(ReasonAndMessage::new(reason, warning.clone()));
                }
                self.running.push(container);
                self.set_run_state(index, RunState::Running { pid, started_at });
                self.write_state(OnWriteFailure::Ignore).await
            }
            StartResult::Failed(termination) => {
                self.handle_termination(index, termination, Duration::ZERO).await
            }
        }
    }

    /// The cgroup of a container, and a warning if not all of its limits could be set.
    fn create_cgroup(
        &self,
        plan: &ContainerPlan,
    ) -> (Option<ContainerCgroup>, Option<ReasonAndMessage>) {
        let created = self.cgroup.as_ref().map(|cgroup| cgroup.container(&plan.name, &plan.limits));
        let (cgroup, unset) = match created {
            Some(Ok((cgroup, unset))) => (Some(cgroup), unset.join(", ")),
            Some(Err(error)) => (None, error.to_string()),
            None => (None, "no cgroups can be made here".to_owned()),
        };
        if unset.is_empty() || plan.limits.is_empty() {
            return (cgroup, None);
        }
        let message = format!("container {:?} runs without all of its limits: {unset}", plan.name);
        (cgroup, Some(ReasonAndMessage::new(reasons::LIMITS_NOT_SET, message)))
    }

    // Ends of containers.

    /// Handles all children that have exited.
    async fn reap_children(&mut self) -> io::Result<()> {
        while let Ok(Some((pid, status))) = rustix::process::wait(WaitOptions::NOHANG) {
            // Other children are orphans of containers, which only have to be reaped.
            if let Some(position) = self.running.iter().position(|running| running.pid == pid) {
                let container = self.running.swap_remove(position);
                self.handle_exit(container, status).await?;
            }
        }
        Ok(())
    }

    async fn handle_exit(
        &mut self,
        container: RunningContainer,
        status: WaitStatus,
    ) -> io::Result<()> {
        let index = container.index;
        let ran_for = container.start_instant.elapsed();
        let Some(plan) = self.plan.containers.get(index) else { return Ok(()) };
        // A container ends with its main process: its other processes are killed.
        let is_last = self.running.is_empty();
        container.kill_remains(&self.plan.uid, &plan.name, is_last).await;
        let mut termination =
            container.terminated(status, &self.folder, plan, self.clock.now()).await;
        if !termination.is_success() && termination.message.is_empty() {
            let number = self.state.containers.get(index).map_or(0, |record| record.restarts);
            let log = self.folder.log_folder(&plan.name).join(format!("{number}.log"));
            termination.message = if plan.falls_back_to_logs {
                read_log_tail(&log, &MESSAGE_TAIL)
            } else {
                exit_status::failure_message(&termination, &read_log_tail(&log, &FAILURE_TAIL))
            };
        }
        self.handle_termination(index, termination, ran_for).await
    }

    /// Records the result of a run and decides whether the container is restarted.
    async fn handle_termination(
        &mut self,
        index: usize,
        termination: Termination,
        ran_for: Duration,
    ) -> io::Result<()> {
        let is_init = self.plan.containers.get(index).is_some_and(|plan| plan.is_init);
        self.set_run_state(index, RunState::Terminated(termination.clone()));
        if self.kill_at.is_some() {
            return self.write_state(OnWriteFailure::Retry).await;
        }
        // A restart would fail in the same way every time.
        if termination.reason == reasons::CANNOT_RUN {
            let reason = ReasonAndMessage::new(&termination.reason, termination.message);
            return self.stop(Some(reason), self.plan.grace_seconds).await;
        }
        if is_restarted(self.plan.restart_policy, is_init, &termination)
            && self.schedule_restart(index, termination, ran_for).is_zero()
        {
            // The restart follows at once and writes the state.
            return Ok(());
        }
        if self.running.is_empty() && self.is_concluded() {
            // `finish` writes the final state.
            return Ok(());
        }
        self.write_state(OnWriteFailure::Retry).await
    }

    /// Schedules a restart and returns its backoff. The first restart is immediate, as a kubelet's is;
    /// after that the backoff doubles.
    fn schedule_restart(
        &mut self,
        index: usize,
        termination: Termination,
        ran_for: Duration,
    ) -> Duration {
        let limits = self.plan.restart_backoff;
        let Some(next_start) = self.next_starts.get_mut(index) else { return Duration::MAX };
        let is_reset = ran_for >= Duration::from_millis(limits.reset_ms);
        let backoff = match next_start.backoff {
            Some(Duration::ZERO) if !is_reset => Duration::from_millis(limits.first_ms),
            Some(before) if !is_reset => {
                before.saturating_mul(2).min(Duration::from_millis(limits.max_ms))
            }
            _ => Duration::ZERO,
        };
        let backoff = backoff.min(BACKOFF_MAX);
        *next_start = NextStart { at: Instant::now() + backoff, backoff: Some(backoff) };
        let message = format!(
            "back-off {}s restarting failed container={} pod={}_{}({})",
            backoff.as_secs(),
            self.plan.containers.get(index).map_or("", |plan| &plan.name),
            self.plan.name,
            self.plan.namespace,
            self.plan.uid
        );
        if let Some(record) = self.state.containers.get_mut(index) {
            record.last_termination = Some(termination);
            record.current = RunState::Waiting(ReasonAndMessage::new(reasons::BACK_OFF, message));
        }
        backoff
    }

    /// Kills the containers of an earlier supervisor. Their results are unknown.
    async fn take_over(&mut self) {
        self.kill_remains().await;
        let now = self.clock.now();
        for index in 0..self.state.containers.len() {
            let Some(record) = self.state.containers.get(index) else { continue };
            let started_at = match record.current {
                RunState::Running { started_at, .. } => Some(started_at),
                RunState::Starting => None,
                _ => continue,
            };
            let message = "The supervisor of the Pod exited before the container ended";
            let termination = unknown_termination(message, started_at, now);
            let is_init = record.is_init;
            self.set_run_state(index, RunState::Terminated(termination.clone()));
            if is_restarted(self.plan.restart_policy, is_init, &termination) {
                self.schedule_restart(index, termination, Duration::ZERO);
            }
        }
    }

    fn set_run_state(&mut self, index: usize, state: RunState) {
        if let Some(record) = self.state.containers.get_mut(index) {
            record.current = state;
        }
    }

    /// Writes the state. It survives the end of this process, but not a loss of power: then the start of the
    /// Pod is known, and each container that had not ended counts as started.
    async fn write_state(&mut self, on_failure: OnWriteFailure) -> io::Result<()> {
        loop {
            match self.state_file.write(&self.state) {
                Ok(()) => return Ok(()),
                // The folder was removed, so no reader is left.
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(error),
                Err(_) if on_failure == OnWriteFailure::Ignore => return Ok(()),
                Err(_) => tokio::time::sleep(WRITE_RETRY).await,
            }
        }
    }
}

fn is_restarted(policy: RestartPolicy, is_init: bool, termination: &Termination) -> bool {
    match policy {
        RestartPolicy::Never => false,
        RestartPolicy::Always if !is_init => true,
        // An init container that succeeded is not run again.
        RestartPolicy::Always | RestartPolicy::OnFailure => !termination.is_success(),
    }
}

fn unknown_termination(
    message: &str,
    started_at: Option<Timestamp>,
    now: Timestamp,
) -> Termination {
    Termination {
        exit_code: 137,
        signal: 0,
        reason: reasons::UNKNOWN.to_owned(),
        message: message.to_owned(),
        started_at,
        finished_at: now,
    }
}
