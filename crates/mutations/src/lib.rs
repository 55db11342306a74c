//! Deliberate bugs that the simulator must find. A checker that reports no violations is worth as
//! much as the bugs it has been shown to find.
//!
//! The product's sources do not contain the bugs. Each one is a set of [edits](Edit) in
//! `catalogue/<crate>.toml`: a text that occurs exactly once in a source file and its replacement, in
//! which `BUG` stands for the condition that turns the bug on. `xtask mutate` applies all of them to a
//! copy of the workspace, so that one build contains every bug, and [`arm`] turns on one at a time.

mod catalogue;
mod edit;

use std::cell::Cell;

pub use self::catalogue::{Mutation, catalogue};
pub use self::edit::{Edit, EditError};

/// Whether this build contains the bugs. `xtask mutate` sets it in the copy that it edits.
pub const APPLIED: bool = false;

thread_local! {
    /// The index of the active bug. A simulation runs in one thread, so each has its own.
    static ARMED: Cell<Option<usize>> = const { Cell::new(None) };
}

/// Whether the bug with this index in the catalogue is turned on in the current thread.
#[inline]
pub fn is_armed(index: usize) -> bool {
    ARMED.get() == Some(index)
}

/// Turns on one bug, by its index in the catalogue, in the current thread; or none.
pub fn arm(index: Option<usize>) {
    ARMED.set(index);
}
