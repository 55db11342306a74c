//! The binary format of a row: checksum (8 bytes), create revision (8, 0 for a delete), length of the
//! key (4), key, value. Numbers are little-endian. The checksum covers the revision and all bytes
//! after the checksum.

use std::{str, sync::Arc};

use bytes::Bytes;
use twox_hash::XxHash3_64;

use crate::{change::StoreEntry, log::LogRow};

/// Encodes the row of a value, or of a delete, into a buffer, replacing its contents.
pub(crate) fn encode_value(
    revision: u64,
    key: &str,
    current: Option<&StoreEntry>,
    bytes: &mut Vec<u8>,
) {
    let created = current.map_or(0, |entry| entry.created);
    debug_assert_eq!(created == 0, current.is_none(), "revisions begin at 1");
    let key_bytes = u32::try_from(key.len()).unwrap_or(u32::MAX);
    debug_assert!(key_bytes < u32::MAX, "the transaction limits bound the key length");
    bytes.clear();
    bytes.extend_from_slice(&[0; 8]);
    bytes.extend_from_slice(&created.to_le_bytes());
    bytes.extend_from_slice(&key_bytes.to_le_bytes());
    bytes.extend_from_slice(key.as_bytes());
    bytes.extend_from_slice(current.map_or(&[], |entry| &*entry.value));
    if let Some((sum, body)) = bytes.split_first_chunk_mut() {
        *sum = checksum(revision, body).to_le_bytes();
    }
}

/// Decodes the row of a revision; `None` if the bytes are not those that were written.
pub(crate) fn decode(revision: u64, bytes: &[u8]) -> Option<LogRow> {
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
    let current = (created != 0).then(|| StoreEntry {
        value: Bytes::copy_from_slice(value),
        created,
        modified: revision,
    });
    Some(LogRow { revision, key, current })
}

/// Returns the key of a row with a wrong checksum if its length, its encoding and the create revision
/// are plausible.
pub(crate) fn plausible_key(revision: u64, bytes: &[u8]) -> Option<Arc<str>> {
    let (_, body) = bytes.split_first_chunk::<8>()?;
    let (created, rest) = body.split_first_chunk()?;
    let (key_bytes, rest) = rest.split_first_chunk()?;
    let key = rest.get(..usize::try_from(u32::from_le_bytes(*key_bytes)).ok()?)?;
    let key = str::from_utf8(key).ok()?;
    let is_plausible = u64::from_le_bytes(*created) <= revision
        && key.starts_with('/')
        && key.bytes().all(|byte| byte.is_ascii_graphic());
    is_plausible.then(|| key.into())
}

fn checksum(revision: u64, body: &[u8]) -> u64 {
    XxHash3_64::oneshot_with_seed(revision, body)
}
