//! Injects faults into two controllers of a Kubernetes cluster:
//! `cargo run --release -p punctual-soak -- cluster`.
//!
//! CronJobs and ScheduledJobs are due all the time. Meanwhile the controllers, mostly the leader, are
//! killed, paused and disconnected, and sometimes kube-apiserver is killed. Watches that bypass the
//! faults record every Job and every leader. At the end the record must show that no slot (scheduled
//! time) has two Jobs, and that no slot was lost that could have started within its deadline.

mod availability;
mod checker;
mod controller_processes;
mod fault;
mod fault_injector;
mod final_state;
mod latency_probe;
mod proxy;
mod recorded_jobs;
mod recorder;
mod report;
mod workload;

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Context, ensure};
use punctual_e2e::{
    Client, Controllers, FakeNode, KubeApiServer, Programs, Punctual,
    controller::{self, OWN_NAMESPACE},
    load::{clock, runtime::run_async},
};
use punctual_testing::TestRng;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::time::sleep;

use self::{
    availability::{Availability, LeaseHold},
    checker::{CheckInput, ClusterReport},
    controller_processes::ControllerSetup,
    fault::RecordedFault,
    fault_injector::FaultInjector,
    latency_probe::LatencyProbe,
    recorded_jobs::{LeaseTerms, RecordedJobs},
    recorder::WatchRecorder,
    workload::{NAMESPACE, WorkloadObject},
};
use crate::{
    objects::{time, uid},
    timing::TimeSpan,
};

/// The pause between two creates, so that the objects are not all due at the same time.
const CREATE_INTERVAL: Duration = Duration::from_millis(60);
/// The time from the last fault to the suspension of all objects.
const RUN_WITHOUT_FAULTS: Duration = Duration::from_secs(25);
/// The time from the suspension until every status must be final.
const SETTLE: Duration = Duration::from_secs(30);
/// The surrounding events are printed for this many violations.
const VIOLATIONS_EXPLAINED: usize = 10;

#[derive(clap::Args)]
pub(crate) struct ClusterArgs {
    /// Number of faults
    #[arg(long, default_value_t = 200)]
    faults: usize,
    /// Number of CronJobs and ScheduledJobs, half of each
    #[arg(long, default_value_t = 120)]
    cron_jobs: usize,
    /// The same seed gives the same objects and the same sequence of faults
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Folder for data and logs; must be on a disk, not in memory
    #[arg(long, default_value = "target/soak-cluster")]
    folder: PathBuf,
}

/// Everything that was recorded.
struct ClusterRecord {
    objects: Vec<WorkloadObject>,
    faults: Vec<RecordedFault>,
    jobs: RecordedJobs,
    lease_holds: Vec<LeaseHold>,
    leader_changes: usize,
    /// When the server was slow.
    slow: Vec<TimeSpan>,
    /// When the objects were suspended, one after the other.
    suspended: TimeSpan,
    /// The CronJobs and ScheduledJobs at the end.
    final_objects: Vec<Value>,
    /// Controllers that exited and watch events that could not be read.
    errors: Vec<String>,
    /// How often a watch had to be replaced by a list.
    watch_gaps: usize,
}

pub(crate) fn run(args: &ClusterArgs) -> anyhow::Result<()> {
    fs::create_dir_all(&args.folder)?;
    let home = tempfile::Builder::new().prefix("soak-").tempdir_in(&args.folder)?;
    let result = run_async(Box::pin(run_test(args, &home)));
    let result = result.and_then(|record| check_record(&record, home.path()));
    if result.is_err() {
        println!("data and logs are kept in {}", home.keep().display());
    }
    result
}

async fn run_test(args: &ClusterArgs, home: &TempDir) -> anyhow::Result<ClusterRecord> {
    let programs = Programs::find();
    let punctual = Punctual::find()?;
    let folder = home.path().canonicalize()?;
    let server =
        KubeApiServer { programs: &programs, folder: &folder, controllers: Controllers::Jobs };
    let mut cluster = server.start()?;
    let _node = FakeNode::start(&cluster)?;
    let mut client = Client::new(&cluster)?;
    let token = controller::create_account(&mut client)?;
    punctual_e2e::install_crd(&mut client, punctual.binary())?;
    let latency_probe = LatencyProbe::start(&cluster)?;
    let jobs_path = format!("/apis/batch/v1/namespaces/{NAMESPACE}/jobs");
    let jobs = WatchRecorder::<RecordedJobs>::start(&cluster, &jobs_path)?;
    let leases_path = format!("/apis/coordination.k8s.io/v1/namespaces/{OWN_NAMESPACE}/leases");
    let leases = WatchRecorder::<LeaseTerms>::start(&cluster, &leases_path)?;
    let setup = ControllerSetup {
        cluster: &cluster,
        token: &token,
        binary: punctual.binary(),
        folder: &folder,
        seed: args.seed,
    };
    let mut controllers = [setup.start(0)?, setup.start(1)?];
    while leases.recorded().value.0.is_empty() {
        sleep(CREATE_INTERVAL).await;
    }
    let objects = create_objects(args, &mut client).await?;
    println!("{} objects with seed {}; two controllers", objects.len(), args.seed);
    let rng = TestRng::new(args.seed);
    let mut injector = FaultInjector { cluster: &mut cluster, jobs: &jobs, leases: &leases, rng };
    let faults = injector.run(&mut controllers, args.faults).await?;
    let suspended = suspend(&mut client, &objects).await?;
    sleep(SETTLE).await;
    let final_objects = final_state::read_objects(&mut client)?;
    let terms = leases.recorded().value.clone();
    let recorded_jobs = std::mem::take(&mut *jobs.recorded());
    let mut errors = recorded_jobs.errors;
    errors.extend(leases.recorded().errors.clone());
    for controller in &controllers {
        errors.extend(controller.exits.iter().map(|exit| format!("a controller exited: {exit}")));
    }
    Ok(ClusterRecord {
        objects,
        faults,
        jobs: recorded_jobs.value,
        lease_holds: fault_injector::lease_holds(&controllers, &terms, clock::wall_time())?,
        leader_changes: terms.changes(),
        slow: latency_probe.slow_spans(),
        suspended,
        final_objects,
        errors,
        watch_gaps: recorded_jobs.gaps,
    })
}

async fn create_objects(
    args: &ClusterArgs,
    client: &mut Client,
) -> anyhow::Result<Vec<WorkloadObject>> {
    let mut objects = Vec::new();
    for spec in workload::generate(args.cron_jobs, &TestRng::new(args.seed)) {
        let created = client.create(&spec.kind.collection_path(), &spec.manifest())?;
        let uid = uid(&created).to_owned();
        let created = time(&created, "/metadata/creationTimestamp");
        let created = created.context("an object without creationTimestamp")?;
        objects.push(WorkloadObject { spec, uid, created });
        sleep(CREATE_INTERVAL).await;
    }
    Ok(objects)
}

/// Lets the objects run without faults and then suspends them. Returns when they were suspended.
async fn suspend(client: &mut Client, objects: &[WorkloadObject]) -> anyhow::Result<TimeSpan> {
    sleep(RUN_WITHOUT_FAULTS).await;
    let from = clock::wall_time();
    for object in objects {
        client.patch(&object.spec.path(), &json!({"spec": {"suspend": true}}))?;
    }
    Ok(TimeSpan { from, to: clock::wall_time() })
}

fn check_record(record: &ClusterRecord, folder: &Path) -> anyhow::Result<()> {
    let ClusterRecord { objects, faults, jobs, lease_holds, slow, suspended, .. } = record;
    let input = CheckInput {
        objects,
        jobs: jobs.by_owner(),
        faults,
        availability: Availability::new(faults, lease_holds.clone(), slow.clone()),
        end: suspended.from,
    };
    let report = checker::check(&input);
    let mut errors = record.errors.clone();
    errors.extend(jobs.foreign.iter().map(|name| format!("Job {name} has no owner or no slot")));
    for object in objects {
        let jobs = input.jobs_of(object);
        errors.extend(final_state::violations(object, &record.final_objects, jobs, *suspended));
    }
    print_report(record, &report, &errors);
    fs::write(folder.join("jobs.txt"), report::format_jobs(&input))?;
    for violation in &report.violations {
        println!("{}", report::format_violation(&input, violation));
    }
    for violation in report.violations.iter().take(VIOLATIONS_EXPLAINED) {
        print!("{}", report::explain_violation(&input, violation));
    }
    let count = report.violations.len() + errors.len();
    ensure!(count == 0, "{count} violations");
    println!("no slot ran twice, none was lost within its deadline");
    Ok(())
}

fn print_report(record: &ClusterRecord, report: &ClusterReport, errors: &[String]) {
    let ClusterRecord { faults, jobs, leader_changes, watch_gaps, .. } = record;
    print!("{}", report::format_faults(faults));
    println!(
        "{} faults, {leader_changes} leader changes, {} Jobs; {watch_gaps} gaps of the watch were \
         closed by a list",
        faults.len(),
        jobs.count()
    );
    let end = record.suspended.from;
    let start = record.objects.first().map_or(end, |first| first.created);
    let test = TimeSpan { from: start, to: end };
    println!(
        "the server was slow or down for {:.0} s of {:.0} s, measured by an undisturbed client",
        latency_probe::seconds_within(&record.slow, test),
        test.seconds()
    );
    print!("{}{}", report::format_counts(report), report::format_missed(report));
    println!("disagreements {} s after the suspension {}", SETTLE.as_secs(), errors.len());
    for error in errors {
        println!("VIOLATION: {error}");
    }
}
