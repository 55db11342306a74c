//! Many runs: `cargo run --release -p xtask -- trial runs`.
//!
//! CronJobs start a Job every second, as fast as this machine can run them, and keep one finished Job
//! each. Now and then they are suspended, and what the server holds when it is at rest is written down:
//! it may not grow with the number of runs. While it works it holds what is under way as well, so what is
//! printed then is only shown.

mod fleet;
mod growth;
mod holdings;

use std::{path::PathBuf, time::Duration};

use anyhow::ensure;
use clap::Args as ClapArgs;

use self::{
    fleet::Fleet,
    growth::{Growth, growths},
    holdings::{Holdings, Inspector},
};
use super::site::Site;
use punctual_e2e::load::{
    clock, connection::ConnectionTarget, create, revisions, runtime::run_async,
};

const CLIENTS: usize = 8;
const QUIET: Duration = Duration::from_secs(5);
const QUIET_WITHIN: Duration = Duration::from_secs(300);

/// What to try.
#[derive(ClapArgs)]
pub(crate) struct Args {
    /// Runs until the end
    #[arg(long, default_value_t = 10_000)]
    runs: u64,
    /// CronJobs that are due every second; one that still runs is not started again
    #[arg(long, default_value_t = 60)]
    cron_jobs: usize,
    /// How often it comes to rest
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u64).range(4..))]
    rests: u64,
    /// Seconds between two looks while it works
    #[arg(long, default_value_t = 5)]
    every: u64,
    /// A flag for `punctual up`, such as --up-flag=--max-pods=50; may be repeated
    #[arg(long, value_name = "FLAG", allow_hyphen_values = true)]
    up_flag: Vec<String>,
    /// Folder for the data; must be on a disk, not in memory
    #[arg(long, default_value = "target/trial-runs")]
    folder: PathBuf,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let site = Site::new(&args.folder, &args.up_flag)?;
    let rests = run_async(Box::pin(attempt(args, &site)))?;
    let growths = growths(&rests);
    print!("{}", growth::table(&growths));
    let mut faults: Vec<String> = growths.iter().filter_map(Growth::fault).collect();
    faults.extend(rests.iter().flat_map(|rest| rest.left_over(args.cron_jobs)));
    for fault in &faults {
        println!("{fault}");
    }
    ensure!(faults.is_empty(), "{} faults", faults.len());
    println!("nothing grows");
    Ok(())
}

/// What was there at each rest.
async fn attempt(args: &Args, site: &Site) -> anyhow::Result<Vec<Holdings>> {
    let (cluster, _) = site.start()?;
    let mut inspector = Inspector::new(site, &cluster).await?;
    println!("{}", Holdings::head());
    println!("{} at the start", inspector.look().await?);
    let fleet = Fleet { count: args.cron_jobs };
    create::create_all(&ConnectionTarget::of(&cluster)?, CLIENTS, fleet.bodies()).await?;
    let mut rests = Vec::new();
    for rest in 1..=args.rests {
        work(args, &mut inspector, args.runs * rest / args.rests).await?;
        fleet.suspend(inspector.connection(), true).await?;
        revisions::wait_until_quiet(inspector.connection(), QUIET, QUIET_WITHIN).await?;
        let look = inspector.look().await?;
        println!("{look} at rest");
        rests.push(look);
        fleet.suspend(inspector.connection(), false).await?;
    }
    Ok(rests)
}

/// Waits until so many runs are done.
async fn work(args: &Args, inspector: &mut Inspector<'_>, runs: u64) -> anyhow::Result<()> {
    let start = clock::now();
    let first = inspector.look().await?.runs;
    let mut last = first;
    loop {
        tokio::time::sleep(Duration::from_secs(args.every)).await;
        let look = inspector.look().await?;
        println!("{look}");
        ensure!(look.runs > last || look.runs >= runs, "no run in {} s", args.every);
        last = look.runs;
        if last >= runs {
            let rate = (last - first) as f64 / start.elapsed().as_secs_f64();
            println!("{rate:.1} runs a second");
            return Ok(());
        }
    }
}
