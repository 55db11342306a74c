//! Measures how long Pods take to start: many CronJobs that are due at once, each with a
//! short-lived Pod.

use std::{path::Path, rc::Rc, time::Duration};

use anyhow::{Context, bail};
use jiff::SignedDuration;
use punctual_e2e::load::{
    clock,
    connection::{Connection, ConnectionTarget},
    create,
    prometheus_text::{Histogram, PrometheusText},
};

use super::{
    super::bench_server::BenchServer,
    manifest::{self, JobPods},
};

const CLIENTS: usize = 16;
/// How far ahead the CronJobs are scheduled, so that all are stored before their slot (scheduled time).
const LEAD_TIME: SignedDuration = SignedDuration::from_secs(5);
const POLL_INTERVAL: Duration = Duration::from_millis(200);
/// All Pods must have started this long after the slot.
const TIMEOUT: Duration = Duration::from_secs(60);

/// A measurement of Pods that start at once.
pub(super) struct PodStartRun<'a> {
    pub(super) server: &'a BenchServer,
    pub(super) count: usize,
    pub(super) folder: &'a Path,
}

/// The times of the Pods in the server's own metrics.
#[derive(Debug)]
pub(super) struct PodStartResults {
    /// The time from the creation of a Job to the creation of its Pod, in whole seconds.
    pub(super) creation: Histogram,
    /// The time from when the runner receives a Pod to its start.
    pub(super) start: Histogram,
}

impl PodStartRun<'_> {
    pub(super) async fn measure(&self) -> anyhow::Result<PodStartResults> {
        let (cluster, _) = self.server.start(self.folder)?;
        let target = ConnectionTarget::of(&cluster)?;
        let mut connection = Connection::open(&target).await?;
        let slot = (clock::wall_time() + LEAD_TIME).round(jiff::Unit::Second)?;
        println!("{} CronJobs with a Pod each, due at {slot}", self.count);
        let schedule = format!("@at {slot}");
        let body = |number| manifest::body(&format!("pod-{number:04}"), &schedule, JobPods::Short);
        let bodies: Rc<[_]> = (0..self.count).map(body).collect();
        create::create_all(&target, CLIENTS, bodies).await?;
        tokio::time::sleep(clock::time_until(slot)).await;
        self.wait_for_pods(&mut connection).await
    }

    async fn wait_for_pods(&self, connection: &mut Connection) -> anyhow::Result<PodStartResults> {
        let polls = TIMEOUT.as_millis() / POLL_INTERVAL.as_millis();
        for _ in 0..polls {
            let metrics = PrometheusText::read(connection).await?;
            let start = metrics.histogram("punctual_pod_start_seconds").context("no Pod starts")?;
            if start.count() >= self.count as f64 {
                let creation = metrics.histogram("punctual_job_pod_creation_seconds");
                let creation = creation.context("no creations of Pods")?;
                return Ok(PodStartResults { creation, start });
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
        bail!("not all of {} Pods have started within {TIMEOUT:?}", self.count)
    }
}
