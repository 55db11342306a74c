//! The end of a Pod: asked for, due, or of itself.

use std::io;
use std::time::Duration;

use jiff::SignedDuration;
use rustix::process::{Pid, WaitOptions};
use tokio::signal::unix::Signal;
use tokio::time::{Instant, timeout};

use super::{Life, unknown};
use crate::folder::Durability;
use crate::state::{End, Fault, Now, Phase, Record};
use crate::supervisor::container::Live;
use crate::supervisor::tree;

/// How long the processes of a Pod may take to vanish once they were killed.
const VANISH_MAX: Duration = Duration::from_secs(10);
/// How often they are looked for meanwhile.
const VANISH_LOOK: Duration = Duration::from_millis(10);

impl Life {
    /// Looks whether the daemon wants the Pod to stop, or to stop sooner.
    pub(super) async fn heed_stop(&mut self) -> io::Result<()> {
        match self.folder.stop()? {
            Some(stop) => self.stop(None, stop.grace_seconds).await,
            None => Ok(()),
        }
    }

    pub(super) async fn stop(&mut self, why: Option<Fault>, grace_seconds: u64) -> io::Result<()> {
        let kill_at = Instant::now() + Duration::from_secs(grace_seconds.min(u32::MAX.into()));
        if let Some(before) = self.kill_at {
            self.kill_at = Some(before.min(kill_at));
            return Ok(());
        }
        self.kill_at = Some(kill_at);
        self.live.iter().for_each(Live::terminate);
        self.state.reason = why;
        self.write(Durability::Durable).await
    }

    pub(super) fn kill_live(&self) {
        for live in &self.live {
            let name = self.plan.containers.get(live.index).map_or("", |plan| &plan.name);
            live.kill(&self.plan.uid, name);
        }
    }

    /// When the Pod has been active for too long, on this clock.
    pub(super) fn deadline(&self) -> Option<Instant> {
        let seconds = self.plan.active_deadline_seconds?;
        let seconds = SignedDuration::from_secs(i64::try_from(seconds).ok()?);
        let left = self.state.started_at.checked_add(seconds).ok()?;
        let left = left.duration_since(crate::clock::now());
        Instant::now().checked_add(left.try_into().unwrap_or(Duration::ZERO))
    }

    pub(super) fn is_past_deadline(&self) -> bool {
        self.deadline().is_some_and(|at| at <= Instant::now())
    }

    /// Whether nothing is to be started any more, of itself.
    pub(super) fn is_concluded(&self) -> bool {
        let has_failed_init =
            |record: &Record| record.is_init && record.end().is_some_and(|end| !end.is_success());
        let containers = &self.state.containers;
        containers.iter().any(has_failed_init)
            || containers.iter().all(|record| record.end().is_some())
    }

    /// Ends what is left, and only then says that the Pod is over.
    pub(super) async fn finish(mut self, children: &mut Signal) -> io::Result<()> {
        if !tree::descendants().is_empty() {
            // Ending them may take a while, and how the containers ended is known.
            self.write(Durability::Durable).await?;
            self.clear_descendants(children).await;
        }
        self.clear_groups().await;
        if self.kill_at.is_some() {
            self.give_up_on_waiting();
        }
        let ends = self.state.containers.iter().filter(|record| !record.is_init);
        let is_success = self.state.reason.is_none()
            && ends.clone().all(|record| record.end().is_some_and(End::is_success));
        self.state.phase = if is_success { Phase::Succeeded } else { Phase::Failed };
        self.write(Durability::Durable).await
    }

    /// Containers that will not be started have an end too, as a kubelet gives them one.
    fn give_up_on_waiting(&mut self) {
        let now = crate::clock::now();
        for record in self.state.containers.iter_mut().filter(|record| record.end().is_none()) {
            let message = "The container could not be located when the pod was terminated";
            record.now = Now::Ended(match record.last.take() {
                Some(last) => last,
                None => unknown(message, None, now),
            });
        }
    }

    /// What was killed last may take a moment to leave its group.
    async fn clear_groups(&self) {
        let Some(groups) = &self.groups else { return };
        let give_up_at = Instant::now() + VANISH_MAX;
        while !groups.remove() && Instant::now() < give_up_at {
            groups.kill();
            tokio::time::sleep(VANISH_LOOK).await;
        }
    }

    /// Ends everything that is still below this process, until there is nothing.
    async fn clear_descendants(&mut self, children: &mut Signal) {
        let give_up_at = Instant::now() + VANISH_MAX;
        loop {
            while let Ok(Some(_)) = rustix::process::wait(WaitOptions::NOHANG) {}
            let left = tree::descendants();
            if left.is_empty() || Instant::now() > give_up_at {
                return self.note_survivors(&left);
            }
            tree::kill(&left);
            let _ = timeout(VANISH_LOOK, children.recv()).await;
        }
    }

    /// Ends what a dead supervisor left, which is not below this process.
    pub(super) async fn clear_remains(&mut self) {
        let give_up_at = Instant::now() + VANISH_MAX;
        loop {
            if let Some(groups) = &self.groups {
                groups.kill();
            }
            let left = tree::of_pod(&self.plan.uid);
            if left.is_empty() || Instant::now() > give_up_at {
                return self.note_survivors(&left);
            }
            tree::kill(&left);
            tokio::time::sleep(VANISH_LOOK).await;
        }
    }

    fn note_survivors(&mut self, left: &[Pid]) {
        if !left.is_empty() {
            let message = format!("{} processes did not end when they were killed", left.len());
            self.state.note(Fault::new("FailedKillPod", message));
        }
    }
}
