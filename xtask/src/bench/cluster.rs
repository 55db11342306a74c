//! Controllers of CronJobs side by side on one kube-apiserver, one after the other:
//! `cargo run --release -p xtask -- bench cluster`.
//!
//! Build the program first: `cargo build --release -p punctual-cli`. Each finds the same CronJobs, all due
//! in the same minute. Jobs are made suspended, so that no Pod takes part. The skew is from the slot to the
//! Job's arrival on a watch; time and memory are those of the controller alone.

mod report;

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::ensure;
use bytes::Bytes;
use clap::Args as ClapArgs;
use hyper::Method;
use punctual_e2e::{ChildProcess, Cluster, Controllers, KubeApiServer, Programs, Punctual};
use rustix::fs::Advice;

use super::{
    burst::many::{Many, Results},
    connection::{Connection, Target},
    create, driving, progress,
};

const JOBS: &str = "/apis/batch/v1/namespaces/default/jobs";
const QUIET: Duration = Duration::from_secs(2);
const QUIET_WITHIN: Duration = Duration::from_secs(120);

/// What to measure.
#[derive(ClapArgs)]
pub(crate) struct Args {
    /// CronJobs that are due in the same minute
    #[arg(long, default_value_t = 3_000)]
    count: usize,
    /// Seconds from the start to the slot, and up to a minute more: everything must be stored by then
    #[arg(long, default_value_t = 60)]
    lead: u32,
    /// Leave out those whose names do not contain this
    #[arg(long, default_value = "")]
    only: String,
    /// A flag for `punctual controller`, such as --flag=--concurrent-syncs=16; may be repeated
    #[arg(long, value_name = "FLAG", allow_hyphen_values = true)]
    flag: Vec<String>,
    /// Folder for the data; must be on a disk, not in memory
    #[arg(long, default_value = "target/bench-cluster")]
    folder: PathBuf,
}

/// Who is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Who {
    /// kube-controller-manager as it comes: 20 requests a second, 5 workers.
    Default,
    /// kube-controller-manager with 5,000 requests a second and 64 workers.
    Tuned,
    /// `punctual controller` as it comes.
    Ours,
}

impl Who {
    const ALL: [Who; 3] = [Who::Ours, Who::Tuned, Who::Default];

    const fn name(self) -> &'static str {
        match self {
            Who::Ours => "punctual",
            Who::Tuned => "kcm, tuned",
            Who::Default => "kcm, defaults",
        }
    }
}

/// What was measured of each.
type Measured = Vec<(Who, Results)>;

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    fs::create_dir_all(&args.folder)?;
    let folder = tempfile::tempdir_in(&args.folder)?;
    let (programs, punctual) = (Programs::find(), Punctual::find()?);
    let server = KubeApiServer {
        programs: &programs,
        folder: folder.path(),
        controllers: Controllers::CronJobs,
    };
    server.check()?;
    let server = KubeApiServer { controllers: Controllers::None, ..server };
    let cluster = server.start()?;
    let mut measured = Measured::new();
    for who in Who::ALL.into_iter().filter(|who| who.name().contains(&args.only)) {
        println!("{}", who.name());
        from_disk(&match who {
            Who::Ours => punctual.binary().to_owned(),
            Who::Tuned | Who::Default => programs.path("kube-controller-manager")?,
        })?;
        let controller = match who {
            Who::Default => server.start_controllers(&cluster, Controllers::CronJobsByDefault)?,
            Who::Tuned => server.start_controllers(&cluster, Controllers::CronJobs)?,
            Who::Ours => ours(args, &punctual, &cluster, folder.path())?,
        };
        measured.push((who, driving::drive(round(args, &cluster, controller))?));
        // Each time, so that a failure of the next one does not hide it.
        print!("{}", report::table(args.count, &measured));
    }
    Ok(())
}

/// Lets a program be read from the disk when it starts. How many pages around one that it uses count as its
/// memory depends on how the file came into the system's cache: one that was just written takes a fifth more.
fn from_disk(program: &Path) -> anyhow::Result<()> {
    let file = File::open(program)?;
    file.sync_all()?;
    Ok(rustix::fs::fadvise(&file, 0, None, Advice::DontNeed)?)
}

/// None takes part in an election: who leads would write its Lease, and nobody would see when the rest is
/// done.
fn ours(
    args: &Args,
    punctual: &Punctual,
    cluster: &Cluster,
    folder: &Path,
) -> anyhow::Result<ChildProcess> {
    let mut flags = vec!["--kinds=cronjobs", "--leader-elect=false"];
    flags.extend(args.flag.iter().map(String::as_str));
    punctual.start_controller(&cluster.kubeconfig, folder, &flags)
}

async fn round(
    args: &Args,
    cluster: &Cluster,
    mut controller: ChildProcess,
) -> anyhow::Result<Results> {
    let pids = vec![controller.pid()];
    let many = Many { cluster, pids, count: args.count, lead: args.lead };
    let results = many.measure().await?;
    controller.ensure_running()?;
    // Nobody is to clean up what is deleted now.
    drop(controller);
    clear(cluster).await?;
    Ok(results)
}

/// Leaves the server as it was.
async fn clear(cluster: &Cluster) -> anyhow::Result<()> {
    let mut connection = Connection::open(&Target::of(cluster)?).await?;
    for path in [create::PATH, JOBS] {
        let path = format!("{path}?propagationPolicy=Background");
        let answer = connection.send(Method::DELETE, &path, Bytes::new()).await?;
        ensure!(answer.status().is_success(), "DELETE {path}: {}", answer.status());
        // The answer lists everything; a new connection is cheaper than to read it.
        connection = Connection::open(&Target::of(cluster)?).await?;
    }
    progress::until_quiet(&mut connection, QUIET, QUIET_WITHIN).await.map(drop)
}
