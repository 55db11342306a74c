//! Reading the logs of containers, as `kubectl logs` asks for them.
//!
//! A log is read as it lies on the disk, in pieces, and followed by waiting for the folder to
//! change; the memory it takes does not depend on its length or on the length of its lines.

mod line;
mod reading;
mod tail;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use futures::Stream;
use jiff::Timestamp;

use self::reading::Reading;
pub(crate) use self::tail::last_words;
use crate::folder::Folder;
use crate::inotify::Hub;
use crate::state::{Now, PodState, reasons};

/// The logs of the Pods of a machine.
#[derive(Debug)]
pub struct Logs {
    data: PathBuf,
    hub: Mutex<Option<Arc<Hub>>>,
}

/// Which part of which log is wanted (`v1.PodLogOptions`).
#[derive(Clone, Debug, Default)]
pub struct LogQuery {
    /// Name of the Pod, for messages.
    pub pod: String,
    /// The container.
    pub container: String,
    /// Whether the run before the present one is meant.
    pub previous: bool,
    /// Whether to go on until the run ends.
    pub follow: bool,
    /// Only that many lines from the end.
    pub tail_lines: Option<u64>,
    /// Only lines from that instant on.
    pub since: Option<Timestamp>,
    /// Whether each line begins with its instant.
    pub timestamps: bool,
    /// No more bytes than that.
    pub limit_bytes: Option<u64>,
}

/// Why there is no log.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LogError {
    /// The container was not started yet. Ask again later.
    #[error("container {container:?} in pod {pod:?} is waiting to start: {reason}")]
    Waiting {
        /// The container.
        container: String,
        /// Its Pod.
        pod: String,
        /// What it waits for.
        reason: String,
    },
    /// The Pod has no such container.
    #[error("container {container} is not valid for pod {pod}")]
    NoContainer {
        /// The container.
        container: String,
        /// The Pod.
        pod: String,
    },
    /// The container was never restarted.
    #[error("previous terminated container {container:?} in pod {pod:?} not found")]
    NoPrevious {
        /// The container.
        container: String,
        /// Its Pod.
        pod: String,
    },
    /// The disk failed.
    #[error("the log cannot be read")]
    Io(#[from] io::Error),
}

impl Logs {
    /// The logs below a runner's data folder.
    pub fn new(data: impl Into<PathBuf>) -> Logs {
        Logs { data: data.into(), hub: Mutex::default() }
    }

    /// The log of a container of the Pod with that UID, in pieces as they come.
    pub async fn read(
        &self,
        uid: &str,
        query: LogQuery,
    ) -> Result<impl Stream<Item = io::Result<Bytes>> + Send + use<>, LogError> {
        let folder = Folder::of(&self.data, uid).ok_or(io::Error::from(io::ErrorKind::NotFound))?;
        let state = folder.state()?.ok_or_else(|| waiting(&query, reasons::CREATING))?;
        let run = run_of(&state, &query)?;
        let hub = if query.follow { Some(self.hub()?) } else { None };
        let reading = Reading::open(folder, run, query, hub).await?;
        Ok(futures::stream::try_unfold(reading, |mut reading| async move {
            Ok(reading.next().await?.map(|piece| (piece, reading)))
        }))
    }

    /// Waits for changes are started with the first who follows.
    fn hub(&self) -> io::Result<Arc<Hub>> {
        let mut hub = self.hub.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(hub) = &*hub {
            return Ok(hub.clone());
        }
        Ok(hub.insert(Hub::start()?).clone())
    }
}

/// The number of the run that is asked for.
fn run_of(state: &PodState, query: &LogQuery) -> Result<u32, LogError> {
    let (container, pod) = (query.container.clone(), query.pod.clone());
    let Some(record) = state.record(&query.container) else {
        return Err(LogError::NoContainer { container, pod });
    };
    if query.previous {
        let before = record.restarts.checked_sub(1);
        return before.ok_or(LogError::NoPrevious { container, pod });
    }
    record.run().ok_or_else(|| match &record.now {
        Now::Waiting(fault) => waiting(query, &fault.reason),
        _ => waiting(query, reasons::CREATING),
    })
}

fn waiting(query: &LogQuery, reason: &str) -> LogError {
    let (container, pod) = (query.container.clone(), query.pod.clone());
    LogError::Waiting { container, pod, reason: reason.to_owned() }
}

/// The two files of a run's log, the newer one last.
fn files(folder: &Folder, container: &str, run: u32) -> [PathBuf; 2] {
    let newer = folder.logs(container).join(format!("{run}.log"));
    [older(&newer), newer]
}

/// The file that a full log was moved to.
pub(crate) fn older(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".1");
    name.into()
}
