//! Compares an output with the expected lines. A line `...` matches any number of lines.

use anyhow::Context;
use punctual_e2e::normalize::OutputNormalizer;
use regex::Regex;

/// Values that differ between runs, in addition to those of [`OutputNormalizer`].
const PATTERNS: [(&str, &str); 7] = [
    (r"127\.0\.0\.1:\d+", "127.0.0.1:PORT"),
    // Names of Jobs contain their slots, in minutes or seconds.
    (r"-\d{8,10}\b", "-SLOT"),
    (r"\b[A-Z][a-z]{2} [A-Z][a-z]{2} +\d+ \d\d:\d\d:\d\d [A-Z]+ \d{4}\b", "TIME"),
    (r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?[+-]\d\d:\d\d", "TIME"),
    (r"\b[A-Z][a-z]{2} \d{4}-\d\d-\d\d \d\d:\d\d:\d\d [+-]\d\d:\d\d", "TIME"),
    (r"\b[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d [+-]\d{4}", "TIME"),
    // The width of a column depends on its values.
    (r" {2,}", "  "),
];

/// A relative time at the end of a line, for example of `punctual next`.
const RELATIVE_TIME: &str = r" +(?:\d+[dhms] ?)+(?: ?ago)?$";

/// How exactly outputs are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Strictness {
    /// Everything.
    Exact,
    /// Everything except values that differ between runs.
    Normalized,
}

/// Compares outputs.
pub(super) struct OutputMatcher {
    normalizer: OutputNormalizer,
    patterns: Vec<(Regex, &'static str)>,
    relative_time: Regex,
}

impl OutputMatcher {
    /// `replacements` map texts of this run to those of the documentation.
    pub(super) fn new(replacements: Vec<(String, &'static str)>) -> anyhow::Result<OutputMatcher> {
        let compile = |pattern| Regex::new(pattern).with_context(|| format!("pattern {pattern}"));
        let patterns = PATTERNS.iter().map(|(from, to)| Ok((compile(from)?, *to)));
        let patterns = patterns.collect::<anyhow::Result<_>>()?;
        Ok(OutputMatcher {
            normalizer: OutputNormalizer::new(replacements)?,
            patterns,
            relative_time: compile(RELATIVE_TIME)?,
        })
    }

    /// Whether an output has the expected lines.
    pub(super) fn matches(
        &self,
        strictness: Strictness,
        expected: &[String],
        output: &str,
    ) -> bool {
        let comparable = |line: &str| match strictness {
            Strictness::Exact => line.trim_end().to_owned(),
            Strictness::Normalized => {
                self.normalize(&self.relative_time.replace(line.trim_end(), " AWAY"))
            }
        };
        let expected: Vec<String> = expected.iter().map(|line| comparable(line)).collect();
        let output: Vec<String> = output.lines().map(comparable).collect();
        has_same_lines(&expected, &output)
    }

    fn normalize(&self, line: &str) -> String {
        let line = self.normalizer.normalize(line);
        let replaced = self
            .patterns
            .iter()
            .fold(line, |line, (pattern, to)| pattern.replace_all(&line, *to).into_owned());
        replaced.trim_end().to_owned()
    }
}

/// Whether the lines are the same, except for empty lines at the end.
fn has_same_lines(expected: &[String], output: &[String]) -> bool {
    let Some((first, rest)) = expected.split_first() else {
        return output.iter().all(String::is_empty);
    };
    if first == "..." {
        return (0..=output.len()).any(|skipped| {
            output.get(skipped..).is_some_and(|output| has_same_lines(rest, output))
        });
    }
    output.split_first().is_some_and(|(line, output)| line == first && has_same_lines(rest, output))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    fn matches_with(strictness: Strictness, expected: &str, output: &str) -> bool {
        let replacements = vec![("/tmp/x/home".to_owned(), "/home/you")];
        let expected: Vec<String> = expected.lines().map(str::to_owned).collect();
        OutputMatcher::new(replacements).unwrap().matches(strictness, &expected, output)
    }

    fn matches(expected: &str, output: &str) -> bool {
        matches_with(Strictness::Normalized, expected, output)
    }

    pub(crate) fn dots_match_any_lines() {
        assert!(matches("a\n...\nd", "a\nb\nc\nd\n"));
        assert!(matches("a\n...\nb", "a\nb\n"));
        assert!(matches("...", ""));
        assert!(!matches("a\n...\nd", "a\nb\n"));
        assert!(!matches("a", "a\nb\n"));
        assert!(!matches("", "a\n"));
    }

    pub(crate) fn values_that_differ_between_runs_are_ignored() {
        assert!(matches("serving https://127.0.0.1:6443", "serving https://127.0.0.1:31234\n"));
        assert!(matches("hello-29454960   5s", "hello-30000001   12s\n"));
        assert!(matches("hello-29454960-x2b4z", "hello-29454961-bbbbb\n"));
        assert!(matches("kubeconfig /home/you/k", "kubeconfig /tmp/x/home/k\n"));
        assert!(matches("Sun Nov  1 12:00:00 UTC 2026", "Mon Nov 16 01:02:03 UTC 2026"));
        assert!(matches(
            "NAME   AGE\na      5s",
            "NAME                 AGE\na                    5s"
        ));
        assert!(!matches("hello-now", "hello-then"));
    }

    pub(crate) fn an_exact_comparison_ignores_nothing() {
        let matches = |expected, output| matches_with(Strictness::Exact, expected, output);
        assert!(matches("2026-11-20T07:30:00Z  4d 14h", "2026-11-20T07:30:00Z  4d 14h\n"));
        assert!(!matches("2026-11-20T07:30:00Z  4d 14h", "2026-11-20T07:30:00Z  4d 15h\n"));
        assert!(!matches("2026-11-20T07:30:00Z  4d 14h", "2026-11-21T07:30:00Z  4d 14h\n"));
        assert!(!matches("hello-29454960", "hello-29454961\n"));
    }
}
