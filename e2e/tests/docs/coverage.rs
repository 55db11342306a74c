//! Checks that the documentation mentions all fields, events and metrics.
//!
//! The names are read from the sources, so that a new undocumented name is found.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, ensure};
use punctual_e2e::files::repository_root;
use regex::Regex;

/// The sources that define names, and the page that must mention them.
struct DocumentedNames {
    page: &'static str,
    /// Files or folders.
    sources: &'static [&'static str],
    /// A regular expression whose first group is a name.
    pattern: &'static str,
    /// Converts a name of the sources to its form in the documentation.
    convert: fn(&str) -> String,
}

const DOCUMENTED_NAMES: [DocumentedNames; 5] = [
    DocumentedNames {
        page: "docs/cronjobs.md",
        sources: &["crates/api/src/cronjob.rs"],
        pattern: r"(?m)^    pub ([a-z_]+): (?:String|Option|Vec|i64)",
        convert: camel_case,
    },
    DocumentedNames {
        page: "docs/cronjobs.md",
        sources: &["crates/engine/src/cronjob/reasons.rs"],
        pattern: r#"(?m)^    pub\(crate\) const \w+: &str = "(\w+)""#,
        convert: str::to_owned,
    },
    DocumentedNames {
        page: "docs/events.md",
        sources: &["crates/engine/src/cronjob/reasons.rs", "crates/engine/src/job/reasons.rs"],
        pattern: r#"(?m)^pub(?:\(crate\))? const \w+: &str = "(\w+)""#,
        convert: str::to_owned,
    },
    DocumentedNames {
        page: "docs/events.md",
        sources: &["crates/runner/src"],
        pattern: r#"(?:Note|PendingEvent)::(?:normal|warning)\(\s*"(\w+)""#,
        convert: str::to_owned,
    },
    DocumentedNames {
        page: "docs/metrics.md",
        sources: &[
            "crates/server/src/metrics.rs",
            "crates/server/src/metrics",
            "crates/controller/src/metrics.rs",
            "crates/controller/src/metrics",
        ],
        pattern: r#"(?:register|put)\(\s*"([a-z_]+)""#,
        convert: str::to_owned,
    },
];

/// The names that a page does not mention, by page.
pub(super) fn missing() -> anyhow::Result<Vec<(String, Vec<String>)>> {
    let root = repository_root();
    let mut pages = Vec::new();
    for names in &DOCUMENTED_NAMES {
        let page = fs::read_to_string(root.join(names.page)).context(names.page)?;
        let mut missing = names.find(&root)?;
        missing.retain(|name| !mentions(&page, name));
        if !missing.is_empty() {
            pages.push((names.page.to_owned(), missing));
        }
    }
    Ok(pages)
}

impl DocumentedNames {
    fn find(&self, root: &Path) -> anyhow::Result<Vec<String>> {
        let pattern = Regex::new(self.pattern).context("the pattern of names")?;
        let mut names = Vec::new();
        for source in self.sources {
            for text in texts(&root.join(source))? {
                let found = pattern.captures_iter(&text).filter_map(|found| found.get(1));
                names.extend(found.map(|name| (self.convert)(name.as_str())));
            }
        }
        // The pattern must not pass because the sources changed and it matches nothing.
        ensure!(!names.is_empty(), "no names for {} found in {:?}", self.page, self.sources);
        names.sort();
        names.dedup();
        Ok(names)
    }
}

/// The texts of a file or of all files below a folder; none if neither exists.
pub(super) fn texts(path: &Path) -> anyhow::Result<Vec<String>> {
    if path.is_file() {
        return Ok(vec![fs::read_to_string(path)?]);
    }
    let Ok(entries) = fs::read_dir(path) else { return Ok(Vec::new()) };
    let paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    let mut all = Vec::new();
    for path in paths {
        all.extend(texts(&path)?);
    }
    Ok(all)
}

/// Whether inline code of a page contains a name, possibly with a suffix of OpenMetrics.
fn mentions(page: &str, name: &str) -> bool {
    let mut codes = page.split('`').skip(1).step_by(2);
    codes.any(|code| code.split(|c: char| !is_word_char(c)).any(|word| is_same(word, name)))
}

fn is_word_char(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn is_same(word: &str, name: &str) -> bool {
    let rest = word.strip_prefix(name);
    rest.is_some_and(|rest| ["", "_total", "_info"].contains(&rest))
}

pub(super) fn camel_case(name: &str) -> String {
    let mut words = name.split('_');
    let first = words.next().unwrap_or_default().to_owned();
    words.fold(first, |name, word| {
        let (initial, rest) = word.split_at_checked(1).unwrap_or((word, ""));
        name + &initial.to_uppercase() + rest
    })
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn only_whole_names_in_inline_code_are_mentions() {
        let page = "The `spec.timeZone` and `runs_total`, but not jitter.";
        for (name, want) in
            [("timeZone", true), ("runs", true), ("jitter", false), ("time", false), ("run", false)]
        {
            assert_eq!(mentions(page, name), want, "{name}");
        }
    }

    pub(crate) fn fields_are_converted_to_camel_case() {
        assert_eq!(camel_case("starting_deadline_seconds"), "startingDeadlineSeconds");
        assert_eq!(camel_case("jitter"), "jitter");
    }

    pub(crate) fn every_pattern_finds_names() {
        for names in &DOCUMENTED_NAMES {
            assert!(names.find(&repository_root()).unwrap().len() > 3, "{:?}", names.sources);
        }
    }
}
