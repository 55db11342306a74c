//! Start delay of many CronJobs due at once, and of a single one:
//! `cargo run --release -p xtask -- bench burst`.
//!
//! Build the program first: `cargo build --release -p punctual-cli`. Jobs are created suspended, so that
//! no Pods run. The skew is the time from the slot to the Job's arrival on a watch, including TLS.

mod manifest;
mod pod_start;
pub(super) mod run;
mod single;

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Context, ensure};
use clap::Args as ClapArgs;
use punctual_e2e::{Controllers, load::runtime::run_async};

use self::run::BurstRun;
use super::{
    bench_server::BenchServer,
    report::{Figures, Limit, render},
};

const LIMITS: [(&str, Limit); 1] = [(run::SKEW_P99, Limit::AtMost(2_000.0))];
const SINGLE_LIMITS: [(&str, Limit); 1] = [(single::MAX, Limit::AtMost(10.0))];

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
    print!("{}", render(&[("punctual", &burst)], &LIMITS));
    if args.slots > 0 {
        let single = run_async(single::measure(&ours, args.slots, folder.path()))?;
        print!("{}", render(&[("punctual", &single)], &SINGLE_LIMITS));
    }
    if args.pods > 0 {
        let pods = run_async(pod_start::measure(&ours, args.pods, folder.path()))?;
        print!("{}", render(&[("punctual", &pods)], &[]));
    }
    if args.peer {
        compare(args, &ours, folder.path())?;
    }
    args.max_p99.map_or(Ok(()), |seconds| check(&burst, Duration::from_secs(seconds)))
}

/// Fails if runs started too late or were not recorded.
fn check(burst: &Figures, p99_max: Duration) -> anyhow::Result<()> {
    let value = |name: &str| burst.value(name).with_context(|| format!("{name} was not measured"));
    let p99 = Duration::from_secs_f64(value(run::SKEW_P99)? / 1e3);
    ensure!(p99 <= p99_max, "the 99th percentile of the skew is {p99:?}, more than {p99_max:?}");
    let unwritten = value(run::UNWRITTEN_STATUSES)?;
    ensure!(unwritten == 0.0, "{unwritten} statuses were not written");
    Ok(())
}

/// Measures both servers with a number of CronJobs that the peer can handle.
fn compare(args: &BurstArgs, ours: &BenchServer, folder: &Path) -> anyhow::Result<()> {
    let peer = BenchServer::kube_apiserver(Controllers::CronJobs)?;
    println!("{}", peer.versions()?.join(", "));
    let count = args.peer_count;
    let theirs = measure_burst(args, &peer, count, folder)?;
    let ours = measure_burst(args, ours, count, folder)?;
    print!("{}", render(&[("punctual", &ours), ("kube-apiserver", &theirs)], &LIMITS));
    Ok(())
}

fn measure_burst(
    args: &BurstArgs,
    server: &BenchServer,
    count: usize,
    folder: &Path,
) -> anyhow::Result<Figures> {
    let folder = tempfile::tempdir_in(folder)?;
    let (cluster, _) = server.start(folder.path())?;
    let pids = cluster.pids();
    run_async(BurstRun { cluster: &cluster, pids, count, lead: args.lead }.measure())
}
