//! Decides what to do for a CronJob or a Job at an instant.
//!
//! This crate does no I/O, reads no clock and uses no random numbers, and its decisions never fail: a
//! mistake in an object becomes part of the plan, as an event or a condition. A controller observes
//! objects, calls [`cronjob::decide`], executes the plan and passes the results to
//! [`cronjob::settle`], which computes the new status; or it calls [`job::decide`] and executes one step for a Job. It may crash at
//! any point in between: all state is in the objects, and deciding again from them leads to the
//! same result.
//!
//! A *slot* is a scheduled time of a CronJob.

pub mod cronjob;
pub mod job;

pub use punctual_api::event::{EventType, PendingEvent};
