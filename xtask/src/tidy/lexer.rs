//! Splits Rust text into code, comments and string literals.

/// Three copies of one file. Each has the line breaks of the file, its own kind of text, and spaces in
/// place of the other two kinds.
#[derive(Debug, Default)]
pub(super) struct RustViews {
    /// The code, with empty string literals.
    pub(super) code: String,
    pub(super) comments: String,
    pub(super) strings: String,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum TextClass {
    Code,
    Comment,
    StringLiteral,
}

impl RustViews {
    fn push(&mut self, text: &str, class: TextClass) {
        for char in text.chars() {
            let shown = |wanted| {
                if char == '\n' || class == wanted { char } else { ' ' }
            };
            self.code.push(shown(TextClass::Code));
            self.comments.push(shown(TextClass::Comment));
            self.strings.push(shown(TextClass::StringLiteral));
        }
    }
}

/// Splits a file that compiles. Other text is split somehow.
pub(super) fn split(text: &str) -> RustViews {
    let mut views = RustViews::default();
    let mut rest = text;
    let mut previous = ' ';
    while let Some(first) = rest.chars().next() {
        let (length, class) = next_piece(rest, previous);
        let (piece, after) = rest.split_at_checked(length).unwrap_or((rest, ""));
        if class == TextClass::StringLiteral {
            let start = piece.find('"').map_or(0, |at| at + 1);
            let end = piece.rfind('"').unwrap_or(piece.len()).max(start);
            views.push("\"", TextClass::Code);
            views.push(piece.get(start..end).unwrap_or_default(), class);
            views.push("\"", TextClass::Code);
        } else {
            views.push(piece, class);
        }
        previous = piece.chars().next_back().unwrap_or(first);
        rest = after;
    }
    views
}

/// The length in bytes of the next piece and its class. The previous character tells `r"` of a raw
/// string from an identifier that ends with `r`.
fn next_piece(rest: &str, previous: char) -> (usize, TextClass) {
    if rest.starts_with("//") {
        return (rest.find('\n').unwrap_or(rest.len()), TextClass::Comment);
    }
    if rest.starts_with("/*") {
        return (block_comment_length(rest), TextClass::Comment);
    }
    let is_prefix = !(previous.is_alphanumeric() || previous == '_');
    if is_prefix && let Some(length) = string_length(rest) {
        return (length, TextClass::StringLiteral);
    }
    if let Some(length) = char_length(rest) {
        return (length, TextClass::Code);
    }
    (rest.chars().next().map_or(1, char::len_utf8), TextClass::Code)
}

fn block_comment_length(rest: &str) -> usize {
    let mut depth = 0_usize;
    let mut at = 0;
    while let Some(tail) = rest.get(at..).filter(|tail| !tail.is_empty()) {
        let step = if tail.starts_with("/*") {
            depth += 1;
            2
        } else if tail.starts_with("*/") {
            depth -= 1;
            2
        } else {
            tail.chars().next().map_or(1, char::len_utf8)
        };
        at += step;
        if depth == 0 {
            break;
        }
    }
    at
}

/// The length of a string literal of any kind, with prefix and quotes.
fn string_length(rest: &str) -> Option<usize> {
    let body = rest.trim_start_matches(['b', 'c']);
    if rest.len() - body.len() > 1 {
        return None;
    }
    let prefix = rest.len() - body.len();
    if let Some(raw) = body.strip_prefix('r') {
        let hashes = raw.len() - raw.trim_start_matches('#').len();
        let content = raw.trim_start_matches('#').strip_prefix('"')?;
        let end = format!("\"{}", "#".repeat(hashes));
        let length = content.find(&end).map_or(content.len(), |at| at + end.len());
        return Some(prefix + 1 + hashes + 1 + length);
    }
    let content = body.strip_prefix('"')?;
    let mut is_escaped = false;
    for (at, char) in content.char_indices() {
        match char {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '"' => return Some(prefix + 1 + at + 1),
            _ => {}
        }
    }
    Some(rest.len())
}

/// The length of a character literal; `None` for a lifetime.
fn char_length(rest: &str) -> Option<usize> {
    let content = rest.strip_prefix('\'')?;
    let first = content.chars().next()?;
    let skipped = if first == '\\' { 2 } else { first.len_utf8() };
    let end = content.get(skipped..)?.find('\'')?;
    let is_literal = first == '\\' || end == 0;
    is_literal.then_some(1 + skipped + end + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(view: &str) -> Vec<&str> {
        view.split_whitespace().collect()
    }

    #[test]
    fn comments_strings_and_code_are_told_apart() {
        let views =
            split("let a = \"s1 // s2\"; // c1 \"c2\"\n/* c3 /* c4 */ c5 */ let b = 'x';\n");
        assert_eq!(words(&views.strings), ["s1", "//", "s2"]);
        assert_eq!(
            words(&views.comments),
            ["//", "c1", "\"c2\"", "/*", "c3", "/*", "c4", "*/", "c5", "*/"]
        );
        assert_eq!(words(&views.code), ["let", "a", "=", "\"", "\";", "let", "b", "=", "'x';"]);
    }

    #[test]
    fn escapes_raw_strings_and_quotes_in_characters_end_where_rust_ends_them() {
        let text = r###"f("a\"b", r#"c"d"#, b"e", '"', '\'', 'x: 'static); g"###;
        let views = split(text);
        assert_eq!(words(&views.strings), [r#"a\"b"#, "c\"d", "e"]);
        assert!(views.code.ends_with("'x: 'static); g"));
    }

    #[test]
    fn lines_stay_where_they_are() {
        let views = split("a\n\"b\nc\"\n// d\ne");
        assert_eq!(views.code.lines().nth(4), Some("e"));
        assert_eq!(views.comments.lines().nth(3), Some("// d"));
    }
}
