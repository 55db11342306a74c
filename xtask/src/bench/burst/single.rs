//! Measures the start delay (skew) of a single CronJob: the time from each slot (scheduled time) to
//! the arrival of its Job.

use std::{path::Path, time::Duration};

use punctual_e2e::load::{
    connection::{Connection, ConnectionTarget},
    create,
};

use super::{
    super::{
        bench_server::BenchServer,
        job_watch::{self, JobWatch},
        report::Figures,
    },
    manifest::{self, JobPods},
};

const SCHEDULE: &str = "@every 2s";
/// Several slots without a Job are a failure.
const EVENT_TIMEOUT: Duration = Duration::from_secs(15);

pub(super) const MAX: &str = "skew of a single CronJob max";

/// Measures the skew of each slot.
pub(super) async fn measure(
    server: &BenchServer,
    slots: usize,
    folder: &Path,
) -> anyhow::Result<Figures> {
    println!("a single CronJob, {slots} slots");
    let folder = tempfile::tempdir_in(folder)?;
    let (cluster, _) = server.start(folder.path())?;
    let target = ConnectionTarget::from_cluster(&cluster)?;
    let watch = JobWatch::open(&target).await?;
    let mut connection = Connection::open(&target).await?;
    let body = manifest::body("single", SCHEDULE, JobPods::None);
    connection.post(create::CRON_JOBS, body).await?;
    let skews = job_watch::start_skews(&watch.collect(slots, EVENT_TIMEOUT).await?)?;
    let mut figures = Figures::default();
    figures.add_latencies("skew of a single CronJob", &skews);
    Ok(figures)
}
