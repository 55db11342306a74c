//! The only place that reads the clock. Everything else is told what time it is, or asks here.

use jiff::Timestamp;

/// What time it is.
#[expect(clippy::disallowed_methods, reason = "this is the shell's clock")]
pub(crate) fn now() -> Timestamp {
    Timestamp::now()
}
