//! Kills `punctual up` repeatedly: `cargo run --release -p punctual-soak -- kills`.
//!
//! CronJobs run every minute. Each run appends a line to a file when it begins and when it ends.
//! Meanwhile `punctual up` is killed with SIGKILL, while it serves and while it starts, and restarted. At
//! the end the files must show that every slot (scheduled time) ran exactly once.

mod checker;
mod event_log;
mod final_state;
mod killer;
mod workload;

use std::{path::PathBuf, time::Duration};

use anyhow::ensure;
use jiff::Timestamp;
use punctual_e2e::{
    Cluster,
    load::{
        clock,
        connection::{Connection, ConnectionTarget},
        create,
        runtime::run_async,
    },
};
use punctual_testing::TestRng;

use self::{
    checker::{CheckedMinutes, KillsReport},
    final_state::FinalState,
    killer::{Killer, RestartStats},
    workload::KillsWorkload,
};
use crate::instance::UpInstance;

const CLIENTS: usize = 16;
/// Jitter delays a run by half a minute at most, so the slot of this minute has started by then.
const SUSPEND_AFTER: Duration = Duration::from_secs(45);
/// Further violations are only counted.
const VIOLATIONS_SHOWN: usize = 20;

#[derive(clap::Args)]
pub(crate) struct KillsArgs {
    /// Number of kills
    #[arg(long, default_value_t = 300)]
    kills: usize,
    /// Number of CronJobs that run every minute
    #[arg(long, default_value_t = 200)]
    cron_jobs: usize,
    /// The same seed gives the same CronJobs and the same times between kills
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// A flag for `punctual up`, such as --up-flag=--max-pods=50; may be repeated
    #[arg(long, value_name = "FLAG", allow_hyphen_values = true)]
    up_flag: Vec<String>,
    /// Folder for data and logs; must be on a disk, not in memory
    #[arg(long, default_value = "target/soak-kills")]
    folder: PathBuf,
}

pub(crate) fn run(args: &KillsArgs) -> anyhow::Result<()> {
    let instance = UpInstance::new(&args.folder, &args.up_flag)?;
    let workload =
        KillsWorkload::generate(args.cron_jobs, &TestRng::new(args.seed), instance.path())?;
    let (report, restarts) = run_async(Box::pin(run_test(args, &instance, &workload)))?;
    println!("{restarts}");
    println!("{report}");
    for violation in report.violations.iter().take(VIOLATIONS_SHOWN) {
        println!("{violation}");
    }
    ensure!(report.violations.is_empty(), "{} violations", report.violations.len());
    Ok(())
}

async fn run_test(
    args: &KillsArgs,
    instance: &UpInstance,
    workload: &KillsWorkload,
) -> anyhow::Result<(KillsReport, RestartStats)> {
    let (cluster, _) = instance.start()?;
    create::create_all(&ConnectionTarget::from_cluster(&cluster)?, CLIENTS, workload.bodies())
        .await?;
    let first = next_minute(clock::wall_time());
    println!("{} CronJobs; the first checked slot is {first}", args.cron_jobs);
    let rng = TestRng::new(args.seed.wrapping_add(1));
    let killer = Killer { instance, workload, target_kills: args.kills, rng };
    let (cluster, restarts) = killer.run(cluster).await?;
    let checked = suspend(workload, &cluster, first).await?;
    let state = FinalState::wait_until_idle(instance, &cluster).await?;
    let event_logs = workload.event_logs()?;
    let mut report = checker::check(&event_logs, checked);
    report.violations.extend(state.violations(&workload.cron_jobs, &event_logs));
    Ok((report, restarts))
}

/// Suspends all CronJobs late in a minute and returns the slots that must have run.
async fn suspend(
    workload: &KillsWorkload,
    cluster: &Cluster,
    first: Timestamp,
) -> anyhow::Result<CheckedMinutes> {
    let mut connection = Connection::open(&ConnectionTarget::from_cluster(cluster)?).await?;
    // One more minute passes without kills.
    let last = next_minute(clock::wall_time());
    tokio::time::sleep(clock::time_until(last + SUSPEND_AFTER)).await;
    for cron_job in &workload.cron_jobs {
        let path = format!("{}/{}", create::CRON_JOBS, cron_job.name);
        connection.patch(&path, r#"{"spec":{"suspend":true}}"#).await?;
    }
    let end = clock::wall_time();
    println!("suspended at {end}; the last checked slot is {last}");
    Ok(CheckedMinutes { first, last, end })
}

/// The first whole minute after an instant.
fn next_minute(instant: Timestamp) -> Timestamp {
    let second = instant.as_second();
    Timestamp::from_second(second - second.rem_euclid(60) + 60).unwrap_or(instant)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_minute_is_later_than_the_instant() {
        let at = |text: &str| text.parse::<Timestamp>().unwrap();
        assert_eq!(next_minute(at("2026-01-01T00:00:00Z")), at("2026-01-01T00:01:00Z"));
        assert_eq!(next_minute(at("2026-01-01T00:00:59.9Z")), at("2026-01-01T00:01:00Z"));
    }
}
