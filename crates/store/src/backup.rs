//! The format of a backup: all entries of one revision in one stream.
//!
//! A backup begins with a line that names the format. Each entry follows as its length (4 bytes), its
//! revision (8) and its row as in the log. A length of 0 ends the entries; the header of the log with
//! the number and digest of the entries follows. So a backup that is incomplete or damaged is detected.

use std::{
    io::{self, Read},
    sync::Arc,
};

use bytes::Bytes;

use crate::{
    Snapshot, ValueCodec,
    change::StoreEntry,
    codec::{self, Codec},
    redb_log::{header::LogHeader, row},
    salvage::Salvage,
};

const MAGIC: &[u8] = b"punctual-backup 1\n";
/// The size of the chunks of the stream, unless an entry is larger.
const CHUNK_BYTES: usize = 64 << 10;
/// Larger than any entry.
const ENTRY_BYTES_MAX: usize = 16 << 20;
const HEADER_BYTES_MAX: u64 = 1 << 10;

/// Why a backup cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BackupError {
    /// The file is not a backup.
    #[error("it is not a backup of this program")]
    OtherFormat,
    /// The backup is damaged or incomplete.
    #[error("it is damaged or incomplete: {0}; use another backup")]
    Damaged(&'static str),
    /// The file cannot be read.
    #[error("it cannot be read")]
    Io(#[from] io::Error),
}

/// The stream of a backup in chunks.
pub struct BackupChunks {
    snapshot: Snapshot,
    codec: Codec,
    header: LogHeader,
    last_key: Option<Arc<str>>,
    is_started: bool,
    is_ended: bool,
}

impl BackupChunks {
    /// Backs up a snapshot, which is consistent. The values get the stored form of the codec.
    pub fn new(snapshot: Snapshot, codec: Option<Arc<dyn ValueCodec>>) -> Self {
        let revision = snapshot.revision();
        let header = LogHeader::at(revision);
        Self { snapshot, codec, header, last_key: None, is_started: false, is_ended: false }
    }

    /// Appends entries until the chunk is full. Returns whether there are more.
    fn append_entries(&mut self, chunk: &mut Vec<u8>) -> bool {
        let snapshot = self.snapshot.clone();
        let after = self.last_key.clone().unwrap_or_default();
        let mut row = Vec::new();
        for (key, entry) in snapshot.prefix_after("", &after) {
            if chunk.len() >= CHUNK_BYTES {
                return true;
            }
            // A value that cannot be encoded ends the backup early, which makes it invalid.
            let Ok(entry) = codec::encode(&self.codec, key, entry) else {
                self.is_ended = true;
                return true;
            };
            row::encode_value(entry.modified, key, Some(&entry), &mut row);
            let len = u32::try_from(8 + row.len()).unwrap_or(u32::MAX);
            chunk.extend_from_slice(&len.to_le_bytes());
            chunk.extend_from_slice(&entry.modified.to_le_bytes());
            chunk.extend_from_slice(&row);
            self.header.add(entry.modified);
            self.last_key = Some(key.clone());
        }
        false
    }
}

impl Iterator for BackupChunks {
    type Item = Bytes;

    fn next(&mut self) -> Option<Bytes> {
        if self.is_ended {
            return None;
        }
        let mut chunk = Vec::with_capacity(CHUNK_BYTES);
        if !self.is_started {
            chunk.extend_from_slice(MAGIC);
            self.is_started = true;
        }
        if !self.append_entries(&mut chunk) {
            chunk.extend_from_slice(&0_u32.to_le_bytes());
            chunk.extend_from_slice(&self.header.encode());
            self.is_ended = true;
        }
        Some(chunk.into())
    }
}

/// Reads and verifies a backup.
pub fn read_backup(mut reader: impl Read) -> Result<Salvage, BackupError> {
    let mut magic = [0; MAGIC.len()];
    reader.read_exact(&mut magic).map_err(|_| BackupError::OtherFormat)?;
    if magic != MAGIC {
        return Err(BackupError::OtherFormat);
    }
    let mut entries: Vec<(Arc<str>, StoreEntry)> = Vec::new();
    let mut found = LogHeader::default();
    while let Some(entry) = read_entry(&mut reader)? {
        found.add(entry.1.modified);
        entries.push(entry);
    }
    let mut header = Vec::new();
    reader.take(HEADER_BYTES_MAX).read_to_end(&mut header)?;
    let header = LogHeader::decode(&header)
        .map_err(|_| BackupError::Damaged("its last bytes are missing or damaged"))?;
    header
        .check_rows(&found)
        .map_err(|_| BackupError::Damaged("it does not have all of its entries"))?;
    Ok(Salvage { revision: header.revision, entries, ..Salvage::default() })
}

/// Reads the next entry; `None` at the end of the entries.
fn read_entry(reader: &mut impl Read) -> Result<Option<(Arc<str>, StoreEntry)>, BackupError> {
    const INCOMPLETE: BackupError = BackupError::Damaged("it ends within its entries");
    let mut len = [0; 4];
    reader.read_exact(&mut len).map_err(|_| INCOMPLETE)?;
    let len = usize::try_from(u32::from_le_bytes(len)).unwrap_or(usize::MAX);
    if len == 0 {
        return Ok(None);
    }
    if len > ENTRY_BYTES_MAX {
        return Err(BackupError::Damaged("an entry is too large"));
    }
    let mut bytes = vec![0; len];
    reader.read_exact(&mut bytes).map_err(|_| INCOMPLETE)?;
    let decode = || {
        let (revision, row) = bytes.split_first_chunk()?;
        let row = row::decode(u64::from_le_bytes(*revision), row)?;
        Some((row.key, row.current?))
    };
    decode().map(Some).ok_or(BackupError::Damaged("an entry has a wrong checksum"))
}
