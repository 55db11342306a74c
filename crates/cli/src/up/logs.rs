//! What Pods write, from the runner that keeps it to the server that is asked for it.

use std::path::Path;

use futures::future::BoxFuture;
use futures::{FutureExt as _, StreamExt as _};
use jiff::{SignedDuration, Timestamp};
use punctual_api::{Pod, Status};
use punctual_runner::{LogError, Logs};
use punctual_server::{LogQuery, LogSource, LogStream};

use crate::clock;

/// The logs of the Pods in a data folder.
pub(super) struct PodLogs(Logs);

impl PodLogs {
    pub(super) fn new(folder: &Path) -> PodLogs {
        PodLogs(Logs::new(folder))
    }
}

impl LogSource for PodLogs {
    fn logs(&self, pod: Pod, query: LogQuery) -> BoxFuture<'_, Result<Option<LogStream>, Status>> {
        async move {
            let query = translated(&pod.metadata.name, query, clock::now());
            match self.0.read(&pod.metadata.uid, query).await {
                Ok(lines) => Ok(Some(lines.boxed())),
                Err(error) => Err(refused(&error)),
            }
        }
        .boxed()
    }
}

/// The same question in the runner's words.
fn translated(pod: &str, query: LogQuery, now: Timestamp) -> punctual_runner::LogQuery {
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

/// A kubelet blames whoever asks, but for its own disk.
fn refused(error: &LogError) -> Status {
    match error {
        LogError::Io(why) => Status::internal(&format!("{error}: {why}")),
        other => Status::bad_request(other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_ago_become_an_instant() {
        let now: Timestamp = "2026-01-01T00:01:00Z".parse().unwrap();
        let since = |query: LogQuery| translated("p", query, now).since.map(|at| at.to_string());
        let seconds = LogQuery { since_seconds: Some(60), ..LogQuery::default() };
        assert_eq!(since(seconds).as_deref(), Some("2026-01-01T00:00:00Z"));
        let ages = LogQuery { since_seconds: Some(i64::MAX), ..LogQuery::default() };
        assert_eq!(since(ages), None, "further back than there is time is everything");
        let time = LogQuery { since_time: Some(now), ..LogQuery::default() };
        assert_eq!(since(time).as_deref(), Some("2026-01-01T00:01:00Z"));
    }
}
