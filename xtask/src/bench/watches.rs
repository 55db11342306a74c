//! Many watches on one kind while CronJobs are created: every event must reach every watch, in order.

use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::{Method, StatusCode, body::Incoming};
use tokio::{task::JoinHandle, time::timeout};

use super::{
    clock,
    connection::{Connection, Target},
    create,
    latency::Latencies,
};

/// A watch that hears nothing for so long will hear nothing more.
const EVENT_WITHIN: Duration = Duration::from_secs(60);

const WORD: &str = "watched";

/// How many watches, and how many CronJobs are created under them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Audience {
    pub(super) watches: usize,
    pub(super) creates: usize,
}

/// What the watches measured.
#[derive(Clone, Debug)]
pub(super) struct Watched {
    pub(super) audience: Audience,
    /// From sending a create to its event at one watch.
    pub(super) latencies: Latencies,
    pub(super) took: Duration,
}

/// Opens the watches, creates CronJobs one after the other, and waits until all have heard of all.
pub(super) async fn run(target: &Target, audience: Audience) -> anyhow::Result<Watched> {
    let mut connection = Connection::open(target).await?;
    let since = version(&mut connection).await?;
    let mut watches: Vec<JoinHandle<anyhow::Result<Vec<Instant>>>> = Vec::new();
    for _ in 0..audience.watches {
        let body = open(target, &since).await?;
        watches.push(tokio::spawn(listen(body, audience.creates)));
    }
    let start = clock::now();
    let mut sent = Vec::new();
    for number in 0..audience.creates {
        sent.push(clock::now());
        connection.post(create::PATH, create::body(WORD, number)).await?;
    }
    let mut samples = Vec::new();
    for watch in watches {
        let heard = watch.await.context("a watch ended")??;
        samples.extend(heard.iter().zip(&sent).map(|(heard, sent)| heard.duration_since(*sent)));
    }
    let expected = audience.watches * audience.creates;
    ensure!(samples.len() == expected, "{} of {expected} events", samples.len());
    Ok(Watched { audience, took: start.elapsed(), latencies: Latencies::new(samples) })
}

/// The version of the collection, as lists give it.
async fn version(connection: &mut Connection) -> anyhow::Result<String> {
    let body = connection.get(&format!("{}?limit=1", create::PATH)).await?;
    let list: serde_json::Value = serde_json::from_slice(&body)?;
    let version = list.pointer("/metadata/resourceVersion").and_then(|version| version.as_str());
    Ok(version.context("a list without a version")?.to_owned())
}

async fn open(target: &Target, since: &str) -> anyhow::Result<Incoming> {
    let mut connection = Connection::open(target).await?;
    let path = format!("{}?watch=true&resourceVersion={since}&timeoutSeconds=600", create::PATH);
    let answer = connection.send(Method::GET, &path, Bytes::new()).await?;
    ensure!(answer.status() == StatusCode::OK, "watch: {}", answer.status());
    Ok(answer.into_body())
}

/// When each event came. They must come in the order of the creates.
async fn listen(mut body: Incoming, count: usize) -> anyhow::Result<Vec<Instant>> {
    let mut heard = Vec::new();
    let mut rest = Vec::new();
    while heard.len() < count {
        let frame = timeout(EVENT_WITHIN, body.frame()).await;
        let frame = frame.with_context(|| format!("silence after {} events", heard.len()))?;
        let at = clock::now();
        let Ok(data) = frame.context("the watch was closed")??.into_data() else { continue };
        rest.extend_from_slice(&data);
        while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = rest.drain(..=end).collect();
            check(&line, heard.len())?;
            heard.push(at);
        }
    }
    Ok(heard)
}

fn check(line: &[u8], number: usize) -> anyhow::Result<()> {
    let text = String::from_utf8_lossy(line);
    let name = format!(r#""name":"{WORD}-{number:06}""#);
    ensure!(text.starts_with(r#"{"type":"ADDED""#), "event {number} is {text}");
    ensure!(text.contains(&name), "event {number} is out of order: {text}");
    Ok(())
}
