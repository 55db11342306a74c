//! `Result<_, String>` in signatures: callers cannot match on such an error.

use std::ops::Range;

use super::{
    finding::TidyFinding,
    items::RustItems,
    source::{RustSource, SourceFile, rust_files},
};

pub(super) const CHECK: &str = "string-errors";

/// Finds visible functions and type aliases outside tests that return `Result<_, String>`.
pub(super) fn check(files: &[SourceFile]) -> Vec<TidyFinding> {
    rust_files(files)
        .flat_map(|(file, rust)| {
            let signatures = signatures(rust).filter(|signature| signature.is_visible);
            signatures.map(|signature| {
                let message = format!(
                    "`{}` has a `Result<_, String>`: use an error type that implements `Error`",
                    signature.name
                );
                TidyFinding::at(CHECK, file, signature.line, message)
            })
        })
        .collect()
}

/// A signature with `Result<_, String>`.
pub(super) struct StringErrorSignature<'a> {
    pub(super) name: &'a str,
    pub(super) line: usize,
    pub(super) is_visible: bool,
}

/// All signatures outside tests with `Result<_, String>`.
pub(super) fn signatures(rust: &RustSource) -> impl Iterator<Item = StringErrorSignature<'_>> {
    let items = &rust.items;
    let functions = items.functions.iter().map(|f| (&f.name, f.line, f.is_visible, &f.signature));
    let types = items.types.iter().map(|t| (&t.name, t.line, t.is_visible, &t.signature));
    functions
        .chain(types)
        .filter(|(_, line, _, signature)| {
            rust.is_shipped(*line) && has_string_error(items, signature)
        })
        .map(|(name, line, is_visible, _)| StringErrorSignature { name, line, is_visible })
}

fn has_string_error(items: &RustItems, signature: &Range<usize>) -> bool {
    let tokens = items.texts(signature);
    let starts = tokens.windows(2).enumerate().filter(|(_, pair)| *pair == ["Result", "<"]);
    starts.map(|(at, _)| at + 1).any(|start| {
        let inner = tokens.get(start..).unwrap_or_default();
        last_of_several_arguments(inner) == ["String"]
    })
}

/// The last of the generic arguments that begin with a `<`; empty if there is only one.
fn last_of_several_arguments<'a, 'b>(tokens: &'b [&'a str]) -> &'b [&'a str] {
    let mut depth = 0_usize;
    let mut start = None;
    for (at, token) in tokens.iter().enumerate() {
        match *token {
            "<" | "(" | "[" => depth += 1,
            ">" | ")" | "]" => depth = depth.saturating_sub(1),
            "," if depth == 1 => start = Some(at + 1),
            _ => {}
        }
        if depth == 0 {
            return start.and_then(|start| tokens.get(start..at)).unwrap_or_default();
        }
    }
    &[]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> usize {
        check(&[SourceFile::new("crates/a/src/x.rs", text)]).len()
    }

    #[test]
    fn visible_signatures_are_found() {
        assert_eq!(found("pub fn f() -> Result<Vec<(u8, u8)>, String> {\n}\n"), 1);
        assert_eq!(found("pub(crate) fn f() -> Option<Result<(), String>>;\n"), 1);
        assert_eq!(found("pub trait T {\n    fn f() -> Result<(), String>;\n}\n"), 1);
        assert_eq!(found("pub type R = Result<(), String>;\n"), 1);
    }

    #[test]
    fn private_functions_tests_and_other_errors_are_allowed() {
        assert_eq!(found("fn f() -> Result<(), String> {\n}\n"), 0);
        assert_eq!(found("pub fn f() -> Result<String, Error> {\n}\n"), 0);
        assert_eq!(found("pub fn f() -> anyhow::Result<String> {\n}\n"), 0);
        assert_eq!(found("pub fn f() -> Result<HashMap<u8, String>, E> {\n}\n"), 0);
        let tests = "#[cfg(test)]\nmod tests {\n    pub fn f() -> Result<(), String> {}\n}\n";
        assert_eq!(found(tests), 0);
    }
}
