//! Compares our CustomResourceDefinitions with `punctual validate`: a cluster with the definitions must
//! accept and reject the same manifests.
//!
//! The manifests are in `testdata/crd`, and so are the few known differences with their reasons.

mod manifests;

use std::{fs, path::Path, process::Command, process::ExitCode};

use anyhow::{Context, ensure};
use punctual_e2e::{
    Client, Controllers, KubeApiServer, Programs, Punctual,
    harness::{self, TestArgs, TestReport},
    install_crd,
};
use serde_json::Value;

use self::manifests::{ManifestCase, ManifestVerdict};

const SCHEDULED_JOBS: &str = "/apis/punctual.dev/v1/namespaces/default/scheduledjobs";
const RUN_REQUESTS: &str = "/apis/punctual.dev/v1/namespaces/default/runrequests";
const DEFAULTS: [(&str, &str); 4] = [
    ("/spec/concurrencyPolicy", "\"Allow\""),
    ("/spec/suspend", "false"),
    ("/spec/successfulJobsHistoryLimit", "3"),
    ("/spec/failedJobsHistoryLimit", "1"),
];

/// The unit tests of this suite's parsers. The usual harness, which would find them, is not used.
const UNIT_CHECKS: [fn(); 3] = [
    manifests::tests::the_table_parses_and_has_every_result,
    manifests::tests::no_two_lines_have_the_same_manifest,
    manifests::tests::changes_set_create_and_remove_fields,
];

/// Compares all manifests and returns the exit code of the test program.
///
/// Arguments: a text that the lines of the table must contain.
fn main() -> ExitCode {
    harness::main("crd", &UNIT_CHECKS, run)
}

fn run(args: &TestArgs, report: &mut TestReport) -> anyhow::Result<()> {
    let mut cases = manifests::read()?;
    cases.retain(|case| case.text.contains(&args.filter));
    let programs = Programs::find();
    let home = tempfile::tempdir()?;
    let folder = home.path();
    let server = KubeApiServer { programs: &programs, folder, controllers: Controllers::None };
    let punctual = match server.check().and_then(|()| Punctual::find()) {
        Ok(punctual) => punctual,
        Err(error) => {
            report.skip("kube-apiserver", cases.len(), &error);
            return Ok(());
        }
    };
    let cluster = server.start()?;
    let mut client = Client::new(&cluster)?;
    install_crd(&mut client, punctual.binary())?;
    check_defaults(&mut client)?;
    report.pass();
    let ours = validate_all(punctual.binary(), folder, &cases)?;
    for (case, ours) in cases.iter().zip(ours) {
        compare(case, &ours, &create_dry_run(&mut client, case)?, report);
    }
    report.note(&summary(&cases));
    Ok(())
}

/// Acceptance of a manifest, or the text of its rejection.
type ManifestResult = Result<(), String>;

fn compare(
    case: &ManifestCase,
    ours: &ManifestResult,
    theirs: &ManifestResult,
    report: &mut TestReport,
) {
    if ManifestVerdict::new(ours.is_ok(), theirs.is_ok()) == case.verdict {
        return report.pass();
    }
    let describe = |result: &ManifestResult| match result {
        Ok(()) => "accepts".to_owned(),
        Err(error) => format!("rejects: {error}"),
    };
    report.fail(
        &format!("{}:{}", case.file, case.line),
        &format!(
            "{}\npunctual validate {}\nkube-apiserver {}\n",
            case.text,
            describe(ours),
            describe(theirs)
        ),
    );
}

fn summary(cases: &[ManifestCase]) -> String {
    let count = |verdict| cases.iter().filter(|it| it.verdict == verdict).count();
    format!(
        "{} manifests: {} accepted, {} rejected, {} rejected by `validate` only, {} by the cluster only",
        cases.len(),
        count(ManifestVerdict::Accepted),
        count(ManifestVerdict::Rejected),
        count(ManifestVerdict::RejectedByValidate),
        count(ManifestVerdict::RejectedByCluster),
    )
}

/// Checks that the definition sets the same defaults as our server.
fn check_defaults(client: &mut Client) -> anyhow::Result<()> {
    let path = format!("{SCHEDULED_JOBS}?dryRun=All");
    let created = client.create(&path, &manifests::base()?)?;
    for (pointer, want) in DEFAULTS {
        let found = created.pointer(pointer).unwrap_or(&Value::Null).to_string();
        ensure!(found == want, "{pointer} is {found} by default");
    }
    Ok(())
}

/// The cluster's result for a manifest.
fn create_dry_run(client: &mut Client, case: &ManifestCase) -> anyhow::Result<ManifestResult> {
    let path = format!("{}?dryRun=All&fieldValidation=Strict", case.collection);
    let response = client.send("POST", &path, Some(&case.object))?;
    // Any other status is a failure of the server, not a result.
    match response.status {
        201 => Ok(Ok(())),
        400 | 422 => Ok(Err(response.message().to_owned())),
        status => anyhow::bail!("POST {path}: {status} {}", response.message()),
    }
}

/// The results of one run of `punctual validate` for all manifests.
fn validate_all(
    binary: &Path,
    folder: &Path,
    cases: &[ManifestCase],
) -> anyhow::Result<Vec<ManifestResult>> {
    let documents: Vec<_> = cases.iter().map(|it| format!("---\n{}\n", it.object)).collect();
    let file = folder.join("manifests.yaml");
    fs::write(&file, documents.concat())?;
    let mut command = Command::new(binary);
    command.args(["validate", "--tzdata", "bundled", "--count", "0", "--output", "json"]);
    let output = command.arg("--filename").arg(&file).output().context("punctual validate")?;
    let report: Value = serde_json::from_slice(&output.stdout)?;
    let documents = report.get("documents").and_then(Value::as_array).context("no documents")?;
    ensure!(documents.len() == cases.len(), "{} documents", documents.len());
    Ok(documents.iter().map(parse_result).collect())
}

fn parse_result(document: &Value) -> ManifestResult {
    match document.get("errors").and_then(Value::as_array).map(Vec::as_slice) {
        Some([]) => Ok(()),
        Some(errors) => Err(Value::from(errors).to_string()),
        None => Err("no list of errors".to_owned()),
    }
}
