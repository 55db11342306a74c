//! For `punctual up`: connects the server's log subresource with the runner's log files.

use std::path::Path;
use std::sync::Arc;

use futures::future::BoxFuture;
use futures::{FutureExt as _, StreamExt as _};
use jiff::{SignedDuration, Timestamp};
use punctual_api::{Pod, Status};
use punctual_runner::{LogError, Logs};
use punctual_server::{LogQuery, LogSource, LogStream};
use tokio::runtime::Handle;

use super::pod_problem;
use crate::clock;

/// Serves the Pod logs of a data directory.
pub(super) struct PodLogs(Arc<Logs>);

impl PodLogs {
    pub(super) fn new(data_dir: &Path) -> PodLogs {
        PodLogs(Arc::new(Logs::new(data_dir)))
    }
}

impl LogSource for PodLogs {
    fn logs(&self, pod: Pod, query: LogQuery) -> BoxFuture<'_, Result<Option<LogStream>, Status>> {
        let logs = self.0.clone();
        async move {
            let query = runner_query(&pod.metadata.name, query, clock::now());
            let runtime = Handle::current();
            let uid = pod.metadata.uid.clone();
            // Opening a log reads files of the Pod's directory, which must not block other requests.
            let opening = tokio::task::spawn_blocking(move || {
                runtime.block_on(logs.read(&uid, query)).map(|lines| lines.boxed())
            });
            match opening.await {
                Ok(Ok(lines)) => Ok(Some(lines)),
                Ok(Err(error)) => Err(error_status(&error, &pod)),
                Err(error) => Err(Status::internal(&format!("could not open the log: {error}"))),
            }
        }
        .boxed()
    }
}

/// Converts the server's query to the runner's query.
fn runner_query(pod: &str, query: LogQuery, now: Timestamp) -> punctual_runner::LogQuery {
    let ago = |seconds| now.checked_sub(SignedDuration::from_secs(seconds)).ok();
    punctual_runner::LogQuery {
        pod: pod.to_owned(),
        container: query.container,
        previous: query.previous,
        follow: query.follow,
        tail_lines: query.tail_lines,
        since: query.since_time.or_else(|| query.since_seconds.and_then(ago)),
        timestamps: query.timestamps,
        limit_bytes: query.limit_bytes,
    }
}

/// Returns 500 for I/O errors and 400 for all others, as a kubelet does.
fn error_status(error: &LogError, pod: &Pod) -> Status {
    // The runner has no data of a Pod that it could not prepare, but has reported why.
    if let LogError::Waiting { container, .. } = error
        && let Some(cause) = pod_problem::find_log_problem(pod)
    {
        let name = &pod.metadata.name;
        let message = format!("container {container:?} in pod {name:?} did not start: {cause}");
        return Status::bad_request(message);
    }
    match error {
        LogError::Io(source) => Status::internal(&format!("{error}: {source}")),
        other => Status::bad_request(other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn since_seconds_is_converted_to_an_instant() {
        let now: Timestamp = "2026-01-01T00:01:00Z".parse().unwrap();
        let since = |query: LogQuery| runner_query("p", query, now).since.map(|at| at.to_string());
        let seconds = LogQuery { since_seconds: Some(60), ..LogQuery::default() };
        assert_eq!(since(seconds).as_deref(), Some("2026-01-01T00:00:00Z"));
        let too_long = LogQuery { since_seconds: Some(i64::MAX), ..LogQuery::default() };
        assert_eq!(
            since(too_long),
            None,
            "an instant before the representable range selects all lines"
        );
        let time = LogQuery { since_time: Some(now), ..LogQuery::default() };
        assert_eq!(since(time).as_deref(), Some("2026-01-01T00:01:00Z"));
    }
}
