//! Searches the whole file for rows that the tree does not reach because a page is damaged.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    live_rows::LiveRows,
    pages::{Leaf, scan_leaves, scan_single_values},
};
use crate::{
    log::LogRow,
    redb_log::{header::LogHeader, row},
};

/// Returns the newest header in any page of the file.
pub(super) fn newest_header(bytes: &[u8]) -> Option<LogHeader> {
    let headers = scan_single_values(bytes).filter_map(|value| LogHeader::decode(value).ok());
    headers.max_by_key(|header| (header.revision, header.compacted))
}

/// Returns the rows in the damaged ranges that are not proven to be removed.
pub(super) fn search(
    bytes: &[u8],
    live: &LiveRows<'_>,
    header: &LogHeader,
) -> BTreeMap<u64, LogRow> {
    let is_wanted = |revision: u64| {
        !live.rows.contains_key(&revision)
            && (revision <= header.revision || live.is_header_damaged)
            && live.damaged_ranges.iter().any(|range| range.contains(revision))
    };
    let mut leaves: Vec<_> = scan_leaves(bytes).filter_map(DecodedLeaf::new).collect();
    // After an interrupted commit a revision is assigned again. The later page has newer rows.
    leaves.sort_by_key(|leaf| leaf.revisions.last().copied());
    let mut found = BTreeMap::new();
    for leaf in &leaves {
        let wanted = leaf.rows.iter().filter(|row| is_wanted(row.revision));
        found.extend(wanted.map(|row| (row.revision, row.clone())));
    }
    for leaf in leaves.iter().filter(|leaf| leaf.is_complete) {
        leaf.remove_absent(&mut found);
    }
    found
}

/// A leaf page with at least one undamaged row.
struct DecodedLeaf {
    revisions: BTreeSet<u64>,
    rows: Vec<LogRow>,
    /// Whether all rows are undamaged.
    is_complete: bool,
}

impl DecodedLeaf {
    fn new(leaf: Leaf<'_>) -> Option<Self> {
        let decode = |(revision, bytes): &(u64, Option<&[u8]>)| row::decode(*revision, (*bytes)?);
        let rows: Vec<_> = leaf.pairs.iter().filter_map(decode).collect();
        let is_complete = rows.len() == leaf.pairs.len();
        let revisions = rows.iter().map(|row| row.revision).collect();
        (!rows.is_empty()).then_some(Self { revisions, rows, is_complete })
    }

    /// Removes the rows between the first and the last row of this leaf that it does not have.
    fn remove_absent(&self, found: &mut BTreeMap<u64, LogRow>) {
        let (Some(first), Some(last)) = (self.revisions.first(), self.revisions.last()) else {
            return;
        };
        let removed: Vec<u64> = found
            .range(*first..=*last)
            .map(|(revision, _)| *revision)
            .filter(|revision| !self.revisions.contains(revision))
            .collect();
        for revision in removed {
            found.remove(&revision);
        }
    }
}
