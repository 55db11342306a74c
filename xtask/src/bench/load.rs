//! Measures a server with many CronJobs that are not due: `cargo run --release -p xtask -- bench
//! load`.
//!
//! Build the program first: `cargo build --release -p punctual-cli`.

mod idle;

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::ensure;
use clap::Args as ClapArgs;
use punctual_e2e::{
    Cluster, json,
    load::{
        clock,
        connection::{Connection, ConnectionTarget},
        create::{self, CreatePhase},
        revisions,
        runtime::run_async,
    },
};
use serde_json::Value;

use self::idle::{IdleSignal, IdleState};
use super::{
    bench_server::{self, BenchServer},
    report::{Figures, Limit, mebibytes, render},
};

const CLIENTS: usize = 256;
const RECONCILED: &str = "controller has reconciled all";
const MEMORY: &str = "memory";
const IDLE_PROCESSOR: &str = "processor while idle";
const IDLE_WRITES: &str = "writes while idle";
const LIMITS: [(&str, Limit); 4] = [
    (RECONCILED, Limit::AtMost(10_000.0)),
    // One gigabyte, not a gibibyte.
    (MEMORY, Limit::AtMost(953.6)),
    (IDLE_PROCESSOR, Limit::AtMost(1.0)),
    (IDLE_WRITES, Limit::AtMost(0.0)),
];
/// After this time without a write the server is idle.
const QUIET: Duration = Duration::from_secs(5);
const QUIET_TIMEOUT: Duration = Duration::from_secs(1800);
const STOP_TIMEOUT: Duration = Duration::from_secs(60);
/// The time between the end of the start and the idle measurement.
const SETTLE_TIME: Duration = Duration::from_secs(5);
const PAGE_SIZE: usize = 500;

/// Options of `bench load`.
#[derive(ClapArgs)]
pub(crate) struct LoadArgs {
    /// Number of stored CronJobs
    #[arg(long, default_value_t = 100_000)]
    count: usize,
    /// Seconds of the idle measurement
    #[arg(long, default_value_t = 60)]
    idle: u64,
    /// Folder for the data; must be on a disk, not in memory
    #[arg(long, default_value = "target/bench-load")]
    folder: PathBuf,
}

pub(crate) fn run(args: &LoadArgs) -> anyhow::Result<()> {
    fs::create_dir_all(&args.folder)?;
    let folder = tempfile::tempdir_in(&args.folder)?;
    let server = BenchServer::up()?;
    println!("{}", server.versions()?.join(", "));
    let figures = run_async(async {
        store_cron_jobs(args, &server, folder.path()).await?;
        measure(args, &server, folder.path()).await
    })?;
    print!("{}", render(&[("punctual", &figures)], &LIMITS));
    Ok(())
}

/// Stores the CronJobs, waits until the controller has reconciled them, and stops.
async fn store_cron_jobs(
    args: &LoadArgs,
    server: &BenchServer,
    folder: &Path,
) -> anyhow::Result<()> {
    let (cluster, _) = server.start(folder)?;
    let target = ConnectionTarget::from_cluster(&cluster)?;
    println!("storing {} CronJobs", args.count);
    let phase = CreatePhase { clients: CLIENTS, count: args.count };
    let created = create::create_phase(&target, phase, "load").await?;
    println!("stored in {:.1} s; waiting for their status", created.duration.as_secs_f64());
    let mut connection = Connection::open(&target).await?;
    revisions::wait_until_quiet(&mut connection, QUIET, QUIET_TIMEOUT).await?;
    let with_status = count_with_status(&mut connection).await?;
    ensure!(with_status == args.count, "{with_status} of {} have a status", args.count);
    println!(
        "memory before the stop: {:.0} MiB",
        mebibytes(bench_server::resident_memory(&cluster.pids())?)
    );
    let (stopped, duration) = clock::timed(|| cluster.stop(STOP_TIMEOUT));
    println!("stopped in {:.1} s", duration.as_secs_f64());
    stopped
}

/// The number of CronJobs whose status has the next run.
async fn count_with_status(connection: &mut Connection) -> anyhow::Result<usize> {
    let mut count = 0;
    let mut next = String::new();
    loop {
        let path = format!("{}?limit={PAGE_SIZE}&continue={next}", create::CRON_JOBS);
        let page: Value = connection.get_json(&path).await?;
        let has_next = |item: &&Value| !json::text(item, "/status/nextScheduleTime").is_empty();
        count += json::items(&page, "/items").iter().filter(has_next).count();
        next = json::text(&page, "/metadata/continue").to_owned();
        if next.is_empty() {
            return Ok(count);
        }
    }
}

async fn measure(args: &LoadArgs, server: &BenchServer, folder: &Path) -> anyhow::Result<Figures> {
    let start = clock::now();
    let (cluster, ready) = server.start(folder)?;
    let mut connection = Connection::open(&ConnectionTarget::from_cluster(&cluster)?).await?;
    let IdleState { since, signal } =
        IdleState::wait(&cluster, &mut connection, args.count).await?;
    let loaded = since.duration_since(start);
    match signal {
        IdleSignal::Metrics => println!("idle, according to its metrics"),
        IdleSignal::Processor => println!("idle, according to its processor time"),
    }
    tokio::time::sleep(SETTLE_TIME).await;
    let mut figures = Figures::default();
    figures.add_time(format!("API ready, {} stored", args.count), ready);
    figures.add_time(RECONCILED, loaded);
    measure_idle(args, &cluster, &mut connection, &mut figures).await?;
    figures.add_memory(MEMORY, bench_server::resident_memory(&cluster.pids())?);
    Ok(figures)
}

/// The cost of idling: percent of a processor, and number of writes.
async fn measure_idle(
    args: &LoadArgs,
    cluster: &Cluster,
    connection: &mut Connection,
    figures: &mut Figures,
) -> anyhow::Result<()> {
    println!("measuring {} s of idling", args.idle);
    let revision = revisions::current_revision(connection).await?;
    let before = bench_server::processor_time(&cluster.pids())?;
    let start = clock::now();
    tokio::time::sleep(Duration::from_secs(args.idle)).await;
    let used = bench_server::processor_time(&cluster.pids())?.saturating_sub(before);
    let percent = used.as_secs_f64() / start.elapsed().as_secs_f64() * 100.0;
    let writes = revisions::current_revision(connection).await?.saturating_sub(revision);
    figures.add(IDLE_PROCESSOR, "%", percent);
    figures.add(IDLE_WRITES, "", writes as f64);
    Ok(())
}
