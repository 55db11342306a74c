//! Measures many watches of CronJobs. Every event must reach every watch in order.

use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::{Method, StatusCode, body::Incoming};
use tokio::{task::JoinHandle, time::timeout};

use punctual_e2e::load::{
    clock,
    connection::{Connection, ConnectionTarget},
    create,
    latency::Latencies,
};

/// A watch without an event for this long has failed.
const EVENT_TIMEOUT: Duration = Duration::from_secs(60);

const PREFIX: &str = "watched";

/// The number of watches and of creates.
#[derive(Clone, Copy, Debug)]
pub(super) struct WatchLoad {
    pub(super) watches: usize,
    pub(super) creates: usize,
}

/// The measurements of the watches.
#[derive(Clone, Debug)]
pub(super) struct WatchResults {
    pub(super) load: WatchLoad,
    /// The time from sending a create to its event at one watch.
    pub(super) latencies: Latencies,
    pub(super) duration: Duration,
}

/// Opens the watches, creates CronJobs one after the other, and waits until every watch has all events.
pub(super) async fn run(
    target: &ConnectionTarget,
    load: WatchLoad,
) -> anyhow::Result<WatchResults> {
    let mut connection = Connection::open(target).await?;
    let since = current_version(&mut connection).await?;
    let mut watches: Vec<JoinHandle<anyhow::Result<Vec<Instant>>>> = Vec::new();
    for _ in 0..load.watches {
        let body = open_watch(target, &since).await?;
        watches.push(tokio::spawn(collect_events(body, load.creates)));
    }
    let start = clock::now();
    let mut sent = Vec::new();
    for number in 0..load.creates {
        sent.push(clock::now());
        connection.post(create::CRON_JOBS, create::cron_job_body(PREFIX, number)).await?;
    }
    let mut samples = Vec::new();
    for watch in watches {
        let received = watch.await.context("a watch failed")??;
        let pairs = received.iter().zip(&sent);
        samples.extend(pairs.map(|(received, sent)| received.duration_since(*sent)));
    }
    let expected = load.watches * load.creates;
    ensure!(samples.len() == expected, "{} of {expected} events", samples.len());
    Ok(WatchResults { load, duration: start.elapsed(), latencies: Latencies::new(samples) })
}

/// The resourceVersion of the collection.
async fn current_version(connection: &mut Connection) -> anyhow::Result<String> {
    let body = connection.get(&format!("{}?limit=1", create::CRON_JOBS)).await?;
    let list: serde_json::Value = serde_json::from_slice(&body)?;
    let version = list.pointer("/metadata/resourceVersion").and_then(|version| version.as_str());
    Ok(version.context("a list without a version")?.to_owned())
}

async fn open_watch(target: &ConnectionTarget, since: &str) -> anyhow::Result<Incoming> {
    let mut connection = Connection::open(target).await?;
    let path =
        format!("{}?watch=true&resourceVersion={since}&timeoutSeconds=600", create::CRON_JOBS);
    let response = connection.send(Method::GET, &path, Bytes::new()).await?;
    ensure!(response.status() == StatusCode::OK, "watch: {}", response.status());
    Ok(response.into_body())
}

/// The arrival time of each event. Events must arrive in the order of the creates.
async fn collect_events(mut body: Incoming, count: usize) -> anyhow::Result<Vec<Instant>> {
    let mut received = Vec::new();
    let mut buffer = Vec::new();
    while received.len() < count {
        let frame = timeout(EVENT_TIMEOUT, body.frame()).await;
        let frame = frame.with_context(|| format!("no event after {} events", received.len()))?;
        let at = clock::now();
        let Ok(data) = frame.context("the watch was closed")??.into_data() else { continue };
        buffer.extend_from_slice(&data);
        while let Some(end) = buffer.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = buffer.drain(..=end).collect();
            check_event(&line, received.len())?;
            received.push(at);
        }
    }
    Ok(received)
}

fn check_event(line: &[u8], number: usize) -> anyhow::Result<()> {
    let text = String::from_utf8_lossy(line);
    let name = format!(r#""name":"{PREFIX}-{number:06}""#);
    ensure!(text.starts_with(r#"{"type":"ADDED""#), "event {number} is {text}");
    ensure!(text.contains(&name), "event {number} is out of order: {text}");
    Ok(())
}
