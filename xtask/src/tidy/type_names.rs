//! Finds type names with too many definitions.

use std::collections::BTreeMap;

use super::source::{SourceFile, TidyFinding, rust_files};

const CHECK: &str = "type-names";
/// The number of definitions that one name may have in the repository.
const DEFINITIONS_MAX: usize = 2;

/// Finds every definition of a name that has too many.
pub(super) fn check(files: &[SourceFile]) -> Vec<TidyFinding> {
    let mut findings = Vec::new();
    for (name, places) in names_defined_too_often(files) {
        let count = places.len();
        for (file, line) in places {
            let message = format!(
                "type `{name}` is defined {count} times, at most {DEFINITIONS_MAX} are allowed: give it a specific name"
            );
            findings.push(TidyFinding::at(CHECK, file, line, message));
        }
    }
    findings
}

/// The names with too many definitions, and where each is defined.
pub(super) fn names_defined_too_often(
    files: &[SourceFile],
) -> BTreeMap<&str, Vec<(&SourceFile, usize)>> {
    let mut definitions: BTreeMap<&str, Vec<_>> = BTreeMap::new();
    for (file, rust) in rust_files(files) {
        for item in rust.items.iter().filter(|item| item.keyword != "fn") {
            definitions.entry(&item.name).or_default().push((file, item.line));
        }
    }
    definitions.retain(|_, places| places.len() > DEFINITIONS_MAX);
    definitions
}
