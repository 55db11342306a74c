//! Limits the rate of requests, of each user and of all users.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use tokio::time::Instant;

use crate::auth::{ADMIN_GROUP, User};

/// Above this number of users those with a full bucket are forgotten.
const USERS_MAX: usize = 1_000;

/// A token bucket that holds one second's worth of requests.
pub(crate) struct TokenBucket {
    rate: f64,
    burst: f64,
    tokens: f64,
    filled_at: Option<Instant>,
}

impl TokenBucket {
    pub(crate) fn new(rate: f64) -> TokenBucket {
        TokenBucket::with_burst(rate, rate)
    }

    /// Returns a full bucket that holds `burst` tokens.
    pub(crate) fn with_burst(rate: f64, burst: f64) -> TokenBucket {
        TokenBucket { rate, burst, tokens: burst, filled_at: None }
    }

    pub(crate) fn try_take(&mut self, now: Instant) -> bool {
        self.fill(now);
        let has_token = self.tokens >= 1.0;
        if has_token {
            self.tokens -= 1.0;
        }
        has_token
    }

    pub(crate) fn is_full(&mut self, now: Instant) -> bool {
        self.fill(now);
        self.tokens >= self.burst
    }

    fn fill(&mut self, now: Instant) {
        if let Some(before) = self.filled_at {
            let elapsed = now.saturating_duration_since(before).as_secs_f64();
            self.tokens = (self.tokens + elapsed * self.rate).min(self.burst);
        }
        self.filled_at = Some(now);
    }
}

/// Limits the rate of requests. Administrators have a bucket of their own, so other users cannot
/// lock them out. Each of the other users can use half of the rate that all of them share.
pub(super) struct FairRate {
    rate: f64,
    buckets: Mutex<Buckets>,
}

struct Buckets {
    admins: TokenBucket,
    others: TokenBucket,
    by_user: HashMap<String, TokenBucket>,
}

impl FairRate {
    pub(super) fn new(requests_per_second: u32) -> FairRate {
        let rate = f64::from(requests_per_second);
        let buckets = Buckets {
            admins: TokenBucket::new(rate),
            others: TokenBucket::new(rate),
            by_user: HashMap::new(),
        };
        FairRate { rate, buckets: Mutex::new(buckets) }
    }

    /// Counts a request. Returns whether it is within the rate.
    pub(super) fn try_take(&self, user: &User, now: Instant) -> bool {
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        if user.is_member_of(ADMIN_GROUP) {
            return buckets.admins.try_take(now);
        }
        if buckets.by_user.len() >= USERS_MAX {
            buckets.by_user.retain(|_, bucket| !bucket.is_full(now));
        }
        // A rate of one request per second would leave half a request to each user.
        let share = (self.rate / 2.0).max(self.rate.min(1.0));
        let new_bucket = || TokenBucket::new(share);
        let own = buckets.by_user.entry(user.name.clone()).or_insert_with(new_bucket);
        own.try_take(now) && buckets.others.try_take(now)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::auth::VIEW_GROUP;

    #[tokio::test(start_paused = true)]
    async fn requests_above_the_rate_are_refused_until_the_bucket_refills() {
        let mut bucket = TokenBucket::new(10.0);
        let mut accepted = |tries: usize| {
            let tries = std::iter::repeat_with(|| bucket.try_take(Instant::now())).take(tries);
            tries.filter(|is_accepted| *is_accepted).count()
        };
        assert_eq!(accepted(25), 10);
        tokio::time::advance(Duration::from_millis(500)).await;
        assert_eq!(accepted(25), 5);
        tokio::time::advance(Duration::from_secs(60)).await;
        assert_eq!(accepted(25), 10);
    }

    #[test]
    fn a_user_leaves_half_of_the_rate_to_others_and_all_of_it_to_administrators() {
        let rate = FairRate::new(100);
        let now = Instant::now();
        let accepted = |name: &str, group: &str| {
            let user = User::new(name, group);
            let tries = std::iter::repeat_with(|| rate.try_take(&user, now)).take(1000);
            tries.filter(|is_accepted| *is_accepted).count()
        };
        assert_eq!(accepted("a", VIEW_GROUP), 50);
        assert_eq!(accepted("b", VIEW_GROUP), 50);
        assert_eq!(accepted("c", VIEW_GROUP), 0);
        assert_eq!(accepted("admin", ADMIN_GROUP), 100);
    }
}
