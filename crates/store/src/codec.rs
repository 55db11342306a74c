//! [`ValueCodec`]: transforms values on their way to disk and back, for example to encrypt them.

use std::sync::Arc;

use bytes::Bytes;

use crate::change::StoreEntry;

/// Transforms the values of a store. Memory has the plain values; the disk and backups have the
/// stored form.
pub trait ValueCodec: Send + Sync {
    /// Returns the stored form of a value.
    fn encode(&self, key: &str, value: &Bytes) -> Result<Bytes, CodecError>;

    /// Returns the value of a stored form.
    fn decode(&self, key: &str, stored: &Bytes) -> Result<DecodedValue, CodecError>;
}

/// A value that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecodedValue {
    /// The value.
    pub value: Bytes,
    /// Whether a new write of the value would have the same form, for example the same key.
    pub is_current: bool,
}

/// Why a value cannot be transformed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct CodecError(pub String);

/// The codec of a store, if it has one.
pub(crate) type Codec = Option<Arc<dyn ValueCodec>>;

/// Returns an entry with the stored form of its value.
pub(crate) fn encode(
    codec: &Codec,
    key: &str,
    entry: &StoreEntry,
) -> Result<StoreEntry, CodecError> {
    let Some(codec) = codec else { return Ok(entry.clone()) };
    Ok(StoreEntry { value: codec.encode(key, &entry.value)?, ..*entry })
}

/// Returns an entry with its value, and whether its stored form is current.
pub(crate) fn decode(
    codec: &Codec,
    key: &str,
    entry: StoreEntry,
) -> Result<(StoreEntry, bool), CodecError> {
    let Some(codec) = codec else { return Ok((entry, true)) };
    let DecodedValue { value, is_current } = codec.decode(key, &entry.value)?;
    Ok((StoreEntry { value, ..entry }, is_current))
}
