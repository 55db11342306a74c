//! Checks `docs/design-documents.md`: every test, file, field, command, name and link exists, the
//! requirements are numbered without a gap, and the counts are right.

use std::{collections::HashMap, fs, path::PathBuf};

use anyhow::{Context, ensure};
use punctual_e2e::files::repository_root;
use regex::Regex;

use super::coverage::{camel_case, texts};

const PAGE: &str = "docs/design-documents.md";
const FIELDS: &str = "crates/api/src/cronjob.rs";
const COMMANDS: &str = "docs/commands.md";
/// The states of a requirement, in the order of the counts.
const STATES: [&str; 4] = ["met", "deviates", "not applicable", "open"];

/// A row of the page's tables.
struct Requirement<'a> {
    number: usize,
    state: &'a str,
    row: &'a str,
}

/// What a page can refer to.
pub(super) struct KnownNames {
    root: PathBuf,
    /// The sources of each crate that was asked for.
    sources: HashMap<String, Vec<String>>,
    fields: Vec<String>,
    commands: String,
    /// The other pages, whose names are compared with the program by other tests.
    other_pages: Vec<String>,
}

/// What is wrong with the page, one line each.
pub(super) fn problems() -> anyhow::Result<Vec<String>> {
    let page = fs::read_to_string(repository_root().join(PAGE)).context(PAGE)?;
    let mut names = KnownNames::read()?;
    let requirements = requirements(&page);
    // The check must not pass because the form of the tables changed.
    ensure!(requirements.len() > 100, "only {} requirements found", requirements.len());
    let mut problems = Vec::new();
    for (at, requirement) in requirements.iter().enumerate() {
        let Requirement { number, state, row } = requirement;
        if *number != at + 1 {
            problems.push(format!("no. {number} follows no. {at}"));
        }
        if !STATES.contains(state) {
            problems.push(format!("no. {number}: the state {state:?} is not one of {STATES:?}"));
        }
        for name in inline_codes(row) {
            if !names.contains(name)? {
                problems.push(format!("no. {number}: {name} does not exist"));
            }
        }
    }
    for target in link_targets(&page)? {
        if !names.has_link_target(&target) {
            problems.push(format!("the link {target} leads nowhere"));
        }
    }
    let counts = counts(&requirements);
    if !page.contains(&counts) {
        problems.push(format!("the counts are not\n{counts}"));
    }
    Ok(problems)
}

/// The rows that begin with a number and have five columns.
fn requirements(page: &str) -> Vec<Requirement<'_>> {
    let row = |row| {
        let columns: Vec<&str> = str::split(row, " | ").collect();
        let [number, _, _, state, _] = columns.as_slice() else { return None };
        let number = number.strip_prefix("| ")?.parse().ok()?;
        Some(Requirement { number, state, row })
    };
    page.lines().filter_map(row).collect()
}

fn counts(requirements: &[Requirement<'_>]) -> String {
    let mut text = String::from("| state | requirements |\n|---|---|\n");
    for state in STATES {
        let count = requirements.iter().filter(|requirement| requirement.state == state).count();
        text += &format!("| {state} | {count} |\n");
    }
    text + &format!("| all | {} |\n", requirements.len())
}

pub(super) fn inline_codes(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

fn link_targets(page: &str) -> anyhow::Result<Vec<String>> {
    let link = Regex::new(r"\]\(([^)]+)\)")?;
    Ok(link.captures_iter(page).map(|found| found[1].to_owned()).collect())
}

/// Whether a source defines the function with the attribute of a test.
fn defines_test(source: &str, function: &str) -> bool {
    let definition = format!("fn {function}(");
    source.match_indices(&definition).any(|(at, _)| {
        let lines = source.get(..at).unwrap_or_default().rsplit('\n');
        // The first is the line of the definition. Its attributes and comments precede it.
        let mut attributes = lines
            .skip(1)
            .map(str::trim)
            .take_while(|line| line.starts_with("#[") || line.starts_with("//"));
        attributes.any(|line| line == "#[test]" || line.starts_with("#[tokio::test"))
    })
}

/// The anchor of a heading, as Markdown viewers derive it.
fn anchor(heading: &str) -> String {
    let kept = heading.chars().filter(|c| c.is_alphanumeric() || [' ', '-', '_'].contains(c));
    kept.collect::<String>().trim().to_lowercase().replace(' ', "-")
}

impl KnownNames {
    pub(super) fn read() -> anyhow::Result<KnownNames> {
        let root = repository_root();
        let read = |path: &str| fs::read_to_string(root.join(path)).context(path.to_owned());
        let field = Regex::new(r"(?m)^    pub ([a-z_]+):")?;
        let source = read(FIELDS)?;
        let fields = field.captures_iter(&source).map(|found| camel_case(&found[1])).collect();
        let mut other_pages = Vec::new();
        for entry in fs::read_dir(root.join("docs"))? {
            let path = entry?.path();
            if path.is_file() && !path.ends_with(PAGE) {
                other_pages.push(fs::read_to_string(path)?);
            }
        }
        let commands = read(COMMANDS)?;
        Ok(KnownNames { sources: HashMap::new(), fields, commands, other_pages, root })
    }

    pub(super) fn contains(&mut self, name: &str) -> anyhow::Result<bool> {
        if let Some((krate, function)) = name.split_once("::") {
            return self.has_test(krate, function);
        }
        if let Some(command) = name.strip_prefix("punctual ") {
            return Ok(self.has_command(command));
        }
        if let Some(field) = name.strip_prefix("spec.").or_else(|| name.strip_prefix("status.")) {
            return Ok(self.fields.iter().any(|known| known == field));
        }
        let is_documented = |page: &String| inline_codes(page).any(|code| code.contains(name));
        Ok(self.root.join(name).exists() || self.other_pages.iter().any(is_documented))
    }

    /// Whether a file of the crate defines the function as a test.
    fn has_test(&mut self, krate: &str, function: &str) -> anyhow::Result<bool> {
        if !self.sources.contains_key(krate) {
            let sources = texts(&self.root.join("crates").join(krate))?;
            self.sources.insert(krate.to_owned(), sources);
        }
        let sources = self.sources.get(krate).map(Vec::as_slice).unwrap_or_default();
        Ok(sources.iter().any(|source| defines_test(source, function)))
    }

    /// Whether the command has all flags, such as `run --at`.
    fn has_command(&self, command: &str) -> bool {
        let mut words = command.split(' ');
        let title = format!("\n## `punctual {}`\n", words.next().unwrap_or_default());
        let Some((_, section)) = self.commands.split_once(&title) else { return false };
        let section = section.split("\n## ").next().unwrap_or_default();
        words.all(|flag| section.split([' ', '[', '=', '\n']).any(|word| word == flag))
    }

    /// Whether the file of a link exists and has the linked heading.
    fn has_link_target(&self, target: &str) -> bool {
        let (file, wanted) = target.split_once('#').unwrap_or((target, ""));
        let Ok(page) = fs::read_to_string(self.root.join("docs").join(file)) else { return false };
        let headings = page.lines().filter(|line| line.starts_with('#'));
        wanted.is_empty()
            || headings.map(|line| anchor(line.trim_start_matches('#'))).any(|name| name == wanted)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn missing_names_are_found() {
        let mut names = KnownNames::read().unwrap();
        for name in [
            "engine::no_such_test",
            "engine::build_job_manifest",
            "nothing::no_such_test",
            "punctual no-such-command",
            "punctual run --no-such-flag",
            "spec.noSuchField",
            "no/such/file.rs",
            "NoSuchEvent",
        ] {
            assert!(!names.contains(name).unwrap(), "{name}");
        }
        let test = "engine::allow_starts_a_slot_while_a_job_is_active";
        for name in [test, "punctual run --at", "spec.timeZone", "docs/README.md", "MissSchedule"] {
            assert!(names.contains(name).unwrap(), "{name}");
        }
        assert!(!names.has_link_target("events.md#no-such-heading"));
        assert!(names.has_link_target("cronjobs.md#the-jobs"));
    }

    pub(crate) fn only_functions_with_the_attribute_are_tests() {
        let source = "#[test]\n// Slow.\n#[ignore]\nfn first() {}\n\nfn second() {}\n\n    \
                      #[tokio::test]\n    async fn third() {}\n";
        for (name, is_test) in [("first", true), ("second", false), ("third", true)] {
            assert_eq!(defines_test(source, name), is_test, "{name}");
        }
    }

    pub(crate) fn requirements_are_the_numbered_rows() {
        let page = "| no. | a | b | c | d |\n| 7 | one | doc | met | where |\n| 8 | short |\n";
        let found = requirements(page);
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].number, found[0].state), (7, "met"));
        assert!(counts(&found).contains("| met | 1 |\n| deviates | 0 |\n"));
    }
}
