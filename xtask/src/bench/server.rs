//! The Kubernetes API under load, compared with kube-apiserver:
//! `cargo run --release -p xtask -- bench server`.
//!
//! Build `punctual` first: `cargo build --profile dist --features jemalloc -p punctual-cli`. One server runs at a time.

mod watches;

use std::{fs, path::Path, time::Duration};

use anyhow::Context;
use clap::Args as ClapArgs;
use punctual_e2e::{
    Cluster, Controllers,
    load::{
        clock,
        connection::{Connection, ConnectionTarget},
        create::{self, CreatePhase},
        latency::Latencies,
        runtime::run_async,
    },
    process_usage,
};

use self::watches::WatchLoad;
use super::{
    bench_server::{self, BenchServer},
    report::{Figures, Limit, render},
};

const MEMORY_MAX: Limit = Limit::RatioAtMost(&[0.1]);
const COLD_START_FULL: &str = "cold start, full";
const LIMITS: [(&str, Limit); 7] = [
    ("cold start, empty", Limit::AtMost(100.0)),
    (COLD_START_FULL, Limit::AtMost(3_000.0)),
    ("creates, 16 clients", Limit::RatioAtLeast(5.0)),
    ("memory after start", MEMORY_MAX),
    ("memory after creates", MEMORY_MAX),
    ("memory after lists", MEMORY_MAX),
    ("memory after watches", MEMORY_MAX),
];

/// Ten thousand creates in total. The lists return all of them.
const PHASES: [CreatePhase; 3] = [
    CreatePhase { clients: 1, count: 1_000 },
    CreatePhase { clients: 16, count: 4_000 },
    CreatePhase { clients: 256, count: 5_000 },
];
const WATCH_LOAD: WatchLoad = WatchLoad { watches: 1_000, creates: 100 };
const COLD_STARTS: usize = 3;
const LISTS: usize = 5;
/// Files that a server has open in addition to its connections.
const OTHER_FILES: u64 = 200;
/// A phase that takes longer is treated as hung.
const PHASE_TIMEOUT: Duration = Duration::from_secs(600);
/// The time before each measurement of memory, in which the memory settles.
const SETTLE_TIME: Duration = Duration::from_secs(2);

/// Options of `bench server`.
#[derive(ClapArgs)]
pub(crate) struct ServerBenchArgs {
    /// Number of stored CronJobs in the measurement of a full server's cold start
    #[arg(long, default_value_t = 100_000)]
    stored: usize,
    /// Divide all other counts by this, for a quick run
    #[arg(long, default_value_t = 1)]
    divide: usize,
    /// Folder for the data of both servers; must be on a disk, not in memory
    #[arg(long, default_value = "target/bench-server")]
    folder: std::path::PathBuf,
    /// Do not measure kube-apiserver
    #[arg(long)]
    alone: bool,
}

impl ServerBenchArgs {
    fn phases(&self) -> impl Iterator<Item = CreatePhase> {
        PHASES.iter().map(|phase| CreatePhase { count: self.scaled(phase.count), ..*phase })
    }

    fn watch_load(&self) -> WatchLoad {
        let WatchLoad { watches, creates } = WATCH_LOAD;
        WatchLoad { watches: self.scaled(watches), creates: self.scaled(creates) }
    }

    fn scaled(&self, count: usize) -> usize {
        (count / self.divide.max(1)).max(1)
    }
}

pub(crate) fn run(args: &ServerBenchArgs) -> anyhow::Result<()> {
    check_open_files(args)?;
    fs::create_dir_all(&args.folder)?;
    let folder = tempfile::tempdir_in(&args.folder)?;
    let peer = if args.alone {
        Err(anyhow::anyhow!("--alone was given"))
    } else {
        BenchServer::kube_apiserver(Controllers::None)
    };
    let peer = measure_or_skip("kube-apiserver", peer, |peer| measure(args, &peer, folder.path()))?;
    let ours = measure_or_skip("punctual", BenchServer::punctual(), |ours| {
        let mut figures = measure(args, &ours, folder.path())?;
        figures.add_time(COLD_START_FULL, cold_start_full(args, &ours, folder.path())?);
        Ok(figures)
    })?;
    print!("{}", render(&[("punctual", &ours), ("kube-apiserver", &peer)], &LIMITS));
    Ok(())
}

/// Fails early if the limit of open files is too low for all watches.
fn check_open_files(args: &ServerBenchArgs) -> anyhow::Result<()> {
    let needed = args.watch_load().watches as u64 + OTHER_FILES;
    let limit = process_usage::open_files_max()?;
    anyhow::ensure!(
        limit >= needed,
        "{needed} open files are needed, but the limit is {limit}; raise it with `ulimit -n`"
    );
    Ok(())
}

/// Measures a server, or prints that it is missing.
fn measure_or_skip(
    name: &str,
    server: anyhow::Result<BenchServer>,
    measure: impl FnOnce(BenchServer) -> anyhow::Result<Figures>,
) -> anyhow::Result<Figures> {
    match server {
        Ok(server) => measure(server).with_context(|| name.to_owned()),
        Err(error) => {
            println!("skipped: {name}: {error:#}");
            Ok(Figures::default())
        }
    }
}

fn measure(args: &ServerBenchArgs, server: &BenchServer, folder: &Path) -> anyhow::Result<Figures> {
    println!("{}", server.versions()?.join(", "));
    let mut figures = Figures::default();
    figures.add_time("cold start, empty", cold_start_empty(server, folder)?);
    let (cluster, _) = server.start(&bench_server::create_folder(folder, "load")?)?;
    println!("measuring {} at {}", cluster.name, cluster.url);
    figures.add_memory("memory after start", bench_server::resident_memory(&cluster.pids())?);
    run_async(run_load(args, &cluster, &mut figures))?;
    drop(cluster);
    fs::remove_dir_all(folder.join("load"))?;
    Ok(figures)
}

/// The median of several starts, each in a new folder.
fn cold_start_empty(server: &BenchServer, folder: &Path) -> anyhow::Result<Duration> {
    let mut starts = Vec::new();
    for _ in 0..COLD_STARTS {
        let folder = bench_server::create_folder(folder, "empty")?;
        let (cluster, duration) = server.start(&folder)?;
        starts.push(duration);
        drop(cluster);
        fs::remove_dir_all(folder)?;
    }
    starts.sort_unstable();
    starts.get(COLD_STARTS / 2).copied().context("no start")
}

/// Stores CronJobs through the API and restarts the server.
fn cold_start_full(
    args: &ServerBenchArgs,
    server: &BenchServer,
    folder: &Path,
) -> anyhow::Result<Duration> {
    let folder = bench_server::create_folder(folder, "full")?;
    let (cluster, _) = server.start(&folder)?;
    let phase = CreatePhase { clients: 256, count: args.stored };
    println!("storing {} CronJobs", phase.count);
    let target = ConnectionTarget::from_cluster(&cluster)?;
    run_async(with_timeout(create::create_phase(&target, phase, "stored")))?;
    drop(cluster);
    let (_cluster, duration) = server.start(&folder)?;
    Ok(duration)
}

async fn run_load(
    args: &ServerBenchArgs,
    cluster: &Cluster,
    figures: &mut Figures,
) -> anyhow::Result<()> {
    let target = ConnectionTarget::from_cluster(cluster)?;
    let mut stored = 0;
    for (phase, prefix) in args.phases().zip(["one", "some", "many"]) {
        let before = bench_server::processor_time(&cluster.pids())?;
        let created = with_timeout(create::create_phase(&target, phase, prefix)).await?;
        let used = bench_server::processor_time(&cluster.pids())?.saturating_sub(before);
        let clients = phase.clients;
        figures.add(format!("creates, {clients} clients"), "/s", created.per_second());
        figures.add_latencies(&format!("create, {clients} clients"), &created.latencies);
        let per_create = used.checked_div(phase.count.try_into()?).unwrap_or_default();
        figures.add_time(format!("processor per create, {clients}"), per_create);
        stored += phase.count;
    }
    add_memory("creates", cluster, figures).await?;
    with_timeout(list_all(&target, stored, figures)).await?;
    add_memory("lists", cluster, figures).await?;
    with_timeout(watches::run(&target, args.watch_load(), figures)).await?;
    add_memory("watches", cluster, figures).await
}

/// Lists all CronJobs several times and checks their number.
async fn list_all(
    target: &ConnectionTarget,
    expected: usize,
    figures: &mut Figures,
) -> anyhow::Result<()> {
    let mut connection = Connection::open(target).await?;
    let mut samples = Vec::new();
    let mut bytes = 0;
    for _ in 0..LISTS {
        let start = clock::now();
        let body = connection.get(create::CRON_JOBS).await?;
        samples.push(start.elapsed());
        bytes = body.len();
        let found = String::from_utf8_lossy(&body).matches(r#""schedule":"#).count();
        anyhow::ensure!(found == expected, "{found} CronJobs in a list of {expected}");
    }
    figures.add_latencies("list", &Latencies::new(samples));
    figures.add_memory("list size", bytes as u64);
    Ok(())
}

async fn add_memory(phase: &str, cluster: &Cluster, figures: &mut Figures) -> anyhow::Result<()> {
    tokio::time::sleep(SETTLE_TIME).await;
    let memory = bench_server::resident_memory(&cluster.pids())?;
    figures.add_memory(format!("memory after {phase}"), memory);
    Ok(())
}

async fn with_timeout<T>(work: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    tokio::time::timeout(PHASE_TIMEOUT, work).await.context("the phase timed out")?
}
