//! Leader election on a `coordination.k8s.io/v1` Lease, as a state machine that does no I/O, reads
//! no clock and rolls no dice.
//!
//! The shell asks [`Elector::poll`] what to do, does it, and hands the answer to
//! [`Elector::on_observed`] or [`Elector::on_write`]: one answer for each request, and a timeout is
//! an answer too. Before each effect, it asks [`Elector::is_leader`].
//!
//! Why there are never two leaders, as long as nobody deletes the Lease and monotonic clocks differ
//! in rate by less than [`Config::lease_duration`] to [`Config::renew_deadline`]:
//!
//! * Every write is a compare-and-swap on the resource version, so that of several who take a
//!   Lease one succeeds, and a write that arrives late changes nothing that it has not seen.
//! * Only a write that was acknowledged makes a leader. A write whose answer is lost is neither
//!   success nor failure: the Lease is read and written again.
//! * Leadership ends `renew_deadline` after the *start* of the last such write, on the leader's
//!   own monotonic clock. Nothing has to run for that: a process that was stopped and wakes sees
//!   it at its first question.
//! * Others take the Lease `lease_duration` after they saw it change for the last time, on their
//!   own monotonic clock, which is later. What the clocks in the Lease say is never looked at.
//!
//! Two things are the shell's: an effect under way when leadership ends must be over before another
//! may lead, so its timeout must fit in [`Elector::leads_until`] plus the difference of the two
//! durations; and the reads must be consistent ones (no `resourceVersion=0`). The monotonic clock
//! should go on while the machine is suspended (`CLOCK_BOOTTIME` on Linux): with one that stands
//! still, a laptop that wakes believes in its old term for what was left of it.
//!
//! ```
//! use std::time::Duration;
//!
//! use jiff::Timestamp;
//! use punctual_lease::{Action, Config, Elector, Read, Written};
//!
//! let (secs, wall) = (Duration::from_secs, Timestamp::UNIX_EPOCH);
//! let mut elector = Elector::new(Config::default(), "pod-a_5f3c").unwrap();
//! assert_eq!(elector.poll(secs(0), wall, 0), Action::Get);
//! elector.on_observed(Read::Absent, secs(1));
//! assert!(matches!(elector.poll(secs(1), wall, 0), Action::Create(_)));
//! elector.on_write(Written::Done("1".into()), secs(2));
//! assert!(elector.is_leader(secs(2)));
//! assert!(!elector.is_leader(secs(11)), "10 seconds after the write began");
//! ```

mod config;
mod elector;
mod phase;
mod record;

pub use config::{Config, ConfigError};
pub use elector::Elector;
pub use phase::{Action, Read, Written};
pub use record::{Record, Version};

/// Monotonic time: what has passed since an instant that the shell chose, the same for all calls.
pub type Mono = std::time::Duration;
