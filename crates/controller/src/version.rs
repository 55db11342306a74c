//! Which of two versions of an object is older.

/// Whether a version is from before another.
///
/// To clients versions used to be opaque; Kubernetes promises since v1.35 that they are numbers that
/// grow, as they always were. Of those that are not, none is older: then what comes last holds.
pub(crate) fn is_older(version: &str, than: &str) -> bool {
    let number = |text: &str| text.parse::<u64>();
    matches!((number(version), number(than)), (Ok(version), Ok(than)) if version < than)
}
