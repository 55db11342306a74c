//! How much is done at a time, so that no client can take everything.

use std::sync::Arc;
use std::time::Duration;

use punctual_api::Status;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

/// The bounds of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The largest body, in bytes.
    pub body_bytes_max: usize,
    /// Ordinary requests at a time.
    pub requests_max: usize,
    /// Watches at a time.
    pub watches_max: usize,
    /// Ordinary requests in a second, over a few seconds.
    pub requests_per_second: u32,
    /// The longest that an ordinary request may take.
    pub request_timeout: Duration,
    /// Connections at a time.
    pub connections_max: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            body_bytes_max: 3 << 20,
            requests_max: 1_000,
            watches_max: 10_000,
            requests_per_second: 20_000,
            request_timeout: Duration::from_secs(60),
            connections_max: 20_000,
        }
    }
}

/// Lets in as much as the limits allow.
pub(crate) struct Gate {
    requests: Arc<Semaphore>,
    watches: Arc<Semaphore>,
    rate: std::sync::Mutex<Bucket>,
}

impl Gate {
    pub(crate) fn new(limits: &Limits) -> Gate {
        let rate = f64::from(limits.requests_per_second);
        Gate {
            requests: Arc::new(Semaphore::new(limits.requests_max)),
            watches: Arc::new(Semaphore::new(limits.watches_max)),
            rate: std::sync::Mutex::new(Bucket { rate, tokens: rate, filled_at: None }),
        }
    }

    /// A place for an ordinary request.
    pub(crate) fn request(&self, now: Instant) -> Result<OwnedSemaphorePermit, Status> {
        let mut rate = self.rate.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if !rate.take(now) {
            return Err(busy("too many requests in a second"));
        }
        drop(rate);
        self.requests.clone().try_acquire_owned().map_err(|_| busy("too many requests at a time"))
    }

    /// A place for a watch.
    pub(crate) fn watch(&self) -> Result<OwnedSemaphorePermit, Status> {
        self.watches.clone().try_acquire_owned().map_err(|_| busy("too many watches at a time"))
    }
}

fn busy(why: &str) -> Status {
    Status::too_many_requests(format!("{why}, please try again later"), 1)
}

/// A second's worth of requests that fills up as time goes by.
struct Bucket {
    rate: f64,
    tokens: f64,
    filled_at: Option<Instant>,
}

impl Bucket {
    fn take(&mut self, now: Instant) -> bool {
        if let Some(before) = self.filled_at {
            let passed = now.saturating_duration_since(before).as_secs_f64();
            self.tokens = (self.tokens + passed * self.rate).min(self.rate);
        }
        self.filled_at = Some(now);
        let is_enough = self.tokens >= 1.0;
        if is_enough {
            self.tokens -= 1.0;
        }
        is_enough
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_second_has_room_for_so_many_requests_and_the_next_for_as_many_again() {
        let gate = Gate::new(&Limits { requests_per_second: 10, ..Limits::default() });
        let taken =
            |count: usize| (0..count).filter(|_| gate.request(Instant::now()).is_ok()).count();
        assert_eq!(taken(25), 10);
        tokio::time::advance(Duration::from_millis(500)).await;
        assert_eq!(taken(25), 5);
        tokio::time::advance(Duration::from_secs(60)).await;
        assert_eq!(taken(25), 10);
    }

    #[tokio::test]
    async fn a_place_is_free_again_when_its_request_is_over() {
        let gate = Gate::new(&Limits { requests_max: 1, watches_max: 1, ..Limits::default() });
        let place = gate.request(Instant::now()).unwrap();
        let refused = gate.request(Instant::now()).unwrap_err();
        assert_eq!((refused.code, refused.details.unwrap().retry_after_seconds), (429, 1));
        drop(place);
        assert!(gate.request(Instant::now()).is_ok());
        let _watch = gate.watch().unwrap();
        assert_eq!(gate.watch().unwrap_err().code, 429);
    }
}
