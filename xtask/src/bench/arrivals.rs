//! One watch on Jobs: when each new one was heard of, and for which slot it is.

use std::{collections::HashSet, time::Duration};

use anyhow::{Context, ensure};
use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use hyper::{Method, StatusCode, body::Incoming};
use jiff::Timestamp;
use serde::Deserialize;
use tokio::time::timeout;

use super::{
    clock,
    connection::{Connection, Target},
    latency::Latencies,
};

const JOBS: &str = "/apis/batch/v1/jobs";
/// Longer than any benchmark.
const WATCH_SECONDS: u64 = 3600;
const ADDED: &[u8] = br#"{"type":"ADDED""#;
const ERROR: &[u8] = br#"{"type":"ERROR""#;

/// A watch that begins with what is there, which is no Job yet. One that begins with the latest version
/// would be cut by a kube-apiserver whose etcd cannot tell how far it is.
///
/// A server that is short of processors closes watches that it cannot serve in time. They are opened again
/// where they were, as every client does; the moment that takes is part of the skew.
pub(super) struct JobWatch {
    target: Target,
    body: Incoming,
}

/// A new Job, as it came: it is read when nothing is measured any more.
#[derive(Clone, Debug)]
pub(super) struct Arrival {
    pub(super) at: Timestamp,
    pub(super) line: Bytes,
}

#[derive(Deserialize)]
struct Event {
    object: Object,
}

#[derive(Deserialize)]
struct Object {
    metadata: Meta,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Meta {
    name: String,
    resource_version: String,
    annotations: Annotations,
}

#[derive(Deserialize)]
struct Annotations {
    #[serde(rename = "batch.kubernetes.io/cronjob-scheduled-timestamp")]
    slot: String,
}

impl JobWatch {
    pub(super) async fn open(target: &Target) -> anyhow::Result<Self> {
        Ok(JobWatch { target: target.clone(), body: watch(target, "0").await? })
    }

    /// Waits for so many new Jobs; an error if nothing at all comes for so long.
    pub(super) async fn hear(
        mut self,
        count: usize,
        silence: Duration,
    ) -> anyhow::Result<Vec<Arrival>> {
        let (mut heard, mut rest) = (Vec::with_capacity(count), BytesMut::new());
        while heard.len() < count {
            let frame = timeout(silence, self.body.frame()).await;
            let at = clock::wall();
            let frame = frame.with_context(|| format!("silence after {} Jobs", heard.len()))?;
            let Some(frame) = frame else {
                self.body = watch(&self.target, &last_version(&heard)?).await?;
                rest.clear();
                continue;
            };
            let Ok(data) = frame?.into_data() else { continue };
            rest.extend_from_slice(&data);
            heard.extend(lines(&mut rest)?.into_iter().map(|line| Arrival { at, line }));
        }
        Ok(heard)
    }
}

async fn watch(target: &Target, from: &str) -> anyhow::Result<Incoming> {
    let mut connection = Connection::open(target).await?;
    let path = format!("{JOBS}?watch=true&resourceVersion={from}&timeoutSeconds={WATCH_SECONDS}");
    let answer = connection.send(Method::GET, &path, Bytes::new()).await?;
    ensure!(answer.status() == StatusCode::OK, "watch: {}", answer.status());
    Ok(answer.into_body())
}

/// The version of the latest Job that was heard of.
fn last_version(heard: &[Arrival]) -> anyhow::Result<String> {
    match heard.last() {
        Some(Arrival { line, .. }) => {
            Ok(serde_json::from_slice::<Event>(line)?.object.metadata.resource_version)
        }
        None => Ok("0".to_owned()),
    }
}

/// Takes the complete lines about new objects off the front.
fn lines(rest: &mut BytesMut) -> anyhow::Result<Vec<Bytes>> {
    let mut lines = Vec::new();
    while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
        let line = rest.split_to(end + 1).freeze();
        ensure!(!line.starts_with(ERROR), "{}", String::from_utf8_lossy(&line));
        if line.starts_with(ADDED) {
            lines.push(line);
        }
    }
    Ok(lines)
}

/// From each Job's slot to its arrival; an error if one came twice.
pub(super) fn skews(arrivals: &[Arrival]) -> anyhow::Result<Latencies> {
    let mut names = HashSet::new();
    let mut skews = Vec::with_capacity(arrivals.len());
    for Arrival { at, line } in arrivals {
        let event: Event = serde_json::from_slice(line)
            .with_context(|| format!("event {}", String::from_utf8_lossy(line)))?;
        let Meta { name, annotations, .. } = event.object.metadata;
        let skew = at.duration_since(annotations.slot.parse::<Timestamp>()?);
        skews.push(skew.try_into().with_context(|| format!("{name} is before its slot"))?);
        ensure!(names.insert(name), "a Job was made twice");
    }
    Ok(Latencies::new(skews))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arrival(name: &str, late_ms: i64) -> Arrival {
        let slot: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
        let line = format!(
            r#"{{"type":"ADDED","object":{{"metadata":{{"name":"{name}","resourceVersion":"{late_ms}","annotations":{{"batch.kubernetes.io/cronjob-scheduled-timestamp":"2026-01-01T01:00:00+01:00"}}}}}}}}"#
        );
        Arrival { at: slot + jiff::SignedDuration::from_millis(late_ms), line: line.into() }
    }

    #[test]
    fn skew_is_from_the_slot_to_the_arrival() {
        let skews = skews(&[arrival("a", 7), arrival("b", 3)]).unwrap();
        assert_eq!(skews.max(), Duration::from_millis(7));
        assert_eq!(skews.count(), 2);
    }

    #[test]
    fn a_job_that_comes_twice_or_too_early_is_an_error() {
        assert!(skews(&[arrival("a", 7), arrival("a", 8)]).is_err());
        assert!(skews(&[arrival("a", -1)]).is_err());
    }

    #[test]
    fn a_watch_goes_on_after_the_latest_job() {
        assert_eq!(last_version(&[]).unwrap(), "0");
        assert_eq!(last_version(&[arrival("a", 7), arrival("b", 9)]).unwrap(), "9");
    }

    #[test]
    fn only_whole_lines_about_new_objects_are_taken() {
        let text = b"{\"type\":\"ADDED\",1}\n{\"type\":\"MODIFIED\"}\n{\"type\":\"ADDED\",2}\n{\"type\":\"ADD";
        let mut rest = BytesMut::from(&text[..]);
        assert_eq!(
            lines(&mut rest).unwrap(),
            ["{\"type\":\"ADDED\",1}\n", "{\"type\":\"ADDED\",2}\n"]
        );
        assert_eq!(&rest[..], b"{\"type\":\"ADD");
        assert!(lines(&mut BytesMut::from("{\"type\":\"ERROR\"}\n")).is_err());
    }
}
