//! `punctual controller` on a cluster of Kubernetes' own programs, with no more rights than it needs.
//!
//! Kubernetes' Job controller makes Pods of the Jobs, and a [`FakeNode`] says that they ran.

mod life;
mod lives;
pub(crate) mod program;
mod troubles;

use std::{path::Path, process::Command, process::ExitCode, thread};

use anyhow::{Context, anyhow, bail, ensure};
use serde_json::{Value, json};

use self::life::{Kind, Life};
use crate::{
    Client, Cluster, Controllers, FakeNode, KubeApiServer, Programs, Punctual, deploy, probe,
    suite::{self, Request, Tally},
};

pub use self::program::{Program, Starter};

/// The namespace of the release of the chart.
pub const OWN_NAMESPACE: &str = "punctual";
/// The name of the controller that is there from the beginning.
const FIRST: &str = "first";
const RBAC: &str = "/apis/rbac.authorization.k8s.io/v1";
const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/// A cluster with a controller of ours.
struct World<'a> {
    server: KubeApiServer<'a>,
    cluster: Cluster,
    client: Client,
    starter: Starter,
    controller: Program,
    /// One of each kind that is run every few seconds, whatever happens.
    beats: Vec<Life>,
}

/// Checks it; the exit code of a test program.
///
/// Arguments: a text that the names of checks must contain.
pub fn main() -> ExitCode {
    suite::main("controller", run)
}

fn run(request: &Request, tally: &mut Tally) -> anyhow::Result<()> {
    let (programs, home) = (Programs::find(), tempfile::tempdir()?);
    let folder = home.path();
    let server = KubeApiServer { programs: &programs, folder, controllers: Controllers::Jobs };
    let steps = 1 + lives::CHECKS.len() * Kind::BOTH.len() + troubles::CHECKS.len();
    let punctual = match server.check().and_then(|()| Punctual::find()) {
        Ok(punctual) => punctual,
        Err(error) => {
            tally.skip("kube-apiserver", steps, &error);
            return Ok(());
        }
    };
    let cluster = server.start()?;
    let _node = FakeNode::start(&cluster)?;
    let mut world = begin(server, cluster, &punctual, folder)?;
    tally.pass();
    live(&world.cluster, request, tally);
    for (name, check) in troubles::CHECKS.iter().filter(|(name, _)| name.contains(&request.filter))
    {
        match check(&mut world) {
            Ok(()) => tally.pass(),
            Err(error) => {
                let said = world.controller.said().unwrap_or_default();
                tally.fail(name, &format!("{error:#}\n{said}"));
            }
        }
    }
    tally.note(&format!("{steps} checks of the controller on a cluster"));
    Ok(())
}

/// A controller that is started before there is a definition of ScheduledJobs works on CronJobs, says
/// what is missing, and takes the rest on when it is there.
fn begin<'a>(
    server: KubeApiServer<'a>,
    cluster: Cluster,
    punctual: &Punctual,
    folder: &Path,
) -> anyhow::Result<World<'a>> {
    let mut client = Client::new(&cluster)?;
    let token = account(&mut client)?;
    let starter = Starter {
        binary: punctual.binary().to_path_buf(),
        kubeconfig: cluster.kubeconfig_for("controller", &token)?,
        folder: folder.to_path_buf(),
    };
    let mut controller = starter.start(FIRST, &["--kinds", "cronjobs,scheduledjobs"])?;
    controller.until_said("punctual crd | kubectl apply")?;
    let mut beats = vec![beat(&cluster, Kind::CronJob)?];
    for life in &mut beats {
        life.until("a CronJob is run", |life| Ok(!life.jobs("beat")?.is_empty()))?;
    }
    define(&mut client, punctual.binary())?;
    beats.push(beat(&cluster, Kind::ScheduledJob)?);
    for life in &mut beats {
        life.until("all kinds are run", |life| Ok(!life.jobs("beat")?.is_empty()))?;
    }
    controller.until_ready()?;
    ensure!(controller.leads()?, "nobody leads");
    let (_, page) = controller.page("/metrics")?;
    ensure!(page.contains("punctual_cron_jobs 2") && page.ends_with("# EOF\n"), "{page}");
    Ok(World { server, cluster, client, starter, controller, beats })
}

fn beat(cluster: &Cluster, kind: Kind) -> anyhow::Result<Life> {
    let mut life = Life::new(cluster, kind, "beat")?;
    life.create("beat", &["true"], &json!({ "schedule": "@every 3s" }))?;
    Ok(life)
}

/// All lives at the same time, since they mostly wait.
fn live(cluster: &Cluster, request: &Request, tally: &mut Tally) {
    let both = Kind::BOTH.into_iter().flat_map(|kind| lives::CHECKS.map(|check| (kind, check)));
    let wanted = both.filter(|(_, (name, _))| name.contains(&request.filter));
    let results: Vec<_> = thread::scope(|scope| {
        let running: Vec<_> = wanted
            .map(|(kind, (name, check))| {
                let check = move || check(&mut Life::new(cluster, kind, name)?);
                (kind, name, scope.spawn(check))
            })
            .collect();
        let ended = running.into_iter().map(|(kind, name, thread)| {
            let result = thread.join().unwrap_or_else(|_| Err(anyhow!("it panicked")));
            (format!("{name} of {}", kind.name()), result)
        });
        ended.collect()
    });
    for (name, result) in results {
        match result {
            Ok(()) => tally.pass(),
            Err(error) => tally.fail(&name, &format!("{error:#}")),
        }
    }
}

/// The account of the controller, with the rights of the chart and no others; its token.
pub fn account(client: &mut Client) -> anyhow::Result<String> {
    let namespace = json!({ "metadata": { "name": OWN_NAMESPACE } });
    client.create("/api/v1/namespaces", &namespace)?;
    for document in deploy::account_of_the_chart()? {
        client.create(&collection(&document)?, &document)?;
    }
    client.token(OWN_NAMESPACE, "punctual")
}

/// Where objects of the kinds of an account are created.
fn collection(document: &Value) -> anyhow::Result<String> {
    let text = |pointer| document.pointer(pointer).and_then(Value::as_str);
    Ok(match text("/kind").context("no kind")? {
        "ServiceAccount" => format!("/api/v1/namespaces/{OWN_NAMESPACE}/serviceaccounts"),
        "ClusterRole" => format!("{RBAC}/clusterroles"),
        "ClusterRoleBinding" => format!("{RBAC}/clusterrolebindings"),
        "Role" => format!("{RBAC}/namespaces/{OWN_NAMESPACE}/roles"),
        "RoleBinding" => format!("{RBAC}/namespaces/{OWN_NAMESPACE}/rolebindings"),
        other => bail!("a {other} in the account"),
    })
}

/// Defines ScheduledJobs, and waits until they are served.
pub fn define(client: &mut Client, binary: &Path) -> anyhow::Result<()> {
    let printed = Command::new(binary).arg("crd").output().context("punctual crd")?;
    ensure!(printed.status.success(), "punctual crd: {}", printed.status);
    let definition: Value = serde_saphyr::from_slice(&printed.stdout)?;
    client.create(DEFINITIONS, &definition)?;
    probe::until("the definition is served", || {
        let answer = client.send("GET", "/apis/punctual.dev/v1/scheduledjobs", None)?;
        Ok(answer.is_success().then_some(()))
    })
}

/// Lets so many seconds pass: that nothing happens takes time to see.
fn rest(seconds: u32) {
    let pauses = seconds * 1_000 / u32::try_from(probe::PAUSE.as_millis()).unwrap_or(1);
    (0..pauses).for_each(|_| probe::pause());
}
