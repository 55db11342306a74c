//! Whether this process can read and write the Lease of its election. A process that cannot will never
//! lead, so it must not count as a standby.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use punctual_client::ApiError;
use punctual_lease::MonotonicTime;

/// The results of the last calls for the Lease.
#[derive(Clone, Debug, Default)]
pub struct LeaseAccess(Arc<Mutex<AccessState>>);

#[derive(Debug, Default)]
struct AccessState {
    has_read: bool,
    /// Whether a write failed, until one succeeds or none is due.
    is_write_failing: bool,
    is_read_failing: bool,
    failure: Option<AccessFailure>,
}

/// The current series of failed calls.
#[derive(Debug)]
struct AccessFailure {
    since: MonotonicTime,
    /// The verb and the error of the last failed call.
    last: String,
}

/// Why the Lease is not accessible.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LeaseAccessError {
    /// No call has succeeded yet.
    #[error("the Lease has not been read yet")]
    NotRead,
    /// Calls have failed for longer than the lease duration.
    #[error("for {seconds} s this replica could not {last}", seconds = .duration.as_secs())]
    Failing {
        /// The time since the first of the failures.
        duration: Duration,
        /// The verb and the error of the last failed call.
        last: String,
    },
}

impl LeaseAccess {
    /// Fails before the first read, and if calls have been failing for longer than `tolerance`.
    pub fn check(&self, now: MonotonicTime, tolerance: Duration) -> Result<(), LeaseAccessError> {
        let state = self.lock();
        if let Some(AccessFailure { since, last }) = &state.failure {
            let duration = now.saturating_sub(*since);
            if duration >= tolerance {
                return Err(LeaseAccessError::Failing { duration, last: last.clone() });
            }
        }
        if state.has_read { Ok(()) } else { Err(LeaseAccessError::NotRead) }
    }

    /// Records the result of a read.
    pub(super) fn on_read(&self, error: Option<&ApiError>, now: MonotonicTime) {
        let mut state = self.lock();
        state.has_read |= error.is_none();
        state.is_read_failing = error.is_some();
        state.record("read", error, now);
    }

    /// Records the result of a write. A conflict is a success: another replica wrote first.
    pub(super) fn on_write(&self, error: Option<&ApiError>, now: MonotonicTime) {
        let mut state = self.lock();
        state.is_write_failing = error.is_some();
        state.record("write", error, now);
    }

    /// Records that the Lease was read and no write is due, because another replica leads. Whether a
    /// write would succeed now is unknown, so an earlier failure does not count any more.
    pub(super) fn on_standby(&self) {
        let mut state = self.lock();
        state.is_write_failing = false;
        state.forget_failure();
    }

    fn lock(&self) -> MutexGuard<'_, AccessState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl AccessState {
    fn record(&mut self, verb: &str, error: Option<&ApiError>, now: MonotonicTime) {
        let Some(error) = error else { return self.forget_failure() };
        let since = self.failure.as_ref().map_or(now, |failure| failure.since);
        self.failure = Some(AccessFailure { since, last: format!("{verb} the Lease: {error}") });
    }

    fn forget_failure(&mut self) {
        if !self.is_read_failing && !self.is_write_failing {
            self.failure = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOLERANCE: Duration = Duration::from_secs(15);

    fn at(seconds: u64) -> MonotonicTime {
        Duration::from_secs(seconds)
    }

    fn denied() -> ApiError {
        let message = "leases is forbidden".to_owned();
        ApiError::Status { code: 403, message, retry_after: None }
    }

    #[test]
    fn a_lease_that_was_never_read_is_not_accessible() {
        let access = LeaseAccess::default();
        assert_eq!(access.check(at(100), TOLERANCE), Err(LeaseAccessError::NotRead));
        access.on_read(None, at(100));
        assert_eq!(access.check(at(1_000), TOLERANCE), Ok(()));
    }

    #[test]
    fn reads_that_fail_for_the_tolerance_count_and_one_success_recovers() {
        let access = LeaseAccess::default();
        access.on_read(None, at(0));
        for second in [10, 12, 24] {
            access.on_read(Some(&denied()), at(second));
            assert_eq!(access.check(at(second), TOLERANCE), Ok(()), "{second}");
        }
        let error = access.check(at(25), TOLERANCE).unwrap_err().to_string();
        assert_eq!(error, "for 15 s this replica could not read the Lease: leases is forbidden");
        access.on_read(None, at(26));
        assert_eq!(access.check(at(26), TOLERANCE), Ok(()));
    }

    #[test]
    fn reads_that_succeed_do_not_hide_writes_that_fail() {
        let access = LeaseAccess::default();
        for second in 0..20 {
            access.on_read(None, at(second));
            access.on_write(Some(&denied()), at(second));
        }
        let error = access.check(at(20), TOLERANCE).unwrap_err().to_string();
        assert!(error.contains("could not write the Lease"), "{error}");
        access.on_read(None, at(21));
        access.on_standby();
        assert_eq!(access.check(at(21), TOLERANCE), Ok(()), "another replica leads");
    }
}
