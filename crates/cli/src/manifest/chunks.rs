//! Splits a text at its document separators before parsing, as kubectl does.
//!
//! In YAML a line can begin with `---` or `...` only between documents. Splitting therefore needs no
//! parser, and a syntax error in one document does not affect the next one.

const SEPARATOR: &str = "---";
const END: &str = "...";

/// The text from one separator to the next, including the first separator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Chunk<'a> {
    pub(super) text: &'a str,
    /// The number of lines before the chunk.
    pub(super) lines_before: usize,
}

/// Returns the chunks that are not empty.
pub(super) fn split(text: &str) -> Vec<Chunk<'_>> {
    let mut chunks = Vec::new();
    let mut start = 0;
    let mut offset = 0;
    let mut lines_before = 0;
    for (line_index, line) in text.split_inclusive('\n').enumerate() {
        let line_end = offset + line.len();
        let cut_at = if line.starts_with(SEPARATOR) {
            Some((offset, line_index))
        } else if is_end(line) {
            Some((line_end, line_index + 1))
        } else {
            None
        };
        if let Some((cut, lines)) = cut_at {
            chunks.push(Chunk { text: text.get(start..cut).unwrap_or_default(), lines_before });
            start = cut;
            lines_before = lines;
        }
        offset = line_end;
    }
    chunks.push(Chunk { text: text.get(start..).unwrap_or_default(), lines_before });
    chunks.retain(|chunk| !chunk.is_empty());
    chunks
}

fn is_end(line: &str) -> bool {
    line.strip_prefix(END).is_some_and(|rest| rest.trim().is_empty())
}

/// Whether a line has no content: blank, a comment, a directive or a marker. Directives are ignored
/// because they only set the YAML version and tag shorthands, which Kubernetes does not use.
fn is_bare(line: &str) -> bool {
    let trimmed = line.trim();
    let rest = trimmed.strip_prefix(SEPARATOR).map_or(trimmed, str::trim_start);
    rest.is_empty() || rest.starts_with('#') || line.starts_with('%') || is_end(line)
}

impl<'a> Chunk<'a> {
    fn is_empty(&self) -> bool {
        self.text.lines().all(is_bare)
    }

    /// Returns the first line with content, from 1.
    pub(super) fn first_line(&self) -> usize {
        let bare = self.text.lines().take_while(|line| is_bare(line)).count();
        self.lines_before + bare + 1
    }

    /// Returns invalid text after the separator on the same line. As in kubectl, only a comment may follow.
    pub(super) fn separator_suffix(&self) -> Option<&'a str> {
        let rest = self.text.lines().next()?.strip_prefix(SEPARATOR)?.trim();
        (!rest.is_empty() && !rest.starts_with('#')).then_some(rest)
    }

    /// Returns the text after the separator line.
    pub(super) fn body(&self) -> &'a str {
        let after_separator = self.text.split_once('\n').map_or("", |(_, rest)| rest);
        if self.text.starts_with(SEPARATOR) { after_separator } else { self.text }
    }

    /// Returns the number of lines before the body.
    pub(super) fn lines_before_body(&self) -> usize {
        self.lines_before + usize::from(self.text.starts_with(SEPARATOR))
    }

    pub(super) fn looks_like_json(&self) -> bool {
        self.body().trim_start().starts_with('{')
    }
}
