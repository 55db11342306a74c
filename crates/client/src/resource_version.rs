//! Compares resource versions: which of two versions of an object is newer.

/// Whether a version is newer than the cached one.
pub fn is_newer(version: &str, cached: &str) -> bool {
    version != cached && !is_older(version, cached)
}

/// Whether a version is older than another.
///
/// Kubernetes guarantees since v1.35 that resource versions are growing integers, as they always were
/// in practice. A version that is not an integer is never older, so the last object received wins.
pub fn is_older(version: &str, than: &str) -> bool {
    let number = |text: &str| text.parse::<u64>();
    matches!((number(version), number(than)), (Ok(version), Ok(than)) if version < than)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_as_integers_and_others_are_never_older() {
        assert!(is_older("9", "10"));
        assert!(!is_older("10", "9"));
        assert!(!is_older("10", "10"));
        assert!(!is_older("a", "b") && !is_older("b", "a"));
    }
}
