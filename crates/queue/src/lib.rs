//! A keyed work queue that does no I/O and reads no clock.
//!
//! The caller reports events ([`Queue::add`], [`Queue::set_wake`], [`Queue::delay`], [`Queue::done`],
//! [`Queue::forget`], [`Queue::remove`]) and takes work with [`Queue::pop`] until there is none. Then
//! it sleeps until [`Queue::next_due`] or until its next call. Calls that are repeated, late or for
//! unknown keys change nothing.
//!
//! * **One run per key.** A popped key is not popped again before it is done. Events during a run
//!   cause one more run afterwards, never a second run at the same time.
//! * **Wall-clock time.** A wake-up is an instant, not a duration: after a clock step or a suspend it
//!   is due when the clock reaches it. The caller must read its clock regularly (every second, or on
//!   a timer that clock changes cancel), because a clock step moves [`Queue::next_due`] nearer
//!   without an event. Backoff and [`Queue::delay`] are durations: after a step back they end within
//!   the backoff's cap.
//! * **Two classes.** Keys with a due wake-up or retry come first, in due order and then first in,
//!   first out. Keys that only changed follow, first in, first out. So a burst of slots is served
//!   before changes, including those that the burst causes. A worker that wants to do less urgent
//!   work (status, events) after the burst ends the run and adds the key again. A change is served
//!   after at most [`CONSECUTIVE_TIMED_MAX`] timed keys, so that an overload of slots does not block
//!   new objects.
//! * **Backoff per key.** A change neither shortens the delay after a failure nor increases the number
//!   of failures, as it does in client-go (kubernetes#112325, #136853). Only [`Queue::forget`]
//!   shortens the delay, for a change that may have removed the cause.
//!
//! Each call costs O(log n). Nothing is deleted lazily: the memory is that of the keys that wait, back
//! off or run. Keys are cloned a few times, so a clone should be cheap.
//!
//! ```
//! use jiff::Timestamp;
//! use punctual_queue::{Backoff, Queue, RunCause};
//!
//! let at = |second| Timestamp::from_second(second).unwrap();
//! let mut queue = Queue::new(Backoff::default());
//! queue.set_wake(&"report", Some(at(60)));
//! assert_eq!(queue.pop(at(59)), None);
//! assert_eq!(queue.next_due(at(59)), Some(at(60)));
//!
//! let popped = queue.pop(at(60)).unwrap();
//! assert_eq!((popped.key, popped.cause), ("report", RunCause::Wake));
//! queue.set_wake(&"report", Some(at(120)));
//! queue.done(&"report", Ok(()), at(61));
//! assert_eq!(queue.next_due(at(61)), Some(at(120)));
//! ```

mod backoff;
mod due_list;
mod queue;
mod queued_key;
mod run;
mod stats;
mod time;

pub use backoff::{Backoff, Failure};
pub use queue::{CONSECUTIVE_TIMED_MAX, Queue};
pub use run::{FinishedRun, PoppedKey, RunCause};
pub use stats::QueueStats;
