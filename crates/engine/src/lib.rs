//! What to do about a CronJob or a Job at an instant. Decisions are values; somebody else carries
//! them out.
//!
//! Nothing here does I/O, reads a clock or rolls dice, and nothing fails: a user's mistake is part
//! of the plan. Shells observe, ask [`cronjob::decide`], carry the plan out, and hand what really
//! happened to [`cronjob::settle`]; or they ask [`job::decide`] and carry out one step of a Job. They
//! may die at any moment in between: everything that matters is in the objects, and asking again
//! from those arrives at the same place.

pub mod cronjob;
pub mod job;

pub use punctual_api::event::{EventType as NoteKind, PendingEvent as Note};
