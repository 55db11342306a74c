//! Measures the start delay of many CronJobs that are due in one second.

use std::{rc::Rc, time::Duration};

use anyhow::{Context, ensure};
use jiff::Timestamp;
use punctual_e2e::{
    Cluster, json,
    load::{
        clock,
        connection::{Connection, ConnectionTarget},
        create,
        prometheus_text::{Histogram, PrometheusText},
        revisions::{self, RevisionLog},
    },
};
use serde_json::Value;

use super::{
    super::{
        bench_server,
        job_watch::{self, JobArrival, JobWatch},
        report::Figures,
    },
    manifest::{self, JobPods},
};

/// Names of figures that have a limit.
pub(in super::super) const SKEW_P99: &str = "skew p99";
pub(in super::super) const UNWRITTEN_STATUSES: &str = "statuses not written";
pub(in super::super) const PROCESSOR: &str = "processor time";
pub(in super::super) const MEMORY: &str = "memory after";
pub(in super::super) const PEAK_MEMORY: &str = "peak memory";

const CLIENTS: usize = 64;
/// The server must be idle this long before the slot.
const IDLE_BEFORE_SLOT: Duration = Duration::from_secs(2);
/// A burst without a new Job for this long has ended.
const EVENT_TIMEOUT: Duration = Duration::from_secs(120);
/// After this time without a write the server is idle. A longer time would include an API server's own
/// periodic writes.
const QUIET: Duration = Duration::from_secs(3);
/// How often to wait again for missing statuses: kube-controller-manager retries some after a while.
const QUIET_PERIODS_MAX: usize = 20;
const QUIET_TIMEOUT: Duration = Duration::from_secs(900);
/// The time after which the memory has settled.
const SETTLE_TIME: Duration = Duration::from_secs(2);

/// One burst on one cluster.
pub(in super::super) struct BurstRun<'a> {
    pub(in super::super) cluster: &'a Cluster,
    /// The processes to measure.
    pub(in super::super) pids: Vec<u32>,
    pub(in super::super) count: usize,
    pub(in super::super) lead: u32,
}

impl BurstRun<'_> {
    pub(in super::super) async fn measure(&self) -> anyhow::Result<Figures> {
        let target = ConnectionTarget::from_cluster(self.cluster)?;
        let mut connection = Connection::open(&target).await?;
        let slot = manifest::slot(clock::wall_time(), self.lead)?;
        self.create_cron_jobs(&target, slot).await?;
        self.wait_until_idle(&mut connection, slot).await?;
        let watch = JobWatch::open(&target).await?;
        tokio::time::sleep(clock::time_until(slot).saturating_sub(IDLE_BEFORE_SLOT)).await;
        let before = bench_server::processor_time(&self.pids)?;
        let arrivals = tokio::spawn(watch.collect(self.count, EVENT_TIMEOUT));
        tokio::time::sleep(clock::time_until(slot)).await;
        let (log, recorded) = self.wait_for_statuses(&mut connection, slot).await?;
        let arrivals = arrivals.await.context("the watch failed")??;
        let processor = bench_server::processor_time(&self.pids)?.saturating_sub(before);
        println!("all Jobs have arrived; decoding them");
        tokio::time::sleep(SETTLE_TIME).await;
        let mut figures = Figures::default();
        self.add_skews(&arrivals, &mut figures)?;
        let mut add_since_slot = |name: &str, at: Option<Timestamp>| {
            if let Some(at) = at {
                figures.add_time(name, at.duration_since(slot).unsigned_abs());
            }
        };
        let last_status = recorded.last().and_then(|last| log.reached(*last));
        add_since_slot("statuses written after", last_status);
        add_since_slot("no more writes after", log.last_write());
        figures.add(UNWRITTEN_STATUSES, "", self.count.saturating_sub(recorded.len()) as f64);
        figures.add_time(PROCESSOR, processor);
        figures.add_memory(MEMORY, bench_server::resident_memory(&self.pids)?);
        figures.add_memory(PEAK_MEMORY, bench_server::peak_memory(&self.pids)?);
        let metrics = PrometheusText::read(&mut connection).await?;
        add_histogram(&mut figures, "own skew", metrics.histogram("punctual_start_skew_seconds"));
        Ok(figures)
    }

    async fn create_cron_jobs(
        &self,
        target: &ConnectionTarget,
        slot: Timestamp,
    ) -> anyhow::Result<()> {
        println!("storing {} CronJobs that are due at {slot}", self.count);
        let schedule = manifest::schedule(slot);
        let body = |number| manifest::body(&format!("burst-{number:06}"), &schedule, JobPods::None);
        let bodies: Rc<[_]> = (0..self.count).map(body).collect();
        let created = create::create_all(target, CLIENTS, bodies).await?;
        println!("stored in {:.1} s", created.duration.as_secs_f64());
        Ok(())
    }

    /// Waits until the controller has reconciled every new CronJob.
    async fn wait_until_idle(
        &self,
        connection: &mut Connection,
        slot: Timestamp,
    ) -> anyhow::Result<()> {
        let log = revisions::wait_until_quiet(connection, QUIET, clock::time_until(slot)).await?;
        let left = clock::time_until(slot);
        ensure!(left > IDLE_BEFORE_SLOT, "not idle before the slot; increase --lead");
        if let Some(at) = log.last_write() {
            println!("idle since {at}; the slot is in {:.0} s", left.as_secs_f64());
        }
        Ok(())
    }

    /// Waits until every status has the slot, or until no more statuses are written.
    async fn wait_for_statuses(
        &self,
        connection: &mut Connection,
        slot: Timestamp,
    ) -> anyhow::Result<(RevisionLog, Vec<u64>)> {
        let mut log = RevisionLog::default();
        let mut recorded = Vec::new();
        for _ in 0..QUIET_PERIODS_MAX {
            log.append(revisions::wait_until_quiet(connection, QUIET, QUIET_TIMEOUT).await?);
            recorded = recorded_versions(connection, slot).await?;
            if recorded.len() == self.count {
                break;
            }
        }
        Ok((log, recorded))
    }

    fn add_skews(&self, arrivals: &[JobArrival], figures: &mut Figures) -> anyhow::Result<()> {
        let count = arrivals.len();
        ensure!(count == self.count, "{count} Jobs for {} CronJobs", self.count);
        let skews = job_watch::start_skews(arrivals)?;
        figures.add_latencies("skew", &skews);
        figures.add("Jobs a second", "/s", count as f64 / skews.max().as_secs_f64());
        Ok(())
    }
}

/// Adds percentiles of a histogram, if there is one. They are upper bounds.
pub(super) fn add_histogram(figures: &mut Figures, name: &str, histogram: Option<Histogram>) {
    for percent in [50.0, 99.0, 100.0] {
        if let Some(seconds) = histogram.as_ref().and_then(|it| it.percentile(percent)) {
            figures.add(format!("{name} p{percent}, at most"), "ms", seconds * 1e3);
        }
    }
}

/// The sorted resourceVersions of the CronJobs whose status has the slot.
async fn recorded_versions(
    connection: &mut Connection,
    slot: Timestamp,
) -> anyhow::Result<Vec<u64>> {
    let list: Value = connection.get_json(create::CRON_JOBS).await?;
    let slot = slot.to_string();
    let items = json::items(&list, "/items").iter();
    let recorded = items.filter(|item| json::text(item, "/status/lastScheduleTime") == slot);
    let versions =
        recorded.map(|item| json::text(item, "/metadata/resourceVersion").parse::<u64>());
    let mut versions = versions.collect::<Result<Vec<_>, _>>()?;
    versions.sort_unstable();
    Ok(versions)
}
