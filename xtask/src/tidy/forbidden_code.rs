//! Finds names that shipped code of some crates must not use.

use super::{
    crate_edges,
    source::{SourceFile, TidyFinding, rust_files},
};

pub(super) const PURITY: &str = "purity";
pub(super) const BUG_SWITCHES: &str = "bug-switches";

/// Files, network, clock, environment, threads and random sources. Clippy's `disallowed-methods` finds
/// the clocks by type; this finds everything that a `use` could import.
const IMPURE: [&str; 11] = [
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
/// Parts that apply, list or look for deliberate bugs.
const BUG_PARTS: [&str; 3] = ["mutations", "sim", "xtask"];

/// Finds impure names in pure crates, and switches of deliberate bugs in product crates.
pub(super) fn check(files: &[SourceFile]) -> Vec<TidyFinding> {
    let mut findings = Vec::new();
    for (file, rust) in rust_files(files) {
        let is_pure = crate_edges::PURE.contains(&file.crate_name());
        let is_product = !BUG_PARTS.contains(&file.crate_name());
        for (line, code) in rust.shipped_code() {
            for name in IMPURE.iter().filter(|name| is_pure && code.contains(**name)) {
                let message = format!("`{name}` in a pure crate: pass the value as an argument");
                findings.push(TidyFinding::at(PURITY, file, line, message));
            }
            if is_product && code.contains("has(Bug") {
                let message =
                    "deliberate bug in product code: move it to crates/mutations/catalogue";
                findings.push(TidyFinding::at(BUG_SWITCHES, file, line, message));
            }
        }
    }
    findings
}
