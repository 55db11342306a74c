//! The only place of this crate that reads the wall clock.

use jiff::Timestamp;
use punctual_client::{Clock as _, SystemClock};

pub(crate) fn now() -> Timestamp {
    SystemClock.now()
}
