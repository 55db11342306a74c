//! The Kubernetes API under load: `cargo run --release -p xtask -- bench server`.
//!
//! Build the program first: `cargo build --release -p punctual-cli`. One server runs at a time.

use std::{fs, path::Path, time::Duration};

use anyhow::Context;
use clap::Args as ClapArgs;
use punctual_e2e::{Cluster, Controllers, process_usage};

use super::{
    connection::Target,
    contender::{self, Contender},
    create::{self, Phase},
    driving::drive,
    list, report,
    results::Results,
    watches::{self, Audience},
};

/// Together ten thousand, which is what is listed afterwards.
const PHASES: [Phase; 3] = [
    Phase { clients: 1, count: 1_000 },
    Phase { clients: 16, count: 4_000 },
    Phase { clients: 256, count: 5_000 },
];
const AUDIENCE: Audience = Audience { watches: 1_000, creates: 100 };
const STARTS: usize = 3;
/// Files of a program beside its connections.
const OTHER_FILES: u64 = 200;
/// A phase that takes longer says that something is wrong, not that a server is slow.
const PHASE_WITHIN: Duration = Duration::from_secs(600);
/// The memory of a server settles after it was busy; both are looked at after the same rest.
const REST: Duration = Duration::from_secs(2);

/// What to measure.
#[derive(ClapArgs)]
pub(crate) struct Args {
    /// CronJobs that are stored when the cold start of a full server is measured
    #[arg(long, default_value_t = 100_000)]
    stored: usize,
    /// Divide all other counts by this, for a quick look
    #[arg(long, default_value_t = 1)]
    divide: usize,
    /// Folder for the data of both servers; must be on a disk, not in memory
    #[arg(long, default_value = "target/bench-server")]
    folder: std::path::PathBuf,
    /// Leave kube-apiserver out
    #[arg(long)]
    alone: bool,
}

impl Args {
    fn phases(&self) -> impl Iterator<Item = Phase> {
        PHASES.iter().map(|phase| Phase { count: self.scaled(phase.count), ..*phase })
    }

    fn audience(&self) -> Audience {
        let Audience { watches, creates } = AUDIENCE;
        Audience { watches: self.scaled(watches), creates: self.scaled(creates) }
    }

    fn scaled(&self, count: usize) -> usize {
        (count / self.divide.max(1)).max(1)
    }
}

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    check_open_files(args)?;
    fs::create_dir_all(&args.folder)?;
    let folder = tempfile::tempdir_in(&args.folder)?;
    let peer = match args.alone {
        true => Err(anyhow::anyhow!("left out")),
        false => Contender::kube_apiserver(Controllers::None),
    };
    let peer = measured("kube-apiserver", peer, |peer| measure(args, &peer, folder.path()))?;
    let ours = measured("punctual", Contender::punctual(), |ours| {
        let mut results = measure(args, &ours, folder.path())?;
        results.cold_start_full = Some(start_full(args, &ours, folder.path())?);
        Ok(results)
    })?;
    print!("{}", report::table(&ours, &peer, args.stored));
    Ok(())
}

/// Without this, a thousand watches would fail in the middle.
fn check_open_files(args: &Args) -> anyhow::Result<()> {
    let needed = args.audience().watches as u64 + OTHER_FILES;
    let limit = process_usage::open_files_max()?;
    anyhow::ensure!(limit >= needed, "{needed} open files are needed; `ulimit -n` says {limit}");
    Ok(())
}

/// Measures a server if it can be had; says so if not.
fn measured(
    name: &str,
    contender: anyhow::Result<Contender>,
    measure: impl FnOnce(Contender) -> anyhow::Result<Results>,
) -> anyhow::Result<Results> {
    match contender {
        Ok(contender) => measure(contender).with_context(|| name.to_owned()),
        Err(error) => {
            println!("skipped: {name}: {error:#}");
            Ok(Results::default())
        }
    }
}

fn measure(args: &Args, contender: &Contender, folder: &Path) -> anyhow::Result<Results> {
    println!("{}", contender.versions()?.join(", "));
    let mut results =
        Results { cold_start: Some(start_empty(contender, folder)?), ..Results::default() };
    let (cluster, _) = contender.start(&contender::fresh(folder, "load")?)?;
    println!("measuring {} at {}", cluster.name, cluster.url);
    results.memory.push(("start", contender::memory(&cluster.pids())?));
    drive(load(args, &cluster, &mut results))?;
    drop(cluster);
    fs::remove_dir_all(folder.join("load"))?;
    Ok(results)
}

/// The median of some starts, each in a new folder.
fn start_empty(contender: &Contender, folder: &Path) -> anyhow::Result<Duration> {
    let mut starts = Vec::new();
    for _ in 0..STARTS {
        let (cluster, took) = contender.start(&contender::fresh(folder, "empty")?)?;
        starts.push(took);
        drop(cluster);
        fs::remove_dir_all(folder.join("empty"))?;
    }
    starts.sort_unstable();
    starts.get(STARTS / 2).copied().context("no start")
}

/// Fills a server through its API, and starts it again.
fn start_full(args: &Args, contender: &Contender, folder: &Path) -> anyhow::Result<Duration> {
    let folder = contender::fresh(folder, "full")?;
    let (cluster, _) = contender.start(&folder)?;
    let phase = Phase { clients: 256, count: args.stored };
    println!("storing {} CronJobs", phase.count);
    let target = Target::of(&cluster)?;
    drive(bounded(create::run(&target, phase, "stored")))?;
    drop(cluster);
    let (_cluster, took) = contender.start(&folder)?;
    Ok(took)
}

async fn load(args: &Args, cluster: &Cluster, results: &mut Results) -> anyhow::Result<()> {
    let target = Target::of(cluster)?;
    let mut stored = 0;
    for (phase, word) in args.phases().zip(["one", "some", "many"]) {
        let before = contender::processor(&cluster.pids())?;
        let created = bounded(create::run(&target, phase, word)).await?;
        let used = contender::processor(&cluster.pids())?.saturating_sub(before);
        results.processor_per_create = used.checked_div(phase.count.try_into()?);
        results.created.push(created);
        stored += phase.count;
    }
    remember("creates", cluster, results).await?;
    results.listed = Some(bounded(list::run(&target, stored)).await?);
    remember("lists", cluster, results).await?;
    results.watched = Some(bounded(watches::run(&target, args.audience())).await?);
    remember("watches", cluster, results).await
}

async fn remember(
    phase: &'static str,
    cluster: &Cluster,
    results: &mut Results,
) -> anyhow::Result<()> {
    tokio::time::sleep(REST).await;
    results.memory.push((phase, contender::memory(&cluster.pids())?));
    Ok(())
}

async fn bounded<T>(work: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    tokio::time::timeout(PHASE_WITHIN, work).await.context("the phase took too long")?
}
