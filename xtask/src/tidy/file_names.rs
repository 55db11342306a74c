//! Finds files whose names mean nothing, and open tasks without an issue.

use super::source::{SourceFile, TidyFinding, rust_files};

const CHECK: &str = "file-names";
const MEANINGLESS: [&str; 5] = ["utils", "util", "helpers", "common", "misc"];
pub(super) const OPEN_TASKS: [&str; 2] = [concat!("TO", "DO"), concat!("FIX", "ME")];

/// Finds Rust files to rename and open tasks to file as issues.
pub(super) fn check(files: &[SourceFile]) -> Vec<TidyFinding> {
    let mut findings = Vec::new();
    for (file, _) in rust_files(files) {
        let mut segments = file.path.trim_end_matches(".rs").split('/');
        if let Some(name) = segments.find(|segment| MEANINGLESS.contains(segment)) {
            let message = format!("`{name}` says nothing: name the file after its content");
            findings.push(TidyFinding::at(CHECK, file, 1, message));
        }
        let is_open = |line: &str| OPEN_TASKS.iter().any(|mark| line.contains(mark));
        let lines = (1..).zip(file.text.lines());
        for (line, _) in lines.filter(|(_, text)| is_open(text) && !text.contains('#')) {
            let message = "open task without an issue: name the issue as #1";
            findings.push(TidyFinding::at(CHECK, file, line, message));
        }
    }
    findings
}
