//! Reads the log of one container from a start position to its end, and follows it if asked to.

use std::fs::Metadata;
use std::io::{self, SeekFrom};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use tokio::fs::File;
use tokio::io::{AsyncReadExt as _, AsyncSeekExt as _};

use super::log_line::{LogLine, PartialLines};
use super::log_tail::{self, LogPosition};
use super::{LogQuery, log_files};
use crate::bounded_file;
use crate::folder_watcher::{FolderWatch, FolderWatcher};
use crate::pod_folder::PodFolder;
use crate::pod_state::RunState;

/// The size of a chunk.
const CHUNK_BYTES: usize = 64 * 1024;

/// The longest line that is read. Our own lines are shorter.
const LINE_BYTES_MAX: usize = 256 * 1024;

/// A log that is being read.
#[derive(Debug)]
pub(super) struct LogReader {
    folder: PodFolder,
    query: LogQuery,
    run: u32,
    /// The path of the current file, which is renamed when it is full.
    current_path: PathBuf,
    file: Option<File>,
    /// The bytes that were read and not returned yet. They end in an incomplete line.
    buffer: Vec<u8>,
    partial_lines: PartialLines,
    bytes_left: u64,
    /// The watches of the log folder and of the Pod's folder; `None` unless the log is followed.
    watches: Option<[FolderWatch; 2]>,
}

impl LogReader {
    pub(super) async fn open(
        folder: PodFolder,
        run: u32,
        query: LogQuery,
        folder_watcher: Option<Arc<FolderWatcher>>,
    ) -> io::Result<LogReader> {
        let watches = match folder_watcher {
            Some(watcher) => {
                let log_folder = folder.log_folder(&query.container);
                Some([watcher.watch(&log_folder)?, watcher.watch(folder.path())?])
            }
            None => None,
        };
        let files = log_files(&folder, &query.container, run);
        let start = start_position(&files, query.tail_lines).await?;
        let file = open_at(&files, start).await?;
        let [_, current_path] = files;
        Ok(LogReader {
            folder,
            run,
            current_path,
            file,
            buffer: Vec::new(),
            partial_lines: PartialLines::default(),
            bytes_left: query.limit_bytes.unwrap_or(u64::MAX),
            query,
            watches,
        })
    }

    /// The next chunk; `None` at the end.
    pub(super) async fn next_chunk(&mut self) -> io::Result<Option<Bytes>> {
        while self.bytes_left > 0 {
            // Checked before the read: output that was written before the end is not missed.
            let is_at_end = self.watches.is_none() || !self.is_running()?;
            if self.read_more().await? {
                let chunk = self.take_lines();
                if !chunk.is_empty() {
                    return Ok(Some(chunk));
                }
            } else if !self.open_next_file().await? {
                if is_at_end {
                    return Ok(None);
                }
                self.wait_for_change().await;
            }
        }
        Ok(None)
    }

    /// Reads into the buffer. Returns false at the end of the file.
    async fn read_more(&mut self) -> io::Result<bool> {
        let Some(file) = &mut self.file else { return Ok(false) };
        let before = self.buffer.len();
        self.buffer.reserve(CHUNK_BYTES);
        if before >= LINE_BYTES_MAX {
            // No line of ours is that long, so another process has written the file.
            return Err(io::Error::new(io::ErrorKind::InvalidData, "a line is too long"));
        }
        file.take(CHUNK_BYTES as u64).read_buf(&mut self.buffer).await?;
        Ok(self.buffer.len() > before)
    }

    /// Opens the current file if it is another one than the open file. Returns false if it is not.
    async fn open_next_file(&mut self) -> io::Result<bool> {
        let current = match open_log(&self.current_path).await {
            Ok(current) => current,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            Err(error) => return Err(error),
        };
        if let Some(file) = &self.file
            && file_id(&file.metadata().await?) == file_id(&current.metadata().await?)
        {
            return Ok(false);
        }
        self.file = Some(current);
        self.buffer.clear();
        Ok(true)
    }

    async fn wait_for_change(&self) {
        if let Some([logs, state]) = &self.watches {
            tokio::select! {
                () = logs.changed() => {}
                () = state.changed() => {}
            }
        }
    }

    /// Whether this run may still write. A Pod without a folder is not running.
    fn is_running(&self) -> io::Result<bool> {
        let state = self.folder.state()?;
        let record = state.as_ref().and_then(|state| state.container(&self.query.container));
        Ok(record.is_some_and(|record| {
            let is_alive = matches!(record.current, RunState::Starting | RunState::Running { .. });
            is_alive && record.restarts == self.run
        }))
    }

    /// Removes all complete lines from the buffer and formats them.
    fn take_lines(&mut self) -> Bytes {
        let end = self.buffer.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        let incomplete = self.buffer.split_off(end);
        let lines = std::mem::replace(&mut self.buffer, incomplete);
        let mut output = Vec::with_capacity(lines.len());
        for line in lines.split_inclusive(|byte| *byte == b'\n').filter_map(LogLine::parse) {
            self.format_line(&line, &mut output);
        }
        output.truncate(usize::try_from(self.bytes_left).unwrap_or(usize::MAX));
        self.bytes_left -= output.len() as u64;
        Bytes::from(output)
    }

    fn format_line(&mut self, line: &LogLine<'_>, output: &mut Vec<u8>) {
        let is_start = self.partial_lines.add(line);
        if self.query.since.is_some_and(|since| !line.is_since(since)) {
            return;
        }
        if is_start && self.query.timestamps {
            output.extend_from_slice(line.at.as_bytes());
            output.push(b' ');
        }
        output.extend_from_slice(line.text);
        if line.is_end {
            output.push(b'\n');
        }
    }
}

/// The position to start at; `None` for the end. Counting lines reads the files, so it runs on a thread
/// for blocking work.
async fn start_position(
    files: &[PathBuf; 2],
    lines_max: Option<u64>,
) -> io::Result<Option<LogPosition>> {
    let Some(lines_max) = lines_max else { return Ok(Some(LogPosition::default())) };
    let files = files.clone();
    let counting = tokio::task::spawn_blocking(move || log_tail::tail_position(&files, lines_max));
    counting.await.map_err(io::Error::other)?
}

/// Opens the file of a position, or the end of the current file if there is no position.
async fn open_at(files: &[PathBuf; 2], position: Option<LogPosition>) -> io::Result<Option<File>> {
    let first = position.map_or(1, |position| position.file);
    for (index, path) in files.iter().enumerate().skip(first) {
        match open_log(path).await {
            Ok(mut file) => {
                let seek = match position {
                    Some(position) if position.file == index => SeekFrom::Start(position.offset),
                    Some(_) => SeekFrom::Start(0),
                    None => SeekFrom::End(0),
                };
                file.seek(seek).await?;
                return Ok(Some(file));
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(None)
}

/// Opens a file of a log, on a thread for blocking work.
async fn open_log(path: &Path) -> io::Result<File> {
    let path = path.to_owned();
    let opening = tokio::task::spawn_blocking(move || bounded_file::open(&path));
    Ok(File::from_std(opening.await.map_err(io::Error::other)??))
}

fn file_id(metadata: &Metadata) -> (u64, u64) {
    (metadata.dev(), metadata.ino())
}
