//! What is in `deploy/`: the chart and the plain manifests, given to a cluster of Kubernetes' own
//! programs; the rights that they give; and the names of metrics that alerts and dashboard use.

mod chart;
mod documents;
mod installed;
mod kubectl;
mod metrics;
mod rights;

use std::{
    fs,
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Context, bail, ensure};
use serde_json::{Value, json};
use tempfile::TempDir;

use self::{
    chart::{Chart, Release},
    kubectl::Kubectl,
    rights::Scheme,
};
use crate::{
    Client, Cluster, Controllers, KubeApiServer, Programs, Punctual,
    controller::program::Starter,
    probe,
    suite::{self, Request, Tally},
};

pub use self::installed::Installed;

/// The checks that need programs, in order.
const CHECKS: [(&str, Check); 9] = [
    ("the chart is without fault, whatever its values", lint),
    ("values that make no sense are refused", refusals),
    ("the base is the chart with its defaults", base),
    ("the overlay is the chart for one namespace", overlay),
    ("the account of the tests is the chart's", account),
    ("the server takes the base without a warning", apply_base),
    ("the server takes the chart without a warning", apply_chart),
    ("the account may do its work and nothing else", rights_of_the_account),
    ("the program starts as the Deployment says", start),
];

/// Does the check, and says what was done.
type Check = fn(&Stage) -> anyhow::Result<String>;

/// The values that are tried; each is a file in `testdata/deploy/values`.
const VALUES: [&str; 5] = ["defaults", "cronjobs", "both", "namespaces", "everything"];

/// Arguments of Helm, and what of the answer says why they are refused.
const REFUSED: [(&str, &str); 8] = [
    ("kinds={pods}", "kinds"),
    ("kinds={}", "kinds"),
    ("kinds={cronjobs,cronjobs}", "kinds"),
    ("kindz={cronjobs}", "kindz"),
    ("namespaces={Team}", "namespaces"),
    ("replicas=two", "replicas"),
    ("http.port=80", "port"),
    ("serviceMonitor.enabled=maybe", "enabled"),
];

/// What the overlay says, said to the chart.
const OVERLAY: [&str; 3] =
    ["namespaces={team-a}", "image.repository=registry.example.com/punctual", "image.tag=0.1.0"];

/// A file in `testdata/deploy`.
const ACCOUNT: &str = "account.yaml";

const AGAIN: &str = "they differ; what is made of the chart is written anew by\n  \
     cargo test -p punctual-e2e --test deploy -- --bless";

/// All that checks need.
struct Stage {
    programs: Programs,
    chart: Chart,
    kubectl: Kubectl,
    cluster: Cluster,
    home: TempDir,
}

/// Checks it; the exit code of a test program.
///
/// Arguments: `--bless`, which writes the base anew from the chart.
pub fn main() -> ExitCode {
    suite::main("deploy", run)
}

fn run(request: &Request, tally: &mut Tally) -> anyhow::Result<()> {
    record(tally, "alerts and dashboard use metrics that there are", metrics::check());
    let programs = Programs::find();
    let missing = ["helm", "kubectl"].into_iter().find_map(|name| programs.path(name).err());
    let home = tempfile::tempdir()?;
    let folder = home.path();
    let server = KubeApiServer { programs: &programs, folder, controllers: Controllers::None };
    if let Some(error) = missing.or_else(|| server.check().err()) {
        tally.skip("kube-apiserver", CHECKS.len(), &error);
        return Ok(());
    }
    let chart = Chart::find(&programs, folder)?;
    if request.bless {
        return bless(&chart);
    }
    let cluster = server.start()?;
    let kubectl = Kubectl::new(&programs, &cluster)?;
    let stage = Stage { programs: programs.clone(), chart, kubectl, cluster, home };
    for (name, check) in CHECKS {
        record(tally, name, check(&stage));
    }
    Ok(())
}

fn record(tally: &mut Tally, name: &str, outcome: anyhow::Result<String>) {
    match outcome {
        Ok(done) => {
            tally.pass();
            tally.note(&format!("{name}: {done}"));
        }
        Err(error) => tally.fail(name, &format!("{error:#}\n")),
    }
}

/// Writes the base: what Helm makes of the defaults, without what only Helm says. And the account of
/// the tests.
fn bless(chart: &Chart) -> anyhow::Result<()> {
    let path = deploy().join("kustomize/base/punctual.yaml");
    let text = documents::plain(&chart.render(&Release::new("punctual"))?);
    fs::write(&path, text).with_context(|| path.display().to_string())?;
    let documents = chart_account(chart)?;
    let texts: Result<Vec<_>, _> = documents.iter().map(serde_saphyr::to_string).collect();
    fs::write(testdata().join(ACCOUNT), texts?.join("---\n")).context(ACCOUNT)
}

/// The account of the chart for both kinds, and what that may do.
///
/// Those who test the controller need no Helm: they read a file, which is compared here.
fn chart_account(chart: &Chart) -> anyhow::Result<Vec<Value>> {
    let file = values("both");
    let text = chart.render(&Release::new("punctual").values(&file))?;
    let mut documents = documents::parse(&documents::plain(&text))?;
    documents.retain(|document| {
        let kind = document.get("kind").and_then(Value::as_str).unwrap_or_default();
        kind == "ServiceAccount" || kind.contains("Role")
    });
    Ok(documents)
}

fn account(stage: &Stage) -> anyhow::Result<String> {
    let ours = account_of_the_chart()?;
    documents::compare(&ours, &chart_account(&stage.chart)?).context(AGAIN)?;
    Ok(format!("{} objects", ours.len()))
}

/// The account of the chart for both kinds, as it was written down.
pub fn account_of_the_chart() -> anyhow::Result<Vec<Value>> {
    documents::parse(&fs::read_to_string(testdata().join(ACCOUNT)).context(ACCOUNT)?)
}

fn lint(stage: &Stage) -> anyhow::Result<String> {
    for name in VALUES {
        stage.chart.lint(&values(name)).with_context(|| name.to_owned())?;
    }
    Ok(format!("{} sets of values", VALUES.len()))
}

fn refusals(stage: &Stage) -> anyhow::Result<String> {
    for (set, why) in REFUSED {
        match stage.chart.render(&Release::new("punctual").set(set)) {
            Ok(_) => bail!("{set} is accepted"),
            Err(error) => ensure!(format!("{error:#}").contains(why), "{set}: {error:#}"),
        }
    }
    Ok(format!("{} of them", REFUSED.len()))
}

fn base(stage: &Stage) -> anyhow::Result<String> {
    same(stage, "base", &Release::new("punctual").with_definitions())
}

fn overlay(stage: &Stage) -> anyhow::Result<String> {
    let release = Release::new("punctual").with_definitions();
    same(stage, "one-namespace", &OVERLAY.into_iter().fold(release, Release::set))
}

/// Whether kustomize makes the same of a folder as Helm of the chart. Helm makes no namespaces.
fn same(stage: &Stage, folder: &str, release: &Release<'_>) -> anyhow::Result<String> {
    let folder = deploy().join("kustomize").join(folder);
    let mut plain = documents::parse(&stage.kubectl.kustomize(&folder)?)?;
    plain.retain(|document| document.get("kind") != Some(&json!("Namespace")));
    let rendered = documents::parse(&documents::plain(&stage.chart.render(release)?))?;
    documents::compare(&plain, &rendered).context(AGAIN)?;
    Ok(format!("{} objects", plain.len()))
}

fn apply_base(stage: &Stage) -> anyhow::Result<String> {
    let text = stage.kubectl.kustomize(&deploy().join("kustomize/base"))?;
    apply(stage, "base", &text)
}

fn apply_chart(stage: &Stage) -> anyhow::Result<String> {
    let mut client = Client::new(&stage.cluster)?;
    namespace(&mut client, "team-a")?;
    stage.kubectl.apply(&testdata().join("monitoring.yaml"))?;
    for resource in ["servicemonitors", "prometheusrules"] {
        let path = format!("/apis/monitoring.coreos.com/v1/{resource}");
        probe::until(resource, || Ok(client.send("GET", &path, None)?.is_success().then_some(())))?;
    }
    let mut done = Vec::new();
    for name in VALUES {
        namespace(&mut client, name)?;
        let file = values(name);
        let text = stage.chart.render(&Release::new(name).values(&file).with_definitions())?;
        done.push(format!("{name} {}", apply(stage, name, &text)?));
    }
    Ok(done.join(", "))
}

fn apply(stage: &Stage, name: &str, text: &str) -> anyhow::Result<String> {
    let file = stage.home.path().join(format!("{name}.yaml"));
    fs::write(&file, text)?;
    stage.kubectl.apply(&file).with_context(|| name.to_owned())?;
    Ok(format!("{} objects", documents::parse(text)?.len()))
}

/// A namespace in which the server warns of Pods that are not as restricted as can be.
fn namespace(client: &mut Client, name: &str) -> anyhow::Result<()> {
    let labels = ["enforce", "warn"]
        .map(|mode| (format!("pod-security.kubernetes.io/{mode}"), Value::from("restricted")));
    let labels: serde_json::Map<_, _> = labels.into_iter().collect();
    let object = json!({ "metadata": { "name": name, "labels": labels } });
    client.create("/api/v1/namespaces", &object).map(drop)
}

fn rights_of_the_account(stage: &Stage) -> anyhow::Result<String> {
    let mut client = Client::new(&stage.cluster)?;
    let all = |release, kinds| Scheme { release, kinds, namespaces: None, lease: "punctual" };
    let schemes = [
        all("rights-of-one", &["scheduledjobs"]),
        all("rights-of-both", &["cronjobs", "scheduledjobs"]),
        Scheme { namespaces: Some("team-a"), ..all("rights-in-one", &["cronjobs"]) },
    ];
    let mut done = Vec::new();
    for scheme in &schemes {
        namespace(&mut client, scheme.release)?;
        let installed =
            Installed::new(&stage.programs, &stage.cluster, scheme.release, &scheme.values())?;
        let counts = rights::check(&stage.cluster, &installed, scheme);
        done.push(format!("\n  {}: {}", scheme.release, counts.context(scheme.release)?));
    }
    Ok(done.concat())
}

/// With its arguments, in its account; only where it listens must be elsewhere.
fn start(stage: &Stage) -> anyhow::Result<String> {
    let (punctual, mut client) = (Punctual::find()?, Client::new(&stage.cluster)?);
    let mut done = Vec::new();
    for (release, file) in [("start-defaults", "defaults"), ("start-everything", "everything")] {
        namespace(&mut client, release)?;
        // What has the name already was applied by hand, and Helm would not touch it.
        let text =
            fs::read_to_string(values(file))?.replace(": everything\n", &format!(": {release}\n"));
        let installed = Installed::new(&stage.programs, &stage.cluster, release, &text)?;
        let starter = Starter {
            binary: punctual.binary().to_path_buf(),
            kubeconfig: installed.kubeconfig,
            folder: stage.home.path().to_path_buf(),
        };
        let arguments = installed.arguments.iter().filter(|it| !it.starts_with("--listen="));
        let mut program = starter.start_as(release, arguments)?;
        program.until_ready()?;
        program.stop()?;
        done.push(format!("{file} with {} arguments", installed.arguments.len()));
    }
    Ok(done.join(", "))
}

fn values(name: &str) -> PathBuf {
    testdata().join("values").join(name).with_extension("yaml")
}

fn testdata() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/deploy")
}

fn deploy() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../deploy")
}
