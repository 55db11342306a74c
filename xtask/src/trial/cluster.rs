//! Two controllers on a cluster of Kubernetes' own programs, hurt again and again:
//! `cargo run --release -p xtask -- trial cluster`.
//!
//! CronJobs and ScheduledJobs are due all the time. Meanwhile the controllers are killed, paused and cut
//! off, mostly the one that leads, and now and then the server is killed. Everything that becomes of the
//! Jobs is recorded by a watch that goes straight to the server, and at the end that record must say: no
//! slot has two Jobs, and none was lost that could have been started within its deadline.

mod ability;
mod aftermath;
mod checker;
mod crew;
mod fleet;
mod hurting;
mod proxy;
mod pulse;
mod record;
mod recorder;
mod report;
mod trouble;

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Context, ensure};
use clap::Args as ClapArgs;
use punctual_e2e::{
    Client, Controllers, FakeNode, KubeApiServer, Programs, Punctual,
    controller::{self, OWN_NAMESPACE},
};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::time::sleep;

use self::{
    ability::{Ability, Span},
    checker::{Evidence, Findings},
    crew::Base,
    fleet::Enlisted,
    hurting::Hurting,
    pulse::Pulse,
    record::{Runs, Terms},
    recorder::Recorder,
    trouble::Trouble,
};
use crate::dice::Dice;
use punctual_e2e::load::{clock, runtime::run_async};

/// Between two that are created, so that they are not all due at the same time.
const APART: Duration = Duration::from_millis(60);
/// From the last trouble until nothing more is started.
const PEACE: Duration = Duration::from_secs(25);
/// From then on until everything must be as it should be.
const REST: Duration = Duration::from_secs(30);
/// Of faults beyond these it is not told what happened around them.
const FAULTS_SHOWN: usize = 10;

/// What to try.
#[derive(ClapArgs)]
pub(crate) struct Args {
    /// How often something happens
    #[arg(long, default_value_t = 200)]
    troubles: usize,
    /// CronJobs and ScheduledJobs, half of each
    #[arg(long, default_value_t = 120)]
    cron_jobs: usize,
    /// The same seed gives the same objects and the same troubles, as far as the machine does
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Folder for data and logs; must be on a disk, not in memory
    #[arg(long, default_value = "target/trial-cluster")]
    folder: PathBuf,
}

/// What was recorded, and is to be judged.
struct Outcome {
    fleet: Vec<Enlisted>,
    troubles: Vec<Trouble>,
    runs: Runs,
    held: Vec<ability::Held>,
    slow: Vec<Span>,
    changes: usize,
    suspended: Span,
    objects: Vec<aftermath::Object>,
    /// What is wrong whatever the runs were.
    faults: Vec<String>,
    gaps: usize,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    fs::create_dir_all(&args.folder)?;
    let home = tempfile::Builder::new().prefix("trial-").tempdir_in(&args.folder)?;
    let result = run_async(Box::pin(attempt(args, &home)));
    let result = result.and_then(|outcome| judge(&outcome, home.path()));
    if result.is_err() {
        println!("data and logs are kept in {}", home.keep().display());
    }
    result
}

async fn attempt(args: &Args, home: &TempDir) -> anyhow::Result<Outcome> {
    let (programs, punctual) = (Programs::find(), Punctual::find()?);
    let folder = home.path().canonicalize()?;
    let server =
        KubeApiServer { programs: &programs, folder: &folder, controllers: Controllers::Jobs };
    let mut cluster = server.start()?;
    let _node = FakeNode::start(&cluster)?;
    let mut client = Client::new(&cluster)?;
    let token = controller::create_account(&mut client)?;
    punctual_e2e::install_crd(&mut client, punctual.binary())?;
    let pulse = Pulse::start(&cluster)?;
    let jobs = Recorder::<Runs>::start(&cluster, &jobs_path())?;
    let leases = Recorder::<Terms>::start(&cluster, &leases_path())?;
    let (binary, token) = (punctual.binary(), &*token);
    let base = Base { cluster: &cluster, token, binary, folder: &folder, seed: args.seed };
    let mut crew = [base.start(0)?, base.start(1)?];
    while leases.kept().record.0.is_empty() {
        sleep(APART).await;
    }
    let fleet = enlist(args, &mut client).await?;
    println!("{} objects with seed {}; two controllers", fleet.len(), args.seed);
    let mut hurting =
        Hurting { cluster: &mut cluster, jobs: &jobs, leases: &leases, dice: Dice(args.seed) };
    let troubles = hurting.run(&mut crew, args.troubles).await?;
    let suspended = suspend(&mut client, &fleet).await?;
    sleep(REST).await;
    let objects = aftermath::objects(&mut client)?;
    let terms = leases.kept().record.clone();
    let held = hurting::held(&crew, &terms, clock::wall_time())?;
    let changes = terms.changes();
    let faults = crew.iter().flat_map(|controller| controller.own_ends.clone());
    let mut faults: Vec<String> = faults.map(|end| format!("ended by itself: {end}")).collect();
    let kept = std::mem::take(&mut *jobs.kept());
    faults.extend(kept.errors.into_iter().chain(leases.kept().errors.clone()));
    let (runs, gaps, slow) = (kept.record, kept.gaps, pulse.spells());
    Ok(Outcome { fleet, troubles, runs, held, slow, changes, suspended, objects, faults, gaps })
}

fn jobs_path() -> String {
    format!("/apis/batch/v1/namespaces/{}/jobs", fleet::NAMESPACE)
}

fn leases_path() -> String {
    format!("/apis/coordination.k8s.io/v1/namespaces/{OWN_NAMESPACE}/leases")
}

/// Creates all of them.
async fn enlist(args: &Args, client: &mut Client) -> anyhow::Result<Vec<Enlisted>> {
    let mut fleet = Vec::new();
    for member in fleet::draw(args.cron_jobs, &mut Dice(args.seed)) {
        let made = client.create(&member.kind.path(), &member.manifest())?;
        let text = |pointer| made.pointer(pointer).and_then(Value::as_str).context(pointer);
        let uid = text("/metadata/uid")?.to_owned();
        let created = text("/metadata/creationTimestamp")?.parse()?;
        fleet.push(Enlisted { member, uid, created });
        sleep(APART).await;
    }
    Ok(fleet)
}

/// Lets them run in peace for a while, and suspends them then; when that was.
async fn suspend(client: &mut Client, fleet: &[Enlisted]) -> anyhow::Result<Span> {
    sleep(PEACE).await;
    let from = clock::wall_time();
    for enlisted in fleet {
        client.patch(&enlisted.member.path(), &json!({"spec": {"suspend": true}}))?;
    }
    Ok(Span { from, to: clock::wall_time() })
}

fn judge(outcome: &Outcome, folder: &Path) -> anyhow::Result<()> {
    let Outcome { fleet, troubles, runs, held, slow, suspended, .. } = outcome;
    let evidence = Evidence {
        fleet,
        runs: runs.by_owner(),
        troubles,
        ability: Ability::new(troubles, held.clone(), slow.clone()),
        end: suspended.from,
    };
    let findings = checker::check(&evidence);
    let mut faults = outcome.faults.clone();
    faults.extend(runs.strangers.iter().map(|name| format!("Job {name} is nobody's run")));
    for enlisted in fleet {
        let runs = evidence.runs.get(&*enlisted.uid).map(Vec::as_slice).unwrap_or_default();
        faults.extend(aftermath::disagreements(enlisted, &outcome.objects, runs, *suspended));
    }
    tell(outcome, &findings, &faults);
    fs::write(folder.join("record.txt"), report::record(&evidence))?;
    for fault in &findings.faults {
        println!("{}", report::line(&evidence, fault));
    }
    for fault in findings.faults.iter().take(FAULTS_SHOWN) {
        print!("{}", report::fault(&evidence, fault));
    }
    let count = findings.faults.len() + faults.len();
    ensure!(count == 0, "{count} faults");
    println!("no slot twice, none lost within its deadline");
    Ok(())
}

fn tell(outcome: &Outcome, findings: &Findings, faults: &[String]) {
    let Outcome { troubles, runs, changes, gaps, .. } = outcome;
    print!("{}", report::troubles(troubles));
    println!(
        "{} troubles, {changes} changes of the leader, {} Jobs; the record was made sure by a list \
         {gaps} times",
        troubles.len(),
        runs.count()
    );
    let begun = outcome.fleet.first().map_or(outcome.suspended.from, |first| first.created);
    let (lasted, slow) = (
        outcome.suspended.from.duration_since(begun).as_secs_f64(),
        pulse::seconds(&outcome.slow, begun, outcome.suspended.from),
    );
    println!(
        "of {lasted:.0} s the server was slow or away for {slow:.0} s, as somebody beside them saw it"
    );
    print!("{}{}", report::findings(findings), report::missed(findings));
    println!("disagreements after {} s of rest {}", REST.as_secs(), faults.len());
    faults.iter().for_each(|fault| println!("FAULT: {fault}"));
}
