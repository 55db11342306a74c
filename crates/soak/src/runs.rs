//! Runs many Jobs: `cargo run --release -p punctual-soak -- runs`.
//!
//! CronJobs start a Job every second, as fast as the machine allows, and keep one finished Job each.
//! They are suspended at regular intervals, and the resources that the idle server uses are measured.
//! These must not grow with the number of runs. Measurements under load are printed but not checked,
//! because they include runs in progress.

mod growth;
mod usage;
mod workload;

use std::{path::PathBuf, time::Duration};

use anyhow::ensure;
use punctual_e2e::load::{
    clock, connection::ConnectionTarget, create, revisions, runtime::run_async,
};

use self::{
    growth::Growth,
    usage::{ResourceUsage, UsageReader},
};
use crate::instance::UpInstance;

const CLIENTS: usize = 8;
/// The server is idle if it writes nothing for this long.
const QUIET: Duration = Duration::from_secs(5);
const QUIET_WITHIN: Duration = Duration::from_secs(300);

#[derive(clap::Args)]
pub(crate) struct RunsArgs {
    /// Number of runs
    #[arg(long, default_value_t = 10_000)]
    runs: u64,
    /// CronJobs that are due every second; a run that is still active is not started again
    #[arg(long, default_value_t = 60)]
    cron_jobs: usize,
    /// How often the CronJobs are suspended to measure the idle server
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u64).range(4..))]
    pauses: u64,
    /// Seconds between two measurements under load
    #[arg(long, default_value_t = 5)]
    interval: u64,
    /// A flag for `punctual up`, such as --up-flag=--max-pods=50; may be repeated
    #[arg(long, value_name = "FLAG", allow_hyphen_values = true)]
    up_flag: Vec<String>,
    /// Folder for the data; must be on a disk, not in memory
    #[arg(long, default_value = "target/soak-runs")]
    folder: PathBuf,
}

pub(crate) fn run(args: &RunsArgs) -> anyhow::Result<()> {
    let instance = UpInstance::new(&args.folder, &args.up_flag)?;
    let idle_usages = run_async(Box::pin(run_test(args, &instance)))?;
    let growths = growth::fit_growths(&idle_usages);
    print!("{}", growth::format_table(&growths));
    let mut violations: Vec<String> = growths.iter().filter_map(Growth::violation).collect();
    for usage in &idle_usages {
        violations.extend(usage.idle_violations(args.cron_jobs));
    }
    for violation in &violations {
        println!("{violation}");
    }
    ensure!(violations.is_empty(), "{} violations", violations.len());
    println!("nothing grows");
    Ok(())
}

/// Returns the usage of the idle server at each pause.
async fn run_test(args: &RunsArgs, instance: &UpInstance) -> anyhow::Result<Vec<ResourceUsage>> {
    let (cluster, _) = instance.start()?;
    let mut reader = UsageReader::open(instance, &cluster).await?;
    println!("{}", ResourceUsage::header());
    println!("{} at the start", reader.read().await?);
    let bodies = (0..args.cron_jobs).map(workload::body).collect();
    create::create_all(&ConnectionTarget::from_cluster(&cluster)?, CLIENTS, bodies).await?;
    let mut idle_usages = Vec::new();
    for pause in 1..=args.pauses {
        wait_for_runs(args, &mut reader, args.runs * pause / args.pauses).await?;
        workload::set_suspended(reader.connection(), args.cron_jobs, true).await?;
        revisions::wait_until_quiet(reader.connection(), QUIET, QUIET_WITHIN).await?;
        let usage = reader.read().await?;
        println!("{usage} idle");
        idle_usages.push(usage);
        workload::set_suspended(reader.connection(), args.cron_jobs, false).await?;
    }
    Ok(idle_usages)
}

/// Waits until this many runs have ended.
async fn wait_for_runs(
    args: &RunsArgs,
    reader: &mut UsageReader<'_>,
    runs: u64,
) -> anyhow::Result<()> {
    let start = clock::now();
    let first = reader.read().await?.runs;
    let mut last = first;
    loop {
        tokio::time::sleep(Duration::from_secs(args.interval)).await;
        let usage = reader.read().await?;
        println!("{usage}");
        ensure!(usage.runs > last || usage.runs >= runs, "no run in {} s", args.interval);
        last = usage.runs;
        if last >= runs {
            let rate = (last - first) as f64 / start.elapsed().as_secs_f64();
            println!("{rate:.1} runs per second");
            return Ok(());
        }
    }
}
