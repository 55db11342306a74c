//! Type names that mean too many things.

use std::collections::BTreeMap;

use super::{
    finding::TidyFinding,
    source::{SourceFile, rust_files},
};

pub(super) const CHECK: &str = "type-names";
/// The number of definitions that one name may have in the repository.
const DEFINITIONS_MAX: usize = 2;

/// Finds every definition of a name that has too many.
pub(super) fn check(files: &[SourceFile]) -> Vec<TidyFinding> {
    let common = definitions(files).into_iter().filter(|(_, at)| at.len() > DEFINITIONS_MAX);
    common
        .flat_map(|(name, at)| {
            let count = at.len();
            at.into_iter().map(move |(file, line)| {
                let message = format!(
                    "type `{name}` is defined {count} times, at most {DEFINITIONS_MAX} are allowed: give it a specific name"
                );
                TidyFinding::at(CHECK, file, line, message)
            })
        })
        .collect()
}

/// The names with too many definitions, the most common first.
pub(super) fn common_names(files: &[SourceFile]) -> Vec<(&str, usize)> {
    let counts = definitions(files).into_iter().map(|(name, at)| (name, at.len()));
    let mut common: Vec<_> = counts.filter(|(_, count)| *count > DEFINITIONS_MAX).collect();
    common.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    common
}

fn definitions(files: &[SourceFile]) -> BTreeMap<&str, Vec<(&SourceFile, usize)>> {
    let mut definitions: BTreeMap<&str, Vec<_>> = BTreeMap::new();
    for (file, rust) in rust_files(files) {
        for item in &rust.items.types {
            definitions.entry(&item.name).or_default().push((file, item.line));
        }
    }
    definitions
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_third_definition_makes_all_three_a_finding() {
        let text = "struct Entry;\n";
        let files = ["crates/a/src/x.rs", "crates/a/tests/y.rs", "e2e/src/z.rs"]
            .map(|path| SourceFile::new(path, text));
        assert_eq!(check(&files).len(), 3);
        assert_eq!(common_names(&files), [("Entry", 3)]);
        assert!(check(&files[..2]).is_empty());
    }
}
