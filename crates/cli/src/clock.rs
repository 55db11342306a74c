//! The one place where this program reads the clock.

use jiff::Timestamp;

#[expect(clippy::disallowed_methods, reason = "a shell's clock; everything else is given the time")]
pub(crate) fn now() -> Timestamp {
    Timestamp::now()
}
