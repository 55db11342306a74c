//! Conversion between jiff's timestamps and minute numbers.
//!
//! A minute number counts UTC minutes from day 0 of [`crate::gregorian`], so it is never negative.

use jiff::Timestamp;

use crate::{gregorian, time_set::DAY_MINUTES};

const UNIX_MINUTE: u64 = gregorian::UNIX_DAY as u64 * DAY_MINUTES as u64;
const UNIX_SECOND: i64 = UNIX_MINUTE as i64 * 60;

/// Returns the Unix second at or before an instant.
#[inline]
pub(crate) fn floor_second(instant: Timestamp) -> i64 {
    // jiff's fraction has the sign of the timestamp.
    instant.as_second() - i64::from(instant.subsec_nanosecond() < 0)
}

/// Returns the number of the minute that contains an instant.
#[inline]
pub(crate) fn floor_minute(instant: Timestamp) -> u64 {
    (floor_second(instant) + UNIX_SECOND) as u64 / 60
}

/// Returns the first minute that begins at or after a Unix second.
pub(crate) fn ceil_minute(unix_second: i64) -> u64 {
    ((unix_second + UNIX_SECOND) as u64).div_ceil(60)
}

/// Returns the start of a minute, or None outside jiff's range.
#[inline]
pub(crate) fn to_timestamp(minute: u64) -> Option<Timestamp> {
    Timestamp::from_second(minute as i64 * 60 - UNIX_SECOND).ok()
}
