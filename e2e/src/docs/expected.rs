//! Whether an output is the expected one. `...` alone in a line stands for any lines, also none.

use crate::blur::Blur;
use anyhow::Context;
use regex::Regex;

/// What is different from one run to the next, besides what [`Blur`] knows.
const PATTERNS: [(&str, &str); 7] = [
    (r"127\.0\.0\.1:\d+", "127.0.0.1:PORT"),
    // Jobs are named after their slots, in minutes or seconds.
    (r"-\d{8,10}\b", "-SLOT"),
    (r"\b[A-Z][a-z]{2} [A-Z][a-z]{2} +\d+ \d\d:\d\d:\d\d [A-Z]+ \d{4}\b", "TIME"),
    (r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?[+-]\d\d:\d\d", "TIME"),
    (r"\b[A-Z][a-z]{2} \d{4}-\d\d-\d\d \d\d:\d\d:\d\d [+-]\d\d:\d\d", "TIME"),
    (r"\b[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d [+-]\d{4}", "TIME"),
    // How wide a column is depends on what is in it.
    (r" {2,}", "  "),
];

/// How far away something is, at the end of a line of `punctual next` and others.
const DISTANCE: &str = r" +(?:\d+[dhms] ?)+(?: ?ago)?$";

/// What is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rigour {
    /// Every letter, but for how far away something is.
    Letters,
    /// Not what is different from one run to the next.
    Sense,
}

/// Makes outputs comparable.
pub(super) struct Comparison {
    blur: Blur,
    patterns: Vec<(Regex, &'static str)>,
    distance: Regex,
}

impl Comparison {
    /// `words` of this run stand for others in the documentation.
    pub(super) fn new(words: Vec<(String, &'static str)>) -> anyhow::Result<Comparison> {
        let compile = |pattern| Regex::new(pattern).with_context(|| format!("pattern {pattern}"));
        let patterns = PATTERNS.iter().map(|(from, to)| Ok((compile(from)?, *to)));
        let patterns = patterns.collect::<anyhow::Result<_>>()?;
        Ok(Comparison { blur: Blur::new(words)?, patterns, distance: compile(DISTANCE)? })
    }

    /// Whether an output has the expected lines.
    pub(super) fn matches(&self, rigour: Rigour, expected: &[String], output: &str) -> bool {
        let blurred = |line: &str| {
            let line = self.distance.replace(line.trim_end(), " AWAY");
            match rigour {
                Rigour::Letters => line.into_owned(),
                Rigour::Sense => self.blurred(&line),
            }
        };
        let expected: Vec<String> = expected.iter().map(|line| blurred(line)).collect();
        let output: Vec<String> = output.lines().map(blurred).collect();
        same(&expected, &output)
    }

    fn blurred(&self, line: &str) -> String {
        let line = self.blur.apply(line);
        let replaced = self
            .patterns
            .iter()
            .fold(line, |line, (pattern, to)| pattern.replace_all(&line, *to).into_owned());
        replaced.trim_end().to_owned()
    }
}

/// Whether the lines are the same, but for empty ones at the end.
fn same(expected: &[String], output: &[String]) -> bool {
    let Some((first, rest)) = expected.split_first() else {
        return output.iter().all(String::is_empty);
    };
    if first == "..." {
        return (0..=output.len())
            .any(|skipped| output.get(skipped..).is_some_and(|output| same(rest, output)));
    }
    output.split_first().is_some_and(|(line, output)| line == first && same(rest, output))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches_by(rigour: Rigour, expected: &str, output: &str) -> bool {
        let words = vec![("/tmp/x/home".to_owned(), "/home/you")];
        let expected: Vec<String> = expected.lines().map(str::to_owned).collect();
        Comparison::new(words).unwrap().matches(rigour, &expected, output)
    }

    fn matches(expected: &str, output: &str) -> bool {
        matches_by(Rigour::Sense, expected, output)
    }

    #[test]
    fn dots_stand_for_any_lines() {
        assert!(matches("a\n...\nd", "a\nb\nc\nd\n"));
        assert!(matches("a\n...\nb", "a\nb\n"));
        assert!(matches("...", ""));
        assert!(!matches("a\n...\nd", "a\nb\n"));
        assert!(!matches("a", "a\nb\n"));
        assert!(!matches("", "a\n"));
    }

    #[test]
    fn what_changes_with_every_run_is_not_compared() {
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

    #[test]
    fn to_the_letter_only_distances_may_differ() {
        let matches = |expected, output| matches_by(Rigour::Letters, expected, output);
        assert!(matches("2026-11-20T07:30:00Z  4d 14h", "2026-11-20T07:30:00Z  11d 2h ago\n"));
        assert!(!matches("2026-11-20T07:30:00Z  4d 14h", "2026-11-21T07:30:00Z  4d 14h\n"));
        assert!(!matches("hello-29454960", "hello-29454961\n"));
    }
}
