//! Reads everything that is undamaged from the file of a damaged store.
//!
//! The granularity is one row: a row has its own checksum, so a damaged page loses only the rows whose
//! bytes are damaged. If a page of the index is damaged, the rows below it are searched in all pages of
//! the file. That search also finds rows which are no longer in use, so three rules exclude these:
//!
//! 1. Rows are only appended. A leaf page with an older and a newer row proves that a row between them
//!    that it does not have was removed before.
//! 2. Only the newest row of a key counts.
//! 3. The header has the number and the digest of all rows. If the rows match, they are exactly the
//!    rows that were written. Otherwise the keys that only the search found are reported as unproven.

mod archive_pages;
mod archived_pairs;
mod live_rows;
mod pages;
mod unused_rows;

use std::{collections::BTreeMap, io::Read as _, path::Path, sync::Arc};

use crate::{
    ArchiveContents, Error, Snapshot,
    change::StoreEntry,
    log::LogRow,
    redb_log::{errors, header::LogHeader},
};
use live_rows::LiveRows;
use pages::PageFile;

/// What was read from a file.
#[derive(Debug, Default)]
pub struct Salvage {
    /// The newest revision that was ever assigned, as far as it is known.
    pub revision: u64,
    /// The undamaged values with their keys, in the order of the keys.
    pub entries: Vec<(Arc<str>, StoreEntry)>,
    /// The undamaged pairs of the archive.
    pub archive: ArchiveContents,
    /// What is damaged.
    pub damage: Damage,
}

/// The damage of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Damage {
    /// The damaged rows.
    pub lost: Vec<LostRow>,
    /// Keys whose value is undamaged, but which may have been deleted.
    pub unproven: Vec<Arc<str>>,
    /// The number of rows that are missing, and of which nothing is known.
    pub missing: u64,
    /// Whether pages of the index or the header are damaged.
    pub is_index_damaged: bool,
    /// Whether an earlier value of a key may be among the entries, because the key of a later row is
    /// unknown.
    pub may_have_earlier_values: bool,
    /// The number of values of the archive that are damaged or missing.
    pub archive_lost: u64,
    /// Whether pages of the archive are damaged. Then deleted values may be among the undamaged ones.
    pub is_archive_index_damaged: bool,
}

/// A damaged row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LostRow {
    /// The revision of the row.
    pub revision: u64,
    /// The key of the row if it is readable.
    pub key: Option<Arc<str>>,
}

impl Salvage {
    /// Reads a file. It must not be in use.
    pub fn read_file(path: &Path) -> Result<Self, Error> {
        let failed = |source| errors::from_open("read", path, source);
        let mut bytes = Vec::new();
        punctual_files::open(path).map_err(failed)?.read_to_end(&mut bytes).map_err(failed)?;
        Ok(Self::read(&bytes))
    }

    /// Returns the entries as a snapshot.
    pub fn snapshot(&self) -> Snapshot {
        Snapshot::from_entries(self.revision, &self.entries)
    }

    /// Reads the bytes of a file.
    pub fn read(bytes: &[u8]) -> Self {
        let live = PageFile::open(bytes).and_then(|file| LiveRows::read(&file));
        let mut live = live.unwrap_or_else(LiveRows::unknown);
        let header = live.header.or_else(|| unused_rows::newest_header(bytes));
        live.is_header_damaged |= header.is_none();
        let header = header.unwrap_or_default();
        let mut found = BTreeMap::new();
        if !live.damaged_ranges.is_empty() {
            found = unused_rows::search(bytes, &live, &header);
            found = exclude_unneeded(&live, found, &header);
        }
        let mut archived = std::mem::take(&mut live.archived);
        archived.search(bytes);
        let mut salvage = assemble(live, found, &header);
        salvage.damage.archive_lost = archived.lost();
        salvage.damage.is_archive_index_damaged = archived.has_damaged_pages();
        salvage.archive = archived.into_contents();
        salvage
    }
}

impl Damage {
    /// Whether nothing is damaged.
    pub fn is_none(&self) -> bool {
        self.lost.is_empty()
            && self.missing == 0
            && !self.is_index_damaged
            && self.archive_lost == 0
            && !self.is_archive_index_damaged
    }

    /// Whether the damage is limited to values whose keys are known, so that all other entries are
    /// certain.
    pub fn is_confined(&self) -> bool {
        self.missing == 0 && self.unproven.is_empty() && !self.may_have_earlier_values
    }
}

/// Keeps only the replacements of damaged rows if the rows are complete with them.
fn exclude_unneeded(
    live: &LiveRows<'_>,
    found: BTreeMap<u64, LogRow>,
    header: &LogHeader,
) -> BTreeMap<u64, LogRow> {
    let mut known = LogHeader::default();
    for revision in live.rows.keys().chain(live.damaged.keys()) {
        known.add(*revision);
    }
    if live.is_header_damaged || header.check_rows(&known).is_err() {
        return found;
    }
    found.into_iter().filter(|(revision, _)| live.damaged.contains_key(revision)).collect()
}

/// Combines the rows of the tree and those that the search found.
fn assemble(live: LiveRows<'_>, found: BTreeMap<u64, LogRow>, header: &LogHeader) -> Salvage {
    let mut present = LogHeader::default();
    let damaged = live.damaged.keys().filter(|revision| !found.contains_key(revision));
    for revision in live.rows.keys().chain(found.keys()).chain(damaged) {
        present.add(*revision);
    }
    let is_complete = !live.is_header_damaged && header.check_rows(&present).is_ok();
    let is_unproven = |revision: &u64| !is_complete && found.contains_key(revision);
    let mut newest: BTreeMap<Arc<str>, LogRow> = BTreeMap::new();
    let mut rows = live.rows;
    rows.extend(found.iter().map(|(revision, row)| (*revision, row.clone())));
    let row_count = rows.len() as u64;
    let revision_found = rows.last_key_value().map_or(0, |(revision, _)| *revision);
    for row in rows.into_values() {
        newest.insert(row.key.clone(), row);
    }
    let mut lost: Vec<_> = live
        .damaged
        .into_iter()
        .filter(|(revision, _)| !found.contains_key(revision))
        .map(|(revision, key)| LostRow { revision, key })
        .collect();
    let missing = header.row_count.saturating_sub(row_count + lost.len() as u64);
    // A damaged row that a later one replaced is no loss. Otherwise an earlier value of its key must
    // not be served as the current one.
    lost.retain(|LostRow { revision, key }| {
        let Some(key) = key else { return true };
        if newest.get(key).is_some_and(|row| row.revision > *revision) {
            return false;
        }
        newest.remove(key);
        true
    });
    let unknown_key = |row: &LostRow| row.key.is_none() && row.revision > header.compacted;
    let unproven =
        newest.values().filter(|row| row.current.is_some() && is_unproven(&row.revision));
    let damage = Damage {
        may_have_earlier_values: lost.iter().any(unknown_key)
            || missing > 0
            || live.is_header_damaged,
        unproven: unproven.map(|row| row.key.clone()).collect(),
        missing,
        is_index_damaged: live.is_header_damaged || !live.damaged_ranges.is_empty(),
        lost,
        ..Damage::default()
    };
    let entries = newest.into_values().filter_map(|row| Some((row.key, row.current?))).collect();
    let revision = header.revision.max(revision_found);
    Salvage { revision, entries, damage, ..Salvage::default() }
}

#[cfg(test)]
mod tests;
