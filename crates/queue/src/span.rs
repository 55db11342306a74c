//! Time between and after wall-clock instants, for a clock that may have been set back.

use std::time::Duration;

use jiff::Timestamp;

/// How long ago `from` was; nothing if the clock went back in between.
pub(crate) fn between(from: Timestamp, now: Timestamp) -> Duration {
    Duration::try_from(now.duration_since(from)).unwrap_or_default()
}

/// The instant so much later, or the last there is.
pub(crate) fn after(from: Timestamp, delay: Duration) -> Timestamp {
    from.checked_add(delay).unwrap_or(Timestamp::MAX)
}
