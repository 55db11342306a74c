//! Words that comments, messages and documentation must not use.
//!
//! They hide who acts, or they are pictures in place of the conventional term.

use super::{finding::TidyFinding, source::SourceFile};

pub(super) const CHECK: &str = "banned-words";

/// The words, and what to write instead. This list is the only one.
const BANNED: [(&str, &str); 17] = [
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

/// This list, which the check would find.
const OWN_FILE: &str = "xtask/src/tidy/banned_words.rs";
/// Files that may list the words in a line that begins with `Banned`.
const STYLE_GUIDES: [&str; 2] = ["STYLE.md", "CONTRIBUTING.md"];

/// All banned words and phrases.
pub(super) fn words() -> impl Iterator<Item = &'static str> {
    BANNED.iter().map(|(word, _)| *word)
}

/// Finds the words in comments and string literals of Rust files, and anywhere in other files.
pub(super) fn check(files: &[SourceFile]) -> Vec<TidyFinding> {
    files.iter().flat_map(check_file).collect()
}

fn check_file(file: &SourceFile) -> Vec<TidyFinding> {
    if file.path == OWN_FILE {
        return Vec::new();
    }
    let texts = match &file.rust {
        Some(rust) => vec![rust.views.comments.clone(), rust.views.strings.clone()],
        None if STYLE_GUIDES.contains(&file.path.as_str()) => vec![without_list(&file.text)],
        None => vec![file.text.clone()],
    };
    let found = texts.iter().flat_map(|text| find(text));
    found
        .map(|(line, word, remedy)| {
            TidyFinding::at(CHECK, file, line, format!("`{word}` is banned: {remedy}"))
        })
        .collect()
}

/// The line, word and remedy of each banned word. A phrase may continue on the next line.
pub(super) fn find(text: &str) -> Vec<(usize, &'static str, &'static str)> {
    let words = split_words(text);
    let starts = (0..words.len()).filter_map(|at| words.get(at..));
    starts
        .filter_map(|rest| {
            let (line, _) = rest.first()?;
            let (word, remedy) = BANNED.iter().find(|(banned, _)| begins_with(rest, banned))?;
            Some((*line, *word, *remedy))
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
    for (index, line) in text.lines().enumerate() {
        let mut word = String::new();
        for char in line.chars().chain([' ']) {
            if char.is_alphanumeric() || char == '_' {
                word.extend(char.to_lowercase());
                continue;
            }
            if !word.is_empty() {
                words.push((index + 1, std::mem::take(&mut word)));
            }
            if !char.is_whitespace() && !"/#*!>".contains(char) {
                words.push((index + 1, char.to_string()));
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

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, text: &str) -> Vec<String> {
        check(&[SourceFile::new(path, text)]).iter().map(TidyFinding::to_string).collect()
    }

    #[test]
    fn words_are_found_in_comments_and_strings_but_not_in_code() {
        let text = "// Nobody waits.\nlet nobody = 1;\nwarn!(\"whoever\");\n// anybody_heed\n";
        assert_eq!(
            found("crates/a/src/x.rs", text),
            [
                "crates/a/src/x.rs:1: `nobody` is banned: name the component or person that acts [banned-words]",
                "crates/a/src/x.rs:3: `whoever` is banned: name the component or person that acts [banned-words]",
            ]
        );
    }

    #[test]
    fn a_phrase_may_continue_on_the_next_line_but_not_in_the_next_sentence() {
        assert_eq!(found("x.rs", "// They give\n// way.\n").len(), 1);
        assert_eq!(found("x.md", "What we give. Way to go.\n"), Vec::<String>::new());
    }

    #[test]
    fn documentation_and_scripts_are_checked() {
        for path in ["docs/a.md", "deploy/chart/values.yaml", "e2e/setup", "Cargo.toml"] {
            assert_eq!(found(path, "# leads no more\n").len(), 1, "{path}");
        }
    }

    #[test]
    fn style_guides_may_list_the_words() {
        assert_eq!(found("STYLE.md", "Banned: heed.\n"), Vec::<String>::new());
        assert_eq!(found("STYLE.md", "Heed this.\n").len(), 1);
        assert_eq!(found("README.md", "Banned: heed.\n").len(), 1);
    }
}
