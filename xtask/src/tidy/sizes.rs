//! Finds functions and files that are too long to read at once.

use super::source::{SourceFile, TidyFinding, rust_files};

const CHECK: &str = "sizes";
pub(super) const FUNCTION_LINES_MAX: usize = 70;
pub(super) const FILE_LINES_MAX: usize = 600;

/// Finds the functions and Rust files above the limits. Tests count too.
pub(super) fn check(files: &[SourceFile]) -> Vec<TidyFinding> {
    let mut findings = Vec::new();
    for (file, rust) in rust_files(files) {
        for function in rust.functions().filter(|function| function.lines > FUNCTION_LINES_MAX) {
            let message = format!(
                "function `{}` has {} lines, more than {FUNCTION_LINES_MAX}: split it by what it does",
                function.name, function.lines
            );
            findings.push(TidyFinding::at(CHECK, file, function.line, message));
        }
        let lines = file.text.lines().count();
        if lines > FILE_LINES_MAX {
            let message =
                format!("{lines} lines, more than {FILE_LINES_MAX}: split the file by idea");
            findings.push(TidyFinding::at(CHECK, file, lines, message));
        }
    }
    findings
}
