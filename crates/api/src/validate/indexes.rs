//! Sets of indexes as text, such as `0,2-5` (as `validateIndexesFormat`).

/// The indexes of such a text as ranges, ascending, or what is wrong with it in Kubernetes' words.
pub(super) fn parse(text: &str, completions: i32) -> Result<Vec<(i32, i32)>, String> {
    let mut ranges: Vec<(i32, i32)> = Vec::new();
    if text.is_empty() {
        return Ok(ranges);
    }
    for part in text.split(',') {
        let range = parse_range(part, completions)?;
        if let Some((_, previous)) = ranges.last().filter(|(_, last)| *last >= range.0) {
            let current = range.0;
            return Err(format!("non-increasing order, previous: {previous}, current: {current}"));
        }
        ranges.push(range);
    }
    Ok(ranges)
}

/// How many indexes there are.
pub(super) fn count(ranges: &[(i32, i32)]) -> i64 {
    ranges.iter().map(|(first, last)| i64::from(*last) - i64::from(*first) + 1).sum()
}

/// The first index that is in both sets.
pub(super) fn overlap(some: &[(i32, i32)], others: &[(i32, i32)]) -> Option<i32> {
    let (mut i, mut j) = (0, 0);
    while let (Some(a), Some(b)) = (some.get(i), others.get(j)) {
        if a.0 <= b.1 && b.0 <= a.1 {
            return Some(a.0.max(b.0));
        }
        if a.0 <= b.0 { i += 1 } else { j += 1 }
    }
    None
}

fn parse_range(part: &str, completions: i32) -> Result<(i32, i32), String> {
    let mut limits = part.split('-');
    let (first, last, more) = (limits.next(), limits.next(), limits.next());
    if more.is_some() {
        return Err(format!(
            "the fragment {part:?} violates the requirement that an index interval can have at \
             most two parts separated by '-'"
        ));
    }
    let first = parse_index(first.unwrap_or_default(), completions)?;
    let Some(last) = last else {
        return Ok((first, first));
    };
    let last = parse_index(last, completions)?;
    if first >= last {
        return Err(format!("non-increasing order, previous: {first}, current: {last}"));
    }
    Ok((first, last))
}

fn parse_index(text: &str, completions: i32) -> Result<i32, String> {
    let index: i64 = text
        .parse()
        .map_err(|_| format!("cannot convert string to integer for index: {text:?}"))?;
    let fits = i32::try_from(index).ok().filter(|index| *index < completions);
    fits.ok_or_else(|| format!("too large index: {text:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indexes_are_read_or_refused_in_kubernetes_words() {
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
                (Err(got), Err(want)) => assert!(got.starts_with(want), "{text}: {got}"),
                (got, want) => panic!("{text}: {got:?}, want {want:?}"),
            }
        }
    }

    #[test]
    fn an_overlap_is_found_at_its_first_index() {
        let ranges = |text| parse(text, 100).unwrap();
        assert_eq!(overlap(&ranges("0,2-5"), &ranges("1,6")), None);
        assert_eq!(overlap(&ranges("0,2-5"), &ranges("1,4-9")), Some(4));
        assert_eq!(overlap(&ranges(""), &ranges("1")), None);
    }
}
