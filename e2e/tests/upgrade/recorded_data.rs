//! Data directories that earlier versions of `punctual up` wrote, and how they are recorded.
//!
//! `testdata/data_directories` has one archive for each recording, named after the commit of the
//! program. It contains `data`, without keys and logs, and `objects.json` with all objects.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use anyhow::{Context, ensure};
use jiff::{SignedDuration, Timestamp};
use punctual_e2e::{
    Client, Punctual,
    files::crate_folder,
    json::{items, number, text},
    load::clock,
    probe,
};
use serde_json::{Map, Value, json};
use tempfile::TempDir;

pub(super) const CRON_JOBS: &str = "/apis/batch/v1/namespaces/default/cronjobs";
pub(super) const SCHEDULED_JOBS: &str = "/apis/punctual.dev/v1/namespaces/default/scheduledjobs";
pub(super) const JOBS: &str = "/apis/batch/v1/namespaces/default/jobs";
const SECRETS: &str = "/api/v1/namespaces/default/secrets";
const OBJECTS: &str = "objects.json";
const STOP_TIMEOUT: Duration = Duration::from_secs(30);
/// The largest archive that may become a part of the repository.
const ARCHIVE_BYTES_MAX: u64 = 100_000;

/// An unpacked recording.
pub(super) struct RecordedData {
    /// The folder for [`Punctual::up`].
    pub(super) folder: TempDir,
    /// All objects: the items of each list, by its path.
    pub(super) objects: Map<String, Value>,
}

impl RecordedData {
    /// Unpacks an archive.
    fn unpack(archive: &Path) -> anyhow::Result<RecordedData> {
        let folder = tempfile::tempdir()?;
        run(Command::new("tar").arg("-xzf").arg(archive).arg("-C").arg(folder.path()))?;
        let objects = serde_json::from_slice(&fs::read(folder.path().join(OBJECTS))?)?;
        Ok(RecordedData { folder, objects })
    }

    /// A recorded object.
    pub(super) fn object(&self, list: &str, name: &str) -> anyhow::Result<&Value> {
        let items = self.objects.get(&all_namespaces(list)).and_then(Value::as_array);
        let mut items = items.with_context(|| format!("no {list} in the recording"))?.iter();
        let found = items.find(|item| text(item, "/metadata/name") == name);
        found.with_context(|| format!("no {name} in {list}"))
    }
}

/// The path of the same list in all namespaces.
fn all_namespaces(list: &str) -> String {
    list.replace("/namespaces/default", "")
}

/// Runs a check with each recording.
pub(super) fn with_each(
    mut check: impl FnMut(&RecordedData) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let mut count = 0;
    for entry in fs::read_dir(archives())? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "gz") {
            let name = path.display().to_string();
            check(&RecordedData::unpack(&path).context(name.clone())?).context(name)?;
            count += 1;
        }
    }
    ensure!(count > 0, "no recordings in {}", archives().display());
    Ok(())
}

fn archives() -> PathBuf {
    crate_folder().join("testdata/data_directories")
}

/// Records a data directory with a program, which must be built from a commit without changes.
pub(super) fn record(punctual: &Punctual) -> anyhow::Result<PathBuf> {
    let home = tempfile::tempdir()?;
    let folder = home.path();
    let cluster = punctual.up(folder, &[])?;
    let mut client = Client::new(&cluster)?;
    create_objects(&mut client)?;
    probe::wait_for("all CronJobs have run", || {
        let mut runs =
            |path: String| client.get(&path).map(|it| number(&it, "/status/successfulRuns"));
        Ok(runs(format!("{CRON_JOBS}/tick"))? >= 3
            && runs(format!("{SCHEDULED_JOBS}/tock"))? >= 3
            && runs(format!("{CRON_JOBS}/once"))? == 1)
    })?;
    cluster.stop(STOP_TIMEOUT)?;
    // The server alone changes nothing while the objects are read.
    let server = punctual.start(folder)?;
    let objects = read_objects(&mut Client::new(&server)?)?;
    server.stop(STOP_TIMEOUT)?;
    fs::write(folder.join(OBJECTS), serde_json::to_vec(&objects)?)?;
    let archive = archives().join(format!("{}.tar.gz", current_commit()?));
    fs::create_dir_all(archives())?;
    // Keys are left out: a recording must not expire with them.
    let excluded = ["pki", "kubeconfig*", "audit.log*", "*.lock", "logs"];
    let mut tar = Command::new("tar");
    tar.args(excluded.map(|pattern| format!("--exclude=data/{pattern}")));
    tar.args(["--use-compress-program", "gzip -9", "-cf"]).arg(&archive);
    run(tar.arg("-C").arg(folder).args(["data", OBJECTS]))?;
    let size = fs::metadata(&archive)?.len();
    ensure!(size < ARCHIVE_BYTES_MAX, "the archive has {size} bytes");
    Ok(archive)
}

fn run(command: &mut Command) -> anyhow::Result<()> {
    let status = command.status().with_context(|| format!("{command:?}"))?;
    ensure!(status.success(), "{command:?}: {status}");
    Ok(())
}

fn current_commit() -> anyhow::Result<String> {
    let mut command = Command::new("git");
    let output =
        command.args(["rev-parse", "--short", "HEAD"]).current_dir(crate_folder()).output()?;
    ensure!(output.status.success(), "{command:?}: {}", output.status);
    Ok(String::from_utf8(output.stdout)?.trim().to_owned())
}

/// Creates CronJobs in the states that a program can leave behind: with a history, with an active
/// Job, finished for ever, and suspended.
fn create_objects(client: &mut Client) -> anyhow::Result<()> {
    let soon = clock::wall_time().checked_add(SignedDuration::from_secs(4))?;
    let soon = format!("@at {}", Timestamp::from_second(soon.as_second())?);
    let secret = json!({ "metadata": { "name": "password" }, "stringData": { "value": "secret" } });
    client.create(SECRETS, &secret)?;
    for (name, command, more) in [
        ("tick", "true", json!({ "schedule": "@every 2s", "successfulJobsHistoryLimit": 1000 })),
        ("once", "true", json!({ "schedule": soon })),
        ("busy", "sleep 20", json!({ "schedule": soon, "concurrencyPolicy": "Forbid" })),
        ("paused", "true", json!({ "schedule": "@every 2s", "suspend": true })),
        (
            "nightly",
            "true",
            json!({
                "schedule": "30 2 * * *", "timeZone": "Europe/Berlin", "suspend": true,
                "concurrencyPolicy": "CatchUp", "startingDeadlineSeconds": 3600,
            }),
        ),
    ] {
        client.create(CRON_JOBS, &cron_job(name, command, &more))?;
    }
    let tock = json!({ "schedule": "@every 2s", "successfulJobsHistoryLimit": 1000 });
    client.create(SCHEDULED_JOBS, &cron_job("tock", "true", &tock)).map(drop)
}

/// A CronJob or ScheduledJob with these fields.
pub(super) fn cron_job(name: &str, command: &str, spec: &Value) -> Value {
    let command: Vec<&str> = command.split(' ').collect();
    let pod = json!({
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": 1,
        "containers": [{ "name": "main", "image": "none", "command": command }],
    });
    let mut spec = spec.clone();
    if let Some(spec) = spec.as_object_mut() {
        let job = json!({ "backoffLimit": 0, "template": { "spec": pod } });
        spec.insert("jobTemplate".to_owned(), json!({ "spec": job }));
    }
    json!({ "metadata": { "name": name }, "spec": spec })
}

/// Reads all objects of a server: the items of each list, by its path. Events are left out, because
/// they expire.
pub(super) fn read_objects(client: &mut Client) -> anyhow::Result<Map<String, Value>> {
    let groups = client.get("/apis")?;
    let versions = items(&groups, "/groups").iter();
    let versions = versions.map(|group| text(group, "/preferredVersion/groupVersion"));
    let mut paths: Vec<String> = versions.map(|version| format!("/apis/{version}")).collect();
    paths.push("/api/v1".to_owned());
    let mut objects = Map::new();
    for path in paths {
        let resources = client.get(&path)?;
        for resource in items(&resources, "/resources") {
            let name = text(resource, "/name");
            let can_list = items(resource, "/verbs").contains(&json!("list"));
            if can_list && name != "events" {
                let list = client.get(&format!("{path}/{name}"))?;
                objects.insert(format!("{path}/{name}"), json!(items(&list, "/items")));
            }
        }
    }
    Ok(objects)
}
