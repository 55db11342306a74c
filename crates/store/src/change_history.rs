//! The recent changes, shared by all watches. Bounded in number and in bytes; the newest batch is
//! always kept, so the bounds can be exceeded by one batch.

use std::{collections::VecDeque, sync::Arc};

use crate::change::Change;

/// The bounds of the change history.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HistoryBounds {
    pub(crate) changes_max: usize,
    pub(crate) bytes_max: usize,
}

/// The recent changes.
///
/// Invariant: the changes have the revisions `compacted + 1`, `compacted + 2`, and so on without a
/// gap.
#[derive(Debug)]
pub(crate) struct ChangeHistory {
    pub(crate) compacted: u64,
    changes: VecDeque<Arc<Change>>,
    bytes: usize,
    bounds: HistoryBounds,
}

impl ChangeHistory {
    pub(crate) fn new(compacted: u64, bounds: HistoryBounds) -> Self {
        Self { compacted, changes: VecDeque::new(), bytes: 0, bounds }
    }

    /// The newest revision in the history.
    pub(crate) fn revision(&self) -> u64 {
        self.compacted + self.changes.len() as u64
    }

    /// Returns how many of the oldest changes must be compacted before `new` changes are added.
    pub(crate) fn count_excess(&self, new: &[Arc<Change>]) -> usize {
        let mut count = self.changes.len() + new.len();
        let mut bytes = self.bytes + new.iter().map(|change| change.memory_bytes()).sum::<usize>();
        let mut excess = 0;
        for change in &self.changes {
            if count <= self.bounds.changes_max && bytes <= self.bounds.bytes_max {
                break;
            }
            count -= 1;
            bytes -= change.memory_bytes();
            excess += 1;
        }
        excess
    }

    /// Returns the number of changes up to and including a revision.
    pub(crate) fn count_through(&self, revision: u64) -> usize {
        let count = revision.saturating_sub(self.compacted);
        usize::try_from(count).unwrap_or(usize::MAX).min(self.changes.len())
    }

    /// Returns the rows of the log that are not needed after the `oldest` changes are compacted.
    pub(crate) fn superseded_rows(&self, oldest: usize) -> Vec<u64> {
        self.changes.iter().take(oldest).flat_map(|change| change.superseded_rows()).collect()
    }

    /// Removes the `oldest` changes.
    pub(crate) fn compact(&mut self, oldest: usize) {
        for change in self.changes.drain(..oldest) {
            debug_assert_eq!(change.revision, self.compacted + 1, "the history has no gaps");
            self.compacted = change.revision;
            self.bytes -= change.memory_bytes();
        }
    }

    pub(crate) fn push(&mut self, change: Arc<Change>) {
        debug_assert_eq!(change.revision, self.revision() + 1, "the history has no gaps");
        self.bytes += change.memory_bytes();
        self.changes.push_back(change);
    }

    /// Returns the changes after a revision, oldest first; `None` if some of them are compacted.
    pub(crate) fn after(&self, revision: u64) -> Option<impl Iterator<Item = &Arc<Change>>> {
        let is_complete = revision >= self.compacted;
        is_complete.then(|| self.changes.range(self.count_through(revision)..))
    }
}
