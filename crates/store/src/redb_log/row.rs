//! A row as bytes: checksum (8), created (8, 0 for a delete), length of the key (4), key, value.
//! All numbers little-endian. The checksum covers the revision and everything behind itself.

use std::{str, sync::Arc};

use bytes::Bytes;
use twox_hash::XxHash3_64;

use crate::{
    change::{Change, Entry},
    log::Row,
};

/// Replaces what is in the buffer with the row of a change.
pub(super) fn encode(change: &Change, bytes: &mut Vec<u8>) {
    let (created, value) = match &change.current {
        Some(entry) => (entry.created, &*entry.value),
        None => (0, &[][..]),
    };
    debug_assert_eq!(created == 0, change.current.is_none(), "revisions begin at 1");
    let key_bytes = u32::try_from(change.key.len()).unwrap_or(u32::MAX);
    debug_assert!(key_bytes < u32::MAX, "the limits of a transaction keep keys short");
    bytes.clear();
    bytes.extend_from_slice(&[0; 8]);
    bytes.extend_from_slice(&created.to_le_bytes());
    bytes.extend_from_slice(&key_bytes.to_le_bytes());
    bytes.extend_from_slice(change.key.as_bytes());
    bytes.extend_from_slice(value);
    if let Some((sum, body)) = bytes.split_first_chunk_mut() {
        *sum = checksum(change.revision, body).to_le_bytes();
    }
}

/// The row of a revision; the error says that it is not what was written.
pub(super) fn decode(revision: u64, bytes: &[u8]) -> Result<Row, String> {
    parse(revision, bytes).ok_or_else(|| format!("the row of revision {revision} is not whole"))
}

fn parse(revision: u64, bytes: &[u8]) -> Option<Row> {
    let (sum, body) = bytes.split_first_chunk()?;
    if u64::from_le_bytes(*sum) != checksum(revision, body) {
        return None;
    }
    let (created, rest) = body.split_first_chunk()?;
    let (key_bytes, rest) = rest.split_first_chunk()?;
    let key_bytes = usize::try_from(u32::from_le_bytes(*key_bytes)).ok()?;
    let (key, value) = rest.split_at_checked(key_bytes)?;
    let key: Arc<str> = str::from_utf8(key).ok()?.into();
    let created = u64::from_le_bytes(*created);
    let current = (created != 0).then(|| Entry {
        value: Bytes::copy_from_slice(value),
        created,
        modified: revision,
    });
    Some(Row { revision, key, current })
}

fn checksum(revision: u64, body: &[u8]) -> u64 {
    XxHash3_64::oneshot_with_seed(revision, body)
}
