//! The rows that the newest commit of a file refers to.

use std::{collections::BTreeMap, sync::Arc};

use super::archived_pairs::ArchivedPairs;
use super::pages::{CommitSlot, DEPTH_MAX, Leaf, Page, PageFile, PageRef};
use crate::{
    log::LogRow,
    redb_log::{HEADER_TABLE, ROWS_TABLE, header::LogHeader, row},
};

/// The revisions after `after` up to and including `through`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RevisionRange {
    after: u64,
    through: u64,
}

impl RevisionRange {
    const ALL: Self = Self { after: 0, through: u64::MAX };

    pub(super) fn contains(self, revision: u64) -> bool {
        revision > self.after && revision <= self.through
    }
}

/// The rows of a commit.
#[derive(Default)]
pub(super) struct LiveRows<'a> {
    pub(super) header: Option<LogHeader>,
    pub(super) is_header_damaged: bool,
    /// The undamaged rows.
    pub(super) rows: BTreeMap<u64, LogRow>,
    /// The keys of the damaged rows by their revisions.
    pub(super) damaged: BTreeMap<u64, Option<Arc<str>>>,
    /// The revisions of the rows that may exist but are not reachable.
    pub(super) damaged_ranges: Vec<RevisionRange>,
    /// The archive of the same commit.
    pub(super) archived: ArchivedPairs<'a>,
}

impl<'a> LiveRows<'a> {
    /// Reads the newest commit of a file; `None` if no commit slot is readable.
    pub(super) fn read(file: &PageFile<'a>) -> Option<Self> {
        let mut commits =
            file.commit_slots().into_iter().map(|slot| Self::read_commit(file, &slot));
        let newest = commits.next()?;
        if newest.is_intact() || !file.is_unclean() {
            return Some(newest);
        }
        // The last commit may have been interrupted. Then it was not acknowledged.
        Some(commits.next().filter(Self::is_intact).unwrap_or(newest))
    }

    /// The state of a file whose commits are unreadable.
    pub(super) fn unknown() -> Self {
        Self {
            is_header_damaged: true,
            damaged_ranges: vec![RevisionRange::ALL],
            archived: ArchivedPairs::unknown(),
            ..Self::default()
        }
    }

    fn read_commit(file: &PageFile<'a>, slot: &CommitSlot) -> Self {
        let archived = ArchivedPairs::read_commit(file, slot);
        let mut live = Self { archived, ..Self::default() };
        let header = file.table_root(slot, HEADER_TABLE).and_then(|root| file.single_value(root));
        live.header = header.and_then(|bytes| LogHeader::decode(bytes).ok());
        live.is_header_damaged = live.header.is_none();
        match file.table_root(slot, ROWS_TABLE) {
            Some(root) => live.visit(file, root, RevisionRange::ALL, 0),
            None if live.header.is_some_and(|header| header.row_count == 0) => {}
            None => live.damaged_ranges.push(RevisionRange::ALL),
        }
        live
    }

    fn is_intact(&self) -> bool {
        !self.is_header_damaged
            && self.damaged.is_empty()
            && self.damaged_ranges.is_empty()
            && self.archived.is_intact()
    }

    fn visit(&mut self, file: &PageFile<'_>, page: PageRef, range: RevisionRange, depth: usize) {
        let is_intact = file.is_intact(page);
        if !is_intact {
            self.damaged_ranges.push(range);
        }
        match file.parse(page) {
            Some(Page::Leaf(leaf)) => self.add_leaf(&leaf, range),
            Some(Page::Branch(branch)) if depth < DEPTH_MAX => {
                let mut after = range.after;
                for (index, child) in branch.children.into_iter().enumerate() {
                    let through = branch.separators.get(index).copied().unwrap_or(range.through);
                    // The checksum in a damaged branch still proves an undamaged child.
                    if is_intact {
                        self.visit(file, child, RevisionRange { after, through }, depth + 1);
                    } else if file.is_intact(child) {
                        self.visit(file, child, range, depth + 1);
                    }
                    after = through;
                }
            }
            Some(Page::Branch(_)) | None => {}
        }
    }

    fn add_leaf(&mut self, leaf: &Leaf<'_>, range: RevisionRange) {
        for (revision, bytes) in leaf.pairs.iter().filter(|(revision, _)| range.contains(*revision))
        {
            let bytes = bytes.unwrap_or_default();
            if let Some(row) = row::decode(*revision, bytes) {
                self.rows.insert(*revision, row);
            } else {
                self.damaged.insert(*revision, row::plausible_key(*revision, bytes));
            }
        }
    }
}
