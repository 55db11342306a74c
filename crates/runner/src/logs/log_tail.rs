//! Finds the last lines of a log, for `--tail` and for termination messages.

use std::collections::VecDeque;
use std::io::{self, BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};

use super::log_line::{LogLine, PartialLines};
use crate::bounded_file;

/// The part of a log that becomes a termination message with the policy `FallbackToLogsOnError`, as in
/// Kubernetes.
pub(crate) const MESSAGE_TAIL: TailLimits = TailLimits { lines_max: 80, bytes_max: 2048 };
/// The part of a log that is added to the message of a container that failed.
pub(crate) const FAILURE_TAIL: TailLimits = TailLimits { lines_max: 10, bytes_max: 1024 };
/// The part of a file that is read. Our own files are smaller.
const FILE_BYTES_MAX: u64 = 1024 * 1024 * 1024;
/// The longest line that is read. Our own lines are shorter.
const LINE_BYTES_MAX: u64 = 64 * 1024;

/// The maximum size of the end of a log.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TailLimits {
    lines_max: u64,
    bytes_max: usize,
}

/// A position in a log of several files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct LogPosition {
    pub(super) file: usize,
    pub(super) offset: u64,
}

/// The start of the last lines; `None` for the end of the log. Reads the files forwards: they are small,
/// and only the lines before a part show whether it starts a line.
pub(super) fn tail_position(files: &[PathBuf], lines_max: u64) -> io::Result<Option<LogPosition>> {
    let mut starts = VecDeque::new();
    let mut partial_lines = PartialLines::default();
    for (file, path) in files.iter().enumerate() {
        let mut offset = 0;
        for_each_line(path, |bytes| {
            if LogLine::parse(bytes).is_some_and(|line| partial_lines.add(&line)) {
                starts.push_back(LogPosition { file, offset });
            }
            if starts.len() as u64 > lines_max {
                starts.pop_front();
            }
            offset += bytes.len() as u64;
        })?;
    }
    Ok(starts.front().copied())
}

/// The last lines of a log, for a container that failed without a termination message.
pub(crate) fn read_log_tail(current: &Path, limits: &TailLimits) -> String {
    let files = [super::rotated_path(current), current.to_owned()];
    let Ok(Some(start)) = tail_position(&files, limits.lines_max) else { return String::new() };
    let mut message = VecDeque::new();
    for (file, path) in files.iter().enumerate().skip(start.file) {
        let mut offset = 0;
        // A file that fails to read contributes the lines before the failure.
        let _ = for_each_line(path, |bytes| {
            let is_in_tail = file > start.file || offset >= start.offset;
            offset += bytes.len() as u64;
            if is_in_tail && let Some(line) = LogLine::parse(bytes) {
                message.extend(line.text);
                if line.is_end {
                    message.push_back(b'\n');
                }
                message.drain(..message.len().saturating_sub(limits.bytes_max));
            }
        });
    }
    String::from_utf8_lossy(message.make_contiguous()).into_owned()
}

/// Passes each line of a file to a function. A missing file has no lines.
fn for_each_line(path: &Path, mut handle: impl FnMut(&[u8])) -> io::Result<()> {
    let file = match bounded_file::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    let mut reader = BufReader::with_capacity(64 * 1024, file.take(FILE_BYTES_MAX));
    let mut line = Vec::new();
    while reader.by_ref().take(LINE_BYTES_MAX).read_until(b'\n', &mut line)? > 0 {
        handle(&line);
        line.clear();
    }
    Ok(())
}
