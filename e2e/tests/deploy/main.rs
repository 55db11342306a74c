//! Checks of `deploy/`: the chart and the plain manifests install on a cluster of Kubernetes' own
//! programs, they grant only the permissions that the controller needs, and alerts and dashboard use
//! metrics that exist.

mod chart;
mod installed_chart;
mod kubectl;
mod manifests;
mod metrics;
mod permissions;

use std::{fs, path::PathBuf, process::ExitCode};

use anyhow::{Context, bail, ensure};
use punctual_e2e::{
    Client, Cluster, Controllers, KubeApiServer, Programs, Punctual,
    controller::{ControllerLauncher, account_path, parse_manifests, recorded_account},
    files::{crate_folder, repository_root},
    harness::{self, TestArgs, TestReport},
    json, probe,
};
use serde_json::{Value, json};
use tempfile::TempDir;

use self::{
    chart::{Chart, ChartRelease},
    installed_chart::InstalledChart,
    kubectl::Kubectl,
    permissions::ReleasePlan,
};

/// The checks that need programs, in order.
const CHECKS: [(&str, DeployCheck); 9] = [
    ("helm lint accepts the chart with all values", lint),
    ("the chart rejects invalid values", invalid_values),
    ("the base equals the chart with its defaults", base),
    ("the overlay equals the chart for one namespace", overlay),
    ("the recorded account equals the chart's", account),
    ("the server accepts the base without a warning", apply_base),
    ("the server accepts the chart without a warning", apply_chart),
    ("the account has the permissions that it needs and no others", account_permissions),
    ("the program starts with the arguments of the Deployment", start),
];

/// A check that returns a summary of its work.
type DeployCheck = fn(&DeployEnv) -> anyhow::Result<String>;

/// Sets of values. Each is a file in `testdata/deploy/values`.
const VALUES: [&str; 5] = ["defaults", "cronjobs", "both", "namespaces", "everything"];

/// Values that the chart rejects, and a part of Helm's error message.
const INVALID_VALUES: [(&str, &str); 8] = [
    ("kinds={pods}", "kinds"),
    ("kinds={}", "kinds"),
    ("kinds={cronjobs,cronjobs}", "kinds"),
    ("kindz={cronjobs}", "kindz"),
    ("namespaces={Team}", "namespaces"),
    ("replicas=two", "replicas"),
    ("http.port=80", "port"),
    ("serviceMonitor.enabled=maybe", "enabled"),
];

/// The overlay's settings as values of the chart.
const OVERLAY: [&str; 3] =
    ["namespaces={team-a}", "image.repository=registry.example.com/punctual", "image.tag=0.1.0"];

const BLESS_HINT: &str = "they differ; write the recorded files again with\n  \
     cargo test -p punctual-e2e --test deploy -- --bless";

/// The programs and the cluster of the checks.
struct DeployEnv {
    programs: Programs,
    chart: Chart,
    kubectl: Kubectl,
    cluster: Cluster,
    home: TempDir,
}

/// The unit tests of this suite's parsers. The usual harness, which would find them, is not used.
const UNIT_CHECKS: [fn(); 4] = [
    manifests::tests::lines_of_helm_are_removed,
    manifests::tests::a_difference_is_reported_with_the_name,
    metrics::tests::series_of_a_histogram_have_its_name,
    metrics::tests::a_metric_without_our_job_label_is_an_error,
];

/// Runs all checks and returns the exit code of the test program.
///
/// Arguments: `--bless`, which writes the base and the recorded account from the chart.
fn main() -> ExitCode {
    harness::main("deploy", &UNIT_CHECKS, run)
}

fn run(args: &TestArgs, report: &mut TestReport) -> anyhow::Result<()> {
    record(report, "alerts and dashboard use metrics that exist", metrics::check());
    let programs = Programs::find();
    let missing = ["helm", "kubectl"].into_iter().find_map(|name| programs.path(name).err());
    let home = tempfile::tempdir()?;
    let folder = home.path();
    let server = KubeApiServer { programs: &programs, folder, controllers: Controllers::None };
    if let Some(error) = missing.or_else(|| server.check().err()) {
        report.skip("kube-apiserver", CHECKS.len(), &error);
        return Ok(());
    }
    let chart = Chart::find(&programs, folder)?;
    if args.bless {
        return bless(&chart);
    }
    let cluster = server.start()?;
    let kubectl = Kubectl::new(&programs, &cluster)?;
    let env = DeployEnv { programs: programs.clone(), chart, kubectl, cluster, home };
    for (name, check) in CHECKS {
        record(report, name, check(&env));
    }
    Ok(())
}

fn record(report: &mut TestReport, name: &str, result: anyhow::Result<String>) {
    if let Some(summary) = report.record(name, result) {
        report.note(&format!("{name}: {summary}"));
    }
}

/// Writes the base, which is Helm's output for the defaults without Helm's own lines, and the recorded
/// account.
fn bless(chart: &Chart) -> anyhow::Result<()> {
    let path = deploy_folder().join("kustomize/base/punctual.yaml");
    let text = manifests::strip_helm_lines(&chart.render(&ChartRelease::new("punctual"))?);
    fs::write(&path, text).with_context(|| path.display().to_string())?;
    let documents = chart_account(chart)?;
    let texts: Result<Vec<_>, _> = documents.iter().map(serde_saphyr::to_string).collect();
    fs::write(account_path(), texts?.join("---\n")).context("the recorded account")
}

/// The chart's account for both kinds, with its roles.
fn chart_account(chart: &Chart) -> anyhow::Result<Vec<Value>> {
    let file = values_file("both");
    let text = chart.render(&ChartRelease::new("punctual").values(&file))?;
    let mut documents = parse_manifests(&manifests::strip_helm_lines(&text))?;
    documents.retain(|document| {
        let kind = json::text(document, "/kind");
        kind == "ServiceAccount" || kind.contains("Role")
    });
    Ok(documents)
}

fn account(env: &DeployEnv) -> anyhow::Result<String> {
    let recorded = recorded_account()?;
    manifests::compare(&recorded, &chart_account(&env.chart)?).context(BLESS_HINT)?;
    Ok(format!("{} objects", recorded.len()))
}

fn lint(env: &DeployEnv) -> anyhow::Result<String> {
    for name in VALUES {
        env.chart.lint(&values_file(name)).with_context(|| name.to_owned())?;
    }
    Ok(format!("{} sets of values", VALUES.len()))
}

fn invalid_values(env: &DeployEnv) -> anyhow::Result<String> {
    for (set, message) in INVALID_VALUES {
        match env.chart.render(&ChartRelease::new("punctual").set(set)) {
            Ok(_) => bail!("{set} is accepted"),
            Err(error) => ensure!(format!("{error:#}").contains(message), "{set}: {error:#}"),
        }
    }
    Ok(format!("{} values", INVALID_VALUES.len()))
}

fn base(env: &DeployEnv) -> anyhow::Result<String> {
    compare_with_chart(env, "base", &ChartRelease::new("punctual").with_definitions())
}

fn overlay(env: &DeployEnv) -> anyhow::Result<String> {
    let release = ChartRelease::new("punctual").with_definitions();
    compare_with_chart(env, "one-namespace", &OVERLAY.into_iter().fold(release, ChartRelease::set))
}

/// Checks that kustomize renders the same objects as Helm, except for namespaces.
fn compare_with_chart(
    env: &DeployEnv,
    folder: &str,
    release: &ChartRelease<'_>,
) -> anyhow::Result<String> {
    let folder = deploy_folder().join("kustomize").join(folder);
    let mut plain = parse_manifests(&env.kubectl.kustomize(&folder)?)?;
    plain.retain(|document| document.get("kind") != Some(&json!("Namespace")));
    let rendered = parse_manifests(&manifests::strip_helm_lines(&env.chart.render(release)?))?;
    manifests::compare(&plain, &rendered).context(BLESS_HINT)?;
    Ok(format!("{} objects", plain.len()))
}

fn apply_base(env: &DeployEnv) -> anyhow::Result<String> {
    let text = env.kubectl.kustomize(&deploy_folder().join("kustomize/base"))?;
    apply(env, "base", &text)
}

fn apply_chart(env: &DeployEnv) -> anyhow::Result<String> {
    let mut client = Client::new(&env.cluster)?;
    create_namespace(&mut client, "team-a")?;
    env.kubectl.apply(&testdata().join("monitoring.yaml"))?;
    for resource in ["servicemonitors", "prometheusrules"] {
        let path = format!("/apis/monitoring.coreos.com/v1/{resource}");
        probe::wait_for(resource, || Ok(client.send("GET", &path, None)?.is_success()))?;
    }
    let mut summaries = Vec::new();
    for name in VALUES {
        create_namespace(&mut client, name)?;
        let file = values_file(name);
        let text = env.chart.render(&ChartRelease::new(name).values(&file).with_definitions())?;
        summaries.push(format!("{name} {}", apply(env, name, &text)?));
    }
    Ok(summaries.join(", "))
}

fn apply(env: &DeployEnv, name: &str, text: &str) -> anyhow::Result<String> {
    let file = env.home.path().join(format!("{name}.yaml"));
    fs::write(&file, text)?;
    env.kubectl.apply(&file).with_context(|| name.to_owned())?;
    Ok(format!("{} objects", parse_manifests(text)?.len()))
}

/// Creates a namespace with the `restricted` Pod security standard.
fn create_namespace(client: &mut Client, name: &str) -> anyhow::Result<()> {
    let labels = ["enforce", "warn"]
        .map(|mode| (format!("pod-security.kubernetes.io/{mode}"), Value::from("restricted")));
    let labels: serde_json::Map<_, _> = labels.into_iter().collect();
    let object = json!({ "metadata": { "name": name, "labels": labels } });
    client.create("/api/v1/namespaces", &object).map(drop)
}

fn account_permissions(env: &DeployEnv) -> anyhow::Result<String> {
    let mut client = Client::new(&env.cluster)?;
    let cluster_wide =
        |release, kinds| ReleasePlan { release, kinds, namespace: None, lease: "punctual" };
    let plans = [
        cluster_wide("one-kind", &["scheduledjobs"]),
        cluster_wide("both-kinds", &["cronjobs", "scheduledjobs"]),
        ReleasePlan { namespace: Some("team-a"), ..cluster_wide("one-namespace", &["cronjobs"]) },
    ];
    let mut summaries = Vec::new();
    for plan in &plans {
        create_namespace(&mut client, plan.release)?;
        let installed =
            InstalledChart::new(&env.programs, &env.cluster, plan.release, &plan.values())?;
        let counts = permissions::check(&env.cluster, &installed, plan);
        summaries.push(format!("\n  {}: {}", plan.release, counts.context(plan.release)?));
    }
    Ok(summaries.concat())
}

/// Starts the program with the Deployment's arguments and account, but another listen address.
fn start(env: &DeployEnv) -> anyhow::Result<String> {
    let punctual = Punctual::find()?;
    let mut client = Client::new(&env.cluster)?;
    let mut summaries = Vec::new();
    for (release, file) in [("start-defaults", "defaults"), ("start-everything", "everything")] {
        create_namespace(&mut client, release)?;
        // Objects named `everything` were applied by kubectl, and Helm refuses to adopt them.
        let text = fs::read_to_string(values_file(file))?
            .replace(": everything\n", &format!(": {release}\n"));
        let installed = InstalledChart::new(&env.programs, &env.cluster, release, &text)?;
        let launcher = ControllerLauncher {
            binary: punctual.binary().to_path_buf(),
            kubeconfig: installed.kubeconfig,
            folder: env.home.path().to_path_buf(),
        };
        let arguments = installed.arguments.iter().filter(|it| !it.starts_with("--listen="));
        let mut controller = launcher.start_with_arguments(release, arguments)?;
        controller.wait_until_ready()?;
        controller.stop()?;
        summaries.push(format!("{file} with {} arguments", installed.arguments.len()));
    }
    Ok(summaries.join(", "))
}

fn values_file(name: &str) -> PathBuf {
    testdata().join("values").join(name).with_extension("yaml")
}

fn testdata() -> PathBuf {
    crate_folder().join("testdata/deploy")
}

fn deploy_folder() -> PathBuf {
    repository_root().join("deploy")
}
