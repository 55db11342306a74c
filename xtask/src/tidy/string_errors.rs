//! Finds `Result<_, String>` in signatures and types: callers cannot match on such an error.

use super::{
    rust_source::{RustItem, RustSource, TokenList},
    source::{SourceFile, TidyFinding, rust_files},
};

pub(super) const CHECK: &str = "string-errors";

/// Finds visible functions and types outside tests that have a `Result<_, String>`.
pub(super) fn check(files: &[SourceFile]) -> Vec<TidyFinding> {
    let mut findings = Vec::new();
    for (file, rust) in rust_files(files) {
        for item in signatures(rust).filter(|item| item.is_visible) {
            let message = format!(
                "`{}` has a `Result<_, String>`: use an error type that implements `Error`",
                item.name
            );
            findings.push(TidyFinding::at(CHECK, file, item.line, message));
        }
    }
    findings
}

/// All items outside tests whose signature has a `Result<_, String>`.
pub(super) fn signatures(rust: &RustSource) -> impl Iterator<Item = &RustItem> {
    let shipped = rust.items.iter().filter(|item| item.line <= rust.shipped_lines);
    shipped.filter(|item| has_string_error(&item.signature))
}

/// Whether a `Result` of these tokens, or of a group among them, ends with `, String>`.
fn has_string_error(list: &TokenList) -> bool {
    let tokens: Vec<(usize, &str)> = list.with_angle_depth().collect();
    let results = (0..tokens.len()).filter_map(|at| tokens.get(at..)).filter(|rest| {
        let [(depth, "Result"), (_, "<"), arguments @ ..] = rest else {
            return false;
        };
        let inside = arguments.iter().take_while(|(around, _)| around > depth);
        let inside: Vec<&(usize, &str)> = inside.collect();
        matches!(inside.as_slice(), [.., (comma, ","), (_, "String")] if *comma == depth + 1)
    });
    results.count() > 0
        || (0..tokens.len()).filter_map(|at| list.group(at)).any(|group| has_string_error(&group))
}
