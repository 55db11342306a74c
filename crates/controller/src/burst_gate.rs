//! Delays the other controllers while many slots (times at which a CronJob must run) are due at
//! once.
//!
//! When a thousand slots are due at once, each Job that is created causes watch events and work for the
//! Job controller. That work would compete for the CPU with the slots that are still pending. So the other
//! controllers slow down during a burst, but only for `BURST_MAX`: on a machine that cannot keep up with its
//! slots, the other work must still make progress.

use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, timeout_at};

/// The longest time that other work is delayed by one burst.
const BURST_MAX: Duration = Duration::from_secs(3);

/// Whether a burst of slots is due. Clones share the same state.
#[derive(Clone, Debug)]
pub struct BurstGate {
    burst_since: watch::Sender<Option<Instant>>,
}

impl Default for BurstGate {
    fn default() -> BurstGate {
        BurstGate { burst_since: watch::Sender::new(None) }
    }
}

impl BurstGate {
    /// Waits until the burst is over or has lasted three seconds. Returns at once if there is none.
    pub async fn yield_to_burst(&self) {
        let mut burst_since = self.burst_since.subscribe();
        let Some(since) = *burst_since.borrow() else { return };
        // The channel cannot close because `self` holds a sender. The end of the burst and the timeout
        // have the same effect.
        let _ = timeout_at(since + BURST_MAX, burst_since.wait_for(Option::is_none)).await;
    }

    /// Whether there is a burst that has lasted for less than `BURST_MAX`.
    pub(crate) fn is_burst(&self) -> bool {
        self.burst_since.borrow().is_some_and(|since| since.elapsed() < BURST_MAX)
    }

    /// Reports whether slots are due that no worker has taken yet.
    pub(crate) fn set_burst(&self, has_due: bool) {
        self.burst_since.send_if_modified(|since| {
            let is_change = since.is_some() != has_due;
            if is_change {
                *since = has_due.then(Instant::now);
            }
            is_change
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn other_work_waits_for_the_end_of_a_burst_but_no_longer_than_the_limit() {
        let gate = BurstGate::default();
        gate.yield_to_burst().await;
        assert!(!gate.is_burst());
        gate.set_burst(true);
        assert!(gate.is_burst());
        let start = Instant::now();
        let waiting = tokio::spawn({
            let gate = gate.clone();
            async move { gate.yield_to_burst().await }
        });
        tokio::time::sleep(Duration::from_secs(1)).await;
        gate.set_burst(false);
        waiting.await.unwrap();
        assert_eq!(start.elapsed(), Duration::from_secs(1));
        gate.set_burst(true);
        gate.yield_to_burst().await;
        assert_eq!(start.elapsed(), Duration::from_secs(1) + BURST_MAX);
        assert!(!gate.is_burst(), "the burst has lasted for the limit");
        gate.yield_to_burst().await;
        assert_eq!(start.elapsed(), Duration::from_secs(1) + BURST_MAX);
    }
}
