//! Pure crates use no files, network, clock, environment, threads or random source.
//!
//! Clippy's `disallowed-methods` finds the clocks by type. This check finds names, and so everything
//! that a `use` could import.

use super::{crate_edges, finding::TidyFinding, source::SourceFile};

pub(super) const CHECK: &str = "purity";
const FORBIDDEN: [&str; 11] = [
    "std::fs",
    "std::net::Tcp",
    "std::net::Udp",
    "std::env",
    "std::io",
    "std::process",
    "std::thread",
    "SystemTime",
    "std::time::Instant",
    "::now()",
    "TimeZone::system",
];

/// Finds each forbidden name in shipped code of a pure crate.
pub(super) fn check(files: &[SourceFile]) -> Vec<TidyFinding> {
    let pure = files.iter().filter(|file| crate_edges::PURE.contains(&file.part()));
    pure.flat_map(check_file).collect()
}

fn check_file(file: &SourceFile) -> Vec<TidyFinding> {
    let Some(rust) = &file.rust else {
        return Vec::new();
    };
    let lines = rust.views.code.lines().take(rust.shipped_lines).enumerate();
    lines
        .flat_map(|(index, line)| {
            let found = FORBIDDEN.iter().filter(move |name| line.contains(**name));
            found.map(move |name| {
                let message = format!("`{name}` in a pure crate: pass the value as an argument");
                TidyFinding::at(CHECK, file, index + 1, message)
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_in_a_pure_crate_is_found() {
        let text = "// Timestamp::now() in a comment\nlet at = Timestamp::now();\n";
        let locations = |path| {
            let found = check(&[SourceFile::new(path, text)]);
            found.into_iter().map(|finding| finding.location).collect::<Vec<_>>()
        };
        assert_eq!(locations("crates/schedule/src/x.rs"), ["crates/schedule/src/x.rs:2"]);
        assert_eq!(locations("crates/cli/src/x.rs"), Vec::<String>::new());
    }
}
