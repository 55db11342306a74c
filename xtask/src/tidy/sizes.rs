//! Functions and files that are too long to read at once.

use super::{
    finding::TidyFinding,
    source::{RustSource, SourceFile, rust_files},
};

pub(super) const CHECK: &str = "sizes";
pub(super) const FUNCTION_LINES_MAX: usize = 70;
pub(super) const FILE_LINES_MAX: usize = 600;

/// Finds the functions and Rust files above the limits. Tests count too.
pub(super) fn check(files: &[SourceFile]) -> Vec<TidyFinding> {
    rust_files(files).flat_map(|(file, rust)| check_file(file, rust)).collect()
}

fn check_file(file: &SourceFile, rust: &RustSource) -> Vec<TidyFinding> {
    let long = rust.items.functions.iter().filter(|function| function.lines > FUNCTION_LINES_MAX);
    let mut findings: Vec<_> = long
        .map(|function| {
            let message = format!(
                "function `{}` has {} lines, more than {FUNCTION_LINES_MAX}: split it by what it does",
                function.name, function.lines
            );
            TidyFinding::at(CHECK, file, function.line, message)
        })
        .collect();
    let lines = file.text.lines().count();
    if lines > FILE_LINES_MAX {
        let message = format!("{lines} lines, more than {FILE_LINES_MAX}: split the file by idea");
        findings.push(TidyFinding::at(CHECK, file, lines, message));
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn function(lines: usize) -> String {
        format!("fn f() {{\n{}}}\n", "    a();\n".repeat(lines - 2))
    }

    #[test]
    fn a_function_above_the_limit_is_found() {
        let messages = |lines| {
            let file = SourceFile::new("crates/a/tests/x.rs", &function(lines));
            check(&[file]).len()
        };
        assert_eq!(messages(FUNCTION_LINES_MAX), 0);
        assert_eq!(messages(FUNCTION_LINES_MAX + 1), 1);
    }

    #[test]
    fn a_file_above_the_limit_is_found() {
        let file = |lines| SourceFile::new("crates/a/src/x.rs", &"a();\n".repeat(lines));
        assert!(check(&[file(FILE_LINES_MAX)]).is_empty());
        assert_eq!(check(&[file(FILE_LINES_MAX + 1)]).len(), 1);
        let text = SourceFile::new("docs/x.md", &"a\n".repeat(FILE_LINES_MAX + 1));
        assert!(check(&[text]).is_empty());
    }
}
