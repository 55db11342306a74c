//! Many CronJobs due in one second.

use std::{rc::Rc, time::Duration};

use anyhow::{Context, ensure};
use jiff::Timestamp;
use punctual_e2e::Cluster;
use serde::Deserialize;

use super::{
    super::{
        arrivals::{self, Arrival, JobWatch},
        clock,
        connection::{Connection, Target},
        contender, create,
        exposition::{Exposition, Histogram},
        latency::Latencies,
        progress::{self, Progress},
    },
    manifest,
};

const CLIENTS: usize = 64;
/// Who waits for the slot is at rest by then.
const EASE: Duration = Duration::from_secs(2);
/// A burst that stops for so long has ended.
const SILENCE: Duration = Duration::from_secs(120);
/// After so long without a write nothing more is written; longer, and an API server's own writes are heard.
const QUIET: Duration = Duration::from_secs(3);
/// Silences that statuses may still follow: kube-controller-manager tries some again after a while.
const SILENCES_MAX: usize = 20;
const QUIET_WITHIN: Duration = Duration::from_secs(900);
/// The memory settles after the work.
const REST: Duration = Duration::from_secs(2);

/// What is to be measured of whom.
pub(in super::super) struct Many<'a> {
    pub(in super::super) cluster: &'a Cluster,
    /// The processes whose time and memory count.
    pub(in super::super) pids: Vec<u32>,
    pub(in super::super) count: usize,
    pub(in super::super) lead: u32,
}

/// What was measured.
#[derive(Debug)]
pub(in super::super) struct Results {
    /// From the slot to the Job's arrival at the watch.
    pub(in super::super) skews: Latencies,
    /// From the slot until the status of every CronJob said so, of those that ever did.
    pub(in super::super) recorded: Option<Duration>,
    /// How many CronJobs never said so.
    pub(in super::super) unrecorded: usize,
    /// From the slot to the last write of any kind.
    pub(in super::super) quiet: Duration,
    /// What the server itself has measured, if it tells.
    pub(in super::super) own_skews: Option<Histogram>,
    /// Processor time from just before the slot to the last write.
    pub(in super::super) processor: Duration,
    pub(in super::super) memory: u64,
    /// The most memory that it ever held.
    pub(in super::super) peak: u64,
}

impl Results {
    /// Over the time from the slot to the last arrival.
    pub(in super::super) fn per_second(&self) -> f64 {
        self.skews.count() as f64 / self.skews.max().as_secs_f64()
    }
}

#[derive(Deserialize)]
struct CronJobs {
    items: Vec<CronJob>,
}

#[derive(Deserialize)]
struct CronJob {
    metadata: Meta,
    #[serde(default)]
    status: Status,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Meta {
    resource_version: String,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Status {
    last_schedule_time: Option<String>,
}

impl Many<'_> {
    pub(in super::super) async fn measure(&self) -> anyhow::Result<Results> {
        let target = Target::of(self.cluster)?;
        let mut connection = Connection::open(&target).await?;
        let slot = manifest::slot(clock::wall(), self.lead)?;
        self.store(&target, slot).await?;
        self.settle(&mut connection, slot).await?;
        let watch = JobWatch::open(&target).await?;
        tokio::time::sleep(clock::until(slot).saturating_sub(EASE)).await;
        let before = contender::processor(&self.pids)?;
        let hearing = tokio::spawn(watch.hear(self.count, SILENCE));
        tokio::time::sleep(clock::until(slot)).await;
        let (progress, told) = self.finish(&mut connection, slot).await?;
        let heard = hearing.await.context("the watch ended")??;
        let processor = contender::processor(&self.pids)?.saturating_sub(before);
        println!("all were heard of; reading what they are");
        tokio::time::sleep(REST).await;
        let (memory, peak) = (contender::memory(&self.pids)?, contender::peak(&self.pids)?);
        let exposition = Exposition::read(&mut connection).await?;
        let since = |at: Option<Timestamp>| at.map(|at| at.duration_since(slot).unsigned_abs());
        Ok(Results {
            skews: self.skews(&heard)?,
            recorded: since(told.last().and_then(|last| progress.reached(*last))),
            unrecorded: self.count.saturating_sub(told.len()),
            quiet: since(progress.last_moved()).unwrap_or_default(),
            own_skews: exposition.histogram("punctual_start_skew_seconds"),
            processor,
            memory,
            peak,
        })
    }

    async fn store(&self, target: &Target, slot: Timestamp) -> anyhow::Result<()> {
        println!("storing {} CronJobs that are due at {slot}", self.count);
        let schedule = manifest::schedule(slot);
        let body = |number| manifest::body(&format!("burst-{number:06}"), &schedule);
        let bodies: Rc<[_]> = (0..self.count).map(body).collect();
        let created = create::these(target, CLIENTS, bodies).await?;
        println!("stored in {:.1} s", created.took.as_secs_f64());
        Ok(())
    }

    /// Waits until the first look at every CronJob is over.
    async fn settle(&self, connection: &mut Connection, slot: Timestamp) -> anyhow::Result<()> {
        let progress = progress::until_quiet(connection, QUIET, clock::until(slot)).await?;
        let left = clock::until(slot);
        ensure!(left > EASE, "not at rest before the slot; give it more time with --lead");
        if let Some(at) = progress.last_moved() {
            println!("at rest since {at}; the slot is in {:.0} s", left.as_secs_f64());
        }
        Ok(())
    }

    /// Waits until every status says the slot, or nobody seems to write one any more.
    async fn finish(
        &self,
        connection: &mut Connection,
        slot: Timestamp,
    ) -> anyhow::Result<(Progress, Vec<u64>)> {
        let mut progress = Progress::default();
        let mut told_of = Vec::new();
        for _silence in 0..SILENCES_MAX {
            progress.append(progress::until_quiet(connection, QUIET, QUIET_WITHIN).await?);
            told_of = told(connection, slot).await?;
            if told_of.len() == self.count {
                break;
            }
        }
        Ok((progress, told_of))
    }

    fn skews(&self, heard: &[Arrival]) -> anyhow::Result<Latencies> {
        ensure!(heard.len() == self.count, "{} Jobs for {} CronJobs", heard.len(), self.count);
        arrivals::skews(heard)
    }
}

/// The revisions of the CronJobs that say the slot in their status, the latest last.
async fn told(connection: &mut Connection, slot: Timestamp) -> anyhow::Result<Vec<u64>> {
    let listed: CronJobs = connection.read(create::PATH).await?;
    let slot = slot.to_string();
    let told = |cron_job: &&CronJob| cron_job.status.last_schedule_time.as_ref() == Some(&slot);
    let versions = listed.items.iter().filter(told);
    let versions = versions.map(|cron_job| cron_job.metadata.resource_version.parse::<u64>());
    let mut versions = versions.collect::<Result<Vec<_>, _>>()?;
    versions.sort_unstable();
    Ok(versions)
}
