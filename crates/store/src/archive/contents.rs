//! The pairs of an archive in memory, for backups and repairs of a file that no process uses.

/// The pairs of an archive in the order of their keys. All bytes are in one allocation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ArchiveContents {
    bytes: Vec<u8>,
    /// Where the key and the value of each pair end.
    ends: Vec<(usize, usize)>,
}

impl ArchiveContents {
    /// The number of pairs.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are no pairs.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Returns the pairs in the order of their keys.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        (0..self.ends.len()).map(|index| self.pair(index))
    }

    /// Appends a pair. Its key must follow those of the other pairs.
    pub(crate) fn push(&mut self, key: &[u8], value: &[u8]) {
        self.bytes.extend_from_slice(key);
        let key_end = self.bytes.len();
        self.bytes.extend_from_slice(value);
        self.ends.push((key_end, self.bytes.len()));
    }

    /// Returns the first pair with a key after `after`.
    pub(crate) fn next_after(&self, after: &[u8]) -> Option<(&[u8], &[u8])> {
        let mut low = 0;
        let mut high = self.len();
        while low < high {
            let middle = usize::midpoint(low, high);
            if self.pair(middle).0 <= after {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        (low < self.len()).then(|| self.pair(low))
    }

    /// Returns a pair; empty bytes after the last one.
    fn pair(&self, index: usize) -> (&[u8], &[u8]) {
        let end_of = |index: usize| self.ends.get(index).copied().unwrap_or_default();
        let start = index.checked_sub(1).map_or(0, |before| end_of(before).1);
        let (key_end, end) = end_of(index);
        let key = self.bytes.get(start..key_end).unwrap_or_default();
        (key, self.bytes.get(key_end..end).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_found_by_the_key_before_them() {
        let mut contents = ArchiveContents::default();
        assert_eq!(contents.next_after(b""), None);
        for key in ["a", "c", "cc"] {
            contents.push(key.as_bytes(), b"v");
        }
        let next = |after: &str| contents.next_after(after.as_bytes()).map(|(key, _)| key.to_vec());
        assert_eq!(next(""), Some(b"a".to_vec()));
        assert_eq!(next("a"), Some(b"c".to_vec()));
        assert_eq!(next("b"), Some(b"c".to_vec()));
        assert_eq!(next("c"), Some(b"cc".to_vec()));
        assert_eq!(next("cc"), None);
        assert_eq!(contents.iter().count(), 3);
    }
}
