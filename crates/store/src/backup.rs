//! The format of a backup: all entries of one revision and the archive in one stream.
//!
//! A backup begins with a line that names the format. Each entry follows as its length (4 bytes), its
//! revision (8) and its row as in the log. A length of 0 ends the entries.
//!
//! In version 2 the pairs of the archive follow, each as the lengths of its key and of its value (4 each),
//! the key and the value. An empty key ends them; their number (8) and their digest (8) follow. A backup
//! without an archive has version 1, which earlier programs read.
//!
//! The header of the log with the number and digest of the entries is at the end. So a backup that is
//! incomplete or damaged is detected.

use std::{
    io::{self, Read},
    ops::Bound,
    sync::Arc,
};

use bytes::Bytes;

use crate::{
    Archive, ArchiveContents, Error, Snapshot, ValueCodec, archive,
    change::StoreEntry,
    codec::{self, Codec},
    redb_log::{header::LogHeader, row},
    salvage::Salvage,
};

/// The first line of a backup without an archive, and of one with an archive.
const MAGICS: [&[u8; MAGIC_BYTES]; 2] = [b"punctual-backup 1\n", b"punctual-backup 2\n"];
const MAGIC_BYTES: usize = 18;
/// The size of the chunks of the stream, unless an entry is larger.
const CHUNK_BYTES: usize = 64 << 10;
/// Larger than any entry.
const ENTRY_BYTES_MAX: usize = 16 << 20;
/// Larger than any key or value of the archive.
const ARCHIVED_BYTES_MAX: usize = 1 << 20;
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
    archive: BackupArchive,
    archive_digest: ArchiveDigest,
    /// The key of the last pair of the archive that was written.
    last_archived: Vec<u8>,
    phase: BackupPhase,
}

/// The next part of a backup.
#[derive(Clone, Copy, PartialEq, Eq)]
enum BackupPhase {
    Start,
    Entries,
    Archive,
    Ended,
}

/// Where a backup reads the archive.
enum BackupArchive {
    None,
    Contents(ArchiveContents),
    /// Each chunk has its own reader, so that a slow backup does not keep pages in use. Values that are
    /// archived meanwhile are in the snapshot.
    Live(Archive),
}

/// The number of the pairs of an archive, and the sum of their digests.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct ArchiveDigest {
    count: u64,
    sum: u64,
}

impl ArchiveDigest {
    fn add(&mut self, key: &[u8], value: &[u8]) {
        self.count += 1;
        self.sum = self.sum.wrapping_add(archive::digest(key, value));
    }
}

impl BackupChunks {
    /// Backs up a snapshot, which is consistent. The values get the stored form of the codec.
    pub fn new(snapshot: Snapshot, codec: Option<Arc<dyn ValueCodec>>) -> Self {
        let revision = snapshot.revision();
        let header = LogHeader::at(revision);
        Self {
            snapshot,
            codec,
            header,
            last_key: None,
            archive: BackupArchive::None,
            archive_digest: ArchiveDigest::default(),
            last_archived: Vec::new(),
            phase: BackupPhase::Start,
        }
    }

    /// Adds the archive of a store that is in use. Its chunks are read from the file.
    pub(crate) fn with_archive(self, archive: Archive) -> Self {
        Self { archive: BackupArchive::Live(archive), ..self }
    }

    /// Adds the archive of a file that was read.
    pub fn with_archive_contents(self, contents: ArchiveContents) -> Self {
        Self { archive: BackupArchive::Contents(contents), ..self }
    }

    /// Whether the archive has a pair.
    fn has_archive(&self) -> Result<bool, Error> {
        match &self.archive {
            BackupArchive::None => Ok(false),
            BackupArchive::Contents(contents) => Ok(!contents.is_empty()),
            BackupArchive::Live(archive) => {
                let reader = archive.read()?;
                let first = reader.range(Bound::Unbounded, Bound::Unbounded)?.next();
                Ok(first.transpose()?.is_some())
            }
        }
    }

    /// Appends pairs of the archive until the chunk is full. Returns whether there are more.
    fn append_archive(&mut self, chunk: &mut Vec<u8>) -> Result<bool, Error> {
        let mut after = std::mem::take(&mut self.last_archived);
        let mut digest = self.archive_digest;
        let mut append = |key: &[u8], value: &[u8], chunk: &mut Vec<u8>| {
            digest.add(key, value);
            append_archived(key, value, chunk);
        };
        let mut has_more = false;
        match &self.archive {
            BackupArchive::None => {}
            BackupArchive::Contents(contents) => {
                while let Some((key, value)) = contents.next_after(&after) {
                    if chunk.len() >= CHUNK_BYTES {
                        has_more = true;
                        break;
                    }
                    append(key, value, chunk);
                    after = key.to_vec();
                }
            }
            BackupArchive::Live(archive) => {
                let reader = archive.read()?;
                for pair in reader.range(Bound::Excluded(&after), Bound::Unbounded)? {
                    if chunk.len() >= CHUNK_BYTES {
                        has_more = true;
                        break;
                    }
                    let (key, value) = pair?;
                    append(&key, &value, chunk);
                    after = key;
                }
            }
        }
        self.last_archived = after;
        self.archive_digest = digest;
        Ok(has_more)
    }

    fn append_header(&mut self, chunk: &mut Vec<u8>) {
        chunk.extend_from_slice(&self.header.encode());
        self.phase = BackupPhase::Ended;
    }

    /// Appends the next part until the chunk is full or the phase ends.
    fn append_phase(&mut self, chunk: &mut Vec<u8>) -> Result<(), Error> {
        match self.phase {
            BackupPhase::Start => {
                let [plain, archived] = MAGICS;
                let has_archive = self.has_archive()?;
                if !has_archive {
                    self.archive = BackupArchive::None;
                }
                chunk.extend_from_slice(if has_archive { archived } else { plain });
                self.phase = BackupPhase::Entries;
            }
            BackupPhase::Entries => {
                if self.append_entries(chunk) {
                    return Ok(());
                }
                chunk.extend_from_slice(&0_u32.to_le_bytes());
                if matches!(self.archive, BackupArchive::None) {
                    self.append_header(chunk);
                } else {
                    self.phase = BackupPhase::Archive;
                }
            }
            BackupPhase::Archive => {
                if self.append_archive(chunk)? {
                    return Ok(());
                }
                append_archived(&[], &[], chunk);
                chunk.extend_from_slice(&self.archive_digest.count.to_le_bytes());
                chunk.extend_from_slice(&self.archive_digest.sum.to_le_bytes());
                self.append_header(chunk);
            }
            BackupPhase::Ended => {}
        }
        Ok(())
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
                self.phase = BackupPhase::Ended;
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
        if self.phase == BackupPhase::Ended {
            return None;
        }
        let mut chunk = Vec::with_capacity(CHUNK_BYTES);
        while chunk.len() < CHUNK_BYTES && self.phase != BackupPhase::Ended {
            // An archive that cannot be read ends the backup early, which makes it invalid.
            if self.append_phase(&mut chunk).is_err() {
                self.phase = BackupPhase::Ended;
            }
        }
        Some(chunk.into())
    }
}

/// Reads and verifies a backup.
pub fn read_backup(mut reader: impl Read) -> Result<Salvage, BackupError> {
    let mut magic = [0; MAGIC_BYTES];
    reader.read_exact(&mut magic).map_err(|_| BackupError::OtherFormat)?;
    let [plain, archived] = MAGICS;
    let has_archive = magic == *archived;
    if magic != *plain && !has_archive {
        return Err(BackupError::OtherFormat);
    }
    let mut entries: Vec<(Arc<str>, StoreEntry)> = Vec::new();
    let mut found = LogHeader::default();
    while let Some(entry) = read_entry(&mut reader)? {
        found.add(entry.1.modified);
        entries.push(entry);
    }
    let archive = if has_archive { read_archive(&mut reader)? } else { ArchiveContents::default() };
    let mut header = Vec::new();
    reader.take(HEADER_BYTES_MAX).read_to_end(&mut header)?;
    let header = LogHeader::decode(&header)
        .map_err(|_| BackupError::Damaged("its last bytes are missing or damaged"))?;
    header
        .check_rows(&found)
        .map_err(|_| BackupError::Damaged("it does not have all of its entries"))?;
    Ok(Salvage { revision: header.revision, entries, archive, ..Salvage::default() })
}

/// Reads and verifies the archive.
fn read_archive(reader: &mut impl Read) -> Result<ArchiveContents, BackupError> {
    const INCOMPLETE: BackupError = BackupError::Damaged("it ends within its archive");
    const WRONG: BackupError = BackupError::Damaged("its archive is not in order");
    let mut contents = ArchiveContents::default();
    let mut found = ArchiveDigest::default();
    let mut last = Vec::new();
    loop {
        let key_bytes = read_u32(reader).ok_or(INCOMPLETE)?;
        let value_bytes = read_u32(reader).ok_or(INCOMPLETE)?;
        if key_bytes == 0 {
            break;
        }
        if key_bytes > ARCHIVED_BYTES_MAX || value_bytes > ARCHIVED_BYTES_MAX {
            return Err(BackupError::Damaged("a value of its archive is too large"));
        }
        let mut bytes = vec![0; key_bytes + value_bytes];
        reader.read_exact(&mut bytes).map_err(|_| INCOMPLETE)?;
        let (key, value) = bytes.split_at_checked(key_bytes).ok_or(INCOMPLETE)?;
        if *key <= *last {
            return Err(WRONG);
        }
        found.add(key, value);
        contents.push(key, value);
        last = key.to_vec();
    }
    let mut count = [0; 8];
    let mut sum = [0; 8];
    reader.read_exact(&mut count).map_err(|_| INCOMPLETE)?;
    reader.read_exact(&mut sum).map_err(|_| INCOMPLETE)?;
    let expected = ArchiveDigest { count: u64::from_le_bytes(count), sum: u64::from_le_bytes(sum) };
    if found != expected {
        return Err(BackupError::Damaged("a value of its archive is damaged or missing"));
    }
    Ok(contents)
}

fn append_archived(key: &[u8], value: &[u8], chunk: &mut Vec<u8>) {
    for part in [key, value] {
        let len = u32::try_from(part.len()).unwrap_or(u32::MAX);
        chunk.extend_from_slice(&len.to_le_bytes());
    }
    chunk.extend_from_slice(key);
    chunk.extend_from_slice(value);
}

fn read_u32(reader: &mut impl Read) -> Option<usize> {
    let mut bytes = [0; 4];
    reader.read_exact(&mut bytes).ok()?;
    usize::try_from(u32::from_le_bytes(bytes)).ok()
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
