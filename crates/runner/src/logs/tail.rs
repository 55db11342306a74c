//! The end of a log.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, BufRead as _, BufReader};
use std::path::{Path, PathBuf};

use super::line::{Line, Midway};

/// The most lines and bytes of a log that become a termination message.
const WORDS_LINES_MAX: u64 = 80;
const WORDS_BYTES_MAX: usize = 2048;

/// A place in a log of several files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) file: usize,
    pub(super) offset: u64,
}

/// Where the last lines begin; none for the end of the log. The files are read once, forwards: they
/// are small, and a line may be in pieces that only those before them tell.
pub(super) fn start(files: &[PathBuf], lines_max: u64) -> io::Result<Option<Place>> {
    let mut starts = VecDeque::new();
    let mut midway = Midway::default();
    for (file, path) in files.iter().enumerate() {
        let mut offset = 0;
        scan(path, |bytes| {
            if Line::parse(bytes).is_some_and(|line| midway.begins(&line)) {
                starts.push_back(Place { file, offset });
            }
            if starts.len() as u64 > lines_max {
                starts.pop_front();
            }
            offset += bytes.len() as u64;
        })?;
    }
    Ok(starts.front().copied())
}

/// The last words of a log, for a container that failed without leaving a message.
pub(crate) fn last_words(newer: &Path) -> String {
    let files = [super::older(newer), newer.to_owned()];
    let Ok(Some(start)) = start(&files, WORDS_LINES_MAX) else { return String::new() };
    let mut words = VecDeque::new();
    for (file, path) in files.iter().enumerate().skip(start.file) {
        let mut offset = 0;
        let _ = scan(path, |bytes| {
            let is_wanted = file > start.file || offset >= start.offset;
            offset += bytes.len() as u64;
            if let Some(line) = Line::parse(bytes).filter(|_| is_wanted) {
                words.extend(line.text);
                words.extend(line.is_end.then_some(&b'\n'));
                words.drain(..words.len().saturating_sub(WORDS_BYTES_MAX));
            }
        });
    }
    String::from_utf8_lossy(words.make_contiguous()).into_owned()
}

/// Goes through the lines of a file, if there is one.
fn scan(path: &Path, mut take: impl FnMut(&[u8])) -> io::Result<()> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    let mut reader = BufReader::with_capacity(64 * 1024, file);
    let mut line = Vec::new();
    while reader.read_until(b'\n', &mut line)? > 0 {
        take(&line);
        line.clear();
    }
    Ok(())
}
