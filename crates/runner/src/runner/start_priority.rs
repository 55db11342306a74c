//! Gives the starts of Pods priority over the reports of Pods that were started.
//!
//! When a thousand Pods are to be started at once, each report of an earlier one causes writes and work of the
//! controllers, which would delay the later ones.

use std::time::Duration;

use tokio::sync::watch;
use tokio::time::timeout;

/// The longest time that a report is delayed.
const DELAY_MAX: Duration = Duration::from_millis(500);

/// The number of Pods that are being started. Clones share it.
#[derive(Clone, Debug)]
pub(super) struct StartPriority {
    starting: watch::Sender<usize>,
}

/// A Pod that is being started.
#[derive(Debug)]
pub(super) struct StartInProgress(watch::Sender<usize>);

impl Default for StartPriority {
    fn default() -> StartPriority {
        StartPriority { starting: watch::Sender::new(0) }
    }
}

impl StartPriority {
    /// Delays reports until the result is dropped.
    pub(super) fn begin_start(&self) -> StartInProgress {
        self.starting.send_modify(|count| *count += 1);
        StartInProgress(self.starting.clone())
    }

    /// Waits until no Pod is being started, but no longer than the limit.
    pub(super) async fn yield_to_starts(&self) {
        let mut starting = self.starting.subscribe();
        // The channel cannot close because `self` holds a sender. The timeout has the same effect as the end.
        let _ = timeout(DELAY_MAX, starting.wait_for(|count| *count == 0)).await;
    }
}

impl Drop for StartInProgress {
    fn drop(&mut self) {
        self.0.send_if_modified(|count| {
            *count = count.saturating_sub(1);
            *count == 0
        });
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::Instant;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_report_waits_for_all_starts_but_no_longer_than_the_limit() {
        let priority = StartPriority::default();
        let begin = Instant::now();
        priority.yield_to_starts().await;
        assert_eq!(begin.elapsed(), Duration::ZERO);
        let first = priority.begin_start();
        let second = priority.begin_start();
        drop(first);
        let waiting = tokio::spawn({
            let priority = priority.clone();
            async move { priority.yield_to_starts().await }
        });
        tokio::time::sleep(Duration::from_millis(100)).await;
        assert!(!waiting.is_finished());
        drop(second);
        waiting.await.unwrap();
        assert_eq!(begin.elapsed(), Duration::from_millis(100));
        let _third = priority.begin_start();
        priority.yield_to_starts().await;
        assert_eq!(begin.elapsed(), Duration::from_millis(100) + DELAY_MAX);
    }
}
