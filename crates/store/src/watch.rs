//! Watches of changes. A watch is a position in the shared change history: it has no queue that could
//! grow, and it ends with an error if the changes at its position are compacted.

use std::{
    collections::VecDeque,
    pin::pin,
    sync::{Arc, PoisonError},
};

use crate::{Error, block_on::block_on, change::Change, committer::Published};

/// How many changes a watch fetches from the history at once.
const FETCH_MAX: usize = 64;

/// Returns every change under a prefix after a revision, exactly once and in order.
pub struct Watch {
    prefix: Arc<str>,
    /// All changes up to this revision are fetched.
    cursor: u64,
    /// The fetched changes under the prefix that are not returned yet, at most [`FETCH_MAX`].
    fetched: VecDeque<Arc<Change>>,
    published: Arc<Published>,
}

impl Watch {
    pub(crate) fn new(
        prefix: Arc<str>,
        from: u64,
        published: Arc<Published>,
    ) -> Result<Self, Error> {
        let revision = published.state.load().revision;
        if from > revision {
            return Err(Error::FutureRevision { requested: from, revision });
        }
        let mut watch = Self { prefix, cursor: from, fetched: VecDeque::new(), published };
        watch.fetch()?;
        Ok(watch)
    }

    /// Waits for the next change; `None` after the store is closed. Cancelling the future loses no
    /// change.
    ///
    /// A watch that falls behind the change history gets [`Error::Compacted`] and must list again.
    pub async fn next(&mut self) -> Result<Option<Arc<Change>>, Error> {
        loop {
            if let Some(change) = self.try_next()? {
                return Ok(Some(change));
            }
            // Start waiting before the second `try_next`, so that a change in between wakes us.
            let published = self.published.clone();
            let mut notified = pin!(published.signal.notified());
            notified.as_mut().enable();
            let is_closed = published.signal.is_closed();
            if let Some(change) = self.try_next()? {
                return Ok(Some(change));
            }
            if is_closed {
                return Ok(None);
            }
            notified.await;
        }
    }

    /// Returns the next change if there is one already.
    pub fn try_next(&mut self) -> Result<Option<Arc<Change>>, Error> {
        if self.fetched.is_empty() {
            self.fetch()?;
        }
        Ok(self.fetched.pop_front())
    }

    /// Waits for the next change on a thread without a runtime. See [`Watch::next`].
    pub fn next_blocking(&mut self) -> Result<Option<Arc<Change>>, Error> {
        block_on(self.next())
    }

    /// Returns the revision up to which all changes under the prefix were returned. A new watch can
    /// resume from it, and bookmarks contain it. Changes outside the prefix advance it too.
    pub fn progress(&mut self) -> Result<u64, Error> {
        if self.fetched.is_empty() {
            self.fetch()?;
        }
        Ok(self.fetched.front().map_or(self.cursor, |change| change.revision - 1))
    }

    fn fetch(&mut self) -> Result<(), Error> {
        let history = self.published.history.read().unwrap_or_else(PoisonError::into_inner);
        let compacted = history.compacted;
        let requested = self.cursor;
        let after = history.after(requested).ok_or(Error::Compacted { requested, compacted })?;
        for change in after {
            self.cursor = change.revision;
            if change.key.starts_with(&*self.prefix) {
                self.fetched.push_back(change.clone());
            }
            if self.fetched.len() == FETCH_MAX {
                break;
            }
        }
        Ok(())
    }
}
