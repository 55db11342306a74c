//! A keyed work queue that does no I/O and reads no clock.
//!
//! The shell says what happened ([`Queue::add`], [`Queue::set_wake`], [`Queue::rest`],
//! [`Queue::done`], [`Queue::forget`], [`Queue::remove`]), takes work with [`Queue::pop`] until there is none, and
//! then sleeps until [`Queue::next_due`] or until it calls one of the others, whichever is first.
//! Calls that come twice, late or for unknown keys change nothing.
//!
//! * **One at a time.** A key that was popped is not popped again before it is done. What happens
//!   to it meanwhile is one more run afterwards, never a second run beside the first.
//! * **Wall-clock time.** A wake-up is an instant, not a delay: after a step of the clock or a
//!   suspended night it is due when the clock says so. The shell must look at its clock now and
//!   then (every second, or on a timer that clock changes cancel), since a step moves
//!   [`Queue::next_due`] nearer without telling anyone. Backoff and rest are delays: after a step
//!   back they end within the backoff's cap.
//! * **Two classes.** Keys whose wake-up or retry is due come first, in due order and then first
//!   in, first out; keys that merely changed follow, first in, first out. So a burst of slots is
//!   served before the changes that it causes itself and before those that were there. A worker
//!   that wants the rest of its work (status, events) to wait for the burst ends the run and adds
//!   the key again. A change still gets its turn after [`TIMED_IN_A_ROW_MAX`] others: slots beyond
//!   what the workers can do must not hide new objects for ever.
//! * **Backoff per key.** A change does not shorten the wait after a failure, and so cannot drive
//!   the count of failures up either, as it does in client-go (kubernetes#112325, #136853). Only
//!   [`Queue::forget`] does, for a change that may have removed the cause.
//!
//! Each call costs O(log n), and nothing is deleted lazily: the memory is that of the keys which
//! wait, back off or run. Keys are cloned a few times; let that be cheap.
//!
//! ```
//! use jiff::Timestamp;
//! use punctual_queue::{Backoff, Cause, Queue};
//!
//! let at = |second| Timestamp::from_second(second).unwrap();
//! let mut queue = Queue::new(Backoff::default());
//! queue.set_wake(&"report", Some(at(60)));
//! assert_eq!(queue.pop(at(59)), None);
//! assert_eq!(queue.next_due(at(59)), Some(at(60)));
//!
//! let popped = queue.pop(at(60)).unwrap();
//! assert_eq!((popped.key, popped.cause), ("report", Cause::Wake));
//! queue.set_wake(&"report", Some(at(120)));
//! queue.done(&"report", Ok(()), at(61));
//! assert_eq!(queue.next_due(at(61)), Some(at(120)));
//! ```

mod backoff;
mod entry;
mod lane;
mod queue;
mod span;
mod stats;
mod turn;

pub use backoff::{Backoff, Failure};
pub use queue::{Queue, TIMED_IN_A_ROW_MAX};
pub use stats::Stats;
pub use turn::{Cause, Done, Popped};
