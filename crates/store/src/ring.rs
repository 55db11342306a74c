//! The recent changes, once for everybody. Bounded in number and in bytes; the newest batch always
//! fits, so at most one batch is held beyond the bounds.

use std::{collections::VecDeque, sync::Arc};

use crate::change::Change;

/// How much of the past is kept for watches.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RingBounds {
    pub(crate) changes_max: usize,
    pub(crate) bytes_max: usize,
}

/// Invariant: the changes are those of the revisions `compacted + 1`, `compacted + 2`, and so on,
/// without a gap.
#[derive(Debug)]
pub(crate) struct Ring {
    pub(crate) compacted: u64,
    changes: VecDeque<Arc<Change>>,
    bytes: usize,
    bounds: RingBounds,
}

impl Ring {
    pub(crate) fn new(compacted: u64, bounds: RingBounds) -> Self {
        Self { compacted, changes: VecDeque::new(), bytes: 0, bounds }
    }

    /// The newest revision that the ring knows of.
    pub(crate) fn revision(&self) -> u64 {
        self.compacted + self.changes.len() as u64
    }

    /// The oldest changes that have to go to make room for these.
    pub(crate) fn leaving(&self, arriving: &[Arc<Change>]) -> usize {
        let mut count = self.changes.len() + arriving.len();
        let mut bytes = self.bytes + arriving.iter().map(|change| change.weight()).sum::<usize>();
        let mut leaving = 0;
        for change in &self.changes {
            if count <= self.bounds.changes_max && bytes <= self.bounds.bytes_max {
                break;
            }
            count -= 1;
            bytes -= change.weight();
            leaving += 1;
        }
        leaving
    }

    /// How many changes there are up to and including a revision.
    pub(crate) fn through(&self, revision: u64) -> usize {
        let count = revision.saturating_sub(self.compacted);
        usize::try_from(count).unwrap_or(usize::MAX).min(self.changes.len())
    }

    /// The rows that are not needed once the oldest so many changes are forgotten.
    pub(crate) fn superseded(&self, oldest: usize) -> Vec<u64> {
        self.changes.iter().take(oldest).flat_map(|change| change.superseded()).collect()
    }

    pub(crate) fn forget(&mut self, oldest: usize) {
        for change in self.changes.drain(..oldest) {
            debug_assert_eq!(change.revision, self.compacted + 1, "the ring has no gaps");
            self.compacted = change.revision;
            self.bytes -= change.weight();
        }
    }

    pub(crate) fn push(&mut self, change: Arc<Change>) {
        debug_assert_eq!(change.revision, self.revision() + 1, "the ring has no gaps");
        self.bytes += change.weight();
        self.changes.push_back(change);
    }

    /// The changes after a revision, oldest first; none if some of them are forgotten.
    pub(crate) fn after(&self, revision: u64) -> Option<impl Iterator<Item = &Arc<Change>>> {
        let known = revision >= self.compacted;
        known.then(|| self.changes.range(self.through(revision)..))
    }
}
