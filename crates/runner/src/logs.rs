//! Reads the logs of containers, as `kubectl logs` requests them.
//!
//! A log is read from disk in chunks and followed by watching its folder. The memory does not depend on
//! the length of the log or of its lines.

mod log_line;
mod log_reader;
mod log_tail;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use futures::Stream;
use jiff::Timestamp;

use self::log_reader::LogReader;
pub(crate) use self::log_tail::{FAILURE_TAIL, MESSAGE_TAIL, read_log_tail};
use crate::folder_watcher::FolderWatcher;
use crate::pod_folder::PodFolder;
use crate::pod_state::{PodState, ReasonAndMessage, RunState, Termination, reasons};

/// The logs of the Pods of a machine.
#[derive(Debug)]
pub struct Logs {
    data_dir: PathBuf,
    /// Started with the first follower.
    folder_watcher: Mutex<Option<Arc<FolderWatcher>>>,
}

/// The options of a log request (`v1.PodLogOptions`).
#[derive(Clone, Debug, Default)]
pub struct LogQuery {
    /// The name of the Pod, for error messages.
    pub pod: String,
    /// The container.
    pub container: String,
    /// Whether to read the log of the previous run.
    pub previous: bool,
    /// Whether to follow the log until the run ends.
    pub follow: bool,
    /// Only this many lines from the end.
    pub tail_lines: Option<u64>,
    /// Only lines from this time on.
    pub since: Option<Timestamp>,
    /// Whether each line starts with its timestamp.
    pub timestamps: bool,
    /// At most this many bytes.
    pub limit_bytes: Option<u64>,
}

/// Why a log cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LogError {
    /// The container was not started yet.
    #[error("container {container:?} in pod {pod:?} is waiting to start: {reason}")]
    Waiting {
        /// The container.
        container: String,
        /// The Pod.
        pod: String,
        /// The reason why it waits.
        reason: String,
    },
    /// The container could not be started, so it has no output.
    #[error("container {container:?} in pod {pod:?} did not start: {message}")]
    NotStarted {
        /// The container.
        container: String,
        /// The Pod.
        pod: String,
        /// Why it did not start.
        message: String,
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
        /// The Pod.
        pod: String,
    },
    /// A file could not be read.
    #[error("could not read the log: {0}")]
    Io(#[from] io::Error),
}

impl Logs {
    /// The logs below the data directory of a [`ProcessRuntime`](crate::ProcessRuntime).
    pub fn new(data_dir: impl Into<PathBuf>) -> Logs {
        Logs { data_dir: data_dir.into(), folder_watcher: Mutex::default() }
    }

    /// The log of a container of the Pod with this UID, as a stream of chunks.
    pub async fn read(
        &self,
        uid: &str,
        query: LogQuery,
    ) -> Result<impl Stream<Item = io::Result<Bytes>> + Send + use<>, LogError> {
        let folder = PodFolder::for_uid(&self.data_dir, uid);
        let folder = folder.ok_or(io::Error::from(io::ErrorKind::NotFound))?;
        let state = folder.state()?;
        let creating = || waiting(&query, &ReasonAndMessage::new(reasons::CREATING, ""));
        let state = state.ok_or_else(creating)?;
        let run = run_number(&state, &query)?;
        let folder_watcher = if query.follow { Some(self.folder_watcher()?) } else { None };
        let reader = LogReader::open(folder, run, query, folder_watcher).await?;
        Ok(futures::stream::try_unfold(reader, |mut reader| async move {
            Ok(reader.next_chunk().await?.map(|chunk| (chunk, reader)))
        }))
    }

    fn folder_watcher(&self) -> io::Result<Arc<FolderWatcher>> {
        let mut watcher = self.folder_watcher.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(watcher) = &*watcher {
            return Ok(watcher.clone());
        }
        Ok(watcher.insert(FolderWatcher::start()?).clone())
    }
}

/// The number of the requested run.
fn run_number(state: &PodState, query: &LogQuery) -> Result<u32, LogError> {
    let container = query.container.clone();
    let pod = query.pod.clone();
    let Some(record) = state.container(&query.container) else {
        return Err(LogError::NoContainer { container, pod });
    };
    if query.previous {
        check_started(record.last_termination.as_ref(), query)?;
        let previous = record.restarts.checked_sub(1);
        return previous.ok_or(LogError::NoPrevious { container, pod });
    }
    let run = record.run_number().ok_or_else(|| match &record.current {
        RunState::Waiting(cause) => waiting(query, cause),
        _ => waiting(query, &ReasonAndMessage::new(reasons::CREATING, "")),
    })?;
    let latest = match &record.current {
        RunState::Waiting(_) => record.last_termination.as_ref(),
        _ => record.termination(),
    };
    check_started(latest, query)?;
    Ok(run)
}

/// Returns an error if a run ended before its program was started.
fn check_started(termination: Option<&Termination>, query: &LogQuery) -> Result<(), LogError> {
    match termination {
        Some(end) if is_start_failure(end) => Err(LogError::NotStarted {
            container: query.container.clone(),
            pod: query.pod.clone(),
            message: end.message.clone(),
        }),
        _ => Ok(()),
    }
}

fn is_start_failure(termination: &Termination) -> bool {
    [reasons::CANNOT_RUN, reasons::START_ERROR].contains(&termination.reason.as_str())
}

fn waiting(query: &LogQuery, cause: &ReasonAndMessage) -> LogError {
    let reason = match cause.message.as_str() {
        "" => cause.reason.clone(),
        message => format!("{}: {message}", cause.reason),
    };
    LogError::Waiting { container: query.container.clone(), pod: query.pod.clone(), reason }
}

/// The two files of a run's log: the rotated one and the current one.
fn log_files(folder: &PodFolder, container: &str, run: u32) -> [PathBuf; 2] {
    let current = folder.log_folder(container).join(format!("{run}.log"));
    [rotated_path(&current), current]
}

/// The path that a full log is renamed to.
pub(crate) fn rotated_path(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".1");
    name.into()
}
