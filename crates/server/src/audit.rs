//! Who did what, as lines of a file. Bodies and tokens are never written.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread;

use jiff::Timestamp;
use serde::{Serialize, Serializer};

use crate::secret_file;

/// One request and its answer.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Entry {
    /// When it came.
    #[serde(serialize_with = "as_text")]
    pub(crate) time: Timestamp,
    /// Who asked.
    pub(crate) user: String,
    /// What for.
    pub(crate) verb: &'static str,
    /// About what, with its parameters.
    pub(crate) uri: String,
    /// From where, by the client's own words.
    pub(crate) user_agent: String,
    /// What was answered.
    pub(crate) code: u16,
    /// Microseconds to the answer.
    pub(crate) micros: u64,
}

fn as_text<S: Serializer>(time: &Timestamp, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(time)
}

/// Entries that may wait to be written.
const WAITING_MAX: usize = 4096;
/// A file is put aside when it has so many bytes; one older file is kept.
const FILE_BYTES_MAX: u64 = 64 << 20;

/// Where requests are written down.
#[derive(Clone)]
pub struct AuditLog {
    lines: Option<SyncSender<Entry>>,
}

impl AuditLog {
    /// Nowhere.
    pub fn none() -> AuditLog {
        AuditLog { lines: None }
    }

    /// In a file, which is put aside when it is large.
    pub fn to_file(path: &Path) -> std::io::Result<AuditLog> {
        let log = Log::open(path.to_owned())?;
        let (lines, waiting) = sync_channel(WAITING_MAX);
        thread::Builder::new().name("audit".to_owned()).spawn(move || log.run(&waiting))?;
        Ok(AuditLog { lines: Some(lines) })
    }

    /// Writes a request down. A disk that cannot keep up costs lines, never requests, and says so.
    pub(crate) fn note(&self, entry: impl FnOnce() -> Entry) {
        let Some(lines) = &self.lines else {
            return;
        };
        if let Err(TrySendError::Full(_)) = lines.try_send(entry()) {
            tracing::warn!("the audit log cannot keep up, a request is not in it");
        }
    }
}

struct Log {
    path: PathBuf,
    file: BufWriter<File>,
    bytes: u64,
}

impl Log {
    fn open(path: PathBuf) -> std::io::Result<Log> {
        let file = secret_file::create_options().append(true).open(&path)?;
        let bytes = file.metadata()?.len();
        Ok(Log { path, file: BufWriter::new(file), bytes })
    }

    /// Writes until nobody is left to write for; what is written is flushed whenever there is a pause.
    fn run(mut self, waiting: &Receiver<Entry>) {
        while let Ok(first) = waiting.recv() {
            let mut result = self.write(&first);
            while let (Ok(()), Ok(next)) = (&result, waiting.try_recv()) {
                result = self.write(&next);
            }
            if let Err(error) = result.and_then(|()| self.file.flush()) {
                tracing::warn!(%error, path = %self.path.display(), "the audit log cannot be written");
            }
        }
    }

    fn write(&mut self, entry: &Entry) -> std::io::Result<()> {
        let mut line = serde_json::to_vec(entry)?;
        line.push(b'\n');
        if self.bytes + line.len() as u64 > FILE_BYTES_MAX {
            self.file.flush()?;
            let mut aside = self.path.clone().into_os_string();
            aside.push(".1");
            std::fs::rename(&self.path, aside)?;
            *self = Log::open(self.path.clone())?;
        }
        self.bytes += line.len() as u64;
        self.file.write_all(&line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_becomes_a_line_without_its_body() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("audit.log");
        let mut log = Log::open(path.clone()).unwrap();
        let entry = Entry {
            time: Timestamp::UNIX_EPOCH,
            user: "admin".to_owned(),
            verb: "create",
            uri: "/api/v1/namespaces".to_owned(),
            user_agent: "kubectl".to_owned(),
            code: 201,
            micros: 7,
        };
        log.write(&entry).unwrap();
        log.file.flush().unwrap();
        let want = "{\"time\":\"1970-01-01T00:00:00Z\",\"user\":\"admin\",\"verb\":\"create\",\
                    \"uri\":\"/api/v1/namespaces\",\"userAgent\":\"kubectl\",\"code\":201,\"micros\":7}\n";
        assert_eq!(std::fs::read_to_string(&path).unwrap(), want);
    }

    #[test]
    fn a_large_file_is_put_aside() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("audit.log");
        let mut log = Log::open(path.clone()).unwrap();
        log.bytes = FILE_BYTES_MAX;
        let entry = Entry {
            time: Timestamp::UNIX_EPOCH,
            user: String::new(),
            verb: "get",
            uri: String::new(),
            user_agent: String::new(),
            code: 200,
            micros: 0,
        };
        log.write(&entry).unwrap();
        assert!(path.exists() && folder.path().join("audit.log.1").exists());
    }
}
