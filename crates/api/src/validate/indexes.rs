//! Parses sets of indexes such as `0,2-5` (like `validateIndexesFormat`).

/// The reason why a text is not a set of indexes, with Kubernetes' message.
#[derive(Debug, thiserror::Error)]
pub(super) enum ParseIndexesError {
    #[error("non-increasing order, previous: {previous}, current: {current}")]
    NonIncreasing { previous: i32, current: i32 },
    #[error(
        "the fragment {0:?} violates the requirement that an index interval can have at most two \
         parts separated by '-'"
    )]
    TooManyParts(String),
    #[error("cannot convert string to integer for index: {0:?}")]
    NotInteger(String),
    #[error("too large index: {0:?}")]
    TooLarge(String),
}

/// Parses the indexes as ascending ranges.
pub(super) fn parse(text: &str, completions: i32) -> Result<Vec<(i32, i32)>, ParseIndexesError> {
    let mut ranges: Vec<(i32, i32)> = Vec::new();
    if text.is_empty() {
        return Ok(ranges);
    }
    for part in text.split(',') {
        let range = parse_range(part, completions)?;
        if let Some((_, previous)) = ranges.last().filter(|(_, last)| *last >= range.0) {
            let previous = *previous;
            return Err(ParseIndexesError::NonIncreasing { previous, current: range.0 });
        }
        ranges.push(range);
    }
    Ok(ranges)
}

/// Returns the number of indexes.
pub(super) fn count(ranges: &[(i32, i32)]) -> i64 {
    ranges.iter().map(|(first, last)| i64::from(*last) - i64::from(*first) + 1).sum()
}

/// Returns the first index that is in both sets.
pub(super) fn find_overlap(some: &[(i32, i32)], others: &[(i32, i32)]) -> Option<i32> {
    let mut i = 0;
    let mut j = 0;
    while let (Some(a), Some(b)) = (some.get(i), others.get(j)) {
        if a.0 <= b.1 && b.0 <= a.1 {
            return Some(a.0.max(b.0));
        }
        if a.0 <= b.0 { i += 1 } else { j += 1 }
    }
    None
}

fn parse_range(part: &str, completions: i32) -> Result<(i32, i32), ParseIndexesError> {
    let mut limits = part.split('-');
    let first = limits.next();
    let last = limits.next();
    let more = limits.next();
    if more.is_some() {
        return Err(ParseIndexesError::TooManyParts(part.to_owned()));
    }
    let first = parse_index(first.unwrap_or_default(), completions)?;
    let Some(last) = last else {
        return Ok((first, first));
    };
    let last = parse_index(last, completions)?;
    if first >= last {
        return Err(ParseIndexesError::NonIncreasing { previous: first, current: last });
    }
    Ok((first, last))
}

fn parse_index(text: &str, completions: i32) -> Result<i32, ParseIndexesError> {
    let index: i64 = text.parse().map_err(|_| ParseIndexesError::NotInteger(text.to_owned()))?;
    let fits = i32::try_from(index).ok().filter(|index| *index < completions);
    fits.ok_or_else(|| ParseIndexesError::TooLarge(text.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn malformed_indexes_are_rejected_with_the_messages_of_kubernetes() {
        for (text, want) in [
            ("", Ok(0)),
            ("0", Ok(1)),
            ("0,2-5", Ok(5)),
            ("3,1", Err("non-increasing order, previous: 3, current: 1")),
            ("2-2", Err("non-increasing order, previous: 2, current: 2")),
            ("x", Err("cannot convert string to integer for index: \"x\"")),
            ("9", Err("too large index: \"9\"")),
            ("1-2-3", Err("the fragment \"1-2-3\" violates")),
        ] {
            match (parse(text, 9), want) {
                (Ok(ranges), Ok(want)) => assert_eq!(count(&ranges), want, "{text}"),
                (Err(got), Err(want)) => {
                    assert!(got.to_string().starts_with(want), "{text}: {got}");
                }
                (got, want) => panic!("{text}: {got:?}, want {want:?}"),
            }
        }
    }

    #[test]
    fn find_overlap_returns_the_first_common_index() {
        let ranges = |text| parse(text, 100).unwrap();
        assert_eq!(find_overlap(&ranges("0,2-5"), &ranges("1,6")), None);
        assert_eq!(find_overlap(&ranges("0,2-5"), &ranges("1,4-9")), Some(4));
        assert_eq!(find_overlap(&ranges(""), &ranges("1")), None);
    }
}
