//! Normalizes the outputs of two runs: placeholders replace values that differ in every run.

use anyhow::Context;
use regex::{Captures, Regex};

/// Patterns and their placeholders, in the order of replacement.
const PATTERNS: [(&str, &str); 11] = [
    (r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b", "UID"),
    (r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z", "TIME"),
    (r"\b\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)? [+-]\d{4}(?: [A-Z]+)?", "TIME"),
    (r"\b[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d [+-]\d{4}", "TIME"),
    (r#"(?P<key>resourceVersion"?: ?")\d+""#, "${key}VERSION\""),
    // Kubernetes uses only these characters in generated names.
    (r"-[bcdfghjklmnpqrstvwxz2456789]{5}\b", "-SUFFIX"),
    (r"\S*/(?P<side>LIVE|MERGED)-\d+/", "${side}/"),
    (r"\S*/kubectl-edit-\d+\.yaml", "EDITED"),
    (r"\.[0-9a-f]{16}\b", ".SUFFIX"),
    // client-go's log lines begin with a time, a process ID and a source location.
    (r"(?m)^(?P<level>[IWE])\d{4} \d\d:\d\d:\d\d\.\d+ +\d+ \S+\]", "${level} LOG]"),
    // kubectl prints this only if a wait ends while a watch is being opened.
    (r#"(?m)^E LOG\] "Failed to watch" err=".*context (?:canceled|deadline exceeded)".*\n"#, ""),
];

/// An age as kubectl prints it, with the spaces to the next column.
const AGE: &str = r"(?m)\b(?P<age>(?:\d+[ydhms])+)(?P<gap> +|$)";

/// Replaces values that differ in every run.
#[derive(Debug)]
pub struct OutputNormalizer {
    age: Regex,
    patterns: Vec<(Regex, &'static str)>,
    replacements: Vec<(String, &'static str)>,
}

impl OutputNormalizer {
    /// Replaces the given texts of this run first, then all patterns.
    pub fn new(replacements: Vec<(String, &'static str)>) -> anyhow::Result<Self> {
        let compile = |pattern| Regex::new(pattern).with_context(|| format!("pattern {pattern}"));
        let patterns = PATTERNS.iter().map(|(from, to)| Ok((compile(from)?, *to)));
        Ok(OutputNormalizer {
            age: compile(AGE)?,
            patterns: patterns.collect::<anyhow::Result<_>>()?,
            replacements,
        })
    }

    /// The normalized text.
    pub fn normalize(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for (word, to) in &self.replacements {
            text = text.replace(word, to);
        }
        for (pattern, to) in &self.patterns {
            text = pattern.replace_all(&text, *to).into_owned();
        }
        let text = self.age.replace_all(&text, keep_width);
        // kubectl pads the last column, and editors strip trailing spaces.
        text.split_inclusive('\n').map(without_padding).collect()
    }
}

fn without_padding(line: &str) -> String {
    let end = if line.ends_with('\n') { "\n" } else { "" };
    format!("{}{end}", line.trim_end())
}

/// Pads the placeholder so that the next column does not move.
fn keep_width(found: &Captures<'_>) -> String {
    let part = |name| found.name(name).map_or(0, |part| part.as_str().len());
    match part("gap") {
        0 => "AGE".to_owned(),
        gap => format!("{:width$}", "AGE", width = part("age") + gap),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        let replacements = vec![("https://127.0.0.1:6443".to_owned(), "SERVER")];
        assert_eq!(OutputNormalizer::new(replacements).unwrap().normalize(text), expected);
    }

    #[test]
    fn a_log_line_that_depends_on_timing_is_removed() {
        let log = "E1115 17:08:00.123456 42 reflector.go:205] \"Failed to watch\" ";
        let chance = format!("a\n{log}err=\"context deadline exceeded\" type=\"x\"\nb\n");
        check(&chance, "a\nb\n");
        let canceled = format!("a\n{log}err=\"Get \\\"u\\\": context canceled\" type=\"x\"\nb\n");
        check(&canceled, "a\nb\n");
        check(&format!("{log}err=\"no\"\n"), "E LOG] \"Failed to watch\" err=\"no\"\n");
    }

    #[test]
    fn uids_versions_times_and_names_are_replaced() {
        check("uid: 7e83dc18-680a-41e9-a3cf-00163e2e09c7", "uid: UID");
        check("resourceVersion: \"64\"\n", "resourceVersion: \"VERSION\"\n");
        check("\"resourceVersion\": \"64\",", "\"resourceVersion\": \"VERSION\",");
        check("at 2026-01-02T03:04:05Z, 2026-01-02T03:04:05.123456Z", "at TIME, TIME");
        check("Sat, 03 Jan 2026 03:04:05 +0000", "TIME");
        check("run-x2b4z and run-order", "run-SUFFIX and run-order");
        check("at https://127.0.0.1:6443/x", "at SERVER/x");
    }

    #[test]
    fn columns_after_an_age_do_not_move() {
        check("a   5s    <none>\nb   12s   <none>", "a   AGE   <none>\nb   AGE   <none>");
        check("a   5s", "a   AGE");
        check("schedule 0 5 * * *", "schedule 0 5 * * *");
    }

    #[test]
    fn trailing_spaces_are_removed() {
        check("a  \n\n  b \n", "a\n\n  b\n");
    }

    #[test]
    fn temporary_folders_of_a_diff_are_replaced() {
        check(
            "--- /tmp/LIVE-12/batch.v1.CronJob.a.b\t2026-01-02 03:04:05.1 +0000",
            "--- LIVE/batch.v1.CronJob.a.b\tTIME",
        );
    }
}
