//! The three durations of an election, and the rules between them.

use std::fmt;
use std::time::Duration;

/// How long a candidate lasts, tries and waits. The defaults are those of Kubernetes' controllers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// Others take the Lease so long after its last change. Whole seconds, as in the Lease.
    pub lease_duration: Duration,
    /// A leader stops so long after its last renewal began.
    pub renew_deadline: Duration,
    /// The time between two tries; up to a fifth more, as the dice say.
    pub retry_period: Duration,
}

/// Settings that would not elect one leader, or none that lasts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConfigError {
    /// A Lease knows whole seconds only, and not more of them than an `i32` holds.
    LeaseDurationNotWholeSeconds,
    /// A leader would still act when another may take over.
    LeaseDurationNotAboveRenewDeadline,
    /// A leader would give up before it has tried to renew.
    RenewDeadlineNotAboveRetryPeriod,
    /// A candidate would never rest.
    RetryPeriodZero,
    /// A candidate without a name could not be told from nobody.
    IdentityEmpty,
}

impl Config {
    /// Says what is wrong with the durations, if anything is.
    pub fn validate(&self) -> Result<(), ConfigError> {
        let seconds = i32::try_from(self.lease_duration.as_secs());
        if self.lease_duration.subsec_nanos() != 0 || seconds.is_err() {
            return Err(ConfigError::LeaseDurationNotWholeSeconds);
        }
        if self.lease_duration <= self.renew_deadline {
            return Err(ConfigError::LeaseDurationNotAboveRenewDeadline);
        }
        if self.renew_deadline <= self.retry_period.saturating_add(self.retry_period / 5) {
            return Err(ConfigError::RenewDeadlineNotAboveRetryPeriod);
        }
        if self.retry_period.is_zero() {
            return Err(ConfigError::RetryPeriodZero);
        }
        Ok(())
    }

    /// How long the shell should wait for the answer to a request before it calls it lost: half of
    /// the deadline, so that a leader has a second chance.
    pub fn request_timeout(&self) -> Duration {
        self.renew_deadline / 2
    }

    /// The retry period, longer by up to a fifth: a share of `dice` in 2^32.
    pub(crate) fn rest(&self, dice: u32) -> Duration {
        let more = (self.retry_period.as_nanos() / 5 * u128::from(dice)) >> u32::BITS;
        let more = u64::try_from(more).map_or(self.retry_period, Duration::from_nanos);
        self.retry_period.saturating_add(more)
    }

    pub(crate) fn lease_seconds(&self) -> i32 {
        i32::try_from(self.lease_duration.as_secs()).unwrap_or(i32::MAX)
    }
}

impl Default for Config {
    fn default() -> Self {
        Self {
            lease_duration: Duration::from_secs(15),
            renew_deadline: Duration::from_secs(10),
            retry_period: Duration::from_secs(2),
        }
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::LeaseDurationNotWholeSeconds => {
                "the lease duration must be a whole number of seconds below 2^31"
            }
            Self::LeaseDurationNotAboveRenewDeadline => {
                "the lease duration must be longer than the renew deadline"
            }
            Self::RenewDeadlineNotAboveRetryPeriod => {
                "the renew deadline must be longer than 1.2 retry periods"
            }
            Self::RetryPeriodZero => "the retry period must not be zero",
            Self::IdentityEmpty => "the identity must not be empty",
        })
    }
}

impl std::error::Error for ConfigError {}
