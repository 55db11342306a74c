//! The report by crate: sizes and numbers of findings.

use std::{collections::BTreeMap, fmt::Write as _};

use super::{
    banned_words, bug_switches, identifiers, sizes,
    source::{RustSource, SourceFile},
    string_errors, tricks, type_names,
};

/// The numbers of one part of the repository.
#[derive(Default)]
struct PartCounts {
    source_lines: usize,
    test_lines: usize,
    comment_lines: usize,
    words_in_comments: usize,
    words_in_strings: usize,
    words_in_documents: usize,
    identifiers: usize,
    tricks: usize,
    bug_switches: usize,
    string_errors: usize,
    visible_string_errors: usize,
    function_lines: Vec<usize>,
    file_lines: Vec<usize>,
}

/// Renders all tables as Markdown.
pub(super) fn render(files: &[SourceFile]) -> String {
    let mut parts: BTreeMap<&str, PartCounts> = BTreeMap::new();
    let mut total = PartCounts::default();
    for file in files {
        parts.entry(file.part()).or_default().add(file);
        total.add(file);
    }
    let rows: Vec<(&str, &PartCounts)> =
        parts.iter().map(|(name, counts)| (*name, counts)).chain([("total", &total)]).collect();
    let mut text = language_table(&rows);
    text.push('\n');
    text.push_str(&size_table(&rows));
    let common = type_names::common_names(files);
    let names: Vec<String> = common.iter().map(|(name, count)| format!("{name} {count}")).collect();
    let _ = writeln!(text, "\ntype names defined more than twice: {}", names.len());
    if !names.is_empty() {
        let _ = writeln!(text, "{}", names.join(", "));
    }
    text
}

impl PartCounts {
    fn add(&mut self, file: &SourceFile) {
        let one = std::slice::from_ref(file);
        let Some(rust) = &file.rust else {
            self.words_in_documents += banned_words::check(one).len();
            return;
        };
        self.add_sizes(file, rust);
        let all_words = banned_words::check(one).len();
        let in_comments =
            if all_words == 0 { 0 } else { banned_words::find(&rust.views.comments).len() };
        self.words_in_comments += in_comments;
        self.words_in_strings += all_words - in_comments;
        self.identifiers += identifiers::check(one).len();
        self.tricks += tricks::check(one).len();
        self.bug_switches += bug_switches::check(one).len();
        self.string_errors += string_errors::signatures(rust).count();
        self.visible_string_errors += string_errors::check(one).len();
    }

    fn add_sizes(&mut self, file: &SourceFile, rust: &RustSource) {
        let lines = file.text.lines().count();
        self.source_lines += rust.shipped_lines;
        self.test_lines += lines - rust.shipped_lines;
        self.comment_lines +=
            rust.views.comments.lines().filter(|line| !line.trim().is_empty()).count();
        self.file_lines.push(lines);
        self.function_lines.extend(rust.items.functions.iter().map(|function| function.lines));
    }

    fn words_per_thousand(&self) -> f64 {
        match self.comment_lines {
            0 => 0.0,
            lines => self.words_in_comments as f64 * 1000.0 / lines as f64,
        }
    }
}

fn language_table(rows: &[(&str, &PartCounts)]) -> String {
    let mut text = String::from(
        "| part | comment lines | banned words per 1,000 | in strings | in documents | identifiers | tricks | `has(Bug` | `Result<_, String>` | visible |\n|---|---|---|---|---|---|---|---|---|---|\n",
    );
    for (name, counts) in rows {
        let _ = writeln!(
            text,
            "| {name} | {} | {:.1} | {} | {} | {} | {} | {} | {} | {} |",
            counts.comment_lines,
            counts.words_per_thousand(),
            counts.words_in_strings,
            counts.words_in_documents,
            counts.identifiers,
            counts.tricks,
            counts.bug_switches,
            counts.string_errors,
            counts.visible_string_errors,
        );
    }
    text
}

fn size_table(rows: &[(&str, &PartCounts)]) -> String {
    let mut text = String::from(
        "| part | source lines | test lines | functions | median | p90 | p99 | max | over 70 | files | median | max | over 600 |\n|---|---|---|---|---|---|---|---|---|---|---|---|---|\n",
    );
    for (name, counts) in rows.iter().filter(|(_, counts)| !counts.file_lines.is_empty()) {
        let functions = Distribution::of(&counts.function_lines, sizes::FUNCTION_LINES_MAX);
        let files = Distribution::of(&counts.file_lines, sizes::FILE_LINES_MAX);
        let Distribution { count, p50, p90, p99, max, above_limit } = functions;
        let _ = writeln!(
            text,
            "| {name} | {} | {} | {count} | {p50} | {p90} | {p99} | {max} | {above_limit} | {} | {} | {} | {} |",
            counts.source_lines,
            counts.test_lines,
            files.count,
            files.p50,
            files.max,
            files.above_limit,
        );
    }
    text
}

/// Percentiles of sizes.
#[derive(Debug, Default, PartialEq, Eq)]
struct Distribution {
    count: usize,
    p50: usize,
    p90: usize,
    p99: usize,
    max: usize,
    above_limit: usize,
}

impl Distribution {
    fn of(sizes: &[usize], limit: usize) -> Distribution {
        let mut sorted = sizes.to_vec();
        sorted.sort_unstable();
        let max = sorted.last().copied().unwrap_or_default();
        let at = |percent: usize| sorted.get(sorted.len() * percent / 100).copied().unwrap_or(max);
        let above_limit = sorted.iter().filter(|size| **size > limit).count();
        Distribution {
            count: sorted.len(),
            p50: at(50),
            p90: at(90),
            p99: at(99),
            max,
            above_limit,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_counts_words_lines_and_findings_of_its_part() {
        let word = banned_words::words().next().unwrap();
        let text = format!(
            "// {word}\nfn f() {{\n    a.filter(|_| b);\n}}\n\n#[cfg(test)]\nmod tests {{\n}}\n"
        );
        let files =
            [SourceFile::new("crates/a/src/x.rs", &text), SourceFile::new("docs/x.md", word)];
        let report = render(&files);
        assert!(report.contains("| a | 1 | 1000.0 | 0 | 0 | 0 | 1 | 0 | 0 | 0 |"), "{report}");
        assert!(report.contains("| docs | 0 | 0.0 | 0 | 1 | 0 | 0 | 0 | 0 | 0 |"), "{report}");
        assert!(
            report.contains("| a | 5 | 3 | 1 | 3 | 3 | 3 | 3 | 0 | 1 | 8 | 8 | 0 |"),
            "{report}"
        );
    }

    #[test]
    fn percentiles_are_of_the_sorted_sizes() {
        let sizes: Vec<usize> = (1..=100).rev().collect();
        let expected =
            Distribution { count: 100, p50: 51, p90: 91, p99: 100, max: 100, above_limit: 30 };
        assert_eq!(Distribution::of(&sizes, 70), expected);
        assert_eq!(Distribution::of(&[], 70), Distribution::default());
    }
}
