//! The values that fields of a named text type can have.
//!
//! The facts are in `enums.txt`, a type and its values in every line; a type with many has several
//! lines, and `~` marks a value of ours. Types whose values are open are not in it.

/// The values of a type, in alphabetical order; none if it can be any text.
pub(super) fn of(alias: &str, has_ours: bool) -> Vec<&'static str> {
    let lines = include_str!("enums.txt").lines().filter_map(|line| line.split_once(' '));
    lines
        .filter(|(name, _)| *name == alias)
        .flat_map(|(_, values)| values.split_whitespace())
        .filter_map(|value| match value.strip_prefix('~') {
            Some(ours) => has_ours.then_some(ours),
            None if value == "\"\"" => Some(""),
            None => Some(value),
        })
        .collect()
}
