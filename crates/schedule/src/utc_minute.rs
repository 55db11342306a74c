//! jiff's timestamps as whole minutes on a line that begins before all of them.

use jiff::Timestamp;

use crate::{gregorian, time_set::DAY_MINUTES};

const UNIX_MINUTE: u64 = gregorian::UNIX_DAY as u64 * DAY_MINUTES as u64;
const UNIX_SECOND: i64 = UNIX_MINUTE as i64 * 60;

/// The whole second at or before an instant. (jiff's fraction has the sign of the instant.)
#[inline]
pub(crate) fn floor_second(at: Timestamp) -> i64 {
    at.as_second() - i64::from(at.subsec_nanosecond() < 0)
}

/// The number of the minute that an instant lies in.
#[inline]
pub(crate) fn floor_minute(at: Timestamp) -> u64 {
    (floor_second(at) + UNIX_SECOND) as u64 / 60
}

/// The first minute that begins at or after a Unix second.
pub(crate) fn ceil_minute(unix_second: i64) -> u64 {
    ((unix_second + UNIX_SECOND) as u64).div_ceil(60)
}

/// The instant at which a minute begins, if jiff can tell it.
#[inline]
pub(crate) fn from_minute(minute: u64) -> Option<Timestamp> {
    Timestamp::from_second(minute as i64 * 60 - UNIX_SECOND).ok()
}
