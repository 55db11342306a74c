//! Whether the cluster answers. It is asked when a page is shown, at most every few seconds.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use punctual_client::Clock;
use punctual_reader::Reader;

/// How long an answer is believed.
const VALID_FOR: Duration = Duration::from_secs(5);
/// How long to wait for an answer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(3);

/// Whether the cluster answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ClusterHealth {
    Answers,
    Silent,
}

/// Asks the cluster whether it answers.
#[derive(Default)]
pub(crate) struct HealthProbe {
    last: Mutex<Option<(Duration, ClusterHealth)>>,
}

impl HealthProbe {
    /// Returns whether the cluster answers.
    pub(crate) async fn check(&self, reader: &Reader, clock: &dyn Clock) -> ClusterHealth {
        let now = clock.monotonic();
        let last = *self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((at, health)) = last
            && now.saturating_sub(at) < VALID_FOR
        {
            return health;
        }
        let answer = tokio::time::timeout(ANSWER_TIMEOUT, reader.client().apiserver_version());
        let health = match answer.await {
            Ok(Ok(_)) => ClusterHealth::Answers,
            _ => ClusterHealth::Silent,
        };
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Some((now, health));
        health
    }
}
