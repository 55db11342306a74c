//! A file of the audit log, which is rotated by size.

use std::ffi::OsString;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::PathBuf;
use std::sync::mpsc::Receiver;

use super::record::AuditRecord;

/// When a file is rotated, and how many files are kept.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rotation {
    pub(super) file_bytes_max: u64,
    /// The number of files with the current one.
    pub(super) files_max: u32,
}

pub(super) struct AuditFile {
    path: PathBuf,
    rotation: Rotation,
    file: BufWriter<File>,
    bytes: u64,
}

impl AuditFile {
    pub(super) fn open(path: PathBuf, rotation: Rotation) -> std::io::Result<AuditFile> {
        let file = punctual_files::open_append(&path)?;
        let bytes = file.metadata()?.len();
        Ok(AuditFile { path, rotation, file: BufWriter::new(file), bytes })
    }

    /// Writes records until all senders are dropped. Flushes whenever the queue is empty. Calls
    /// `on_lost` for each record that cannot be written.
    pub(super) fn run(mut self, records: &Receiver<AuditRecord>, on_lost: &dyn Fn()) {
        while let Ok(record) = records.recv() {
            if let Err(error) = self.write_queued(&record, records) {
                on_lost();
                let path = self.path.display();
                tracing::warn!(%error, %path, "cannot write the audit log; requests are not recorded");
            }
        }
    }

    fn write_queued(
        &mut self,
        first: &AuditRecord,
        records: &Receiver<AuditRecord>,
    ) -> std::io::Result<()> {
        self.write(first)?;
        while let Ok(record) = records.try_recv() {
            self.write(&record)?;
        }
        self.flush()
    }

    pub(super) fn write(&mut self, record: &AuditRecord) -> std::io::Result<()> {
        let mut line = serde_json::to_vec(record)?;
        line.push(b'\n');
        if self.bytes + line.len() as u64 > self.rotation.file_bytes_max {
            self.rotate()?;
        }
        self.bytes += line.len() as u64;
        self.file.write_all(&line)
    }

    pub(super) fn flush(&mut self) -> std::io::Result<()> {
        self.file.flush()
    }

    /// Renames the files to the next number each, deletes the oldest, and starts a new one.
    fn rotate(&mut self) -> std::io::Result<()> {
        self.flush()?;
        for number in (1..self.rotation.files_max).rev() {
            let from = self.numbered(number - 1);
            if from.exists() {
                std::fs::rename(from, self.numbered(number))?;
            }
        }
        *self = AuditFile::open(self.path.clone(), self.rotation)?;
        Ok(())
    }

    /// Returns the path of an older file; number 0 is the current one.
    fn numbered(&self, number: u32) -> PathBuf {
        if number == 0 {
            return self.path.clone();
        }
        let mut path = OsString::from(&self.path);
        path.push(format!(".{number}"));
        path.into()
    }
}
