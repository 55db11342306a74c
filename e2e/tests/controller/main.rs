//! `punctual controller` on a cluster of Kubernetes' own programs, with the permissions of the chart.
//!
//! Kubernetes' Job controller creates the Pods of the Jobs, and a [`FakeNode`] completes them.

mod behavior_checks;
mod fault_checks;
mod run_command;
mod test_namespace;

use std::{path::Path, process::ExitCode, thread};

use anyhow::{anyhow, ensure};
use punctual_e2e::{
    Client, Cluster, Controllers, FakeNode, KubeApiServer, Programs, Punctual,
    controller::{ControllerLauncher, ControllerProcess},
    harness::{self, TestArgs, TestReport},
    install_crd,
};
use serde_json::json;

use self::test_namespace::{ScheduledKind, TestNamespace};

/// The name of the first controller.
const FIRST: &str = "first";

/// A cluster with our controller.
struct ControllerEnv<'a> {
    server: KubeApiServer<'a>,
    cluster: Cluster,
    client: Client,
    launcher: ControllerLauncher,
    controller: ControllerProcess,
    /// One namespace for each kind, with an object that runs every three seconds during all checks.
    heartbeats: Vec<TestNamespace>,
}

/// Runs all checks and returns the exit code of the test program.
///
/// Arguments: a text that the names of checks must contain.
fn main() -> ExitCode {
    harness::main("controller", &[], run)
}

fn run(args: &TestArgs, report: &mut TestReport) -> anyhow::Result<()> {
    let programs = Programs::find();
    let home = tempfile::tempdir()?;
    let folder = home.path();
    let server = KubeApiServer { programs: &programs, folder, controllers: Controllers::Jobs };
    let steps =
        1 + behavior_checks::CHECKS.len() * ScheduledKind::BOTH.len() + fault_checks::CHECKS.len();
    let punctual = match server.check().and_then(|()| Punctual::find()) {
        Ok(punctual) => punctual,
        Err(error) => {
            report.skip("kube-apiserver", steps, &error);
            return Ok(());
        }
    };
    let cluster = server.start()?;
    let _node = FakeNode::start(&cluster)?;
    let mut env = start(server, cluster, &punctual, folder)?;
    report.pass();
    run_behavior_checks(&env.cluster, args, report);
    let fault_checks = fault_checks::CHECKS.into_iter();
    for (name, check) in fault_checks.filter(|(name, _)| name.contains(&args.filter)) {
        let result = check(&mut env).map_err(|error| {
            let log = env.controller.log().unwrap_or_default();
            error.context(format!("the controller's log:\n{log}"))
        });
        report.record(name, result);
    }
    report.note(&format!("{steps} checks of the controller on a cluster"));
    Ok(())
}

/// Starts the controller before the definition of ScheduledJobs exists: it must run CronJobs, report
/// the missing definition, and run ScheduledJobs once they are defined.
fn start<'a>(
    server: KubeApiServer<'a>,
    cluster: Cluster,
    punctual: &Punctual,
    folder: &Path,
) -> anyhow::Result<ControllerEnv<'a>> {
    let mut client = Client::new(&cluster)?;
    let launcher = ControllerLauncher::with_new_account(&cluster, punctual, folder)?;
    let mut controller = launcher.start(FIRST, &["--kinds", "cronjobs,scheduledjobs"])?;
    controller.wait_for_log("punctual crd | kubectl apply")?;
    let mut heartbeats = vec![create_heartbeat(&cluster, ScheduledKind::CronJob)?];
    for namespace in &mut heartbeats {
        namespace.wait_for("a CronJob has a Job", |it| Ok(!it.jobs("heartbeat")?.is_empty()))?;
    }
    run_command::check_errors(&cluster, punctual)?;
    install_crd(&mut client, punctual.binary())?;
    heartbeats.push(create_heartbeat(&cluster, ScheduledKind::ScheduledJob)?);
    for namespace in &mut heartbeats {
        namespace.wait_for("all kinds have Jobs", |it| Ok(!it.jobs("heartbeat")?.is_empty()))?;
    }
    controller.wait_until_ready()?;
    ensure!(controller.is_leader()?, "the controller is not the leader");
    let (_, page) = controller.get("/metrics")?;
    ensure!(page.contains("punctual_cron_jobs 2") && page.ends_with("# EOF\n"), "{page}");
    run_command::check_created(&cluster, punctual)?;
    Ok(ControllerEnv { server, cluster, client, launcher, controller, heartbeats })
}

fn create_heartbeat(cluster: &Cluster, kind: ScheduledKind) -> anyhow::Result<TestNamespace> {
    let mut namespace = TestNamespace::new(cluster, kind, "heartbeat")?;
    namespace.create("heartbeat", &["true"], &json!({ "schedule": "@every 3s" }))?;
    Ok(namespace)
}

/// Runs all behavior checks at the same time, since they mostly wait.
fn run_behavior_checks(cluster: &Cluster, args: &TestArgs, report: &mut TestReport) {
    let checks = ScheduledKind::BOTH
        .into_iter()
        .flat_map(|kind| behavior_checks::CHECKS.map(|check| (kind, check)));
    let wanted = checks.filter(|(_, (name, _))| name.contains(&args.filter));
    let results: Vec<_> = thread::scope(|scope| {
        let running: Vec<_> = wanted
            .map(|(kind, (name, check))| {
                let check = move || check(&mut TestNamespace::new(cluster, kind, name)?);
                (kind, name, scope.spawn(check))
            })
            .collect();
        let ended = running.into_iter().map(|(kind, name, thread)| {
            let result = thread.join().unwrap_or_else(|_| Err(anyhow!("the check panicked")));
            (format!("{name} of {}", kind.name()), result)
        });
        ended.collect()
    });
    for (name, result) in results {
        report.record(&name, result);
    }
}
