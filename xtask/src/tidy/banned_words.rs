//! Finds words that comments, messages and documentation must not use, and words that identifiers
//! must not contain.
//!
//! They hide who acts, or they are pictures in place of the conventional term.

use std::collections::HashSet;

use super::source::{SourceFile, TidyFinding};

pub(super) const IN_COMMENTS: &str = "banned-words-in-comments";
pub(super) const IN_STRINGS: &str = "banned-words-in-strings";
pub(super) const IN_DOCUMENTS: &str = "banned-words-in-documents";
pub(super) const IN_IDENTIFIERS: &str = "banned-words-in-identifiers";

/// The words, and what to write instead. This list is the only one.
pub(super) const BANNED: [(&str, &str); 17] = [
    ("whoever", NAME_THE_ACTOR),
    ("whomever", NAME_THE_ACTOR),
    ("nobody", NAME_THE_ACTOR),
    ("somebody", NAME_THE_ACTOR),
    ("give way", YIELD),
    ("gives way", YIELD),
    ("gave way", YIELD),
    ("given way", YIELD),
    ("giving way", YIELD),
    ("heed", APPLY),
    ("heeds", APPLY),
    ("heeded", APPLY),
    ("heeding", APPLY),
    ("unheeded", APPLY),
    ("leads no more", LEADERSHIP),
    ("lead no more", LEADERSHIP),
    ("led no more", LEADERSHIP),
];
const NAME_THE_ACTOR: &str = "name the component or person that acts";
const YIELD: &str = "write `yield` or `stop`, and name the component";
const APPLY: &str = "write `apply`, `handle` or `obey`";
const LEADERSHIP: &str = "write `lost leader election`";

/// Segments that no identifier may have, in addition to the banned words. In prose they are ordinary
/// English.
#[rustfmt::skip]
const BANNED_SEGMENTS: [&str; 36] = [
    // Metaphors.
    "weather", "echo", "echoes", "haste", "hand", "hands", "office", "tale", "tales", "crew",
    // Names that were replaced by the conventional term.
    "furnisher", "rival", "rivals", "bury", "buried", "census", "blueprint", "blueprints", "deed",
    "deeds", "doubtful", "strays", "standstill", "unmet", "hurting", "teller", "forgetful",
    "watchful", "disowned", "hurried", "rehearse", "complain", "complains", "diary", "troubles",
    "patience",
];

/// This file, in which the check would find its own words.
const OWN_FILE: &str = "xtask/src/tidy/banned_words.rs";
/// Files that may list the words in a line that begins with `Banned`.
const STYLE_GUIDES: [&str; 2] = ["STYLE.md", "CONTRIBUTING.md"];

/// Finds the words in comments, string literals and identifiers of Rust files, and anywhere in other
/// files.
pub(super) fn check(files: &[SourceFile]) -> Vec<TidyFinding> {
    files.iter().filter(|file| file.path != OWN_FILE).flat_map(check_file).collect()
}

fn check_file(file: &SourceFile) -> Vec<TidyFinding> {
    let Some(rust) = &file.rust else {
        let is_guide = STYLE_GUIDES.contains(&&*file.path);
        let text = if is_guide { without_list(&file.text) } else { file.text.clone() };
        return check_text(IN_DOCUMENTS, file, &text);
    };
    let mut findings = check_text(IN_COMMENTS, file, &rust.comments);
    findings.extend(check_text(IN_STRINGS, file, &rust.strings));
    findings.extend(check_identifiers(file));
    findings
}

/// Finds each banned word. A phrase may continue on the next line.
fn check_text(check: &'static str, file: &SourceFile, text: &str) -> Vec<TidyFinding> {
    let words = split_words(text);
    let starts = (0..words.len()).filter_map(|at| words.get(at..));
    starts
        .filter_map(|rest| {
            let (line, _) = rest.first()?;
            let (word, remedy) = BANNED.iter().find(|(banned, _)| begins_with(rest, banned))?;
            let message = format!("`{word}` is banned: {remedy}");
            Some(TidyFinding::at(check, file, *line, message))
        })
        .collect()
}

fn begins_with(words: &[(usize, String)], phrase: &str) -> bool {
    let mut rest = words.iter();
    phrase.split(' ').all(|wanted| rest.next().is_some_and(|(_, word)| word == wanted))
}

/// The words in lower case with their lines. Whitespace and marks of comments separate words; other
/// marks are words of their own, so that no phrase extends over the end of a sentence.
fn split_words(text: &str) -> Vec<(usize, String)> {
    let mut words = Vec::new();
    for (line, text) in (1..).zip(text.lines()) {
        let mut word = String::new();
        for char in text.chars().chain([' ']) {
            if char.is_alphanumeric() || char == '_' {
                word.extend(char.to_lowercase());
                continue;
            }
            if !word.is_empty() {
                words.push((line, std::mem::take(&mut word)));
            }
            if !char.is_whitespace() && !"/#*!>".contains(char) {
                words.push((line, char.to_string()));
            }
        }
    }
    words
}

/// Empties the lines that list the words.
fn without_list(text: &str) -> String {
    let lines = text.lines().map(|line| if line.starts_with("Banned") { "" } else { line });
    lines.collect::<Vec<_>>().join("\n")
}

/// Finds each identifier with a banned segment once.
fn check_identifiers(file: &SourceFile) -> Vec<TidyFinding> {
    let mut seen = HashSet::new();
    let mut findings = Vec::new();
    for list in file.rust.iter().flat_map(|rust| &rust.token_lists) {
        for (at, text) in list.texts.iter().enumerate() {
            if let Some(segment) = banned_segment(text)
                && seen.insert(text)
            {
                let message = format!(
                    "identifier `{text}` contains `{segment}`: use the conventional term for what it is"
                );
                findings.push(TidyFinding::at(IN_IDENTIFIERS, file, list.line(at), message));
            }
        }
    }
    findings
}

pub(super) fn banned_segment(identifier: &str) -> Option<&'static str> {
    let segments = segments(identifier);
    let banned = BANNED.iter().map(|(word, _)| *word);
    let mut banned = BANNED_SEGMENTS.into_iter().chain(banned);
    banned.find(|banned| segments.iter().any(|it| it == banned))
}

/// The segments of a `snake_case` or `CamelCase` identifier, in lower case.
fn segments(identifier: &str) -> Vec<String> {
    let mut segments = vec![String::new()];
    let mut was_lower = false;
    for char in identifier.chars() {
        if char == '_' || (char.is_uppercase() && was_lower) {
            segments.push(String::new());
        }
        if let Some(last) = segments.last_mut()
            && char != '_'
        {
            last.extend(char.to_lowercase());
        }
        was_lower = char.is_lowercase();
    }
    segments
}

#[cfg(test)]
mod tests {
    use super::{
        super::{
            check_sources,
            tests::{PRODUCT, file, found},
        },
        *,
    };

    #[test]
    fn words_are_found_in_comments_and_strings_but_not_in_code() {
        let text = "// Nobody waits.\nlet anybody = 1;\nwarn!(\"whoever\");\n// anybody_heed\n";
        let expected = [(IN_COMMENTS, 1), (IN_STRINGS, 3)];
        assert_eq!(found(PRODUCT, text), expected);
        let finding = check_sources(&[file(PRODUCT, "/// Heed.\n")]).remove(0).to_string();
        assert_eq!(
            finding,
            "crates/server/src/x.rs:1: `heed` is banned: write `apply`, `handle` or `obey` [banned-words-in-comments]"
        );
    }

    #[test]
    fn a_phrase_may_continue_on_the_next_line_but_not_in_the_next_sentence() {
        assert_eq!(found(PRODUCT, "// They give\n// way.\n"), [(IN_COMMENTS, 1)]);
        assert_eq!(found("x.md", "What we give. Way to go.\n"), []);
    }

    #[test]
    fn documentation_and_scripts_are_checked_and_style_guides_may_list_the_words() {
        for path in ["docs/a.md", "deploy/chart/values.yaml", "e2e/setup", "Cargo.toml"] {
            assert_eq!(found(path, "# leads no more\n"), [(IN_DOCUMENTS, 1)], "{path}");
        }
        assert_eq!(found("STYLE.md", "Banned: heed.\n"), []);
        assert_eq!(found("STYLE.md", "Heed this.\n").len(), 1);
        assert_eq!(found("README.md", "Banned: heed.\n").len(), 1);
    }
}
