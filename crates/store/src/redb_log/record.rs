//! The one record beside the rows: where the log begins and ends, and how many rows with which
//! revisions there must be.

use twox_hash::XxHash3_64;

use super::Refusal;
use crate::log::Batch;

/// The format that is written. Raised when older programs must not read the file any more.
pub(super) const FORMAT: u64 = 1;

const FIELDS: usize = 5;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Record {
    pub(super) revision: u64,
    pub(super) compacted: u64,
    row_count: u64,
    /// The sum of the hashes of all revisions, so it does not depend on their order.
    digest: u64,
}

impl Record {
    pub(super) fn add(&mut self, revision: u64) {
        self.row_count += 1;
        self.digest = self.digest.wrapping_add(hash(revision));
    }

    fn remove(&mut self, revision: u64) {
        self.row_count -= 1;
        self.digest = self.digest.wrapping_sub(hash(revision));
    }

    /// The record once the batch is written.
    pub(super) fn after(self, batch: &Batch<'_>) -> Self {
        let mut record = Self { revision: batch.revision, compacted: batch.compacted, ..self };
        batch.changes.iter().for_each(|change| record.add(change.revision));
        batch.dropped.iter().for_each(|revision| record.remove(*revision));
        record
    }

    /// Whether these are the rows that were written.
    pub(super) fn compare(&self, found: &Self) -> Result<(), String> {
        if (self.row_count, self.digest) == (found.row_count, found.digest) {
            return Ok(());
        }
        Err(format!("{} rows were written, {} of them are found", self.row_count, found.row_count))
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        let fields = [FORMAT, self.revision, self.compacted, self.row_count, self.digest];
        let body: Vec<u8> = fields.iter().flat_map(|field| field.to_le_bytes()).collect();
        [&XxHash3_64::oneshot(&body).to_le_bytes(), body.as_slice()].concat()
    }

    pub(super) fn decode(bytes: &[u8]) -> Result<Self, Refusal> {
        let not_whole = || "its record is not whole".to_owned();
        let (sum, body) = bytes.split_first_chunk().ok_or_else(not_whole)?;
        if u64::from_le_bytes(*sum) != XxHash3_64::oneshot(body) {
            return Err(not_whole().into());
        }
        let (fields, _) = body.as_chunks::<8>();
        let fields: Vec<u64> = fields.iter().map(|field| u64::from_le_bytes(*field)).collect();
        if let Some(format) = fields.first().filter(|format| **format != FORMAT) {
            return Err(Refusal::Format(*format));
        }
        let fields: [u64; FIELDS] = fields.try_into().map_err(|_| not_whole())?;
        let [_, revision, compacted, row_count, digest] = fields;
        Ok(Self { revision, compacted, row_count, digest })
    }
}

fn hash(revision: u64) -> u64 {
    XxHash3_64::oneshot(&revision.to_le_bytes())
}
