//! Sets of indexes in the format of the Job status: `0,2-5`.
//!
//! The set stores ranges, so its size depends on the number of gaps, not of indexes.

use std::fmt;

/// A set of indexes.
///
/// ```
/// use punctual_engine::job::Indexes;
/// let some = Indexes::parse("0,2-4,9", 10);
/// assert_eq!((some.len(), some.contains(3), some.contains(1)), (5, true, false));
/// assert_eq!(some.with([1]).to_string(), "0-4,9");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Indexes {
    /// First and last index of each range, ascending, with a gap between any two ranges.
    ranges: Vec<(u32, u32)>,
}

impl Indexes {
    /// Parses a set. Ignores invalid ranges and indexes that are not below `limit`: the text may be
    /// from a status of the time when the Job had more completions.
    pub fn parse(text: &str, limit: u32) -> Self {
        let Some(last_max) = limit.checked_sub(1) else { return Indexes::default() };
        let parsed = text.split(',').filter_map(parse_range);
        let inside = parsed.filter(|(first, _)| *first < limit);
        Indexes::from_ranges(inside.map(|(first, last)| (first, last.min(last_max))).collect())
    }

    fn from_ranges(mut ranges: Vec<(u32, u32)>) -> Self {
        ranges.sort_unstable();
        let mut merged: Vec<(u32, u32)> = Vec::with_capacity(ranges.len());
        for (first, last) in ranges {
            match merged.last_mut() {
                Some(before) if first <= before.1.saturating_add(1) => {
                    before.1 = before.1.max(last)
                }
                _ => merged.push((first, last)),
            }
        }
        Indexes { ranges: merged }
    }

    /// Returns the set with further indexes.
    pub fn with(&self, indexes: impl IntoIterator<Item = u32>) -> Self {
        let singles = indexes.into_iter().map(|index| (index, index));
        Indexes::from_ranges(self.ranges.iter().copied().chain(singles).collect())
    }

    /// Returns the union of two sets.
    pub fn union(&self, other: &Indexes) -> Self {
        Indexes::from_ranges(self.ranges.iter().chain(&other.ranges).copied().collect())
    }

    /// Returns the number of indexes that are in both sets.
    pub fn intersection_len(&self, other: &Indexes) -> u64 {
        let shared = |a: &(u32, u32), b: &(u32, u32)| {
            let first = a.0.max(b.0);
            let last = a.1.min(b.1);
            if first <= last { u64::from(last - first) + 1 } else { 0 }
        };
        let mut mine = self.ranges.iter().peekable();
        let mut theirs = other.ranges.iter().peekable();
        let mut count = 0;
        while let (Some(a), Some(b)) = (mine.peek(), theirs.peek()) {
            count += shared(a, b);
            if a.1 <= b.1 {
                mine.next()
            } else {
                theirs.next()
            };
        }
        count
    }

    /// Whether the set contains an index.
    pub fn contains(&self, index: u32) -> bool {
        let at = self.ranges.partition_point(|(_, last)| *last < index);
        self.ranges.get(at).is_some_and(|(first, _)| *first <= index)
    }

    /// The number of indexes.
    pub fn len(&self) -> u64 {
        self.ranges.iter().map(|(first, last)| u64::from(last - first) + 1).sum()
    }

    /// Whether the set is empty.
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Returns the lowest indexes below `limit` that are not in the set, at most `count`.
    pub fn missing(&self, limit: u32, count: usize) -> Vec<u32> {
        let starts = std::iter::once(0).chain(self.ranges.iter().map(|range| range.1 + 1));
        let ends = self.ranges.iter().map(|range| range.0).chain([limit]);
        let gaps = starts.zip(ends).map(|(start, end)| start..end.min(limit));
        gaps.flatten().take(count).collect()
    }
}

/// Parses `3` or `3-7`.
fn parse_range(text: &str) -> Option<(u32, u32)> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let first = parse_index(first)?;
    let last = parse_index(last)?;
    (first <= last).then_some((first, last))
}

/// Parses an index. Kubernetes limits it to `i32::MAX`, so adding 1 cannot overflow a `u32`.
fn parse_index(text: &str) -> Option<u32> {
    text.parse::<i32>().ok().and_then(|index| u32::try_from(index).ok())
}

impl fmt::Display for Indexes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, (first, last)) in self.ranges.iter().enumerate() {
            let comma = if at == 0 { "" } else { "," };
            match last - first {
                0 => write!(f, "{comma}{first}")?,
                // Like Kubernetes, write two adjacent indexes separately.
                1 => write!(f, "{comma}{first},{last}")?,
                _ => write!(f, "{comma}{first}-{last}")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn display_is_the_canonical_form_of_any_input() {
        for (text, limit, written) in [
            ("", 5, ""),
            ("0", 5, "0"),
            ("0,1", 5, "0,1"),
            ("0-1", 5, "0,1"),
            ("0-2", 5, "0-2"),
            ("0,2,4", 5, "0,2,4"),
            ("1-3,4,6", 9, "1-4,6"),
            ("4,1-3", 9, "1-4"),
            ("1-5,2-3", 9, "1-5"),
            ("0-9", 5, "0-4"),
            ("3,7-9", 5, "3"),
            ("3", 0, ""),
            ("2147483647", u32::MAX, "2147483647"),
        ] {
            assert_eq!(Indexes::parse(text, limit).to_string(), written, "{text} below {limit}");
        }
    }

    #[test]
    fn parse_ignores_invalid_ranges() {
        for text in ["x,1", "1,-2", "1,4-2", "1,3-x", ",1,", "1,99999999999", "1, 2", "1,2-3-4"] {
            assert_eq!(Indexes::parse(text, 9).to_string(), "1", "{text}");
        }
    }

    #[test]
    fn missing_returns_the_lowest_indexes_first() {
        for (text, limit, count, missing) in [
            ("", 3, 9, &[0, 1, 2][..]),
            ("", 3, 2, &[0, 1]),
            ("0-2", 3, 9, &[]),
            ("1,3", 6, 9, &[0, 2, 4, 5]),
            ("0,1,5", 9, 3, &[2, 3, 4]),
            ("1", 0, 9, &[]),
        ] {
            assert_eq!(Indexes::parse(text, 9).missing(limit, count), missing, "{text}");
        }
    }

    #[test]
    fn operations_agree_with_bit_sets() {
        let members = |bits: u32| (0..8).filter(move |bit| bits >> bit & 1 == 1);
        let set = |bits: u32| Indexes::default().with(members(bits));
        for a in 0..256_u32 {
            assert_eq!(set(a).len(), u64::from(a.count_ones()));
            assert_eq!(Indexes::parse(&set(a).to_string(), 8), set(a));
            assert!((0..8).all(|index| set(a).contains(index) == (a >> index & 1 == 1)));
            assert_eq!(set(a).missing(8, 8), members(!a).collect::<Vec<_>>());
            for b in 0..256_u32 {
                assert_eq!(set(a).union(&set(b)), set(a | b));
                assert_eq!(set(a).intersection_len(&set(b)), u64::from((a & b).count_ones()));
            }
        }
    }
}
