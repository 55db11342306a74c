//! For tests: compares the differences between our schema tables and Kubernetes' definitions with
//! the list of intended ones.

use std::collections::BTreeSet;

/// Intended differences that have the same reason.
pub(crate) struct IntendedDifferences {
    pub(crate) reason: &'static str,
    pub(crate) differences: &'static [&'static str],
}

/// Panics if a difference is not intended, or if an intended difference no longer exists.
#[track_caller]
pub(crate) fn check_differences(found: BTreeSet<String>, intended: &[IntendedDifferences]) {
    let mut problems = Vec::new();
    let mut listed = BTreeSet::new();
    for group in intended {
        for difference in group.differences {
            listed.insert(*difference);
            if !found.contains(*difference) {
                problems.push(format!("no longer differs ({}): {difference}", group.reason));
            }
        }
    }
    let unlisted = found.iter().filter(|difference| !listed.contains(difference.as_str()));
    problems.extend(unlisted.map(|difference| format!("differs: {difference}")));
    assert!(problems.is_empty(), "\n{}", problems.join("\n"));
}
