//! Whether a cluster with our CustomResourceDefinition says the same to manifests as `punctual
//! validate`.
//!
//! The manifests are in `testdata/crd`, and so are the few differences, each with its reason.

mod manifests;

use std::{fs, path::Path, process::Command, process::ExitCode};

use anyhow::{Context, ensure};
use serde_json::Value;

use self::manifests::{Manifest, Verdict};
use crate::{
    Client, Controllers, KubeApiServer, Programs, Punctual, probe,
    suite::{self, Request, Tally},
};

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const SCHEDULED_JOBS: &str = "/apis/punctual.dev/v1/namespaces/default/scheduledjobs";
const DEFAULTS: [(&str, &str); 4] = [
    ("/spec/concurrencyPolicy", "\"Allow\""),
    ("/spec/suspend", "false"),
    ("/spec/successfulJobsHistoryLimit", "3"),
    ("/spec/failedJobsHistoryLimit", "1"),
];

/// Asks both; the exit code of a test program.
///
/// Arguments: a text that the lines of the table must contain.
pub fn main() -> ExitCode {
    suite::main("crd", run)
}

fn run(request: &Request, tally: &mut Tally) -> anyhow::Result<()> {
    let mut manifests = manifests::read()?;
    manifests.retain(|manifest| manifest.text.contains(&request.filter));
    let (programs, home) = (Programs::find(), tempfile::tempdir()?);
    let folder = home.path();
    let server = KubeApiServer { programs: &programs, folder, controllers: Controllers::None };
    let punctual = match server.check().and_then(|()| Punctual::find()) {
        Ok(punctual) => punctual,
        Err(error) => {
            tally.skip("kube-apiserver", manifests.len(), &error);
            return Ok(());
        }
    };
    let cluster = server.start()?;
    let mut client = Client::new(&cluster)?;
    define(&mut client, punctual.binary())?;
    has_defaults(&mut client)?;
    tally.pass();
    let ours = validate(punctual.binary(), folder, &manifests)?;
    for (manifest, ours) in manifests.iter().zip(ours) {
        compare(manifest, ours, create(&mut client, &manifest.object)?, tally);
    }
    tally.note(&summary(&manifests));
    Ok(())
}

/// What was said to a manifest: why it was refused, if it was.
type Said = Result<(), String>;

fn compare(manifest: &Manifest, ours: Said, theirs: Said, tally: &mut Tally) {
    let shown = |said: &Said| match said {
        Ok(()) => "accepts".to_owned(),
        Err(why) => format!("refuses: {why}"),
    };
    if Verdict::of(ours.is_ok(), theirs.is_ok()) == manifest.verdict {
        return tally.pass();
    }
    let (line, text) = (manifest.line, &manifest.text);
    let (ours, theirs) = (shown(&ours), shown(&theirs));
    tally.fail(
        &format!("manifests.txt:{line}"),
        &format!("{text}\npunctual validate {ours}\nkube-apiserver {theirs}\n"),
    );
}

fn summary(manifests: &[Manifest]) -> String {
    let count = |verdict| manifests.iter().filter(|it| it.verdict == verdict).count();
    format!(
        "{} manifests: {} accepted, {} refused, {} refused by `validate` alone, {} by the cluster alone",
        manifests.len(),
        count(Verdict::Accepted),
        count(Verdict::Refused),
        count(Verdict::Later),
        count(Verdict::Stricter),
    )
}

/// Gives a cluster the definition that the program prints, and waits until it is served.
fn define(client: &mut Client, binary: &Path) -> anyhow::Result<()> {
    let printed = Command::new(binary).arg("crd").output().context("punctual crd")?;
    ensure!(printed.status.success(), "punctual crd: {}", printed.status);
    let definition: Value = serde_saphyr::from_slice(&printed.stdout)?;
    client.create(DEFINITIONS, &definition)?;
    probe::until("the definition is served", || {
        let answer = client.send("GET", SCHEDULED_JOBS, None)?;
        Ok(answer.is_success().then_some(()))
    })
}

/// What is left out is filled in as by our own server.
fn has_defaults(client: &mut Client) -> anyhow::Result<()> {
    let path = format!("{SCHEDULED_JOBS}?dryRun=All");
    let created = client.create(&path, &manifests::base()?)?;
    for (pointer, want) in DEFAULTS {
        let found = created.pointer(pointer).unwrap_or(&Value::Null).to_string();
        ensure!(found == want, "{pointer} is {found} by default");
    }
    Ok(())
}

/// What the cluster says to a manifest.
fn create(client: &mut Client, object: &Value) -> anyhow::Result<Said> {
    let path = format!("{SCHEDULED_JOBS}?dryRun=All&fieldValidation=Strict");
    let answer = client.send("POST", &path, Some(object))?;
    // Anything but a refusal of the object is no verdict.
    match answer.status {
        201 => Ok(Ok(())),
        400 | 422 => Ok(Err(answer.message().to_owned())),
        status => anyhow::bail!("POST {path}: {status} {}", answer.message()),
    }
}

/// What `punctual validate` says to the manifests, asked once for all.
fn validate(binary: &Path, folder: &Path, manifests: &[Manifest]) -> anyhow::Result<Vec<Said>> {
    let documents: Vec<_> = manifests.iter().map(|it| format!("---\n{}\n", it.object)).collect();
    let file = folder.join("manifests.yaml");
    fs::write(&file, documents.concat())?;
    let mut command = Command::new(binary);
    command.args(["validate", "--tzdata", "bundled", "--count", "0", "--output", "json"]);
    let output = command.arg("--filename").arg(&file).output().context("punctual validate")?;
    let report: Value = serde_json::from_slice(&output.stdout)?;
    let documents = report.get("documents").and_then(Value::as_array).context("no documents")?;
    ensure!(documents.len() == manifests.len(), "{} documents", documents.len());
    Ok(documents.iter().map(said).collect())
}

fn said(document: &Value) -> Said {
    match document.get("errors").and_then(Value::as_array).map(Vec::as_slice) {
        Some([]) => Ok(()),
        Some(errors) => Err(Value::from(errors).to_string()),
        None => Err("no list of errors".to_owned()),
    }
}
