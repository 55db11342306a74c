//! The pages of a tree whose keys have different lengths, which is the archive.
//!
//! A leaf has the number of pairs, the ends of the keys, the ends of the values, the keys, the values. A
//! branch has the number of keys, the checksums and the numbers of its children, the ends of the keys,
//! the keys.

use super::pages::{
    BRANCH, LEAF, PAGE_BYTES, PageFile, PageRef, checksum, leaf_len, read_u32, read_u64, read_u128,
};

/// A page of the archive.
pub(super) enum ArchivePage<'a> {
    /// The keys and the stored values.
    Leaf(Vec<(&'a [u8], &'a [u8])>),
    /// The children, and the keys between them.
    Branch { children: Vec<PageRef>, separators: Vec<&'a [u8]> },
}

impl<'a> PageFile<'a> {
    /// Parses a page, whose checksum may be wrong.
    pub(super) fn parse_archive_page(&self, page: PageRef) -> Option<ArchivePage<'a>> {
        let bytes = self.page(page)?;
        match *bytes.first()? {
            LEAF => parse_leaf(bytes).map(ArchivePage::Leaf),
            BRANCH => parse_branch(bytes),
            _ => None,
        }
    }

    /// Whether the contents of a page are those that its parent expects.
    pub(super) fn is_archive_page_intact(&self, page: PageRef) -> bool {
        let contents = self.page(page).and_then(|bytes| {
            let count = leaf_len(bytes).filter(|count| *count > 0)?;
            let end_at = match *bytes.first()? {
                LEAF => 4 + 8 * count - 4,
                BRANCH => 8 + 24 * (count + 1) + 4 * count - 4,
                _ => return None,
            };
            bytes.get(..read_u32(bytes, end_at)?)
        });
        contents.is_some_and(|contents| checksum(contents) == page.checksum)
    }
}

/// Returns the pairs of every leaf page of an archive that the bytes may contain.
pub(super) fn scan_archive_leaves(bytes: &[u8]) -> impl Iterator<Item = Vec<(&[u8], &[u8])>> {
    let starts = (0..bytes.len()).step_by(PAGE_BYTES);
    starts.filter_map(|start| bytes.get(start..)).filter_map(|page| {
        let is_leaf = page.first() == Some(&LEAF);
        is_leaf.then(|| parse_leaf(page)).flatten()
    })
}

/// Parses a leaf. Leaves out the pairs that are outside of the page.
fn parse_leaf(page: &[u8]) -> Option<Vec<(&[u8], &[u8])>> {
    let count = leaf_len(page).filter(|count| *count > 0)?;
    let key_end = |index: usize| read_u32(page, 4 + 4 * index);
    let value_end = |index: usize| read_u32(page, 4 + 4 * (count + index));
    let pair = |index: usize| {
        let before = index.checked_sub(1);
        let key_start = before.map_or(Some(4 + 8 * count), key_end)?;
        let value_start = before.map_or_else(|| key_end(count - 1), value_end)?;
        let key = page.get(key_start..key_end(index)?)?;
        Some((key, page.get(value_start..value_end(index)?)?))
    };
    Some((0..count).filter_map(pair).collect())
}

fn parse_branch(page: &[u8]) -> Option<ArchivePage<'_>> {
    let keys = leaf_len(page).filter(|keys| *keys > 0)?;
    let numbers_at = 8 + 16 * (keys + 1);
    let ends_at = numbers_at + 8 * (keys + 1);
    let child = |index: usize| {
        let checksum = read_u128(page, 8 + 16 * index)?;
        Some(PageRef { number: read_u64(page, numbers_at + 8 * index)?, checksum })
    };
    let end = |index: usize| read_u32(page, ends_at + 4 * index);
    let separator = |index: usize| {
        let start = index.checked_sub(1).map_or(Some(ends_at + 4 * keys), end)?;
        page.get(start..end(index)?)
    };
    let children: Option<Vec<_>> = (0..=keys).map(child).collect();
    let separators: Option<Vec<_>> = (0..keys).map(separator).collect();
    Some(ArchivePage::Branch { children: children?, separators: separators? })
}
