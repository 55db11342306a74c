//! Leader election on a `coordination.k8s.io/v1` Lease, as a state machine without I/O, clocks and
//! random numbers.
//!
//! The caller asks [`Elector::poll`] for the next action, performs it, and reports the result to
//! [`Elector::on_observed`] or [`Elector::on_write`]: one result for each request; a timeout is a
//! result too. It checks [`Elector::is_leader`] before each request that only a leader may send.
//!
//! There are never two leaders, if the Lease is not deleted and the rates of the monotonic clocks
//! differ by less than the ratio of [`ElectionConfig::lease_duration`] to
//! [`ElectionConfig::renew_deadline`]:
//!
//! * Every write is a compare-and-swap on the resource version. If several candidates take a Lease,
//!   one succeeds, and a late write cannot replace a newer version.
//! * Only an acknowledged write makes a leader. A write without a response is neither success nor
//!   failure: the elector reads and writes the Lease again.
//! * Leadership ends `renew_deadline` after the *start* of the last acknowledged write, on the leader's
//!   monotonic clock. No timer has to run: a process that was stopped sees the end at its next check.
//! * Other candidates take the Lease `lease_duration` after they last observed a change, on their own
//!   monotonic clock, which is later. The times in the Lease are never used.
//!
//! The caller has three duties. A request that is in flight when leadership ends must end before
//! another candidate may lead, so its timeout must not exceed [`Elector::leads_until`] plus the
//! difference of the two durations. Reads must be consistent (no `resourceVersion=0`). The monotonic
//! clock should advance while the machine is suspended (`CLOCK_BOOTTIME` on Linux); otherwise a
//! resumed machine leads for the remainder of its old term.
//!
//! ```
//! use std::time::Duration;
//!
//! use jiff::Timestamp;
//! use punctual_lease::{ElectionConfig, Elector, ElectorAction, LeaseReadResult, LeaseWriteResult};
//!
//! let secs = Duration::from_secs;
//! let wall = Timestamp::UNIX_EPOCH;
//! let mut elector = Elector::new(ElectionConfig::default(), "pod-a_5f3c").unwrap();
//! assert_eq!(elector.poll(secs(0), wall, 0), ElectorAction::Get);
//! elector.on_observed(LeaseReadResult::Absent, secs(1));
//! assert!(matches!(elector.poll(secs(1), wall, 0), ElectorAction::Create(_)));
//! elector.on_write(LeaseWriteResult::Done("1".into()), secs(2));
//! assert!(elector.is_leader(secs(2)));
//! assert!(!elector.is_leader(secs(11)), "10 seconds after the start of the write");
//! ```

mod config;
mod elector;
mod phase;
mod record;

pub use config::{ConfigError, ElectionConfig};
pub use elector::Elector;
pub use phase::{ElectorAction, LeaseReadResult, LeaseWriteResult};
pub use record::{LeaseRecord, ResourceVersion};

/// Monotonic time: the duration since a fixed instant that the caller chooses.
pub type MonotonicTime = std::time::Duration;
