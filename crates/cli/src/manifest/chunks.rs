//! A text cut at its document separators, as kubectl cuts it: before anything is parsed.
//!
//! YAML lets a line begin with `---` or `...` only between documents, so no parser is needed to
//! find them, and what is wrong with one document cannot spill over into the next.

const SEPARATOR: &str = "---";
const END: &str = "...";

/// The text from one separator to the next, its own separator included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Chunk<'a> {
    pub(super) text: &'a str,
    /// Lines of the file before it.
    pub(super) lines_before: usize,
}

/// The chunks that have something in them.
pub(super) fn split(text: &str) -> Vec<Chunk<'_>> {
    let mut chunks = Vec::new();
    let (mut start, mut offset, mut lines_before) = (0, 0, 0);
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
            (start, lines_before) = (cut, lines);
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

/// Nothing but a comment, a directive or a mark. A directive without its document goes with them:
/// what it says (the version, shorthands for tags) means nothing to Kubernetes.
fn is_bare(line: &str) -> bool {
    let trimmed = line.trim();
    let rest = trimmed.strip_prefix(SEPARATOR).map_or(trimmed, str::trim_start);
    rest.is_empty() || rest.starts_with('#') || line.starts_with('%') || is_end(line)
}

impl<'a> Chunk<'a> {
    fn is_empty(&self) -> bool {
        self.text.lines().all(is_bare)
    }

    /// The line of the file on which its content begins, counted from 1.
    pub(super) fn first_line(&self) -> usize {
        let bare = self.text.lines().take_while(|line| is_bare(line)).count();
        self.lines_before + bare + 1
    }

    /// What follows the separator on its line and, as in kubectl, may not: only a comment may.
    pub(super) fn separator_suffix(&self) -> Option<&'a str> {
        let rest = self.text.lines().next()?.strip_prefix(SEPARATOR)?.trim();
        (!rest.is_empty() && !rest.starts_with('#')).then_some(rest)
    }

    /// The text behind the separator.
    pub(super) fn body(&self) -> &'a str {
        let behind = self.text.split_once('\n').map_or("", |(_, rest)| rest);
        if self.text.starts_with(SEPARATOR) { behind } else { self.text }
    }

    /// Lines of the file before the body.
    pub(super) fn lines_before_body(&self) -> usize {
        self.lines_before + usize::from(self.text.starts_with(SEPARATOR))
    }

    pub(super) fn looks_like_json(&self) -> bool {
        self.body().trim_start().starts_with('{')
    }
}
