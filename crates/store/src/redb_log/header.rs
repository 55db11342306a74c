//! The header of the log: its first and last revision, and the number and digest of its rows.

use twox_hash::XxHash3_64;

use super::LoadError;
use crate::log::CommitBatch;

/// The version of the file format. Increment it if older programs must not read the file.
pub(crate) const FORMAT: u64 = 1;

const FIELDS: usize = 5;

/// The header of the log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LogHeader {
    pub(crate) revision: u64,
    pub(crate) compacted: u64,
    pub(crate) row_count: u64,
    /// The sum of the hashes of all revisions. It does not depend on their order.
    digest: u64,
}

impl LogHeader {
    /// The header of a log without rows and without a change history, at a revision.
    pub(crate) fn at(revision: u64) -> Self {
        Self { revision, compacted: revision, ..Self::default() }
    }

    pub(crate) fn add(&mut self, revision: u64) {
        self.row_count += 1;
        self.digest = self.digest.wrapping_add(hash(revision));
    }

    fn remove(&mut self, revision: u64) {
        self.row_count -= 1;
        self.digest = self.digest.wrapping_sub(hash(revision));
    }

    /// Returns the header after a batch is written.
    pub(crate) fn with_batch(self, batch: &CommitBatch<'_>) -> Self {
        let mut header = Self { revision: batch.revision, compacted: batch.compacted, ..self };
        for change in batch.changes {
            header.add(change.revision);
        }
        for revision in batch.dropped {
            header.remove(*revision);
        }
        header
    }

    /// Checks that the rows found are those that were written.
    pub(crate) fn check_rows(&self, found: &Self) -> Result<(), LoadError> {
        if (self.row_count, self.digest) == (found.row_count, found.digest) {
            return Ok(());
        }
        let detail = format!("it has {} of {} rows", found.row_count, self.row_count);
        Err(LoadError::Corrupted(detail))
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        let fields = [FORMAT, self.revision, self.compacted, self.row_count, self.digest];
        let body: Vec<u8> = fields.iter().flat_map(|field| field.to_le_bytes()).collect();
        [&XxHash3_64::oneshot(&body).to_le_bytes(), body.as_slice()].concat()
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, LoadError> {
        let incomplete = || "its header has a wrong checksum".to_owned();
        let (sum, body) = bytes.split_first_chunk().ok_or_else(incomplete)?;
        if u64::from_le_bytes(*sum) != XxHash3_64::oneshot(body) {
            return Err(incomplete().into());
        }
        let (fields, _) = body.as_chunks::<8>();
        let fields: Vec<u64> = fields.iter().map(|field| u64::from_le_bytes(*field)).collect();
        if let Some(format) = fields.first().filter(|format| **format != FORMAT) {
            return Err(LoadError::UnsupportedFormat(*format));
        }
        let fields: [u64; FIELDS] = fields.try_into().map_err(|_| incomplete())?;
        let [_, revision, compacted, row_count, digest] = fields;
        Ok(Self { revision, compacted, row_count, digest })
    }
}

fn hash(revision: u64) -> u64 {
    XxHash3_64::oneshot(&revision.to_le_bytes())
}
