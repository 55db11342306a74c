//! The loop around the elector: it says what to do about the Lease, and hears what came of it.

use std::sync::Arc;

use punctual_lease::{Action, Elector, Mono};
use tokio_util::sync::CancellationToken;

use super::Election;
use super::lease_calls::LeaseCalls;
use crate::clock::{Clock, sleep_until};
use crate::fence::Fence;

/// A candidate that tries to lead and tells the fence until when it does.
pub(super) struct Campaign {
    pub(super) elector: Elector,
    pub(super) lease: LeaseCalls,
    pub(super) fence: Fence,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) election: Election,
}

impl Campaign {
    /// Campaigns until the Lease is to be given back, and has been.
    pub(super) async fn run(mut self, release: CancellationToken) {
        loop {
            let is_releasing = release.is_cancelled();
            if is_releasing {
                self.elector.release();
            }
            self.tell_fence();
            let (now, wall) = (self.now(), self.clock.now());
            match self.elector.poll(now, wall, (self.election.dice)()) {
                Action::Get => {
                    let read = self.lease.read().await;
                    self.elector.on_observed(read, self.now());
                }
                Action::Create(record) => {
                    let written = self.lease.create(&record).await;
                    self.elector.on_write(written, self.now());
                }
                Action::Update(record, version) => {
                    let written = self.lease.update(&record, version).await;
                    self.elector.on_write(written, self.now());
                }
                Action::Sleep(until) => tokio::select! {
                    biased;
                    () = release.cancelled(), if !is_releasing => {}
                    () = sleep_until(&*self.clock, until) => {}
                },
                Action::Released => return,
            }
        }
    }

    fn now(&self) -> Mono {
        self.clock.monotonic()
    }

    fn tell_fence(&self) {
        let config = &self.election.config;
        let slack = config.lease_duration.saturating_sub(config.renew_deadline);
        self.fence.set(self.elector.leads_until(), slack);
    }
}
