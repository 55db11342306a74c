//! Makes the outputs of two runs comparable: what must differ between them is replaced by a word.

use anyhow::Context;
use regex::{Captures, Regex};

/// Patterns and what stands for them, in the order in which they are replaced.
const PATTERNS: [(&str, &str); 11] = [
    (r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b", "UID"),
    (r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z", "TIME"),
    (r"\b\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)? [+-]\d{4}(?: [A-Z]+)?", "TIME"),
    (r"\b[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d [+-]\d{4}", "TIME"),
    (r#"(?P<key>resourceVersion"?: ?")\d+""#, "${key}VERSION\""),
    // The letters of generated names have no vowels, so that they spell nothing.
    (r"-[bcdfghjklmnpqrstvwxz2456789]{5}\b", "-SUFFIX"),
    (r"\S*/(?P<side>LIVE|MERGED)-\d+/", "${side}/"),
    (r"\S*/kubectl-edit-\d+\.yaml", "EDITED"),
    (r"\.[0-9a-f]{16}\b", ".SUFFIX"),
    // Lines of client-go's log begin with a time and end their head with a process and a place.
    (r"(?m)^(?P<level>[IWE])\d{4} \d\d:\d\d:\d\d\.\d+ +\d+ \S+\]", "${level} LOG]"),
    // Said or not, by chance, when the time of a wait runs out while a watch is being opened.
    (r#"(?m)^E LOG\] "Failed to watch" err="context deadline exceeded".*\n"#, ""),
];

/// An age as kubectl prints it, to the end of its column.
const AGE: &str = r"(?m)\b(?P<age>(?:\d+[ydhms])+)(?P<gap> +|$)";

/// What makes texts comparable.
#[derive(Debug)]
pub struct Blur {
    age: Regex,
    patterns: Vec<(Regex, &'static str)>,
    words: Vec<(String, &'static str)>,
}

impl Blur {
    /// Replaces what changes with every run, and before it the given words of this run.
    pub fn new(words: Vec<(String, &'static str)>) -> anyhow::Result<Self> {
        let compile = |pattern| Regex::new(pattern).with_context(|| format!("pattern {pattern}"));
        let patterns = PATTERNS.iter().map(|(from, to)| Ok((compile(from)?, *to)));
        Ok(Blur { age: compile(AGE)?, patterns: patterns.collect::<anyhow::Result<_>>()?, words })
    }

    /// The text without what changes.
    pub fn apply(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for (word, to) in &self.words {
            text = text.replace(word, to);
        }
        for (pattern, to) in &self.patterns {
            text = pattern.replace_all(&text, *to).into_owned();
        }
        let text = self.age.replace_all(&text, keep_width);
        // kubectl fills the last column, too, and editors take that away.
        text.split_inclusive('\n').map(without_padding).collect()
    }
}

fn without_padding(line: &str) -> String {
    let end = if line.ends_with('\n') { "\n" } else { "" };
    format!("{}{end}", line.trim_end())
}

/// The columns after an age stay where they were.
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
        let words = vec![("https://127.0.0.1:6443".to_owned(), "SERVER")];
        assert_eq!(Blur::new(words).unwrap().apply(text), expected);
    }

    #[test]
    fn what_is_said_by_chance_is_left_out() {
        let log = "E1115 17:08:00.123456 42 reflector.go:205] \"Failed to watch\" ";
        let chance = format!("a\n{log}err=\"context deadline exceeded\" type=\"x\"\nb\n");
        check(&chance, "a\nb\n");
        check(&format!("{log}err=\"no\"\n"), "E LOG] \"Failed to watch\" err=\"no\"\n");
    }

    #[test]
    fn identity_and_time_are_blurred() {
        check("uid: 7e83dc18-680a-41e9-a3cf-00163e2e09c7", "uid: UID");
        check("resourceVersion: \"64\"\n", "resourceVersion: \"VERSION\"\n");
        check("\"resourceVersion\": \"64\",", "\"resourceVersion\": \"VERSION\",");
        check("at 2026-01-02T03:04:05Z, 2026-01-02T03:04:05.123456Z", "at TIME, TIME");
        check("Sat, 03 Jan 2026 03:04:05 +0000", "TIME");
        check("run-x2b4z and run-order", "run-SUFFIX and run-order");
        check("at https://127.0.0.1:6443/x", "at SERVER/x");
    }

    #[test]
    fn ages_keep_the_columns_in_place() {
        check("a   5s    <none>\nb   12s   <none>", "a   AGE   <none>\nb   AGE   <none>");
        check("a   5s", "a   AGE");
        check("schedule 0 5 * * *", "schedule 0 5 * * *");
    }

    #[test]
    fn lines_end_without_spaces() {
        check("a  \n\n  b \n", "a\n\n  b\n");
    }

    #[test]
    fn the_files_of_a_diff_have_no_numbers() {
        check(
            "--- /tmp/LIVE-12/batch.v1.CronJob.a.b\t2026-01-02 03:04:05.1 +0000",
            "--- LIVE/batch.v1.CronJob.a.b\tTIME",
        );
    }
}
