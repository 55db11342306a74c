//! A watch of Jobs that records when each new Job arrived and for which slot.

use std::{collections::HashSet, time::Duration};

use anyhow::{Context, ensure};
use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use hyper::{Method, StatusCode, body::Incoming};
use jiff::Timestamp;
use serde::Deserialize;
use tokio::time::timeout;

use punctual_e2e::load::{
    clock,
    connection::{Connection, ConnectionTarget},
    latency::Latencies,
};

const JOBS: &str = "/apis/batch/v1/jobs";
/// Longer than any benchmark.
const WATCH_SECONDS: u64 = 3600;
const ADDED: &[u8] = br#"{"type":"ADDED""#;
const ERROR: &[u8] = br#"{"type":"ERROR""#;

/// A watch that begins with the existing Jobs, of which there are none yet. A kube-apiserver whose etcd
/// does not report its progress would close a watch that begins with the latest version.
///
/// A server without free processors closes watches that it cannot serve in time. They are reopened at
/// the last version; the time that takes is a part of the skew.
pub(super) struct JobWatch {
    target: ConnectionTarget,
    body: Incoming,
}

/// A new Job. Its event is decoded after the measurement.
#[derive(Clone, Debug)]
pub(super) struct JobArrival {
    pub(super) at: Timestamp,
    pub(super) line: Bytes,
}

#[derive(Deserialize)]
struct JobEvent {
    object: JobObject,
}

#[derive(Deserialize)]
struct JobObject {
    metadata: JobMeta,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct JobMeta {
    name: String,
    resource_version: String,
    annotations: SlotAnnotation,
}

#[derive(Deserialize)]
struct SlotAnnotation {
    #[serde(rename = "batch.kubernetes.io/cronjob-scheduled-timestamp")]
    slot: String,
}

impl JobWatch {
    pub(super) async fn open(target: &ConnectionTarget) -> anyhow::Result<Self> {
        Ok(JobWatch { target: target.clone(), body: open_watch(target, "0").await? })
    }

    /// Waits for a number of new Jobs. Fails if no event comes within `event_timeout`.
    pub(super) async fn collect(
        mut self,
        count: usize,
        event_timeout: Duration,
    ) -> anyhow::Result<Vec<JobArrival>> {
        let mut arrivals = Vec::with_capacity(count);
        let mut buffer = BytesMut::new();
        while arrivals.len() < count {
            let frame = timeout(event_timeout, self.body.frame()).await;
            let at = clock::wall_time();
            let frame = frame.with_context(|| format!("no event after {} Jobs", arrivals.len()))?;
            let Some(frame) = frame else {
                self.body = open_watch(&self.target, &last_version(&arrivals)?).await?;
                buffer.clear();
                continue;
            };
            let Ok(data) = frame?.into_data() else { continue };
            buffer.extend_from_slice(&data);
            let lines = take_lines(&mut buffer)?;
            arrivals.extend(lines.into_iter().map(|line| JobArrival { at, line }));
        }
        Ok(arrivals)
    }
}

async fn open_watch(target: &ConnectionTarget, from: &str) -> anyhow::Result<Incoming> {
    let mut connection = Connection::open(target).await?;
    let path = format!("{JOBS}?watch=true&resourceVersion={from}&timeoutSeconds={WATCH_SECONDS}");
    let response = connection.send(Method::GET, &path, Bytes::new()).await?;
    ensure!(response.status() == StatusCode::OK, "watch: {}", response.status());
    Ok(response.into_body())
}

/// The resourceVersion of the latest Job.
fn last_version(arrivals: &[JobArrival]) -> anyhow::Result<String> {
    match arrivals.last() {
        Some(JobArrival { line, .. }) => {
            Ok(serde_json::from_slice::<JobEvent>(line)?.object.metadata.resource_version)
        }
        None => Ok("0".to_owned()),
    }
}

/// Removes the complete lines from the buffer and returns those about new objects.
fn take_lines(buffer: &mut BytesMut) -> anyhow::Result<Vec<Bytes>> {
    let mut lines = Vec::new();
    while let Some(end) = buffer.iter().position(|byte| *byte == b'\n') {
        let line = buffer.split_to(end + 1).freeze();
        ensure!(!line.starts_with(ERROR), "{}", String::from_utf8_lossy(&line));
        if line.starts_with(ADDED) {
            lines.push(line);
        }
    }
    Ok(lines)
}

/// The delay from each Job's slot to its arrival. Fails if a Job arrived twice.
pub(super) fn start_skews(arrivals: &[JobArrival]) -> anyhow::Result<Latencies> {
    let mut names = HashSet::new();
    let mut skews = Vec::with_capacity(arrivals.len());
    for JobArrival { at, line } in arrivals {
        let event: JobEvent = serde_json::from_slice(line)
            .with_context(|| format!("event {}", String::from_utf8_lossy(line)))?;
        let JobMeta { name, annotations, .. } = event.object.metadata;
        let skew = at.duration_since(annotations.slot.parse::<Timestamp>()?);
        skews.push(skew.try_into().with_context(|| format!("{name} was created before its slot"))?);
        ensure!(names.insert(name), "a Job was created twice");
    }
    Ok(Latencies::new(skews))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arrival(name: &str, late_ms: i64) -> JobArrival {
        let slot: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
        let line = format!(
            r#"{{"type":"ADDED","object":{{"metadata":{{"name":"{name}","resourceVersion":"{late_ms}","annotations":{{"batch.kubernetes.io/cronjob-scheduled-timestamp":"2026-01-01T01:00:00+01:00"}}}}}}}}"#
        );
        JobArrival { at: slot + jiff::SignedDuration::from_millis(late_ms), line: line.into() }
    }

    #[test]
    fn the_skew_is_the_time_from_the_slot_to_the_arrival() {
        let skews = start_skews(&[arrival("a", 7), arrival("b", 3)]).unwrap();
        assert_eq!(skews.max(), Duration::from_millis(7));
        assert_eq!(skews.count(), 2);
    }

    #[test]
    fn a_duplicate_or_early_job_is_an_error() {
        assert!(start_skews(&[arrival("a", 7), arrival("a", 8)]).is_err());
        assert!(start_skews(&[arrival("a", -1)]).is_err());
    }

    #[test]
    fn a_watch_is_reopened_after_the_latest_job() {
        assert_eq!(last_version(&[]).unwrap(), "0");
        assert_eq!(last_version(&[arrival("a", 7), arrival("b", 9)]).unwrap(), "9");
    }

    #[test]
    fn only_complete_lines_about_new_objects_are_returned() {
        let text = b"{\"type\":\"ADDED\",1}\n{\"type\":\"MODIFIED\"}\n{\"type\":\"ADDED\",2}\n{\"type\":\"ADD";
        let mut buffer = BytesMut::from(&text[..]);
        assert_eq!(
            take_lines(&mut buffer).unwrap(),
            ["{\"type\":\"ADDED\",1}\n", "{\"type\":\"ADDED\",2}\n"]
        );
        assert_eq!(&buffer[..], b"{\"type\":\"ADD");
        assert!(take_lines(&mut BytesMut::from("{\"type\":\"ERROR\"}\n")).is_err());
    }
}
