//! Killed again and again: `cargo run --release -p xtask -- trial kills`.
//!
//! CronJobs run every minute and write down when they begin and end, in files that nobody else writes.
//! Meanwhile `punctual up` is killed with -9, while it serves and while it starts, and started again.
//! At the end those files must say that every slot was run exactly once.

mod aftermath;
mod checker;
mod diary;
mod fleet;
mod killer;

use std::{path::PathBuf, time::Duration};

use anyhow::ensure;
use clap::Args as ClapArgs;
use jiff::Timestamp;
use punctual_e2e::Cluster;

use self::{
    aftermath::Aftermath,
    checker::{Findings, Span},
    fleet::Fleet,
    killer::{Killer, Restarts},
};
use super::site::Site;
use crate::dice::Dice;
use punctual_e2e::load::{
    clock,
    connection::{Connection, ConnectionTarget},
    create,
    runtime::run_async,
};

const CLIENTS: usize = 16;
/// Jitter moves a run by half a minute at most; by then the slot of the minute has had its chance.
const SUSPEND_AFTER: Duration = Duration::from_secs(45);
/// Faults beyond these are only counted.
const FAULTS_SHOWN: usize = 20;

/// What to try.
#[derive(ClapArgs)]
pub(crate) struct Args {
    /// How often it is killed
    #[arg(long, default_value_t = 300)]
    kills: usize,
    /// CronJobs that run every minute
    #[arg(long, default_value_t = 200)]
    cron_jobs: usize,
    /// The same seed gives the same CronJobs and the same pauses between kills
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// A flag for `punctual up`, such as --up-flag=--max-pods=50; may be repeated
    #[arg(long, value_name = "FLAG", allow_hyphen_values = true)]
    up_flag: Vec<String>,
    /// Folder for data and logs; must be on a disk, not in memory
    #[arg(long, default_value = "target/trial-kills")]
    folder: PathBuf,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let site = Site::new(&args.folder, &args.up_flag)?;
    let fleet = Fleet::new(args.cron_jobs, &mut Dice(args.seed), site.path())?;
    let (findings, restarts) = run_async(Box::pin(attempt(args, &site, &fleet)))?;
    println!("{restarts}");
    println!("{findings}");
    for fault in findings.faults.iter().take(FAULTS_SHOWN) {
        println!("{fault}");
    }
    ensure!(findings.faults.is_empty(), "{} faults", findings.faults.len());
    Ok(())
}

async fn attempt(args: &Args, site: &Site, fleet: &Fleet) -> anyhow::Result<(Findings, Restarts)> {
    let (cluster, _) = site.start()?;
    create::create_all(&ConnectionTarget::of(&cluster)?, CLIENTS, fleet.bodies()).await?;
    let first = next_minute(clock::wall_time());
    println!("{} CronJobs; the first slot that counts is {first}", args.cron_jobs);
    let killer = Killer { site, fleet, kills: args.kills, dice: Dice(args.seed.wrapping_add(1)) };
    let (cluster, restarts) = killer.run(cluster).await?;
    let span = suspend(fleet, &cluster, first).await?;
    let aftermath = Aftermath { site, fleet };
    let seen = aftermath.wait(&cluster).await?;
    let mut findings = checker::check(&fleet.diaries()?, span);
    findings.faults.extend(aftermath.faults(&seen)?);
    Ok((findings, restarts))
}

/// Suspends everything late in a minute; the slots that must have been run.
async fn suspend(fleet: &Fleet, cluster: &Cluster, first: Timestamp) -> anyhow::Result<Span> {
    let mut connection = Connection::open(&ConnectionTarget::of(cluster)?).await?;
    // One more minute in peace.
    let last = next_minute(clock::wall_time());
    tokio::time::sleep(clock::time_until(last + SUSPEND_AFTER)).await;
    for cron_job in &fleet.cron_jobs {
        let path = format!("{}/{}", create::CRON_JOBS, cron_job.name);
        connection.patch(&path, r#"{"spec":{"suspend":true}}"#).await?;
    }
    println!("suspended at {}; the last slot that counts is {last}", clock::wall_time());
    Ok(Span { first, last, end: clock::wall_time() })
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
    fn the_next_minute_is_never_this_one() {
        let at = |text: &str| text.parse::<Timestamp>().unwrap();
        assert_eq!(next_minute(at("2026-01-01T00:00:00Z")), at("2026-01-01T00:01:00Z"));
        assert_eq!(next_minute(at("2026-01-01T00:00:59.9Z")), at("2026-01-01T00:01:00Z"));
    }
}
