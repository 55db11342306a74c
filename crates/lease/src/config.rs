//! The durations of an election and their validation.

use std::fmt;
use std::time::Duration;

/// The durations of an election. The defaults are those of Kubernetes' controllers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ElectionConfig {
    /// Other candidates take the Lease this long after its last change. It must be whole seconds,
    /// because the Lease stores seconds.
    pub lease_duration: Duration,
    /// A leader stops this long after the start of its last successful renewal.
    pub renew_deadline: Duration,
    /// The time between two attempts. A random jitter adds up to a fifth.
    pub retry_period: Duration,
}

/// The error of an invalid configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConfigError {
    /// A Lease stores whole seconds as an `i32`.
    LeaseDurationNotWholeSeconds,
    /// A leader would still act when another candidate may take over.
    LeaseDurationNotAboveRenewDeadline,
    /// A leader would stop before its first renewal.
    RenewDeadlineNotAboveRetryPeriod,
    /// A candidate would send requests without a pause.
    RetryPeriodZero,
    /// An empty identity means that the Lease has no holder.
    IdentityEmpty,
}

impl ElectionConfig {
    /// Validates the durations.
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

    /// Returns the timeout of a request: half of the renew deadline, so that a leader can try twice.
    pub fn request_timeout(&self) -> Duration {
        self.renew_deadline / 2
    }

    /// Returns the retry period plus a jitter of up to a fifth: the share `random` / 2^32 of it.
    pub(crate) fn jittered_retry_period(&self, random: u32) -> Duration {
        let jitter = (self.retry_period.as_nanos() / 5 * u128::from(random)) >> u32::BITS;
        let jitter = u64::try_from(jitter).map_or(self.retry_period, Duration::from_nanos);
        self.retry_period.saturating_add(jitter)
    }

    pub(crate) fn lease_seconds(&self) -> i32 {
        i32::try_from(self.lease_duration.as_secs()).unwrap_or(i32::MAX)
    }
}

impl Default for ElectionConfig {
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
