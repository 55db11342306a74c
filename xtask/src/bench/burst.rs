//! Start delay of many CronJobs due at once, and of a single one:
//! `cargo run --release -p xtask -- bench burst`.
//!
//! Build the program first: `cargo build --release -p punctual-cli`. Jobs are created suspended, so that
//! no Pods run. The skew is the time from the slot to the Job's arrival on a watch, including TLS.

mod manifest;
mod pod_start;
pub(super) mod report;
pub(super) mod run;
mod single;

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::ensure;
use clap::Args as ClapArgs;
use punctual_e2e::{
    Controllers,
    load::{latency::Latencies, runtime::run_async},
};

use self::{
    pod_start::{PodStartResults, PodStartRun},
    run::{BurstResults, BurstRun},
    single::SingleRun,
};
use super::bench_server::BenchServer;

/// Options of `bench burst`.
#[derive(ClapArgs)]
pub(crate) struct BurstArgs {
    /// CronJobs that are due in the same second
    #[arg(long, default_value_t = 10_000)]
    count: usize,
    /// Number of slots of the single CronJob, two seconds apart; 0 skips it
    #[arg(long, default_value_t = 20)]
    slots: usize,
    /// Number of CronJobs with a Pod each that are due at once, to measure the start of Pods; 0 skips it
    #[arg(long, default_value_t = 50)]
    pods: usize,
    /// Fail if the 99th percentile of the skew is longer than this many seconds, or a status was not written
    #[arg(long, value_name = "SECONDS")]
    max_p99: Option<u64>,
    /// Seconds from the start to the slot, rounded up to a minute; all CronJobs must be stored by then
    #[arg(long, default_value_t = 60)]
    lead: u32,
    /// Also compare with kube-apiserver and the CronJob controller of kube-controller-manager
    #[arg(long)]
    peer: bool,
    /// CronJobs that are due in the same second in the comparison
    #[arg(long, default_value_t = 1_000)]
    peer_count: usize,
    /// Folder for the data; must be on a disk, not in memory
    #[arg(long, default_value = "target/bench-burst")]
    folder: PathBuf,
}

pub(crate) fn run(args: &BurstArgs) -> anyhow::Result<()> {
    fs::create_dir_all(&args.folder)?;
    let folder = tempfile::tempdir_in(&args.folder)?;
    let ours = BenchServer::up()?;
    println!("{}", ours.versions()?.join(", "));
    let burst = measure_burst(args, &ours, args.count, folder.path())?;
    let single = run_async(measure_single_cron_job(args, &ours, folder.path()))?;
    let pods = run_async(measure_pods(args, &ours, folder.path()))?;
    print!("{}", report::table(args.count, &burst, None));
    if let Some(skews) = single {
        print!("{}", report::single_cron_job_table(&skews));
    }
    if let Some(pods) = pods {
        print!("{}", report::pod_table(&pods));
    }
    if args.peer {
        compare(args, &ours, folder.path())?;
    }
    args.max_p99.map_or(Ok(()), |seconds| check(&burst, Duration::from_secs(seconds)))
}

/// Fails if runs started too late or were not recorded.
fn check(burst: &BurstResults, p99_max: Duration) -> anyhow::Result<()> {
    let p99 = burst.skews.percentile(99);
    ensure!(p99 <= p99_max, "the 99th percentile of the skew is {p99:?}, more than {p99_max:?}");
    ensure!(
        burst.unwritten_statuses == 0,
        "{} statuses were not written",
        burst.unwritten_statuses
    );
    Ok(())
}

/// Measures both servers with a number of CronJobs that the peer can handle.
fn compare(args: &BurstArgs, ours: &BenchServer, folder: &Path) -> anyhow::Result<()> {
    let peer = BenchServer::kube_apiserver(Controllers::CronJobs)?;
    println!("{}", peer.versions()?.join(", "));
    let count = args.peer_count;
    let theirs = measure_burst(args, &peer, count, folder)?;
    let ours = measure_burst(args, ours, count, folder)?;
    print!("{}", report::table(count, &ours, Some(&theirs)));
    Ok(())
}

fn measure_burst(
    args: &BurstArgs,
    server: &BenchServer,
    count: usize,
    folder: &Path,
) -> anyhow::Result<BurstResults> {
    let folder = tempfile::tempdir_in(folder)?;
    let (cluster, _) = server.start(folder.path())?;
    let pids = cluster.pids();
    run_async(BurstRun { cluster: &cluster, pids, count, lead: args.lead }.measure())
}

async fn measure_pods(
    args: &BurstArgs,
    server: &BenchServer,
    folder: &Path,
) -> anyhow::Result<Option<PodStartResults>> {
    if args.pods == 0 {
        return Ok(None);
    }
    let folder = tempfile::tempdir_in(folder)?;
    PodStartRun { server, count: args.pods, folder: folder.path() }.measure().await.map(Some)
}

async fn measure_single_cron_job(
    args: &BurstArgs,
    server: &BenchServer,
    folder: &Path,
) -> anyhow::Result<Option<Latencies>> {
    if args.slots == 0 {
        return Ok(None);
    }
    let folder = tempfile::tempdir_in(folder)?;
    SingleRun { server, slots: args.slots, folder: folder.path() }.measure().await.map(Some)
}
