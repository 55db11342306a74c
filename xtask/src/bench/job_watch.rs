//! A watch of Jobs that records when each new Job arrived and for which slot (scheduled time).

use std::{collections::HashSet, time::Duration};

use anyhow::{Context, ensure};
use bytes::Bytes;
use jiff::Timestamp;
use punctual_e2e::{
    json,
    load::{
        clock,
        connection::{ConnectionTarget, WatchLines},
        latency::Latencies,
    },
};
use serde_json::Value;
use tokio::time::timeout;

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
    lines: WatchLines,
}

/// A new Job. Its event is decoded after the measurement.
#[derive(Clone, Debug)]
pub(super) struct JobArrival {
    pub(super) at: Timestamp,
    pub(super) line: Bytes,
}

impl JobWatch {
    pub(super) async fn open(target: &ConnectionTarget) -> anyhow::Result<Self> {
        Ok(JobWatch { target: target.clone(), lines: open_watch(target, "0").await? })
    }

    /// Waits for a number of new Jobs. Fails if no event comes within `event_timeout`.
    pub(super) async fn collect(
        mut self,
        count: usize,
        event_timeout: Duration,
    ) -> anyhow::Result<Vec<JobArrival>> {
        let mut arrivals = Vec::with_capacity(count);
        while arrivals.len() < count {
            let line = timeout(event_timeout, self.lines.next()).await;
            let at = clock::wall_time();
            match line.with_context(|| format!("no event after {} Jobs", arrivals.len()))?? {
                Some(line) if is_new(&line)? => arrivals.push(JobArrival { at, line }),
                Some(_) => {}
                None => self.lines = open_watch(&self.target, &last_version(&arrivals)?).await?,
            }
        }
        Ok(arrivals)
    }
}

async fn open_watch(target: &ConnectionTarget, from: &str) -> anyhow::Result<WatchLines> {
    let path = format!("{JOBS}?resourceVersion={from}&timeoutSeconds={WATCH_SECONDS}");
    WatchLines::open(target, &path).await
}

/// The resourceVersion of the latest Job.
fn last_version(arrivals: &[JobArrival]) -> anyhow::Result<String> {
    let Some(last) = arrivals.last() else {
        return Ok("0".to_owned());
    };
    let event: Value = serde_json::from_slice(&last.line)?;
    Ok(json::text(&event, "/object/metadata/resourceVersion").to_owned())
}

/// Whether an event is about a new object. An error of the server is an error.
fn is_new(line: &[u8]) -> anyhow::Result<bool> {
    ensure!(!line.starts_with(ERROR), "{}", String::from_utf8_lossy(line));
    Ok(line.starts_with(ADDED))
}

/// The delay from each Job's slot to its arrival. Fails if a Job arrived twice.
pub(super) fn start_skews(arrivals: &[JobArrival]) -> anyhow::Result<Latencies> {
    let mut names = HashSet::new();
    let mut skews = Vec::with_capacity(arrivals.len());
    for JobArrival { at, line } in arrivals {
        let event: Value = serde_json::from_slice(line)
            .with_context(|| format!("event {}", String::from_utf8_lossy(line)))?;
        let job = event.get("object").context("an event without an object")?;
        let name = json::name(job).to_owned();
        let slot = json::slot(job).with_context(|| format!("{name} has no slot"))?;
        let skew = at.duration_since(slot);
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
    fn only_events_about_new_objects_count() {
        assert!(is_new(b"{\"type\":\"ADDED\",1}\n").unwrap());
        assert!(!is_new(b"{\"type\":\"MODIFIED\"}\n").unwrap());
        assert!(is_new(b"{\"type\":\"ERROR\"}\n").is_err());
    }
}
