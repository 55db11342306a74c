//! The allowed values of enumerated text types.
//!
//! `enums.txt` has a type and its values in every line. A type with many values has several lines,
//! and `~` marks a value of Punctual. Types with arbitrary values are not listed.

/// Returns the values of a type in alphabetical order; empty if all texts are allowed.
pub(super) fn of(alias: &str, has_extensions: bool) -> Vec<&'static str> {
    let lines = include_str!("enums.txt").lines().filter_map(|line| line.split_once(' '));
    lines
        .filter(|(name, _)| *name == alias)
        .flat_map(|(_, values)| values.split_whitespace())
        .filter_map(|value| match value.strip_prefix('~') {
            Some(extension) => has_extensions.then_some(extension),
            None if value == "\"\"" => Some(""),
            None => Some(value),
        })
        .collect()
}
