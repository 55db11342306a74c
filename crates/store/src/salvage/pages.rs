//! Reads the pages of a redb file without redb, which cannot open a file with a damaged page.
//!
//! A file begins with a header that has two commit slots. Each points to the root page of a tree whose
//! entries are the tables, and each entry points to the root page of its table. A branch page has the
//! numbers and checksums of its children, so a page is verified by its parent.

use twox_hash::XxHash3_128;

pub(super) const PAGE_BYTES: usize = 4096;
pub(super) const LEAF: u8 = 1;
pub(super) const BRANCH: u8 = 2;
const MAGIC: &[u8] = b"redb\x1A\x0A\xA9\x0D\x0A";
const FLAGS_AT: usize = 9;
const RECOVERY_REQUIRED: u8 = 2;
const PAGE_SIZE_AT: usize = 12;
const REGION_HEADER_PAGES_AT: usize = 16;
const REGION_DATA_PAGES_AT: usize = 20;
const REGION_DATA_PAGES_MAX: usize = 1 << 20;
const SLOTS_AT: [usize; 2] = [64, 192];
const SLOT_BYTES: usize = 128;
const SLOT_VERSION: u8 = 3;
const SLOT_ROOT_AT: usize = 8;
const SLOT_TRANSACTION_AT: usize = 104;
const SLOT_CHECKSUM_AT: usize = 112;
/// The number of pairs in the definition of a table, after its type.
const TABLE_LEN_AT: usize = 1;
/// The offset of the root page in the definition of a table: after its type and its length.
const TABLE_ROOT_AT: usize = 9;
/// The maximum number of levels that are read. No tree has as many, but the pages of a damaged file can form
/// a cycle.
pub(super) const DEPTH_MAX: usize = 32;

/// A reference to a page: its number in the stored form, and its checksum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PageRef {
    pub(super) number: u64,
    pub(super) checksum: u128,
}

/// What a commit has of a table.
pub(super) enum TableState {
    Absent,
    /// The number of its pairs; no root if it is empty.
    Present {
        len: u64,
        root: Option<PageRef>,
    },
    /// The page that lists the tables is damaged.
    Damaged,
}

/// A valid commit slot.
pub(super) struct CommitSlot {
    transaction: u64,
    tables: PageRef,
}

/// The keys and values of a leaf page. A value that is outside of the page is `None`.
pub(super) struct Leaf<'a> {
    pub(super) pairs: Vec<(u64, Option<&'a [u8]>)>,
}

/// The children of a branch page, and the keys between them.
pub(super) struct Branch {
    pub(super) children: Vec<PageRef>,
    pub(super) separators: Vec<u64>,
}

/// A page of a tree with keys of 8 bytes.
pub(super) enum Page<'a> {
    Leaf(Leaf<'a>),
    Branch(Branch),
}

/// The bytes of a redb file.
pub(super) struct PageFile<'a> {
    bytes: &'a [u8],
    region_header_pages: usize,
    region_data_pages: usize,
}

impl<'a> PageFile<'a> {
    /// Returns the file; `None` if its header is damaged, so that no page number can be resolved.
    pub(super) fn open(bytes: &'a [u8]) -> Option<Self> {
        let region_header_pages = read_u32(bytes, REGION_HEADER_PAGES_AT)?;
        let region_data_pages = read_u32(bytes, REGION_DATA_PAGES_AT)?;
        let is_intact = bytes.starts_with(MAGIC)
            && read_u32(bytes, PAGE_SIZE_AT)? == PAGE_BYTES
            && (1..=REGION_DATA_PAGES_MAX).contains(&region_data_pages)
            && region_header_pages <= REGION_DATA_PAGES_MAX;
        is_intact.then_some(Self { bytes, region_header_pages, region_data_pages })
    }

    /// Whether the last process did not close the file, so that the newest commit may be incomplete.
    pub(super) fn is_unclean(&self) -> bool {
        self.bytes.get(FLAGS_AT).is_some_and(|flags| flags & RECOVERY_REQUIRED != 0)
    }

    /// Returns the valid commit slots, newest first.
    pub(super) fn commit_slots(&self) -> Vec<CommitSlot> {
        let mut slots: Vec<_> = SLOTS_AT.iter().filter_map(|at| self.commit_slot(*at)).collect();
        slots.sort_by_key(|slot| std::cmp::Reverse(slot.transaction));
        slots
    }

    fn commit_slot(&self, at: usize) -> Option<CommitSlot> {
        let slot = self.bytes.get(at..at + SLOT_BYTES)?;
        let is_valid = slot.first() == Some(&SLOT_VERSION)
            && slot.get(1) != Some(&0)
            && read_u128(slot, SLOT_CHECKSUM_AT)? == checksum(slot.get(..SLOT_CHECKSUM_AT)?);
        let transaction = read_u64(slot, SLOT_TRANSACTION_AT)?;
        let tables = read_page_ref(slot, SLOT_ROOT_AT)?;
        is_valid.then_some(CommitSlot { transaction, tables })
    }

    /// Returns the root of a table. There are few tables, so their tree is one leaf.
    pub(super) fn table_root(&self, slot: &CommitSlot, name: &str) -> Option<PageRef> {
        let definition = self.table_definition(slot, name)?;
        let has_root = definition.get(TABLE_ROOT_AT) == Some(&1);
        has_root.then(|| read_page_ref(definition, TABLE_ROOT_AT + 1))?
    }

    /// Returns what a commit has of a table that need not exist.
    pub(super) fn table_state(&self, slot: &CommitSlot, name: &str) -> TableState {
        if !self.is_archive_page_intact(slot.tables) {
            return TableState::Damaged;
        }
        let Some(definition) = self.table_definition(slot, name) else { return TableState::Absent };
        match read_u64(definition, TABLE_LEN_AT) {
            Some(len) => TableState::Present { len, root: self.table_root(slot, name) },
            None => TableState::Damaged,
        }
    }

    fn table_definition(&self, slot: &CommitSlot, name: &str) -> Option<&'a [u8]> {
        let page = self.page(slot.tables)?;
        let count = leaf_len(page)?;
        let ends_at = |index: usize| match index {
            0 => Some(4 + 8 * count),
            _ => read_u32(page, 4 * index),
        };
        for index in 0..count {
            let key = page.get(ends_at(index)?..ends_at(index + 1)?)?;
            // The ends of the values follow the ends of the keys, and the values follow the keys.
            let value_start = match index {
                0 => ends_at(count)?,
                _ => read_u32(page, 4 * (count + index))?,
            };
            let value = page.get(value_start..read_u32(page, 4 * (count + index + 1))?)?;
            if key == name.as_bytes() {
                return Some(value);
            }
        }
        None
    }

    /// Returns the only value of a table without keys.
    pub(super) fn single_value(&self, root: PageRef) -> Option<&'a [u8]> {
        let page = self.page(root)?;
        page.get(8..read_u32(page, 4)?)
    }

    /// Parses a page, whose checksum may be wrong.
    pub(super) fn parse(&self, page: PageRef) -> Option<Page<'a>> {
        let bytes = self.page(page)?;
        match *bytes.first()? {
            LEAF => parse_leaf(bytes).map(Page::Leaf),
            BRANCH => parse_branch(bytes).map(Page::Branch),
            _ => None,
        }
    }

    /// Whether the contents of a page are those that its parent expects.
    pub(super) fn is_intact(&self, page: PageRef) -> bool {
        let contents = self.page(page).and_then(|bytes| match *bytes.first()? {
            LEAF => bytes.get(..read_u32(bytes, 4 * leaf_len(bytes)?)?),
            BRANCH => bytes.get(..8 + 32 * leaf_len(bytes)? + 24),
            _ => None,
        });
        contents.is_some_and(|contents| checksum(contents) == page.checksum)
    }

    pub(super) fn page(&self, page: PageRef) -> Option<&'a [u8]> {
        let order = u32::try_from(page.number >> 59).ok()?;
        let index = usize::try_from(page.number & (0x000F_FFFF >> order)).ok()?;
        let region = usize::try_from((page.number >> 20) & 0x000F_FFFF).ok()?;
        let region_pages = self.region_header_pages + self.region_data_pages;
        let pages = 1 + region * region_pages + self.region_header_pages + (index << order);
        let start = pages.checked_mul(PAGE_BYTES)?;
        // The last page of a truncated file is shorter.
        let end = (start + (PAGE_BYTES << order)).min(self.bytes.len());
        self.bytes.get(start..end)
    }
}

/// Returns every leaf page that the bytes may contain, including those that are not in use.
pub(super) fn scan_leaves(bytes: &[u8]) -> impl Iterator<Item = Leaf<'_>> {
    let starts = (0..bytes.len()).step_by(PAGE_BYTES);
    starts.filter_map(|start| bytes.get(start..)).filter_map(|page| {
        let is_leaf = page.first() == Some(&LEAF);
        is_leaf.then(|| parse_leaf(page)).flatten()
    })
}

/// Returns every value of a table without keys that the bytes may contain.
pub(super) fn scan_single_values(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let starts = (0..bytes.len()).step_by(PAGE_BYTES);
    starts.filter_map(|start| bytes.get(start..)).filter_map(|page| {
        let has_one_pair = page.first() == Some(&LEAF) && leaf_len(page) == Some(1);
        has_one_pair.then(|| page.get(8..read_u32(page, 4)?)).flatten()
    })
}

pub(super) fn leaf_len(page: &[u8]) -> Option<usize> {
    page.get(2..)?.first_chunk().map(|count| usize::from(u16::from_le_bytes(*count)))
}

/// Parses a leaf with keys of 8 bytes: the number of pairs, the ends of the values, the keys, the values.
fn parse_leaf(page: &[u8]) -> Option<Leaf<'_>> {
    let count = leaf_len(page)?;
    let keys_at = 4 + 4 * count;
    let values_at = keys_at + 8 * count;
    page.get(..values_at)?;
    let end_of = |index: usize| match index {
        0 => Some(values_at),
        _ => read_u32(page, 4 * index),
    };
    let pair = |index: usize| {
        let value =
            end_of(index).zip(end_of(index + 1)).and_then(|(start, end)| page.get(start..end));
        Some((read_u64(page, keys_at + 8 * index)?, value))
    };
    let pairs: Option<Vec<_>> = (0..count).map(pair).collect();
    pairs.filter(|pairs| !pairs.is_empty()).map(|pairs| Leaf { pairs })
}

/// Parses a branch with keys of 8 bytes: the number of keys, checksums, page numbers, keys.
fn parse_branch(page: &[u8]) -> Option<Branch> {
    let keys = leaf_len(page).filter(|keys| *keys > 0)?;
    let numbers_at = 8 + 16 * (keys + 1);
    let keys_at = numbers_at + 8 * (keys + 1);
    let child = |index: usize| {
        let checksum = read_u128(page, 8 + 16 * index)?;
        Some(PageRef { number: read_u64(page, numbers_at + 8 * index)?, checksum })
    };
    let children: Option<Vec<_>> = (0..=keys).map(child).collect();
    let separators: Option<Vec<_>> =
        (0..keys).map(|index| read_u64(page, keys_at + 8 * index)).collect();
    Some(Branch { children: children?, separators: separators? })
}

pub(super) fn checksum(bytes: &[u8]) -> u128 {
    XxHash3_128::oneshot(bytes)
}

fn read_page_ref(bytes: &[u8], at: usize) -> Option<PageRef> {
    Some(PageRef { number: read_u64(bytes, at)?, checksum: read_u128(bytes, at + 8)? })
}

pub(super) fn read_u32(bytes: &[u8], at: usize) -> Option<usize> {
    let number = bytes.get(at..)?.first_chunk()?;
    usize::try_from(u32::from_le_bytes(*number)).ok()
}

pub(super) fn read_u64(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..)?.first_chunk().map(|number| u64::from_le_bytes(*number))
}

pub(super) fn read_u128(bytes: &[u8], at: usize) -> Option<u128> {
    bytes.get(at..)?.first_chunk().map(|number| u128::from_le_bytes(*number))
}
