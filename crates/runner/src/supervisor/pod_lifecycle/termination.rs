//! The end of a Pod: by a stop request, by its deadline, or because its containers have ended.

use std::io;
use std::time::Duration;

use jiff::SignedDuration;
use rustix::process::{Pid, WaitOptions};
use tokio::signal::unix::Signal;
use tokio::time::{Instant, timeout};

use super::{OnWriteFailure, PodLifecycle, WRITE_RETRY, unknown_termination};
use crate::pod_plan::SizeLimit;
use crate::pod_state::{ContainerRecord, PodPhase, ReasonAndMessage, RunState, reasons};
use crate::process_tree;

/// How long killed processes may take to disappear.
const EXIT_TIMEOUT: Duration = Duration::from_secs(10);
/// The interval of checks for killed processes.
const EXIT_POLL: Duration = Duration::from_millis(10);

impl PodLifecycle {
    /// Stops the Pod if the daemon requests it, or shortens the grace period of a stop in progress.
    pub(super) async fn apply_stop_request(&mut self) -> io::Result<()> {
        match self.folder.stop_request()? {
            Some(request) => self.stop(None, request.grace_seconds).await,
            None => Ok(()),
        }
    }

    pub(super) async fn stop(
        &mut self,
        reason: Option<ReasonAndMessage>,
        grace_seconds: u64,
    ) -> io::Result<()> {
        let kill_at = Instant::now() + Duration::from_secs(grace_seconds.min(u32::MAX.into()));
        if let Some(before) = self.kill_at {
            self.kill_at = Some(before.min(kill_at));
            return Ok(());
        }
        self.kill_at = Some(kill_at);
        for container in &self.running {
            container.terminate();
        }
        self.state.stop_reason = reason;
        self.write_state(OnWriteFailure::Retry).await
    }

    /// Stops the Pod at once because a volume is larger than its maximum.
    pub(super) async fn evict(&mut self, limit: &SizeLimit) -> io::Result<()> {
        let message = format!(
            "Usage of EmptyDir volume {:?} exceeds the limit {:?}.",
            limit.volume, limit.text
        );
        self.stop(Some(ReasonAndMessage::new(reasons::EVICTED, message)), 0).await
    }

    pub(super) fn kill_containers(&self) {
        for container in &self.running {
            let name = self.plan.containers.get(container.index).map_or("", |plan| &plan.name);
            container.kill(&self.plan.uid, name, self.running.len() == 1);
        }
    }

    /// When `activeDeadlineSeconds` ends.
    pub(super) fn deadline(&self) -> Option<Instant> {
        let seconds = self.plan.active_deadline_seconds?;
        let seconds = SignedDuration::from_secs(i64::try_from(seconds).ok()?);
        let deadline = self.state.started_at.checked_add(seconds).ok()?;
        let left = deadline.duration_since(self.clock.now());
        Instant::now().checked_add(left.try_into().unwrap_or(Duration::ZERO))
    }

    pub(super) fn is_past_deadline(&self) -> bool {
        self.deadline().is_some_and(|at| at <= Instant::now())
    }

    /// Whether no container will be started again: an init container failed, or all have ended.
    pub(super) fn is_concluded(&self) -> bool {
        let has_failed_init = |record: &ContainerRecord| {
            record.is_init && record.termination().is_some() && !record.has_succeeded()
        };
        let containers = &self.state.containers;
        containers.iter().any(has_failed_init)
            || containers.iter().all(|record| record.termination().is_some())
    }

    /// Kills all remaining processes and then writes the final phase.
    pub(super) async fn finish(mut self, child_exits: &mut Signal) -> io::Result<()> {
        if !process_tree::descendants().is_empty() {
            // Killing may take a while, and the results of the containers are known already.
            self.write_state(OnWriteFailure::Retry).await?;
            self.kill_descendants(child_exits).await;
        }
        self.remove_cgroups().await;
        if self.kill_at.is_some() {
            self.terminate_waiting();
        }
        let mut containers = self.state.containers.iter().filter(|record| !record.is_init);
        let is_success =
            self.state.stop_reason.is_none() && containers.all(ContainerRecord::has_succeeded);
        self.state.phase = if is_success { PodPhase::Succeeded } else { PodPhase::Failed };
        self.write_state(OnWriteFailure::Retry).await?;
        self.sync_state().await
    }

    /// Makes the final state durable if no daemon lives that would write it to its own store at once.
    async fn sync_state(&self) -> io::Result<()> {
        if self.lifeline.as_ref().is_some_and(|lifeline| !lifeline.is_cut()) {
            return Ok(());
        }
        loop {
            match self.folder.sync_state() {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    tokio::time::sleep(WRITE_RETRY).await;
                }
                result => return result,
            }
        }
    }

    /// Marks containers that are not started any more as terminated, as a kubelet does.
    fn terminate_waiting(&mut self) {
        let now = self.clock.now();
        let message = "The container could not be located when the pod was terminated";
        for record in &mut self.state.containers {
            if record.termination().is_none() {
                let last = record.last_termination.take();
                let termination = last.unwrap_or_else(|| unknown_termination(message, None, now));
                record.current = RunState::Terminated(termination);
            }
        }
    }

    /// Removes the cgroups. Killed processes may take a moment to leave them.
    async fn remove_cgroups(&self) {
        let Some(cgroup) = &self.cgroup else { return };
        let give_up_at = Instant::now() + EXIT_TIMEOUT;
        while !cgroup.remove() && Instant::now() < give_up_at {
            cgroup.kill();
            tokio::time::sleep(EXIT_POLL).await;
        }
    }

    /// Kills all descendants of this process until none is left.
    async fn kill_descendants(&mut self, child_exits: &mut Signal) {
        let give_up_at = Instant::now() + EXIT_TIMEOUT;
        loop {
            while let Ok(Some(_)) = rustix::process::wait(WaitOptions::NOHANG) {}
            let left = process_tree::descendants();
            if left.is_empty() || Instant::now() > give_up_at {
                return self.warn_of_survivors(&left);
            }
            process_tree::kill(&left);
            let _ = timeout(EXIT_POLL, child_exits.recv()).await;
        }
    }

    /// Kills the processes of an earlier supervisor, which are no descendants of this process.
    pub(super) async fn kill_remains(&mut self) {
        let give_up_at = Instant::now() + EXIT_TIMEOUT;
        if let Some(cgroup) = &self.cgroup {
            while !cgroup.kill() && Instant::now() < give_up_at {
                tokio::time::sleep(EXIT_POLL).await;
            }
            return;
        }
        loop {
            let left = process_tree::processes_of_pod(&self.plan.uid);
            if left.is_empty() || Instant::now() > give_up_at {
                return self.warn_of_survivors(&left);
            }
            process_tree::kill(&left);
            tokio::time::sleep(EXIT_POLL).await;
        }
    }

    fn warn_of_survivors(&mut self, left: &[Pid]) {
        if !left.is_empty() {
            let message = format!("{} processes did not end when they were killed", left.len());
            self.state.add_warning(ReasonAndMessage::new("FailedKillPod", message));
        }
    }
}
