//! The system clock. All other code of this crate receives the time as an argument.

use jiff::Timestamp;

#[expect(clippy::disallowed_methods, reason = "the only clock read of this crate")]
pub(crate) fn now() -> Timestamp {
    Timestamp::now()
}
