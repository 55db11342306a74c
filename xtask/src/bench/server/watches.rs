//! Measures many watches of CronJobs. Every event must reach every watch in order.

use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use punctual_e2e::load::{
    clock,
    connection::{Connection, ConnectionTarget, WatchLines},
    create,
    latency::Latencies,
    revisions,
};
use tokio::{task::JoinHandle, time::timeout};

use crate::bench::report::Figures;

/// A watch without an event for this long has failed.
const EVENT_TIMEOUT: Duration = Duration::from_secs(60);

const PREFIX: &str = "watched";

/// The number of watches and of creates.
#[derive(Clone, Copy, Debug)]
pub(super) struct WatchLoad {
    pub(super) watches: usize,
    pub(super) creates: usize,
}

/// Opens the watches, creates CronJobs one after the other, and waits until every watch has all events.
/// A latency is the time from sending a create to its event at one watch.
pub(super) async fn run(
    target: &ConnectionTarget,
    load: WatchLoad,
    figures: &mut Figures,
) -> anyhow::Result<()> {
    let mut connection = Connection::open(target).await?;
    let since = revisions::current_revision(&mut connection).await?;
    let path = format!("{}?resourceVersion={since}&timeoutSeconds=600", create::CRON_JOBS);
    let mut watches: Vec<JoinHandle<anyhow::Result<Vec<Instant>>>> = Vec::new();
    for _ in 0..load.watches {
        let watch = WatchLines::open(target, &path).await?;
        watches.push(tokio::spawn(collect_events(watch, load.creates)));
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
    figures.add("events delivered", "/s", expected as f64 / start.elapsed().as_secs_f64());
    figures.add_latencies(&format!("event at {} watches", load.watches), &Latencies::new(samples));
    Ok(())
}

/// The arrival time of each event. Events must arrive in the order of the creates.
async fn collect_events(mut watch: WatchLines, count: usize) -> anyhow::Result<Vec<Instant>> {
    let mut received = Vec::new();
    while received.len() < count {
        let line = timeout(EVENT_TIMEOUT, watch.next()).await;
        let line = line.with_context(|| format!("no event after {} events", received.len()))?;
        check_event(&line?.context("the watch was closed")?, received.len())?;
        received.push(clock::now());
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
