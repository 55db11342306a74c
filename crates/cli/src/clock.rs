//! Reads the system clock. All other code of this crate receives the time as an argument.

use jiff::Timestamp;
use punctual_client::{Clock as _, SystemClock};

pub(crate) fn now() -> Timestamp {
    SystemClock.now()
}
