//! A log that is being read.

use std::fs::Metadata;
use std::io::{self, SeekFrom};
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;
use tokio::fs::File;
use tokio::io::{AsyncReadExt as _, AsyncSeekExt as _};

use super::line::{Line, Midway};
use super::tail::{self, Place};
use super::{LogQuery, files};
use crate::folder::Folder;
use crate::inotify::{Hub, Watched};
use crate::state::Now;

/// How much is read and handed on at a time.
const PIECE: usize = 64 * 1024;

/// A log that is being read.
#[derive(Debug)]
pub(super) struct Reading {
    folder: Folder,
    query: LogQuery,
    run: u32,
    /// The newer file, which becomes the older one when it is full.
    newer: PathBuf,
    file: Option<File>,
    /// The beginning of a line whose end has not been read.
    rest: Vec<u8>,
    midway: Midway,
    left: u64,
    /// The folders to wait for, if the log is followed.
    watched: Option<[Watched; 2]>,
}

impl Reading {
    pub(super) async fn open(
        folder: Folder,
        run: u32,
        query: LogQuery,
        hub: Option<Arc<Hub>>,
    ) -> io::Result<Reading> {
        let watched = match hub {
            Some(hub) => {
                let logs = folder.logs(&query.container);
                Some([hub.watch(&logs)?, hub.watch(folder.path())?])
            }
            None => None,
        };
        let files = files(&folder, &query.container, run);
        let place = start(&files, query.tail_lines).await?;
        let file = open_at(&files, place).await?;
        let [_, newer] = files;
        let left = query.limit_bytes.unwrap_or(u64::MAX);
        let (rest, midway) = (Vec::new(), Midway::default());
        Ok(Reading { folder, query, run, newer, file, rest, midway, left, watched })
    }

    /// The next piece; none at the end.
    pub(super) async fn next(&mut self) -> io::Result<Option<Bytes>> {
        while self.left > 0 {
            // Asked before the file is read: what was written before the end is not missed.
            let is_over = self.watched.is_none() || !self.is_running()?;
            if self.fill().await? {
                let piece = self.take_lines();
                if !piece.is_empty() {
                    return Ok(Some(piece));
                }
            } else if self.turn().await? {
            } else if is_over {
                return Ok(None);
            } else {
                self.wait().await;
            }
        }
        Ok(None)
    }

    /// Reads on; false at the end of the file.
    async fn fill(&mut self) -> io::Result<bool> {
        let Some(file) = &mut self.file else { return Ok(false) };
        let before = self.rest.len();
        self.rest.reserve(PIECE);
        file.take(PIECE as u64).read_buf(&mut self.rest).await?;
        Ok(self.rest.len() > before)
    }

    /// Goes on to the newer file; false if this is the one.
    async fn turn(&mut self) -> io::Result<bool> {
        let newer = match File::open(&self.newer).await {
            Ok(newer) => newer,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            Err(error) => return Err(error),
        };
        if let Some(file) = &self.file
            && identity(&file.metadata().await?) == identity(&newer.metadata().await?)
        {
            return Ok(false);
        }
        self.file = Some(newer);
        self.rest.clear();
        Ok(true)
    }

    async fn wait(&self) {
        if let Some([logs, state]) = &self.watched {
            tokio::select! {
                () = logs.changed() => {}
                () = state.changed() => {}
            }
        }
    }

    /// Whether this run may still say something. A Pod whose folder is gone says nothing.
    fn is_running(&self) -> io::Result<bool> {
        let state = self.folder.state()?;
        let record = state.as_ref().and_then(|state| state.record(&self.query.container));
        Ok(record.is_some_and(|record| {
            let is_now = matches!(record.now, Now::Starting | Now::Running { .. });
            is_now && record.restarts == self.run
        }))
    }

    /// All whole lines that were read, as they are shown.
    fn take_lines(&mut self) -> Bytes {
        let end = self.rest.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        let rest = self.rest.split_off(end);
        let lines = std::mem::replace(&mut self.rest, rest);
        let mut shown = Vec::with_capacity(lines.len());
        for line in lines.split_inclusive(|byte| *byte == b'\n').filter_map(Line::parse) {
            self.show(&line, &mut shown);
        }
        shown.truncate(usize::try_from(self.left).unwrap_or(usize::MAX));
        self.left -= shown.len() as u64;
        Bytes::from(shown)
    }

    fn show(&mut self, line: &Line<'_>, shown: &mut Vec<u8>) {
        let begins = self.midway.begins(line);
        if self.query.since.is_some_and(|since| !line.is_since(since)) {
            return;
        }
        if begins && self.query.timestamps {
            shown.extend_from_slice(line.at.as_bytes());
            shown.push(b' ');
        }
        shown.extend_from_slice(line.text);
        if line.is_end {
            shown.push(b'\n');
        }
    }
}

/// Where to begin; counting lines back means reading files, which is not for this thread.
async fn start(files: &[PathBuf; 2], lines_max: Option<u64>) -> io::Result<Option<Place>> {
    let Some(lines_max) = lines_max else { return Ok(Some(Place::default())) };
    let files = files.clone();
    let found = tokio::task::spawn_blocking(move || tail::start(&files, lines_max)).await;
    found.map_err(io::Error::other)?
}

/// Opens the file of a place; the end of the newer one if there is no place.
async fn open_at(files: &[PathBuf; 2], place: Option<Place>) -> io::Result<Option<File>> {
    let from = place.map_or(1, |place| place.file);
    for (index, path) in files.iter().enumerate().skip(from) {
        match File::open(path).await {
            Ok(mut file) => {
                let seek = match place {
                    Some(place) if place.file == index => SeekFrom::Start(place.offset),
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

fn identity(metadata: &Metadata) -> (u64, u64) {
    (metadata.dev(), metadata.ino())
}
