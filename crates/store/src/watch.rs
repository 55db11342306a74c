//! Following the changes. A watch is a place in the shared ring: it owns no queue that could grow,
//! and when the ring has moved on past its place it ends with an error.

use std::{
    collections::VecDeque,
    pin::pin,
    sync::{Arc, PoisonError},
};

use crate::{Error, blocking, change::Change, committer::Published};

/// How many changes are taken out of the ring at a time.
const TAKEN_MAX: usize = 64;

/// Every change under a prefix after a revision, exactly once and in order.
pub struct Watch {
    prefix: Arc<str>,
    /// Everything up to here was looked at.
    cursor: u64,
    /// Looked at, under the prefix, and not yet given away. At most [`TAKEN_MAX`].
    taken: VecDeque<Arc<Change>>,
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
            return Err(Error::Future { requested: from, revision });
        }
        let mut watch = Self { prefix, cursor: from, taken: VecDeque::new(), published };
        watch.take()?;
        Ok(watch)
    }

    /// The next change; none after the store was closed. Waits until there is one, and may be
    /// cancelled at any time without losing any.
    ///
    /// A reader that is too slow for the ring gets [`Error::Compacted`] and has to list again.
    pub async fn next(&mut self) -> Result<Option<Arc<Change>>, Error> {
        loop {
            if let Some(change) = self.try_next()? {
                return Ok(Some(change));
            }
            // Waiting begins before the last look, so that what comes while we look wakes us.
            let published = self.published.clone();
            let mut told = pin!(published.news.told());
            told.as_mut().enable();
            let is_over = published.news.is_over();
            if let Some(change) = self.try_next()? {
                return Ok(Some(change));
            }
            if is_over {
                return Ok(None);
            }
            told.await;
        }
    }

    /// The next change if there is one already.
    pub fn try_next(&mut self) -> Result<Option<Arc<Change>>, Error> {
        if self.taken.is_empty() {
            self.take()?;
        }
        Ok(self.taken.pop_front())
    }

    /// As [`Watch::next`], for a plain thread.
    pub fn next_blocking(&mut self) -> Result<Option<Arc<Change>>, Error> {
        blocking::wait(self.next())
    }

    /// Every change under the prefix up to this revision has been given away: the place to resume
    /// from, and what a bookmark says. Moves on with changes elsewhere too.
    pub fn progress(&mut self) -> Result<u64, Error> {
        if self.taken.is_empty() {
            self.take()?;
        }
        Ok(self.taken.front().map_or(self.cursor, |change| change.revision - 1))
    }

    fn take(&mut self) -> Result<(), Error> {
        let ring = self.published.ring.read().unwrap_or_else(PoisonError::into_inner);
        let (requested, compacted) = (self.cursor, ring.compacted);
        let after = ring.after(requested).ok_or(Error::Compacted { requested, compacted })?;
        for change in after {
            self.cursor = change.revision;
            if change.key.starts_with(&*self.prefix) {
                self.taken.push_back(change.clone());
            }
            if self.taken.len() == TAKEN_MAX {
                break;
            }
        }
        Ok(())
    }
}
