//! The allowed values of enumerated text types, for the schemas of OpenAPI documents.
//!
//! `enums.txt` has a type and its values in every line. A type with many values has several lines,
//! and `~` marks a value of Punctual. Types with arbitrary values are not listed.

/// Returns the values of a type in alphabetical order; empty if all texts are allowed. Values that
/// Kubernetes does not have, such as `CatchUp`, are returned if `includes_punctual_values`.
pub(super) fn allowed_values(alias: &str, includes_punctual_values: bool) -> Vec<&'static str> {
    let lines = include_str!("enums.txt").lines().filter_map(|line| line.split_once(' '));
    lines
        .filter(|(name, _)| *name == alias)
        .flat_map(|(_, values)| values.split_whitespace())
        .filter_map(|value| match value.strip_prefix('~') {
            Some(extension) => includes_punctual_values.then_some(extension),
            None if value == "\"\"" => Some(""),
            None => Some(value),
        })
        .collect()
}
