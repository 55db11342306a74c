//! Many CronJobs of which none is due: `cargo run --release -p xtask -- bench load`.
//!
//! Build the program first: `cargo build --release -p punctual-cli`.

mod rest;

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::ensure;
use clap::Args as ClapArgs;
use punctual_e2e::Cluster;
use serde::Deserialize;

use self::rest::{Rest, Sign};
use super::{
    clock,
    connection::{Connection, Target},
    contender::{self, Contender},
    create::{self, Phase},
    driving::drive,
    progress,
    table::{Row, mebibytes, milliseconds, render},
};

const CLIENTS: usize = 256;
const START_MAX: Duration = Duration::from_secs(10);
/// A gigabyte, not a gibibyte.
const MEMORY_MAX: u64 = 1_000_000_000;
const IDLE_PERCENT_MAX: f64 = 1.0;
/// After so long without a write nothing more is written.
const QUIET: Duration = Duration::from_secs(5);
const QUIET_WITHIN: Duration = Duration::from_secs(1800);
const STOP_WITHIN: Duration = Duration::from_secs(60);
/// Between the end of the start and the minute of rest.
const EASE: Duration = Duration::from_secs(5);
const PAGE: usize = 500;

/// What to measure.
#[derive(ClapArgs)]
pub(crate) struct Args {
    /// CronJobs that are stored
    #[arg(long, default_value_t = 100_000)]
    count: usize,
    /// Seconds of rest in which processor and writes are looked at
    #[arg(long, default_value_t = 60)]
    rest: u64,
    /// Folder for the data; must be on a disk, not in memory
    #[arg(long, default_value = "target/bench-load")]
    folder: PathBuf,
}

/// What was measured.
struct Results {
    ready: Duration,
    loaded: Duration,
    memory: u64,
    idle_percent: f64,
    writes: u64,
}

#[derive(Deserialize)]
struct Page {
    metadata: PageMeta,
    items: Vec<CronJob>,
}

#[derive(Deserialize)]
struct PageMeta {
    #[serde(default, rename = "continue")]
    next: String,
}

#[derive(Deserialize)]
struct CronJob {
    #[serde(default)]
    status: Status,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Status {
    next_schedule_time: Option<String>,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    fs::create_dir_all(&args.folder)?;
    let folder = tempfile::tempdir_in(&args.folder)?;
    let contender = Contender::up()?;
    println!("{}", contender.versions()?.join(", "));
    let results = drive(async {
        fill(args, &contender, folder.path()).await?;
        measure(args, &contender, folder.path()).await
    })?;
    print!("{}", table(args, &results));
    Ok(())
}

/// Stores everything, has the controller look at it, and stops.
async fn fill(args: &Args, contender: &Contender, folder: &Path) -> anyhow::Result<()> {
    let (cluster, _) = contender.start(folder)?;
    let target = Target::of(&cluster)?;
    println!("storing {} CronJobs", args.count);
    let phase = Phase { clients: CLIENTS, count: args.count };
    let created = create::run(&target, phase, "load").await?;
    println!("stored in {:.1} s; waiting for their status", created.took.as_secs_f64());
    let mut connection = Connection::open(&target).await?;
    progress::until_quiet(&mut connection, QUIET, QUIET_WITHIN).await?;
    let written = written(&mut connection).await?;
    ensure!(written == args.count, "{written} of {} have a status", args.count);
    println!("memory before the stop: {:.0} MiB", mebibytes(contender::memory(&cluster.pids())?));
    let (stopped, took) = clock::timed(|| cluster.stop(STOP_WITHIN));
    println!("stopped in {:.1} s", took.as_secs_f64());
    stopped
}

/// How many CronJobs know when they run next.
async fn written(connection: &mut Connection) -> anyhow::Result<usize> {
    let (mut count, mut next) = (0, String::new());
    loop {
        let path = format!("{}?limit={PAGE}&continue={next}", create::PATH);
        let page: Page = connection.read(&path).await?;
        let known = |cron_job: &&CronJob| cron_job.status.next_schedule_time.is_some();
        count += page.items.iter().filter(known).count();
        if page.metadata.next.is_empty() {
            return Ok(count);
        }
        next = page.metadata.next;
    }
}

async fn measure(args: &Args, contender: &Contender, folder: &Path) -> anyhow::Result<Results> {
    let start = clock::now();
    let (cluster, ready) = contender.start(folder)?;
    let mut connection = Connection::open(&Target::of(&cluster)?).await?;
    let Rest { since, sign } = Rest::wait(&cluster, &mut connection, args.count).await?;
    let loaded = since.duration_since(start);
    match sign {
        Sign::Metrics => println!("loaded, by the metrics of its queue"),
        Sign::Processor => println!("loaded, as its processor time shows: it has no such metrics"),
    }
    tokio::time::sleep(EASE).await;
    let (idle_percent, writes) = idle(args, &cluster, &mut connection).await?;
    let memory = contender::memory(&cluster.pids())?;
    Ok(Results { ready, loaded, memory, idle_percent, writes })
}

/// What a time of rest costs: percent of a processor, and writes.
async fn idle(
    args: &Args,
    cluster: &Cluster,
    connection: &mut Connection,
) -> anyhow::Result<(f64, u64)> {
    println!("looking at {} s of rest", args.rest);
    let revision = progress::revision(connection).await?;
    let (before, start) = (contender::processor(&cluster.pids())?, clock::now());
    tokio::time::sleep(Duration::from_secs(args.rest)).await;
    let used = contender::processor(&cluster.pids())?.saturating_sub(before);
    let percent = used.as_secs_f64() / start.elapsed().as_secs_f64() * 100.0;
    Ok((percent, progress::revision(connection).await?.saturating_sub(revision)))
}

fn table(args: &Args, results: &Results) -> String {
    let Results { ready, loaded, memory, idle_percent, writes } = results;
    let line = |name: &str, value, unit| Row::new(name, Some(value), None, unit);
    let count = args.count;
    render(&[
        line(&format!("API ready, {count} stored"), milliseconds(*ready), "ms"),
        line("controller has looked at all", milliseconds(*loaded), "ms")
            .with_target(format!("<= {START_MAX:?}"), Some(*loaded <= START_MAX)),
        line("memory", mebibytes(*memory), "MiB")
            .with_target(format!("<= {MEMORY_MAX} bytes"), Some(*memory <= MEMORY_MAX)),
        line("processor at rest", *idle_percent, "%").with_target(
            format!("<= {IDLE_PERCENT_MAX} %"),
            Some(*idle_percent <= IDLE_PERCENT_MAX),
        ),
        line("writes at rest", *writes as f64, "").with_target("0".into(), Some(*writes == 0)),
    ])
}
