//! The pairs of the archive: those that a commit refers to, and those in pages that the tree does not
//! reach because a page is damaged.
//!
//! A pair has a checksum of its own, so any page may be searched for it. An archived value rarely changes.
//! So a search may find a value that was deleted, but hardly one that is outdated.

use std::collections::BTreeMap;

use super::{
    archive_pages::{ArchivePage, scan_archive_leaves},
    pages::{CommitSlot, DEPTH_MAX, PageFile, PageRef, TableState},
};
use crate::{
    ArchiveContents,
    archive::{ARCHIVE_TABLE, decode_value},
};

/// The keys after the first bound up to and including the second one.
#[derive(Clone, Copy)]
struct KeyRange<'a> {
    after: Option<&'a [u8]>,
    through: Option<&'a [u8]>,
}

impl<'a> KeyRange<'a> {
    const ALL: Self = Self { after: None, through: None };

    fn contains(&self, key: &[u8]) -> bool {
        self.after.is_none_or(|after| key > after)
            && self.through.is_none_or(|through| key <= through)
    }
}

/// The pairs of an archive.
#[derive(Default)]
pub(super) struct ArchivedPairs<'a> {
    pairs: BTreeMap<&'a [u8], &'a [u8]>,
    damaged_ranges: Vec<KeyRange<'a>>,
    /// The number of pairs that should exist, if it is known.
    expected: Option<u64>,
}

impl<'a> ArchivedPairs<'a> {
    /// Reads the pairs that a commit refers to.
    pub(super) fn read_commit(file: &PageFile<'a>, slot: &CommitSlot) -> Self {
        let mut archived = Self::default();
        match file.table_state(slot, ARCHIVE_TABLE) {
            TableState::Absent => archived.expected = Some(0),
            TableState::Present { len, root } => {
                archived.expected = Some(len);
                if let Some(root) = root {
                    archived.visit(file, root, KeyRange::ALL, 0);
                }
            }
            TableState::Damaged => archived.damaged_ranges.push(KeyRange::ALL),
        }
        archived
    }

    /// The state of a file whose commits are unreadable.
    pub(super) fn unknown() -> Self {
        Self { damaged_ranges: vec![KeyRange::ALL], ..Self::default() }
    }

    pub(super) fn is_intact(&self) -> bool {
        !self.has_damaged_pages() && self.lost() == 0
    }

    pub(super) fn has_damaged_pages(&self) -> bool {
        !self.damaged_ranges.is_empty()
    }

    /// The number of pairs that are known to be missing.
    pub(super) fn lost(&self) -> u64 {
        self.expected.unwrap_or_default().saturating_sub(self.pairs.len() as u64)
    }

    /// Adds the pairs in the damaged ranges from all pages of the file, unless no pair is missing.
    pub(super) fn search(&mut self, bytes: &'a [u8]) {
        if self.expected.is_some() && self.lost() == 0 || !self.has_damaged_pages() {
            return;
        }
        for (key, stored) in scan_archive_leaves(bytes).flatten() {
            let is_wanted = self.damaged_ranges.iter().any(|range| range.contains(key));
            if is_wanted && let Some(value) = decode_value(key, stored) {
                self.pairs.entry(key).or_insert(value);
            }
        }
    }

    pub(super) fn into_contents(self) -> ArchiveContents {
        let mut contents = ArchiveContents::default();
        for (key, value) in self.pairs {
            contents.push(key, value);
        }
        contents
    }

    fn visit(&mut self, file: &PageFile<'a>, page: PageRef, range: KeyRange<'a>, depth: usize) {
        let is_intact = file.is_archive_page_intact(page);
        if !is_intact {
            self.damaged_ranges.push(range);
        }
        match file.parse_archive_page(page) {
            Some(ArchivePage::Leaf(pairs)) => self.add_leaf(&pairs, range),
            Some(ArchivePage::Branch { children, separators }) if depth < DEPTH_MAX => {
                let mut after = range.after;
                for (index, child) in children.into_iter().enumerate() {
                    let through = separators.get(index).copied().or(range.through);
                    // The checksum in a damaged branch still proves an undamaged child.
                    if is_intact {
                        self.visit(file, child, KeyRange { after, through }, depth + 1);
                    } else if file.is_archive_page_intact(child) {
                        self.visit(file, child, range, depth + 1);
                    }
                    after = through;
                }
            }
            Some(ArchivePage::Branch { .. }) | None => {}
        }
    }

    fn add_leaf(&mut self, pairs: &[(&'a [u8], &'a [u8])], range: KeyRange<'a>) {
        for (key, stored) in pairs.iter().filter(|(key, _)| range.contains(key)) {
            if let Some(value) = decode_value(key, stored) {
                self.pairs.insert(key, value);
            }
        }
    }
}
