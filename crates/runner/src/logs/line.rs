//! One line of a log: `<instant> <stream> <F or P> <text>`.

use jiff::Timestamp;

/// A line of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Line<'a> {
    pub(super) at: &'a str,
    pub(super) is_stderr: bool,
    /// Whether the container's line ends here; otherwise the next piece goes on.
    pub(super) is_end: bool,
    pub(super) text: &'a [u8],
}

impl<'a> Line<'a> {
    /// None for what a crash tore.
    pub(super) fn parse(line: &'a [u8]) -> Option<Line<'a>> {
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let mut parts = line.splitn(4, |byte| *byte == b' ');
        let at = std::str::from_utf8(parts.next()?).ok()?;
        let is_stderr = parts.next()? == b"stderr";
        let is_end = parts.next()? == b"F";
        Some(Line { at, is_stderr, is_end, text: parts.next()? })
    }

    /// Whether it was written at or after an instant.
    pub(super) fn is_since(&self, since: Timestamp) -> bool {
        self.at.parse::<Timestamp>().is_ok_and(|at| at >= since)
    }
}

/// Which of the two outputs are in the middle of a line.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Midway([bool; 2]);

impl Midway {
    /// Whether a piece begins a line of the container's, given those before it.
    pub(super) fn begins(&mut self, line: &Line<'_>) -> bool {
        let [out, err] = &mut self.0;
        let is_midway = if line.is_stderr { err } else { out };
        !std::mem::replace(is_midway, !line.is_end)
    }
}
