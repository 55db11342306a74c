//! Renders the report by crate: sizes and numbers of findings.

use std::{cmp::Reverse, collections::BTreeSet, fmt::Write as _};

use super::{
    banned_words, check_sources, forbidden_code, line_saving_idioms, sizes,
    source::{SourceFile, TidyFinding},
    string_errors, type_names,
};

/// The name of the last row.
const TOTAL: &str = "total";

/// The files and findings of one part of the repository (a crate or a top-level folder), or of all.
struct ReportRow<'a> {
    name: &'a str,
    files: Vec<&'a SourceFile>,
    findings: Vec<&'a TidyFinding>,
}

impl<'a> ReportRow<'a> {
    fn new(name: &'a str, files: &'a [SourceFile], findings: &'a [TidyFinding]) -> ReportRow<'a> {
        let is_included = |crate_name: &str| name == TOTAL || crate_name == name;
        ReportRow {
            name,
            files: files.iter().filter(|file| is_included(file.crate_name())).collect(),
            findings: findings.iter().filter(|finding| is_included(&finding.crate_name)).collect(),
        }
    }
}

/// Renders all tables as Markdown.
pub(super) fn render(files: &[SourceFile]) -> String {
    let findings = check_sources(files);
    let parts: BTreeSet<&str> = files.iter().map(SourceFile::crate_name).collect();
    let names = parts.into_iter().chain([TOTAL]);
    let rows: Vec<_> = names.map(|name| ReportRow::new(name, files, &findings)).collect();
    let mut text = wording_table(&rows);
    text.push('\n');
    text.push_str(&size_table(&rows));
    let mut common: Vec<_> = type_names::names_defined_too_often(files).into_iter().collect();
    common.sort_by_key(|(_, places)| Reverse(places.len()));
    let names: Vec<_> =
        common.iter().map(|(name, places)| format!("{name} {}", places.len())).collect();
    let _ = writeln!(text, "\ntype names defined more than twice: {}", names.len());
    if !names.is_empty() {
        let _ = writeln!(text, "{}", names.join(", "));
    }
    text
}

fn wording_table(rows: &[ReportRow<'_>]) -> String {
    let mut text = String::from(
        "| part | comment lines | banned words per 1,000 | banned words in strings | in documents | in identifiers | line-saving idioms | `has(Bug` | functions with `Result<_, String>` | of them visible |\n|---|---|---|---|---|---|---|---|---|---|\n",
    );
    for row in rows {
        let count = |check| row.findings.iter().filter(|finding| finding.check == check).count();
        let rust = || row.files.iter().filter_map(|file| file.rust.as_ref());
        let comments = rust().flat_map(|rust| rust.comments.lines());
        let comment_lines = comments.filter(|line| !line.trim().is_empty()).count();
        let per_thousand =
            count(banned_words::IN_COMMENTS) as f64 * 1000.0 / comment_lines.max(1) as f64;
        let _ = writeln!(
            text,
            "| {} | {comment_lines} | {per_thousand:.1} | {} | {} | {} | {} | {} | {} | {} |",
            row.name,
            count(banned_words::IN_STRINGS),
            count(banned_words::IN_DOCUMENTS),
            count(banned_words::IN_IDENTIFIERS),
            count(line_saving_idioms::CHECK),
            count(forbidden_code::BUG_SWITCHES),
            rust().flat_map(string_errors::signatures).count(),
            count(string_errors::CHECK),
        );
    }
    text
}

fn size_table(rows: &[ReportRow<'_>]) -> String {
    let mut text = String::from(
        "| part | source lines | test lines | functions | median | p90 | p99 | max | over 70 | files | median | max | over 600 |\n|---|---|---|---|---|---|---|---|---|---|---|---|---|\n",
    );
    for row in rows {
        let files: Vec<_> =
            row.files.iter().filter_map(|file| Some((file, file.rust.as_ref()?))).collect();
        if files.is_empty() {
            continue;
        }
        let functions = files.iter().flat_map(|(_, rust)| rust.functions());
        let functions = sorted(functions.map(|function| function.lines));
        let file_lines = sorted(files.iter().map(|(file, _)| file.text.lines().count()));
        let source_lines: usize = files.iter().map(|(_, rust)| rust.shipped_lines).sum();
        let test_lines = file_lines.iter().sum::<usize>() - source_lines;
        let above = |sizes: &[usize], limit| sizes.iter().filter(|size| **size > limit).count();
        let _ = writeln!(
            text,
            "| {} | {source_lines} | {test_lines} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} |",
            row.name,
            functions.len(),
            percentile(&functions, 50),
            percentile(&functions, 90),
            percentile(&functions, 99),
            percentile(&functions, 100),
            above(&functions, sizes::FUNCTION_LINES_MAX),
            file_lines.len(),
            percentile(&file_lines, 50),
            percentile(&file_lines, 100),
            above(&file_lines, sizes::FILE_LINES_MAX),
        );
    }
    text
}

fn sorted(sizes: impl Iterator<Item = usize>) -> Vec<usize> {
    let mut sizes: Vec<usize> = sizes.collect();
    sizes.sort_unstable();
    sizes
}

/// The percentile of sorted sizes; 0 without sizes.
pub(super) fn percentile(sorted: &[usize], percent: usize) -> usize {
    let last = sorted.last().copied().unwrap_or_default();
    sorted.get(sorted.len() * percent / 100).copied().unwrap_or(last)
}
