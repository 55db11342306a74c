//! The archive: ordered pairs of bytes that are on disk only, unlike the values in the snapshots.
//!
//! A transaction may contain archive operations, which are committed together with its other
//! operations. Readers see the archive at one commit and never wait for the committer. They read the
//! file, so they must not run on the threads of an async runtime.
//!
//! Every stored value ends with a checksum of its key and its bytes, because redb verifies its pages
//! only when the file is opened.

mod contents;
mod memory;
mod reader;

use bytes::Bytes;
use twox_hash::XxHash3_64;

pub use contents::ArchiveContents;
pub use memory::MemoryArchive;
pub(crate) use reader::{ARCHIVE, ARCHIVE_TABLE, RedbArchive};
pub use reader::{Archive, ArchiveRange, ArchiveReader};

use crate::Error;

/// The maximum number of archive operations of a transaction.
const OPS_MAX: usize = 16 << 10;
const KEY_BYTES_MAX: usize = 1 << 10;
const VALUE_BYTES_MAX: usize = 64 << 10;
/// The maximum bytes of all archive operations of a transaction.
const OPS_BYTES_MAX: usize = 4 << 20;
const CHECKSUM_BYTES: usize = 4;

/// An operation on the archive. It has no precondition; those of its transaction apply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArchiveOp {
    /// The key.
    pub key: Bytes,
    /// The value to write; `None` deletes the key.
    pub value: Option<Bytes>,
}

impl ArchiveOp {
    /// Writes a value, and replaces one with the same key.
    pub fn put(key: impl Into<Bytes>, value: impl Into<Bytes>) -> Self {
        Self { key: key.into(), value: Some(value.into()) }
    }

    /// Deletes a key if it exists.
    pub fn delete(key: impl Into<Bytes>) -> Self {
        Self { key: key.into(), value: None }
    }

    pub(crate) fn bytes(&self) -> usize {
        self.key.len() + self.value.as_ref().map_or(0, Bytes::len)
    }
}

/// Checks the number and the sizes of the archive operations of a transaction.
pub(crate) fn check_limits(ops: &[ArchiveOp]) -> Result<(), Error> {
    let invalid = |message: String| Err(Error::InvalidTransaction(message));
    if ops.len() > OPS_MAX {
        return invalid(format!(
            "it has {} archive operations, at most {OPS_MAX} are allowed",
            ops.len()
        ));
    }
    let mut bytes = 0;
    for op in ops {
        if op.key.is_empty() || op.key.len() > KEY_BYTES_MAX {
            let len = op.key.len();
            return invalid(format!(
                "an archive key has {len} bytes, 1 to {KEY_BYTES_MAX} are allowed"
            ));
        }
        let len = op.value.as_ref().map_or(0, Bytes::len);
        if len > VALUE_BYTES_MAX {
            return invalid(format!(
                "an archive value has {len} bytes, at most {VALUE_BYTES_MAX} are allowed"
            ));
        }
        bytes += op.bytes();
    }
    if bytes > OPS_BYTES_MAX {
        return invalid(format!(
            "its archive operations have {bytes} bytes, at most {OPS_BYTES_MAX} are allowed"
        ));
    }
    Ok(())
}

/// Writes the stored form of a value into a buffer, replacing its contents.
pub(crate) fn encode_value(key: &[u8], value: &[u8], stored: &mut Vec<u8>) {
    stored.clear();
    stored.extend_from_slice(value);
    stored.extend_from_slice(&checksum(key, value));
}

/// Returns the value of a stored form; `None` if the bytes are not those that were written.
pub(crate) fn decode_value<'a>(key: &[u8], stored: &'a [u8]) -> Option<&'a [u8]> {
    let (value, sum) = stored.split_last_chunk::<CHECKSUM_BYTES>()?;
    (*sum == checksum(key, value)).then_some(value)
}

/// Returns a digest of a pair. The sum of those of all pairs identifies the contents of an archive.
pub(crate) fn digest(key: &[u8], value: &[u8]) -> u64 {
    XxHash3_64::oneshot_with_seed(XxHash3_64::oneshot(key), value)
}

fn checksum(key: &[u8], value: &[u8]) -> [u8; CHECKSUM_BYTES] {
    let [a, b, c, d, ..] = digest(key, value).to_le_bytes();
    [a, b, c, d]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_read_only_under_its_own_key_and_unchanged() {
        let mut stored = Vec::new();
        encode_value(b"key", b"value", &mut stored);
        assert_eq!(decode_value(b"key", &stored), Some(&b"value"[..]));
        assert_eq!(decode_value(b"kex", &stored), None);
        for at in 0..stored.len() {
            let mut damaged = stored.clone();
            damaged[at] ^= 1;
            assert_eq!(decode_value(b"key", &damaged), None, "byte {at}");
        }
        assert_eq!(decode_value(b"key", b""), None);
        encode_value(b"key", b"", &mut stored);
        assert_eq!(decode_value(b"key", &stored), Some(&b""[..]));
    }

    #[test]
    fn operations_beyond_the_limits_are_rejected() {
        let value = |len: usize| vec![0; len];
        assert!(check_limits(&[ArchiveOp::put("k", value(VALUE_BYTES_MAX))]).is_ok());
        for ops in [
            vec![ArchiveOp::put("", "x")],
            vec![ArchiveOp::delete(value(KEY_BYTES_MAX + 1))],
            vec![ArchiveOp::put("k", value(VALUE_BYTES_MAX + 1))],
            vec![ArchiveOp::put("k", value(VALUE_BYTES_MAX)); 65],
            vec![ArchiveOp::delete("k"); OPS_MAX + 1],
        ] {
            assert!(matches!(check_limits(&ops), Err(Error::InvalidTransaction(_))));
        }
    }
}
