//! Writes the output of a container to its log.
//!
//! A line of output becomes a line of the log in the format of container runtimes:
//! `2026-01-02T03:04:05.000000006Z stdout F text`. `P` in place of `F` marks a part of a line that
//! continues: long lines are split, so that a program that never ends a line takes bounded memory. The log
//! has two files; when the current one is full it replaces the rotated one. Disk errors lose lines but
//! never block the container: its pipes are always drained.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::sync::Arc;

use jiff::Timestamp;
use punctual_client::Clock;
use tokio::io::AsyncReadExt as _;
use tokio::net::unix::pipe::Receiver;

use crate::bounded_file;

/// The maximum length of a part of a line.
const PART_BYTES_MAX: usize = 16 * 1024;
/// The number of bytes that are read at a time.
const READ_BYTES: usize = 16 * 1024;

/// The log of one run of a container.
#[derive(Debug)]
pub(super) struct LogFile {
    path: PathBuf,
    file: Option<File>,
    size: u64,
    size_max: u64,
}

impl LogFile {
    /// Creates a log. `bytes_max` is for both files together.
    pub(super) fn create(path: PathBuf, bytes_max: u64) -> LogFile {
        let mut log = LogFile { path, file: None, size: 0, size_max: (bytes_max / 2).max(1) };
        log.file = log.open().ok();
        log
    }

    fn open(&mut self) -> io::Result<File> {
        self.size = 0;
        bounded_file::create(&self.path)
    }

    /// Appends complete lines of the log.
    fn append(&mut self, lines: &[u8]) {
        let length = lines.len() as u64;
        if self.file.is_none() || (self.size > 0 && self.size + length > self.size_max) {
            self.rotate();
        }
        if let Some(file) = &mut self.file {
            match file.write_all(lines) {
                Ok(()) => self.size += length,
                // The file may end in a torn line, so the next line goes to a new file.
                Err(_) => self.file = None,
            }
        }
    }

    fn rotate(&mut self) {
        let _ = fs::rename(&self.path, crate::logs::rotated_path(&self.path));
        self.file = self.open().ok();
    }
}

/// Copies the output of a container to its log until both pipes are closed.
///
/// Pipes do not say which of them was written first. Standard output is read before standard error when both
/// have data, as most programs write a result before an error about the next step. One read of each follows
/// the other, so that neither is delayed by the other.
pub(super) async fn copy_output(
    mut stdout: Receiver,
    mut stderr: Receiver,
    mut log: LogFile,
    clock: Arc<dyn Clock>,
) {
    let mut out = OutputStream::new("stdout");
    let mut err = OutputStream::new("stderr");
    let mut out_buffer = vec![0; READ_BYTES];
    let mut err_buffer = vec![0; READ_BYTES];
    while out.is_open || err.is_open {
        tokio::select! {
            biased;
            read = stdout.read(&mut out_buffer), if out.is_open => {
                out.handle_read(read, &out_buffer, clock.now(), &mut log);
                if err.is_open && let Some(read) = read_ready(&stderr, &mut err_buffer) {
                    err.handle_read(read, &err_buffer, clock.now(), &mut log);
                }
            }
            read = stderr.read(&mut err_buffer), if err.is_open => {
                err.handle_read(read, &err_buffer, clock.now(), &mut log);
            }
        }
    }
}

/// Reads a pipe if it has data or is closed; `None` if it has none.
fn read_ready(pipe: &Receiver, buffer: &mut [u8]) -> Option<io::Result<usize>> {
    match pipe.try_read(buffer) {
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => None,
        read => Some(read),
    }
}

/// Standard output or standard error of a container.
struct OutputStream {
    name: &'static str,
    is_open: bool,
    /// The start of a line that is not complete.
    partial: Vec<u8>,
}

impl OutputStream {
    fn new(name: &'static str) -> OutputStream {
        OutputStream { name, is_open: true, partial: Vec::new() }
    }

    fn handle_read(
        &mut self,
        read: io::Result<usize>,
        buffer: &[u8],
        now: Timestamp,
        log: &mut LogFile,
    ) {
        let bytes = buffer.get(..read.unwrap_or(0)).unwrap_or_default();
        if bytes.is_empty() {
            self.is_open = false;
            if !self.partial.is_empty() {
                log.append(&log_line(now, self.name, 'P', &self.partial));
            }
            return;
        }
        for line in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.add_line(line, now, log);
        }
    }

    fn add_line(&mut self, mut line: &[u8], now: Timestamp, log: &mut LogFile) {
        let is_complete = line.last() == Some(&b'\n');
        line = line.strip_suffix(b"\n").unwrap_or(line);
        while self.partial.len() + line.len() > PART_BYTES_MAX {
            let (head, tail) = line.split_at(PART_BYTES_MAX - self.partial.len());
            self.partial.extend_from_slice(head);
            log.append(&log_line(now, self.name, 'P', &self.partial));
            self.partial.clear();
            line = tail;
        }
        self.partial.extend_from_slice(line);
        if is_complete {
            log.append(&log_line(now, self.name, 'F', &self.partial));
            self.partial.clear();
        }
    }
}

fn log_line(at: Timestamp, stream: &str, tag: char, text: &[u8]) -> Vec<u8> {
    let mut line = format!("{at:.9} {stream} {tag} ").into_bytes();
    line.extend_from_slice(text);
    line.push(b'\n');
    line
}

#[cfg(test)]
mod tests {
    use punctual_client::SystemClock;

    use super::*;

    #[tokio::test]
    async fn standard_output_comes_first_if_both_pipes_have_data() {
        let folder = tempfile::tempdir().unwrap();
        for number in 0..20 {
            let path = folder.path().join(number.to_string());
            let pipes = [(); 2]
                .map(|()| rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).unwrap());
            let [(stdout, out), (stderr, err)] = pipes;
            rustix::io::write(&err, b"second\n").unwrap();
            rustix::io::write(&out, b"first\n").unwrap();
            drop((out, err));
            let [stdout, stderr] = [stdout, stderr].map(|fd| Receiver::from_owned_fd(fd).unwrap());
            let log = LogFile::create(path.clone(), 1000);
            copy_output(stdout, stderr, log, Arc::new(SystemClock)).await;
            let text = fs::read_to_string(path).unwrap();
            let words: Vec<_> = text.lines().map(|line| line.rsplit(' ').next().unwrap()).collect();
            assert_eq!(words, ["first", "second"]);
        }
    }
}
