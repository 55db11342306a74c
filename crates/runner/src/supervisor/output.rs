//! What a container says, into its log.
//!
//! One line of the log for one of the container's, in the form that container runtimes use:
//! `2026-01-02T03:04:05.000000006Z stdout F text`. `P` in place of `F` marks a part whose line goes
//! on: lines are cut at a length, so that a program that never ends a line takes no memory. The log
//! is two files; when the newer one is full it becomes the older one. Disk errors lose lines, never
//! the container: whatever happens, its pipes are kept empty.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::PathBuf;

use jiff::Timestamp;
use tokio::io::AsyncReadExt as _;
use tokio::net::unix::pipe::Receiver;

/// The longest piece of a line that is kept together.
const PIECE_MAX: usize = 16 * 1024;
/// How much is read at a time.
const READ_MAX: usize = 16 * 1024;

/// The log of one run of a container.
#[derive(Debug)]
pub(super) struct Log {
    path: PathBuf,
    file: Option<File>,
    size: u64,
    size_max: u64,
}

impl Log {
    /// `bytes_max` is for both files together.
    pub(super) fn create(path: PathBuf, bytes_max: u64) -> Log {
        let mut log = Log { path, file: None, size: 0, size_max: (bytes_max / 2).max(1) };
        log.file = log.open().ok();
        log
    }

    fn open(&mut self) -> io::Result<File> {
        self.size = 0;
        OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&self.path)
    }

    /// Appends whole lines of the log.
    fn append(&mut self, lines: &[u8]) {
        let length = lines.len() as u64;
        if self.file.is_none() || (self.size > 0 && self.size + length > self.size_max) {
            self.rotate();
        }
        if let Some(file) = &mut self.file {
            match file.write_all(lines) {
                Ok(()) => self.size += length,
                // A torn line is better ended by another file than continued.
                Err(_) => self.file = None,
            }
        }
    }

    fn rotate(&mut self) {
        let _ = fs::rename(&self.path, crate::logs::older(&self.path));
        self.file = self.open().ok();
    }
}

/// Writes down what comes from a container until it can say no more.
pub(super) async fn pump(mut out: Receiver, mut err: Receiver, mut log: Log) {
    let mut streams = [Stream::new("stdout"), Stream::new("stderr")];
    let [stdout, stderr] = &mut streams;
    let (mut from_out, mut from_err) = (vec![0; READ_MAX], vec![0; READ_MAX]);
    while stdout.is_open || stderr.is_open {
        tokio::select! {
            read = out.read(&mut from_out), if stdout.is_open => stdout.take(read, &from_out, &mut log),
            read = err.read(&mut from_err), if stderr.is_open => stderr.take(read, &from_err, &mut log),
        }
    }
}

/// One of a container's outputs.
struct Stream {
    name: &'static str,
    is_open: bool,
    /// The beginning of a line whose end has not come.
    begun: Vec<u8>,
}

impl Stream {
    fn new(name: &'static str) -> Stream {
        Stream { name, is_open: true, begun: Vec::new() }
    }

    fn take(&mut self, read: io::Result<usize>, buffer: &[u8], log: &mut Log) {
        let now = crate::clock::now();
        let bytes = buffer.get(..read.unwrap_or(0)).unwrap_or_default();
        if bytes.is_empty() {
            self.is_open = false;
            if !self.begun.is_empty() {
                log.append(&piece(now, self.name, 'P', &self.begun));
            }
            return;
        }
        for line in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.line(line, now, log);
        }
    }

    fn line(&mut self, mut line: &[u8], now: Timestamp, log: &mut Log) {
        let is_whole = line.last() == Some(&b'\n');
        line = line.strip_suffix(b"\n").unwrap_or(line);
        while self.begun.len() + line.len() > PIECE_MAX {
            let (head, tail) = line.split_at(PIECE_MAX - self.begun.len());
            self.begun.extend_from_slice(head);
            log.append(&piece(now, self.name, 'P', &self.begun));
            self.begun.clear();
            line = tail;
        }
        self.begun.extend_from_slice(line);
        if is_whole {
            log.append(&piece(now, self.name, 'F', &self.begun));
            self.begun.clear();
        }
    }
}

fn piece(at: Timestamp, stream: &str, tag: char, text: &[u8]) -> Vec<u8> {
    let mut line = format!("{at:.9} {stream} {tag} ").into_bytes();
    line.extend_from_slice(text);
    line.push(b'\n');
    line
}
