//! The life of a Pod: what is started when, what an end leads to, and when it is over.
//!
//! One loop that looks at what is known, does what is due (`step`) and waits for the next thing to
//! happen: a child's end, a signal, a point in time. Every turn that matters is written down before
//! the next one is taken.

mod ending;

use std::io;
use std::time::Duration;

use rustix::process::{WaitOptions, WaitStatus};
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::{Instant, sleep_until};

use super::cgroup::PodGroup;
use super::container::{Live, Run, Started, last_words};
use crate::folder::{Durability, Folder};
use crate::plan::{ContainerPlan, PodPlan, RestartPolicy};
use crate::state::{End, Fault, Now, Phase, PodState, Record, reasons};

/// A wait longer than this would be for ever.
const BACKOFF_MAX: Duration = Duration::from_secs(30 * 24 * 3600);
/// How long to wait before a failed write is tried again.
const WRITE_RETRY: Duration = Duration::from_secs(1);

/// A Pod that lives.
#[derive(Debug)]
pub(super) struct Life {
    folder: Folder,
    plan: PodPlan,
    state: PodState,
    groups: Option<PodGroup>,
    live: Vec<Live>,
    /// When each container may be started (again), and how long it waited the last time.
    due: Vec<Due>,
    /// When the Pod that is being stopped has had its grace.
    kill_at: Option<Instant>,
    /// Whether a supervisor before this one left things behind.
    is_takeover: bool,
}

#[derive(Clone, Copy, Debug)]
struct Due {
    at: Instant,
    waited: Option<Duration>,
}

impl Life {
    pub(super) fn new(folder: Folder, known: Option<PodState>) -> io::Result<Life> {
        let plan = folder.plan()?;
        let groups = plan.cgroups.then(|| PodGroup::create(&plan.uid)).flatten();
        let is_takeover = known.is_some();
        let state = known.unwrap_or_else(|| PodState::new(&plan, crate::clock::now()));
        let due = vec![Due { at: Instant::now(), waited: None }; plan.containers.len()];
        let live = Vec::new();
        Ok(Life { folder, plan, state, groups, live, due, kill_at: None, is_takeover })
    }

    pub(super) async fn run(mut self) -> io::Result<()> {
        let mut children = signal(SignalKind::child())?;
        let mut stops = signal(SignalKind::terminate())?;
        self.state.supervisor = rustix::process::getpid().as_raw_nonzero().get();
        if self.is_takeover {
            self.take_over().await;
            self.write(Durability::Durable).await?;
        } else {
            // Nothing has happened yet that could be forgotten; only who we are is of use.
            self.write(Durability::Whole).await?;
        }
        self.heed_stop().await?;
        while !self.step().await? {
            let wake = self.wake_at();
            tokio::select! {
                _ = children.recv() => self.reap().await?,
                _ = stops.recv() => self.heed_stop().await?,
                () = sleep_until(wake.unwrap_or_else(Instant::now)), if wake.is_some() => {}
            }
        }
        self.finish(&mut children).await
    }

    /// Does what is due; true when nothing will be any more.
    async fn step(&mut self) -> io::Result<bool> {
        if self.kill_at.is_none() && self.is_past_deadline() {
            let message = "Pod was active on the node longer than the specified deadline";
            self.stop(Some(Fault::new(reasons::DEADLINE, message)), self.plan.grace_seconds)
                .await?;
        }
        if let Some(kill_at) = self.kill_at {
            if Instant::now() >= kill_at {
                self.kill_live();
            }
            return Ok(self.live.is_empty());
        }
        while let Some(index) = self.next_start() {
            self.start(index).await?;
            if self.kill_at.is_some() {
                return Ok(self.live.is_empty());
            }
        }
        Ok(self.live.is_empty() && self.is_concluded())
    }

    /// The next moment at which something is due.
    fn wake_at(&self) -> Option<Instant> {
        if self.kill_at.is_some() {
            return self.kill_at.filter(|at| *at > Instant::now());
        }
        let waiting = self.startable().filter_map(|index| self.due.get(index));
        waiting.map(|due| due.at).chain(self.deadline()).min()
    }

    // What is started when.

    /// The containers that wait for nothing but their time.
    fn startable(&self) -> impl Iterator<Item = usize> {
        let init =
            self.state.containers.iter().position(|record| record.is_init && !is_done(record));
        let waits = |record: &Record| matches!(record.now, Now::Waiting(_));
        let all = self.state.containers.iter().enumerate();
        let ready = all.filter(move |(index, record)| match init {
            Some(first) => *index == first && waits(record),
            None => !record.is_init && waits(record),
        });
        ready.map(|(index, _)| index)
    }

    fn next_start(&self) -> Option<usize> {
        let now = Instant::now();
        self.startable().find(|index| self.due.get(*index).is_some_and(|due| due.at <= now))
    }

    async fn start(&mut self, index: usize) -> io::Result<()> {
        let is_init = self.plan.containers.get(index).is_some_and(|plan| plan.is_init);
        if !is_init {
            self.state.phase = Phase::Running;
        }
        if let Some(record) = self.state.containers.get_mut(index) {
            record.restarts += u32::from(record.last.is_some());
            record.now = Now::Starting;
        }
        // Before the fact, so that whoever comes after a crash knows that it may have happened.
        self.write(Durability::Durable).await?;
        let Some(plan) = self.plan.containers.get(index) else { return Ok(()) };
        let number = self.state.containers.get(index).map_or(0, |record| record.restarts);
        let (group, unset) = self.group(plan);
        let run = Run {
            folder: &self.folder,
            uid: &self.plan.uid,
            plan,
            number,
            group,
            log_bytes_max: self.plan.log_bytes_max,
        };
        let (started, notes) = run.start(index).await;
        notes.into_iter().chain(unset).for_each(|note| self.state.note(note));
        match started {
            Started::Running(live) => {
                let (pid, started_at) = (live.pid.as_raw_nonzero().get(), live.started_at);
                self.live.push(live);
                self.set(index, Now::Running { pid, started_at });
                self.write(Durability::Whole).await
            }
            Started::Failed(end) => self.ended(index, end, Duration::ZERO).await,
        }
    }

    fn group(&self, plan: &ContainerPlan) -> (Option<super::cgroup::Group>, Option<Fault>) {
        let made = self.groups.as_ref().map(|groups| groups.container(&plan.name, &plan.limits));
        let (group, unset) = match made {
            Some(Ok((group, unset))) => (Some(group), unset.join(", ")),
            Some(Err(error)) => (None, error.to_string()),
            None => (None, "no cgroups of version 2 can be made here".to_owned()),
        };
        let message = format!("container {:?} runs without all of its limits: {unset}", plan.name);
        let is_told = !unset.is_empty() && !plan.limits.is_empty();
        (group, is_told.then(|| Fault::new(reasons::LIMITS_NOT_SET, message)))
    }

    // What an end leads to.

    /// Takes note of every child that ended.
    async fn reap(&mut self) -> io::Result<()> {
        while let Ok(Some((pid, status))) = rustix::process::wait(WaitOptions::NOHANG) {
            // Anything else is an orphan that came to us.
            if let Some(place) = self.live.iter().position(|live| live.pid == pid) {
                let live = self.live.swap_remove(place);
                self.container_ended(live, status).await?;
            }
        }
        Ok(())
    }

    async fn container_ended(&mut self, live: Live, status: WaitStatus) -> io::Result<()> {
        let (index, ran_for) = (live.index, live.since.elapsed());
        let Some(plan) = self.plan.containers.get(index) else { return Ok(()) };
        // A container is over with its main process; what it left running goes with it.
        live.kill(&self.plan.uid, &plan.name);
        let mut end = live.end(status, &self.folder, plan).await;
        if end.message.is_empty() && plan.falls_back_to_logs && !end.is_success() {
            let number = self.state.containers.get(index).map_or(0, |record| record.restarts);
            end.message = last_words(&self.folder.logs(&plan.name), number);
        }
        self.ended(index, end, ran_for).await
    }

    /// Writes down how a run ended and decides what comes next.
    async fn ended(&mut self, index: usize, end: End, ran_for: Duration) -> io::Result<()> {
        let is_init = self.plan.containers.get(index).is_some_and(|plan| plan.is_init);
        self.set(index, Now::Ended(end.clone()));
        if self.kill_at.is_some() {
            return self.write(Durability::Durable).await;
        }
        // It would fail the same way for ever, and nobody would be told.
        if end.reason == reasons::CANNOT_RUN {
            let why = Fault::new(&end.reason, end.message);
            return self.stop(Some(why), self.plan.grace_seconds).await;
        }
        if restarts(self.plan.restart_policy, is_init, &end)
            && self.wait_to_restart(index, end, ran_for).is_zero()
        {
            // It is started next, which is written down with how it ended.
            return Ok(());
        }
        if self.live.is_empty() && self.is_concluded() {
            // The final state is written when everything is gone; see `finish`.
            return Ok(());
        }
        self.write(Durability::Durable).await
    }

    /// The first restart is at once, as a kubelet's is; from then on the wait doubles.
    fn wait_to_restart(&mut self, index: usize, end: End, ran_for: Duration) -> Duration {
        let timing = self.plan.timing;
        let Some(due) = self.due.get_mut(index) else { return Duration::MAX };
        let has_run_long = ran_for >= Duration::from_millis(timing.backoff_reset_ms);
        let wait = match due.waited.filter(|_| !has_run_long) {
            None => Duration::ZERO,
            Some(Duration::ZERO) => Duration::from_millis(timing.backoff_first_ms),
            Some(before) => {
                before.saturating_mul(2).min(Duration::from_millis(timing.backoff_max_ms))
            }
        };
        let wait = wait.min(BACKOFF_MAX);
        *due = Due { at: Instant::now() + wait, waited: Some(wait) };
        let message = format!(
            "back-off {}s restarting failed container={} pod={}_{}({})",
            wait.as_secs(),
            self.plan.containers.get(index).map_or("", |plan| &plan.name),
            self.plan.name,
            self.plan.namespace,
            self.plan.uid
        );
        if let Some(record) = self.state.containers.get_mut(index) {
            record.last = Some(end);
            record.now = Now::Waiting(Fault::new(reasons::BACK_OFF, message));
        }
        wait
    }

    /// What a supervisor before this one left: it cannot be known how it went on, so it is ended.
    async fn take_over(&mut self) {
        self.clear_remains().await;
        let now = crate::clock::now();
        for index in 0..self.state.containers.len() {
            let Some(record) = self.state.containers.get(index) else { continue };
            let started_at = match record.now {
                Now::Running { started_at, .. } => Some(started_at),
                Now::Starting => None,
                _ => continue,
            };
            let message = "The supervisor of the Pod was gone before the container ended";
            let end = unknown(message, started_at, now);
            let is_init = record.is_init;
            self.set(index, Now::Ended(end.clone()));
            if restarts(self.plan.restart_policy, is_init, &end) {
                self.wait_to_restart(index, end, Duration::ZERO);
            }
        }
    }

    fn set(&mut self, index: usize, now: Now) {
        if let Some(record) = self.state.containers.get_mut(index) {
            record.now = now;
        }
    }

    /// Writes down what is known. A disk that is full or fails is waited for: to go on without
    /// having written would be to forget.
    async fn write(&self, durability: Durability) -> io::Result<()> {
        loop {
            match self.folder.write_state(&self.state, durability) {
                Ok(()) => return Ok(()),
                // Nobody wants to know any more.
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(error),
                Err(_) if durability == Durability::Whole => return Ok(()),
                Err(_) => tokio::time::sleep(WRITE_RETRY).await,
            }
        }
    }
}

/// Whether an init container has done its part.
fn is_done(record: &Record) -> bool {
    record.end().is_some_and(End::is_success)
}

fn restarts(policy: RestartPolicy, is_init: bool, end: &End) -> bool {
    match policy {
        RestartPolicy::Never => false,
        RestartPolicy::Always if !is_init => true,
        // An init container that did its part is not run again.
        RestartPolicy::Always | RestartPolicy::OnFailure => !end.is_success(),
    }
}

fn unknown(message: &str, started_at: Option<jiff::Timestamp>, now: jiff::Timestamp) -> End {
    let (reason, message) = (reasons::UNKNOWN.to_owned(), message.to_owned());
    End { exit_code: 137, signal: 0, reason, message, started_at, finished_at: now }
}
