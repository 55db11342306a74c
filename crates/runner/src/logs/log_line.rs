//! One line of a log: `<timestamp> <stream> <F or P> <text>`.

use jiff::Timestamp;

/// A line of a log: a line of the container's output, or a part of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LogLine<'a> {
    pub(super) at: &'a str,
    pub(super) is_stderr: bool,
    /// Whether the container's line ends here. If not, the next line of the stream continues it.
    pub(super) is_end: bool,
    pub(super) text: &'a [u8],
}

impl<'a> LogLine<'a> {
    /// Parses a line; `None` for a line that a crash has torn.
    pub(super) fn parse(line: &'a [u8]) -> Option<LogLine<'a>> {
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let mut parts = line.splitn(4, |byte| *byte == b' ');
        let at = std::str::from_utf8(parts.next()?).ok()?;
        let is_stderr = parts.next()? == b"stderr";
        let is_end = parts.next()? == b"F";
        Some(LogLine { at, is_stderr, is_end, text: parts.next()? })
    }

    /// Whether the line was written at or after a time.
    pub(super) fn is_since(&self, since: Timestamp) -> bool {
        self.at.parse::<Timestamp>().is_ok_and(|at| at >= since)
    }
}

/// Tracks for each stream whether its line is incomplete.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PartialLines {
    is_stdout_partial: bool,
    is_stderr_partial: bool,
}

impl PartialLines {
    /// Adds the next line of the log. Returns whether it starts a line of the container.
    pub(super) fn add(&mut self, line: &LogLine<'_>) -> bool {
        let is_partial =
            if line.is_stderr { &mut self.is_stderr_partial } else { &mut self.is_stdout_partial };
        !std::mem::replace(is_partial, !line.is_end)
    }
}
