//! Metaphors and retired names as parts of identifiers.

use std::collections::HashSet;

use super::{banned_words, finding::TidyFinding, source::SourceFile};

pub(super) const CHECK: &str = "identifiers";

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

/// Finds each identifier with such a segment once per file.
pub(super) fn check(files: &[SourceFile]) -> Vec<TidyFinding> {
    files.iter().flat_map(check_file).collect()
}

fn check_file(file: &SourceFile) -> Vec<TidyFinding> {
    let mut seen = HashSet::new();
    let tokens = file.rust.iter().flat_map(|rust| &rust.items.tokens);
    tokens
        .filter_map(|token| {
            let segment = banned_segment(&token.text)?;
            seen.insert(&token.text).then(|| {
                let message = format!(
                    "identifier `{}` contains `{segment}`: use the conventional term for what it is",
                    token.text
                );
                TidyFinding::at(CHECK, file, token.line, message)
            })
        })
        .collect()
}

fn banned_segment(identifier: &str) -> Option<&'static str> {
    let segments = segments(identifier);
    let mut banned = BANNED_SEGMENTS.into_iter().chain(banned_words::words());
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
    use super::*;

    #[test]
    fn segments_count_and_parts_of_segments_do_not() {
        for (identifier, segment) in [
            ("write_hand", Some("hand")),
            ("HandWriter", Some("hand")),
            ("ECHO_WINDOW", Some("echo")),
            ("handler", None),
            ("EventHandler", None),
            ("stale", None),
            ("official", None),
        ] {
            assert_eq!(banned_segment(identifier), segment, "{identifier}");
        }
    }

    #[test]
    fn strings_and_comments_do_not_count() {
        let text = "// the crew\nlet a = \"crew\";\nlet crew = crew;\n";
        let found = check(&[SourceFile::new("crates/a/src/x.rs", text)]);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].location, "crates/a/src/x.rs:3");
    }
}
