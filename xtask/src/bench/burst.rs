//! Everything due at once, and one alone: `cargo run --release -p xtask -- bench burst`.
//!
//! Build the program first: `cargo build --release -p punctual-cli`. Jobs are made suspended, so that no
//! Pod takes part. The skew is from the slot to the Job's arrival on a watch, TLS and all.

mod alone;
mod manifest;
pub(super) mod many;
mod report;

use std::{
    fs,
    path::{Path, PathBuf},
};

use clap::Args as ClapArgs;
use punctual_e2e::Controllers;

use self::{alone::Alone, many::Many};
use super::{contender::Contender, driving::drive, latency::Latencies};

/// What to measure.
#[derive(ClapArgs)]
pub(crate) struct Args {
    /// CronJobs that are due in the same second
    #[arg(long, default_value_t = 10_000)]
    count: usize,
    /// Slots of the CronJob that is alone, two seconds apart; 0 leaves it out
    #[arg(long, default_value_t = 20)]
    slots: usize,
    /// Seconds from the start to the slot, and up to a minute more: everything must be stored by then
    #[arg(long, default_value_t = 60)]
    lead: u32,
    /// Also beside kube-apiserver with the CronJob controller of kube-controller-manager
    #[arg(long)]
    peer: bool,
    /// CronJobs that are due in the same second when both are measured
    #[arg(long, default_value_t = 1_000)]
    peer_count: usize,
    /// Folder for the data; must be on a disk, not in memory
    #[arg(long, default_value = "target/bench-burst")]
    folder: PathBuf,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    fs::create_dir_all(&args.folder)?;
    let folder = tempfile::tempdir_in(&args.folder)?;
    let ours = Contender::up()?;
    println!("{}", ours.versions()?.join(", "));
    let many = many(args, &ours, args.count, folder.path())?;
    let alone = drive(alone(args, &ours, folder.path()))?;
    print!("{}", report::table(args.count, (Some(&many), None), alone.as_ref()));
    if args.peer {
        compare(args, &ours, folder.path())?;
    }
    Ok(())
}

/// Both, with a number that the peer can be expected to bear.
fn compare(args: &Args, ours: &Contender, folder: &Path) -> anyhow::Result<()> {
    let peer = Contender::kube_apiserver(Controllers::CronJobs)?;
    println!("{}", peer.versions()?.join(", "));
    let theirs = many(args, &peer, args.peer_count, folder)?;
    let ours = many(args, ours, args.peer_count, folder)?;
    print!("{}", report::table(args.peer_count, (Some(&ours), Some(&theirs)), None));
    Ok(())
}

fn many(
    args: &Args,
    contender: &Contender,
    count: usize,
    folder: &Path,
) -> anyhow::Result<many::Results> {
    let folder = tempfile::tempdir_in(folder)?;
    let (cluster, _) = contender.start(folder.path())?;
    let pids = cluster.pids();
    drive(Many { cluster: &cluster, pids, count, lead: args.lead }.measure())
}

async fn alone(
    args: &Args,
    contender: &Contender,
    folder: &Path,
) -> anyhow::Result<Option<Latencies>> {
    if args.slots == 0 {
        return Ok(None);
    }
    let folder = tempfile::tempdir_in(folder)?;
    Alone { contender, slots: args.slots, folder: folder.path() }.measure().await.map(Some)
}
