//! Compares CronJob controllers on one kube-apiserver, one after the other:
//! `cargo run --release -p xtask -- bench cluster`.
//!
//! Build the program first: `cargo build --release -p punctual-cli`. Each controller gets the same
//! CronJobs, all due in the same minute. Jobs are created suspended, so that no Pods run. The skew is
//! the time from the slot to the Job's arrival on a watch; processor time and memory are those of the
//! controller only.

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::ensure;
use bytes::Bytes;
use clap::Args as ClapArgs;
use hyper::Method;
use punctual_e2e::{
    ChildProcess, Cluster, Controllers, KubeApiServer, Programs, Punctual,
    load::{
        connection::{Connection, ConnectionTarget},
        create, revisions, runtime,
    },
};
use rustix::fs::Advice;

use super::{
    burst::run::{self, BurstRun},
    report::{Figures, Limit, render},
};

/// The largest allowed ratios to the tuned kube-controller-manager and to that with its defaults.
const LIMITS: [(&str, Limit); 4] = [
    (run::SKEW_P99, Limit::RatioAtMost(&[0.5, 0.05])),
    (run::PROCESSOR, Limit::RatioAtMost(&[0.5, 0.5])),
    (run::MEMORY, Limit::RatioAtMost(&[0.25, 0.25])),
    (run::PEAK_MEMORY, Limit::RatioAtMost(&[0.25, 0.25])),
];

const JOBS: &str = "/apis/batch/v1/namespaces/default/jobs";
const QUIET: Duration = Duration::from_secs(2);
const QUIET_TIMEOUT: Duration = Duration::from_secs(120);

/// Options of `bench cluster`.
#[derive(ClapArgs)]
pub(crate) struct ClusterBenchArgs {
    /// CronJobs that are due in the same minute
    #[arg(long, default_value_t = 3_000)]
    count: usize,
    /// Seconds from the start to the slot, rounded up to a minute; all CronJobs must be stored by then
    #[arg(long, default_value_t = 60)]
    lead: u32,
    /// Measure only controllers whose name contains this
    #[arg(long, default_value = "")]
    only: String,
    /// A flag for `punctual controller`, such as --flag=--concurrent-syncs=16; may be repeated
    #[arg(long, value_name = "FLAG", allow_hyphen_values = true)]
    flag: Vec<String>,
    /// Folder for the data; must be on a disk, not in memory
    #[arg(long, default_value = "target/bench-cluster")]
    folder: PathBuf,
}

/// A controller to measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MeasuredController {
    /// kube-controller-manager with its defaults: 20 requests a second, 5 workers.
    Default,
    /// kube-controller-manager with 5,000 requests a second and 64 workers.
    Tuned,
    /// `punctual controller` with its defaults.
    Ours,
}

impl MeasuredController {
    const ALL: [MeasuredController; 3] =
        [MeasuredController::Ours, MeasuredController::Tuned, MeasuredController::Default];

    const fn name(self) -> &'static str {
        match self {
            MeasuredController::Ours => "punctual",
            MeasuredController::Tuned => "kcm, tuned",
            MeasuredController::Default => "kcm, defaults",
        }
    }
}

/// The figures of each controller, empty if it was not measured.
type ControllerFigures = [(&'static str, Figures); 3];

pub(crate) fn run(args: &ClusterBenchArgs) -> anyhow::Result<()> {
    fs::create_dir_all(&args.folder)?;
    let folder = tempfile::tempdir_in(&args.folder)?;
    let programs = Programs::find();
    let punctual = Punctual::find()?;
    let server = KubeApiServer {
        programs: &programs,
        folder: folder.path(),
        controllers: Controllers::CronJobs,
    };
    server.check()?;
    let server = KubeApiServer { controllers: Controllers::None, ..server };
    let cluster = server.start()?;
    let mut results: ControllerFigures =
        MeasuredController::ALL.map(|which| (which.name(), Figures::default()));
    let controllers = MeasuredController::ALL.into_iter().enumerate();
    for (at, which) in controllers.filter(|(_, which)| which.name().contains(&args.only)) {
        println!("{}", which.name());
        evict_from_page_cache(&match which {
            MeasuredController::Ours => punctual.binary().to_owned(),
            MeasuredController::Tuned | MeasuredController::Default => {
                programs.path("kube-controller-manager")?
            }
        })?;
        let controller = match which {
            MeasuredController::Default => {
                server.start_controllers(&cluster, Controllers::CronJobsByDefault)?
            }
            MeasuredController::Tuned => {
                server.start_controllers(&cluster, Controllers::CronJobs)?
            }
            MeasuredController::Ours => start_ours(args, &punctual, &cluster, folder.path())?,
        };
        let measured = runtime::run_async(measure(args, &cluster, controller))?;
        if let Some((_, figures)) = results.get_mut(at) {
            *figures = measured;
        }
        // Print after each controller, so that a failure of the next one does not lose the results.
        println!("\n{} CronJobs due in one minute, on one kube-apiserver", args.count);
        print!("{}", render(&results.each_ref().map(|(name, figures)| (*name, figures)), &LIMITS));
    }
    Ok(())
}

/// Evicts a program from the page cache, so that it is read from the disk when it starts. The resident
/// memory of a program that was just written to the cache is a fifth larger.
fn evict_from_page_cache(program: &Path) -> anyhow::Result<()> {
    let file = File::open(program)?;
    file.sync_all()?;
    Ok(rustix::fs::fadvise(&file, 0, None, Advice::DontNeed)?)
}

/// Starts our controller without leader election: renewals of the Lease would hide the end of the
/// other writes.
fn start_ours(
    args: &ClusterBenchArgs,
    punctual: &Punctual,
    cluster: &Cluster,
    folder: &Path,
) -> anyhow::Result<ChildProcess> {
    let mut flags = vec!["--kinds=cronjobs", "--leader-elect=false"];
    flags.extend(args.flag.iter().map(String::as_str));
    punctual.start_controller(&cluster.kubeconfig, folder, &flags)
}

async fn measure(
    args: &ClusterBenchArgs,
    cluster: &Cluster,
    mut controller: ChildProcess,
) -> anyhow::Result<Figures> {
    let pids = vec![controller.pid()];
    let burst = BurstRun { cluster, pids, count: args.count, lead: args.lead };
    let results = burst.measure().await?;
    controller.ensure_running()?;
    // The controller must not react to the deletions.
    drop(controller);
    delete_all(cluster).await?;
    Ok(results)
}

/// Deletes all CronJobs and Jobs.
async fn delete_all(cluster: &Cluster) -> anyhow::Result<()> {
    let mut connection = Connection::open(&ConnectionTarget::from_cluster(cluster)?).await?;
    for path in [create::CRON_JOBS, JOBS] {
        let path = format!("{path}?propagationPolicy=Background");
        let response = connection.send(Method::DELETE, &path, Bytes::new()).await?;
        ensure!(response.status().is_success(), "DELETE {path}: {}", response.status());
        // The response lists all objects; a new connection is cheaper than reading it.
        connection = Connection::open(&ConnectionTarget::from_cluster(cluster)?).await?;
    }
    revisions::wait_until_quiet(&mut connection, QUIET, QUIET_TIMEOUT).await.map(drop)
}
