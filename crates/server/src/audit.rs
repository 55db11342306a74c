//! The audit log: one JSON line per request. Bodies and tokens are never written.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread;

use jiff::Timestamp;
use serde::{Serialize, Serializer};

use crate::secret_file;

/// One line of the audit log.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AuditRecord {
    /// When the request arrived.
    #[serde(serialize_with = "serialize_time")]
    pub(crate) time: Timestamp,
    /// The authenticated user.
    pub(crate) user: String,
    /// The Kubernetes verb.
    pub(crate) verb: &'static str,
    /// The path and the query.
    pub(crate) uri: String,
    /// The `User-Agent` that the client claims.
    pub(crate) user_agent: String,
    /// The status code of the response.
    pub(crate) code: u16,
    /// Microseconds from the request to the response.
    pub(crate) micros: u64,
}

fn serialize_time<S: Serializer>(time: &Timestamp, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(time)
}

/// Maximum number of records that wait to be written.
const QUEUE_MAX: usize = 4096;
/// Size in bytes at which the file is rotated. One older file is kept.
const FILE_BYTES_MAX: u64 = 64 << 20;

/// An audit log, written by a background thread. Clones share it.
#[derive(Clone)]
pub struct AuditLog {
    queue: Option<SyncSender<AuditRecord>>,
}

impl AuditLog {
    /// Returns a log that discards all records.
    pub fn none() -> AuditLog {
        AuditLog { queue: None }
    }

    /// Opens a log file, which is rotated by size.
    pub fn to_file(path: &Path) -> std::io::Result<AuditLog> {
        let file = AuditFile::open(path.to_owned())?;
        let (queue, records) = sync_channel(QUEUE_MAX);
        thread::Builder::new().name("audit".to_owned()).spawn(move || file.run(&records))?;
        Ok(AuditLog { queue: Some(queue) })
    }

    /// Queues a record. Requests never wait for the disk: if the queue is full, the record is lost
    /// and a warning is logged.
    pub(crate) fn record(&self, make_record: impl FnOnce() -> AuditRecord) {
        let Some(queue) = &self.queue else {
            return;
        };
        if let Err(TrySendError::Full(_)) = queue.try_send(make_record()) {
            tracing::warn!("the disk of the audit log is too slow; a request was not recorded");
        }
    }
}

struct AuditFile {
    path: PathBuf,
    file: BufWriter<File>,
    bytes: u64,
}

impl AuditFile {
    fn open(path: PathBuf) -> std::io::Result<AuditFile> {
        let file = secret_file::create_options().append(true).open(&path)?;
        let bytes = file.metadata()?.len();
        Ok(AuditFile { path, file: BufWriter::new(file), bytes })
    }

    /// Writes records until all senders are dropped. Flushes whenever the queue is empty.
    fn run(mut self, records: &Receiver<AuditRecord>) {
        while let Ok(record) = records.recv() {
            if let Err(error) = self.write_queued(&record, records) {
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
        self.file.flush()
    }

    fn write(&mut self, record: &AuditRecord) -> std::io::Result<()> {
        let mut line = serde_json::to_vec(record)?;
        line.push(b'\n');
        if self.bytes + line.len() as u64 > FILE_BYTES_MAX {
            self.file.flush()?;
            let mut rotated = self.path.clone().into_os_string();
            rotated.push(".1");
            std::fs::rename(&self.path, rotated)?;
            *self = AuditFile::open(self.path.clone())?;
        }
        self.bytes += line.len() as u64;
        self.file.write_all(&line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_a_json_line_without_the_body() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("audit.log");
        let mut file = AuditFile::open(path.clone()).unwrap();
        let record = AuditRecord {
            time: Timestamp::UNIX_EPOCH,
            user: "admin".to_owned(),
            verb: "create",
            uri: "/api/v1/namespaces".to_owned(),
            user_agent: "kubectl".to_owned(),
            code: 201,
            micros: 7,
        };
        file.write(&record).unwrap();
        file.file.flush().unwrap();
        let want = "{\"time\":\"1970-01-01T00:00:00Z\",\"user\":\"admin\",\"verb\":\"create\",\
                    \"uri\":\"/api/v1/namespaces\",\"userAgent\":\"kubectl\",\"code\":201,\"micros\":7}\n";
        assert_eq!(std::fs::read_to_string(&path).unwrap(), want);
    }

    #[test]
    fn a_large_file_is_rotated() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("audit.log");
        let mut file = AuditFile::open(path.clone()).unwrap();
        file.bytes = FILE_BYTES_MAX;
        let record = AuditRecord {
            time: Timestamp::UNIX_EPOCH,
            user: String::new(),
            verb: "get",
            uri: String::new(),
            user_agent: String::new(),
            code: 200,
            micros: 0,
        };
        file.write(&record).unwrap();
        assert!(path.exists() && folder.path().join("audit.log.1").exists());
    }
}
