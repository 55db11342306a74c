//! Whether the documentation says something of everything there is: fields, events, metrics.
//!
//! The names are read out of the sources, so that a new one without a word about it is found.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, ensure};
use regex::Regex;

/// Where names are defined, and which page must have them.
struct Names {
    page: &'static str,
    /// Files, or folders of them.
    sources: &'static [&'static str],
    /// Its first group is a name.
    pattern: &'static str,
    /// How a name in the sources is written in the documentation.
    shown: fn(&str) -> String,
}

const ALL: [Names; 5] = [
    Names {
        page: "docs/cronjobs.md",
        sources: &["crates/api/src/cronjob.rs"],
        pattern: r"(?m)^    pub ([a-z_]+): (?:String|Option|Vec|i64)",
        shown: camel_case,
    },
    Names {
        page: "docs/cronjobs.md",
        sources: &["crates/engine/src/cronjob/reasons.rs"],
        pattern: r#"(?m)^    pub\(crate\) const \w+: &str = "(\w+)""#,
        shown: str::to_owned,
    },
    Names {
        page: "docs/events.md",
        sources: &["crates/engine/src/cronjob/reasons.rs", "crates/engine/src/job/reasons.rs"],
        pattern: r#"(?m)^pub(?:\(crate\))? const \w+: &str = "(\w+)""#,
        shown: str::to_owned,
    },
    Names {
        page: "docs/events.md",
        sources: &["crates/runner/src"],
        pattern: r#"Note::(?:normal|warning)\(\s*"(\w+)""#,
        shown: str::to_owned,
    },
    Names {
        page: "docs/metrics.md",
        sources: &[
            "crates/server/src/metrics.rs",
            "crates/server/src/metrics",
            "crates/controller/src/metrics.rs",
            "crates/controller/src/metrics",
        ],
        pattern: r#"(?:register|put)\(\s*"([a-z_]+)""#,
        shown: str::to_owned,
    },
];

/// What pages do not mention: the page, and the names.
pub(super) fn missing(project: &Path) -> anyhow::Result<Vec<(String, Vec<String>)>> {
    let mut faults = Vec::new();
    for names in &ALL {
        let page = read(project, names.page)?;
        let mut missing = names.find(project)?;
        missing.retain(|name| !mentions(&page, name));
        if !missing.is_empty() {
            faults.push((names.page.to_owned(), missing));
        }
    }
    Ok(faults)
}

impl Names {
    fn find(&self, project: &Path) -> anyhow::Result<Vec<String>> {
        let pattern = Regex::new(self.pattern).context("a pattern of names")?;
        let mut names = Vec::new();
        for source in self.sources {
            for text in texts(&project.join(source))? {
                let found = pattern.captures_iter(&text).filter_map(|found| found.get(1));
                names.extend(found.map(|name| (self.shown)(name.as_str())));
            }
        }
        // Sources that were rewritten must not pass because nothing is found in them.
        ensure!(!names.is_empty(), "there are no names for {} in {:?}", self.page, self.sources);
        names.sort();
        names.dedup();
        Ok(names)
    }
}

/// The text of a file, or of every file below a folder; none where there is neither.
fn texts(path: &Path) -> anyhow::Result<Vec<String>> {
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

fn read(project: &Path, path: &str) -> anyhow::Result<String> {
    fs::read_to_string(project.join(path)).with_context(|| path.to_owned())
}

/// Whether a page has a name as code: alone or as a part, or with what OpenMetrics puts behind it.
fn mentions(page: &str, name: &str) -> bool {
    let mut codes = page.split('`').skip(1).step_by(2);
    codes.any(|code| code.split(|c: char| !is_part_of_name(c)).any(|word| is_same(word, name)))
}

fn is_part_of_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn is_same(word: &str, name: &str) -> bool {
    let rest = word.strip_prefix(name);
    rest.is_some_and(|rest| ["", "_total", "_info"].contains(&rest))
}

fn camel_case(name: &str) -> String {
    let mut words = name.split('_');
    let first = words.next().unwrap_or_default().to_owned();
    words.fold(first, |name, word| {
        let (initial, rest) = word.split_at_checked(1).unwrap_or((word, ""));
        name + &initial.to_uppercase() + rest
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_mentioned_as_code_and_whole() {
        let page = "The `spec.timeZone` and `runs_total`, but not jitter.";
        for (name, want) in
            [("timeZone", true), ("runs", true), ("jitter", false), ("time", false), ("run", false)]
        {
            assert_eq!(mentions(page, name), want, "{name}");
        }
    }

    #[test]
    fn fields_are_written_as_users_write_them() {
        assert_eq!(camel_case("starting_deadline_seconds"), "startingDeadlineSeconds");
        assert_eq!(camel_case("jitter"), "jitter");
    }

    #[test]
    fn the_sources_have_names() {
        let project = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        for names in &ALL {
            assert!(names.find(&project).unwrap().len() > 3, "{:?}", names.sources);
        }
    }
}
