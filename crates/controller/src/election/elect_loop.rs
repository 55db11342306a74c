//! The loop that runs the elector: it makes the calls the elector asks for and reports their results to it.

use std::sync::Arc;

use punctual_client::{Clock, Fence, sleep_until};
use punctual_lease::{Elector, ElectorAction, LeaseReadResult, MonotonicTime};
use tokio_util::sync::CancellationToken;

use super::Election;
use super::lease_client::LeaseClient;

/// Campaigns for leadership and keeps the fence up to date.
pub(super) struct ElectLoop {
    pub(super) elector: Elector,
    pub(super) lease: LeaseClient,
    pub(super) fence: Fence,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) election: Election,
}

impl ElectLoop {
    /// Campaigns until `release` is cancelled and the Lease is released.
    pub(super) async fn run(mut self, release: CancellationToken) {
        // Whether the last call was a read that succeeded.
        let mut has_just_read = false;
        loop {
            let is_releasing = release.is_cancelled();
            if is_releasing {
                self.elector.release();
            }
            self.update_fence();
            let now = self.now();
            let wall = self.clock.now();
            match self.elector.poll(now, wall, (self.election.random)()) {
                ElectorAction::Get => {
                    let read = self.lease.read().await;
                    has_just_read = !matches!(read, LeaseReadResult::Failed);
                    self.elector.on_observed(read, self.now());
                }
                ElectorAction::Create(record) => {
                    let written = self.lease.create(&record).await;
                    has_just_read = false;
                    self.elector.on_write(written, self.now());
                }
                ElectorAction::Update(record, version) => {
                    let written = self.lease.update(&record, version).await;
                    has_just_read = false;
                    self.elector.on_write(written, self.now());
                }
                ElectorAction::Sleep(until) => {
                    if has_just_read {
                        self.election.access.on_standby();
                    }
                    tokio::select! {
                        biased;
                        () = release.cancelled(), if !is_releasing => {}
                        () = sleep_until(&*self.clock, until) => {}
                    }
                }
                ElectorAction::Released => return,
            }
        }
    }

    fn now(&self) -> MonotonicTime {
        self.clock.monotonic()
    }

    fn update_fence(&self) {
        let config = &self.election.config;
        let slack = config.lease_duration.saturating_sub(config.renew_deadline);
        self.fence.set_term_end(self.elector.leads_until(), slack);
    }
}
