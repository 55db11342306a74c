//! A condition of a transaction that depends on more than the keys that it writes.

use std::{fmt, sync::Arc};

use crate::change::Change;

type IsMet = Box<dyn FnOnce(&[Arc<Change>]) -> bool + Send>;

/// A condition on all changes since a revision. The committer evaluates it immediately before it
/// applies the transaction, so no other change can come in between.
pub struct CommitCondition {
    pub(crate) since: u64,
    pub(crate) is_met: IsMet,
}

impl CommitCondition {
    /// Returns a condition. `is_met` gets all changes after the revision `since`, oldest first. It runs in
    /// the committer, so it must be fast and must not panic.
    pub fn new(since: u64, is_met: impl FnOnce(&[Arc<Change>]) -> bool + Send + 'static) -> Self {
        Self { since, is_met: Box::new(is_met) }
    }
}

impl fmt::Debug for CommitCondition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CommitCondition").field("since", &self.since).finish_non_exhaustive()
    }
}
