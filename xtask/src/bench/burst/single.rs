//! Measures the start delay (skew) of a single CronJob: the time from each slot (scheduled time) to
//! the arrival of its Job.

use std::{path::Path, time::Duration};

use punctual_e2e::load::{
    connection::{Connection, ConnectionTarget},
    create,
    latency::Latencies,
};

use super::{
    super::{
        bench_server::BenchServer,
        job_watch::{self, JobWatch},
    },
    manifest::{self, JobPods},
};

const SCHEDULE: &str = "@every 2s";
/// Several slots without a Job are a failure.
const EVENT_TIMEOUT: Duration = Duration::from_secs(15);

/// A measurement of one CronJob.
pub(super) struct SingleRun<'a> {
    pub(super) server: &'a BenchServer,
    pub(super) slots: usize,
    pub(super) folder: &'a Path,
}

impl SingleRun<'_> {
    /// The skew of each slot.
    pub(super) async fn measure(&self) -> anyhow::Result<Latencies> {
        println!("a single CronJob, {} slots", self.slots);
        let (cluster, _) = self.server.start(self.folder)?;
        let target = ConnectionTarget::of(&cluster)?;
        let watch = JobWatch::open(&target).await?;
        let mut connection = Connection::open(&target).await?;
        connection
            .post(create::CRON_JOBS, manifest::body("single", SCHEDULE, JobPods::None))
            .await?;
        job_watch::start_skews(&watch.collect(self.slots, EVENT_TIMEOUT).await?)
    }
}
