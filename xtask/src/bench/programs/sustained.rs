//! The rate of runs from end to end: Job, Pod, process, status and history.

use std::{path::Path, rc::Rc, time::Duration};

use punctual_e2e::{
    Cluster, json,
    load::{
        clock,
        connection::{Connection, ConnectionTarget},
        create,
    },
};
use serde_json::Value;

use super::ours::cron_job;
use crate::bench::{
    bench_server::{self, BenchServer},
    report::Figures,
};

pub(super) const RATE: &str = "sustained runs a second";

const CLIENTS: usize = 16;
const MAX_PODS: &str = "--max-pods=2000";
/// The rate is constant after this time.
const WARM_UP: Duration = Duration::from_secs(5);

/// The offered load. A run that is still active is not started again.
#[derive(Clone, Copy, Debug)]
pub(super) struct Load {
    pub(super) cron_jobs: usize,
    pub(super) seconds: u64,
}

pub(super) async fn measure(
    server: &BenchServer,
    load: Load,
    folder: &Path,
    figures: &mut Figures,
) -> anyhow::Result<()> {
    println!("punctual: {} CronJobs are due every second", load.cron_jobs);
    let (cluster, _) = server.start_with(folder, &[MAX_PODS.to_owned()])?;
    let target = ConnectionTarget::from_cluster(&cluster)?;
    let mut connection = Connection::open(&target).await?;
    let body = |number| cron_job(&format!("run-{number:05}"), "@every 1s", ":");
    let bodies = (0..load.cron_jobs).map(body).collect::<Rc<[_]>>();
    create::create_all(&target, CLIENTS, bodies).await?;
    tokio::time::sleep(WARM_UP).await;
    let before = Reading::take(&cluster, &mut connection).await?;
    tokio::time::sleep(Duration::from_secs(load.seconds)).await;
    let after = Reading::take(&cluster, &mut connection).await?;
    let runs = (after.runs - before.runs) as f64;
    figures.add(RATE, "/s", runs / (after.at - before.at).as_secs_f64());
    let per_run = |after: Duration, before: Duration| after.saturating_sub(before).div_f64(runs);
    let own = per_run(after.times.own, before.times.own);
    let children = per_run(after.times.children, before.times.children);
    figures.add_time("processor time of the scheduler a run", own);
    figures.add_time("processor time of its children a run", children);
    Ok(())
}

struct Reading {
    at: std::time::Instant,
    /// The runs that the statuses have counted.
    runs: i64,
    times: bench_server::ProcessorTimes,
}

impl Reading {
    async fn take(cluster: &Cluster, connection: &mut Connection) -> anyhow::Result<Reading> {
        let list: Value = connection.get_json(create::CRON_JOBS).await?;
        let at = clock::now();
        let times = bench_server::processor_times_of(&cluster.pids())?;
        let runs = json::items(&list, "/items").iter();
        let runs = runs.map(|item| json::number(item, "/status/successfulRuns")).sum();
        Ok(Reading { at, runs, times })
    }
}
