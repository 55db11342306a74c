//! Two versions of `punctual up` use one data directory in turn: downgrade and upgrade.

use std::{collections::HashSet, time::Duration};

use anyhow::ensure;
use punctual_e2e::{Client, Cluster, Punctual, json::number, probe};
use serde_json::json;

use super::{
    data_directory::{jobs_of, suspend},
    job_observer::slot,
    recorded_data::{CRON_JOBS, cron_job},
};

const NAME: &str = "tick";
const STOP_TIMEOUT: Duration = Duration::from_secs(30);

/// Runs the present version, the previous one and the present one again. Each continues where the other
/// stopped. Returns the number of runs.
pub(super) fn check(present: &Punctual, previous: &Punctual) -> anyhow::Result<usize> {
    let home = tempfile::tempdir()?;
    let mut cluster = present.up(home.path(), &[])?;
    let spec = json!({ "schedule": "@every 2s", "successfulJobsHistoryLimit": 1000 });
    Client::new(&cluster)?.create(CRON_JOBS, &cron_job(NAME, "true", &spec))?;
    wait_for_runs(&cluster)?;
    for version in [previous, present] {
        cluster.stop(STOP_TIMEOUT)?;
        cluster = version.up(home.path(), &[])?;
        wait_for_runs(&cluster)?;
    }
    let runs = check_runs(&cluster)?;
    cluster.stop(STOP_TIMEOUT)?;
    Ok(runs)
}

/// Waits until two more runs have succeeded.
fn wait_for_runs(cluster: &Cluster) -> anyhow::Result<()> {
    let mut client = Client::new(cluster)?;
    let path = format!("{CRON_JOBS}/{NAME}");
    let before = number(&client.get(&path)?, "/status/successfulRuns");
    probe::wait_for("two more runs", || {
        Ok(number(&client.get(&path)?, "/status/successfulRuns") >= before + 2)
    })
}

/// Checks that each slot has one Job and that each Job is counted. Returns the number of Jobs.
fn check_runs(cluster: &Cluster) -> anyhow::Result<usize> {
    let mut client = Client::new(cluster)?;
    let tick = suspend(&mut client, CRON_JOBS, NAME)?;
    let jobs = jobs_of(&mut client, NAME)?;
    let slots: HashSet<_> = jobs.iter().map(slot).collect();
    ensure!(slots.len() == jobs.len(), "a slot has two Jobs: {jobs:?}");
    let counted = number(&tick, "/status/successfulRuns");
    ensure!(counted == i64::try_from(jobs.len())?, "{} Jobs: {tick}", jobs.len());
    Ok(jobs.len())
}
