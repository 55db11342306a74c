//! Which of two versions of an object is older.

/// Whether a version says something that the one that is held does not.
pub(crate) fn is_newer(version: &str, held: &str) -> bool {
    version != held && !is_older(version, held)
}

/// Whether a version is from before another.
///
/// To clients versions used to be opaque; Kubernetes promises since v1.35 that they are numbers that
/// grow, as they always were. Of those that are not, none is older: then what comes last holds.
pub(crate) fn is_older(version: &str, than: &str) -> bool {
    let number = |text: &str| text.parse::<u64>();
    matches!((number(version), number(than)), (Ok(version), Ok(than)) if version < than)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_that_are_no_numbers_are_never_old() {
        assert!(is_older("9", "10"));
        assert!(!is_older("10", "9"));
        assert!(!is_older("10", "10"));
        assert!(!is_older("a", "b") && !is_older("b", "a"));
    }
}
