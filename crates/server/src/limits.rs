//! ServerLimits that keep one client from using all resources of the server.

use std::sync::Arc;
use std::time::Duration;

use punctual_api::Status;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

/// The limits of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServerLimits {
    /// Maximum size of a request body in bytes.
    pub body_bytes_max: usize,
    /// Maximum number of concurrent requests other than watches.
    pub requests_max: usize,
    /// Maximum number of concurrent watches.
    pub watches_max: usize,
    /// Maximum rate of requests other than watches. Bursts of one second's worth are allowed.
    pub requests_per_second: u32,
    /// Time limit of a request other than a watch.
    pub request_timeout: Duration,
    /// Maximum number of concurrent connections.
    pub connections_max: usize,
}

impl Default for ServerLimits {
    fn default() -> ServerLimits {
        ServerLimits {
            body_bytes_max: 3 << 20,
            requests_max: 1_000,
            watches_max: 10_000,
            requests_per_second: 20_000,
            request_timeout: Duration::from_secs(60),
            connections_max: 20_000,
        }
    }
}

/// Enforces the limits on concurrent requests and on their rate.
pub(crate) struct RequestLimiter {
    requests: Arc<Semaphore>,
    watches: Arc<Semaphore>,
    rate: std::sync::Mutex<TokenBucket>,
}

impl RequestLimiter {
    pub(crate) fn new(limits: &ServerLimits) -> RequestLimiter {
        let rate = f64::from(limits.requests_per_second);
        RequestLimiter {
            requests: Arc::new(Semaphore::new(limits.requests_max)),
            watches: Arc::new(Semaphore::new(limits.watches_max)),
            rate: std::sync::Mutex::new(TokenBucket { rate, tokens: rate, filled_at: None }),
        }
    }

    /// Takes a permit for a request other than a watch. Fails if a limit is reached.
    pub(crate) fn acquire_request(&self, now: Instant) -> Result<OwnedSemaphorePermit, Status> {
        let mut rate = self.rate.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if !rate.try_take(now) {
            return Err(too_many("too many requests in a second"));
        }
        drop(rate);
        let permit = self.requests.clone().try_acquire_owned();
        permit.map_err(|_| too_many("too many requests at a time"))
    }

    /// Takes a permit for a watch. Fails if the limit is reached.
    pub(crate) fn acquire_watch(&self) -> Result<OwnedSemaphorePermit, Status> {
        let permit = self.watches.clone().try_acquire_owned();
        permit.map_err(|_| too_many("too many watches at a time"))
    }
}

fn too_many(why: &str) -> Status {
    Status::too_many_requests(format!("{why}, please try again later"), 1)
}

/// A token bucket that holds one second's worth of requests.
struct TokenBucket {
    rate: f64,
    tokens: f64,
    filled_at: Option<Instant>,
}

impl TokenBucket {
    fn try_take(&mut self, now: Instant) -> bool {
        if let Some(before) = self.filled_at {
            let elapsed = now.saturating_duration_since(before).as_secs_f64();
            self.tokens = (self.tokens + elapsed * self.rate).min(self.rate);
        }
        self.filled_at = Some(now);
        let has_token = self.tokens >= 1.0;
        if has_token {
            self.tokens -= 1.0;
        }
        has_token
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn requests_above_the_rate_are_refused_until_the_bucket_refills() {
        let limiter = RequestLimiter::new(&ServerLimits {
            requests_per_second: 10,
            ..ServerLimits::default()
        });
        let accepted = |count: usize| {
            let results = (0..count).map(|_| limiter.acquire_request(Instant::now()));
            results.filter(Result::is_ok).count()
        };
        assert_eq!(accepted(25), 10);
        tokio::time::advance(Duration::from_millis(500)).await;
        assert_eq!(accepted(25), 5);
        tokio::time::advance(Duration::from_secs(60)).await;
        assert_eq!(accepted(25), 10);
    }

    #[tokio::test]
    async fn a_permit_is_free_again_when_its_request_ends() {
        let limits = ServerLimits { requests_max: 1, watches_max: 1, ..ServerLimits::default() };
        let limiter = RequestLimiter::new(&limits);
        let permit = limiter.acquire_request(Instant::now()).unwrap();
        let refused = limiter.acquire_request(Instant::now()).unwrap_err();
        assert_eq!((refused.code, refused.details.unwrap().retry_after_seconds), (429, 1));
        drop(permit);
        assert!(limiter.acquire_request(Instant::now()).is_ok());
        let _watch = limiter.acquire_watch().unwrap();
        assert_eq!(limiter.acquire_watch().unwrap_err().code, 429);
    }
}
