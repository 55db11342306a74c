//! Reads one run: its Job, its Pods and their logs.

use bytes::Bytes;
use futures::{AsyncReadExt as _, Stream, StreamExt as _, stream};
use http::Request;
use jiff::Timestamp;
use punctual_api::{Job, Pod};
use punctual_client::resources::PODS;
use punctual_reader::{ReadError, Reader, encode};

use super::detail::RunJob;

/// The most Pods of a Job that are listed.
const PODS_MAX: usize = 200;
/// The size of the pieces in which a log is passed on.
const CHUNK_SIZE: usize = 16 * 1024;
/// How many lines and bytes of a log a page contains. The whole log can be downloaded.
const TAIL_LINES: usize = 500;
const TAIL_BYTES: usize = 200 * 1024;

/// A run.
pub(crate) struct RunDetail {
    pub(crate) job: Job,
    /// The Pods, oldest first.
    pub(crate) pods: Vec<PodRow>,
}

/// One container of a Pod of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PodRow {
    pub(crate) pod: String,
    pub(crate) container: String,
    /// `Running`, `Succeeded`, `Failed`, `Pending`.
    pub(crate) phase: String,
    pub(crate) exit_code: Option<i32>,
    /// The reason or message of its state.
    pub(crate) reason: String,
    pub(crate) restarts: i32,
    pub(crate) started: Option<Timestamp>,
    pub(crate) finished: Option<Timestamp>,
}

impl PodRow {
    /// Whether there is a log.
    pub(crate) fn has_log(&self) -> bool {
        !self.phase.is_empty() && (self.phase != "Pending" || self.started.is_some())
    }
}

/// The log of one container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LogRequest {
    pub(crate) namespace: String,
    pub(crate) pod: String,
    pub(crate) container: String,
    /// Whether to wait for more until the container ends.
    pub(crate) follow: bool,
    /// Only the last lines.
    pub(crate) tail_lines: Option<usize>,
}

impl LogRequest {
    fn path(&self) -> String {
        let path = PODS.object_path(&self.namespace, &self.pod);
        let follow = if self.follow { "&follow=true" } else { "" };
        let tail = self.tail_lines.map_or_else(String::new, |lines| format!("&tailLines={lines}"));
        format!("{path}/log?container={}{follow}{tail}", encode(&self.container))
    }
}

/// Reads a Job and its Pods; `None` if the Job does not exist.
pub(crate) async fn read_run(
    reader: &Reader,
    run: &RunJob,
) -> Result<Option<RunDetail>, ReadError> {
    let Some(job) = reader.get_optional::<Job>(&run.api_path()).await? else { return Ok(None) };
    let query = format!("&labelSelector={}", encode(&format!("job-name={}", run.name)));
    let path = PODS.collection_path(&run.namespace);
    let mut pods: Vec<Pod> = reader.list(&path, &query, PODS_MAX).await?.items;
    pods.sort_by_key(|pod| (pod.metadata.creation_timestamp, pod.metadata.name.clone()));
    let pods = pods.iter().flat_map(pod_rows).collect();
    Ok(Some(RunDetail { job, pods }))
}

fn pod_rows(pod: &Pod) -> Vec<PodRow> {
    let containers = pod.spec.containers_in_order();
    let rows = containers.map(|(_, _, container)| {
        let statuses = pod.status.init_container_statuses.iter();
        let mut statuses = statuses.chain(&pod.status.container_statuses);
        let status = statuses.find(|status| status.name == container.name);
        let mut row = PodRow {
            pod: pod.metadata.name.clone(),
            container: container.name.clone(),
            phase: pod.status.phase.clone(),
            exit_code: None,
            reason: pod.status.reason.clone(),
            restarts: 0,
            started: pod.status.start_time.map(|time| time.timestamp()),
            finished: None,
        };
        let Some(status) = status else { return row };
        row.restarts = status.restart_count;
        if let Some(running) = &status.state.running {
            "Running".clone_into(&mut row.phase);
            row.started = running.started_at.map(|time| time.timestamp());
        } else if let Some(ended) = &status.state.terminated {
            row.exit_code = Some(ended.exit_code);
            let phase = if ended.exit_code == 0 { "Succeeded" } else { "Failed" };
            phase.clone_into(&mut row.phase);
            row.reason = [ended.reason.as_str(), ended.message.as_str()]
                .into_iter()
                .filter(|text| !text.is_empty() && *text != "Completed")
                .collect::<Vec<_>>()
                .join(": ");
            row.started = ended.started_at.map(|time| time.timestamp());
            row.finished = ended.finished_at.map(|time| time.timestamp());
        } else if let Some(waiting) = &status.state.waiting {
            "Pending".clone_into(&mut row.phase);
            row.reason.clone_from(&waiting.reason);
            row.started = None;
        }
        row
    });
    rows.collect()
}

/// Opens a log.
pub(crate) async fn open_log(
    reader: &Reader,
    request: &LogRequest,
) -> Result<impl Stream<Item = Result<Bytes, std::io::Error>> + Send + use<>, ReadError> {
    let http_request = Request::get(request.path()).body(Vec::new())?;
    let log = reader.call(reader.client().request_stream(http_request)).await?;
    let chunks = stream::try_unfold(Box::pin(log), |mut log| async move {
        let mut chunk = vec![0; CHUNK_SIZE];
        let read = log.read(&mut chunk).await?;
        if read == 0 {
            return Ok::<_, std::io::Error>(None);
        }
        chunk.truncate(read);
        Ok(Some((Bytes::from(chunk), log)))
    });
    Ok(chunks)
}

/// The end of a log.
pub(crate) struct LogTail {
    pub(crate) text: String,
    /// Whether the beginning is left out.
    pub(crate) is_cut: bool,
}

/// Reads the end of a log.
pub(crate) async fn read_log_tail(
    reader: &Reader,
    request: &LogRequest,
) -> Result<LogTail, ReadError> {
    let request = LogRequest { follow: false, tail_lines: Some(TAIL_LINES), ..request.clone() };
    let mut chunks = Box::pin(open_log(reader, &request).await?);
    let mut bytes: Vec<u8> = Vec::new();
    let mut is_cut = false;
    while let Some(Ok(chunk)) = chunks.next().await {
        bytes.extend_from_slice(&chunk);
        if bytes.len() > TAIL_BYTES * 2 {
            bytes.drain(..bytes.len() - TAIL_BYTES);
            is_cut = true;
        }
    }
    if bytes.len() > TAIL_BYTES {
        bytes.drain(..bytes.len() - TAIL_BYTES);
        is_cut = true;
    }
    let text = String::from_utf8_lossy(&bytes).into_owned();
    is_cut |= text.lines().count() >= TAIL_LINES;
    Ok(LogTail { text, is_cut })
}
