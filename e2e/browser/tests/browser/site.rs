//! `punctual up` with a set of CronJobs of all states.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use punctual_e2e::{Client, Cluster, Punctual, probe};
use serde_json::{Value, json};

use crate::browser::free_port;

const CRON_JOBS: &str = "/apis/batch/v1/namespaces/shop/cronjobs";
/// How long the first runs may take.
const RUNS_TIMEOUT: Duration = Duration::from_secs(40);

/// A running `punctual up` with its dashboard.
pub(crate) struct Site {
    punctual: Punctual,
    folder: PathBuf,
    cluster: Option<Cluster>,
    port: u16,
    pub(crate) client: Client,
}

impl Site {
    pub(crate) fn start(punctual: Punctual, folder: &Path) -> anyhow::Result<Site> {
        let port = free_port()?;
        let cluster = punctual.up(folder, &flags(port))?;
        let client = Client::new(&cluster)?;
        let mut site =
            Site { punctual, folder: folder.to_owned(), cluster: Some(cluster), port, client };
        site.create_objects()?;
        Ok(site)
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    /// Prints a fresh login link, as a user does.
    pub(crate) fn login_link(&self) -> anyhow::Result<String> {
        let output = Command::new(self.punctual.binary())
            .args(["dashboard", "--login", "--data-dir"])
            .arg(Punctual::data_dir(&self.folder))
            .output()?;
        ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Ok(String::from_utf8(output.stdout)?.trim().to_owned())
    }

    /// Kills the process.
    pub(crate) fn kill(&mut self) {
        self.cluster = None;
    }

    /// Starts the process again with its data and its port.
    pub(crate) fn start_again(&mut self) -> anyhow::Result<()> {
        let cluster = self.punctual.up(&self.folder, &flags(self.port))?;
        self.client = Client::new(&cluster)?;
        self.cluster = Some(cluster);
        Ok(())
    }

    pub(crate) fn cron_job(&mut self, name: &str) -> anyhow::Result<Value> {
        self.client.get(&format!("{CRON_JOBS}/{name}"))
    }

    /// Returns the Jobs of a CronJob, oldest first.
    pub(crate) fn jobs(&mut self, name: &str) -> anyhow::Result<Vec<Value>> {
        let list = self.client.get("/apis/batch/v1/namespaces/shop/jobs")?;
        let owner = |job: &Value| job.pointer("/metadata/ownerReferences/0/name").cloned();
        let jobs = list["items"].as_array().cloned().unwrap_or_default();
        Ok(jobs.into_iter().filter(|job| owner(job) == Some(json!(name))).collect())
    }

    fn create_objects(&mut self) -> anyhow::Result<()> {
        self.client.create("/api/v1/namespaces", &json!({"metadata": {"name": "shop"}}))?;
        for (name, spec, command) in [
            (
                "report",
                json!({"schedule": "0 2 * * 1-5", "timeZone": "Europe/Berlin"}),
                "echo report",
            ),
            (
                "rotate",
                json!({"schedule": "30 2 * * *", "timeZone": "America/New_York"}),
                "echo rotate",
            ),
            (
                "sync-orders",
                json!({"schedule": "@every 3s", "concurrencyPolicy": "Forbid"}),
                "echo connection refused; exit 1",
            ),
            (
                "cart-cleanup",
                json!({"schedule": "@every 2s", "jitter": 10}),
                "echo '<b>cleaned</b>'",
            ),
            (
                "catch-up",
                json!({"schedule": "@every 4s", "concurrencyPolicy": "CatchUp"}),
                "sleep 1",
            ),
            ("paused", json!({"schedule": "*/5 * * * *", "suspend": true}), "echo paused"),
            (
                "slow",
                json!({"schedule": "0 0 1 1 *"}),
                "for i in 1 2 3 4 5 6; do echo line $i; sleep 0.4; done",
            ),
            ("endless", json!({"schedule": "0 0 1 1 *"}), "echo started; sleep 600"),
            (
                "missed",
                json!({"schedule": "@every 5s", "startingDeadlineSeconds": 0}),
                "echo never",
            ),
            ("minutely", json!({"schedule": "* * * * *"}), "echo minute"),
        ] {
            let object = cron_job(name, spec, command);
            self.client.create(CRON_JOBS, &object)?;
        }
        let mut check = || -> anyhow::Result<()> {
            let list = self.client.get("/apis/punctual.dev/v1/namespaces/shop/slotrecords")?;
            let records = list["items"].as_array().map_or(0, Vec::len);
            ensure!(records >= 8, "{records} records");
            Ok(())
        };
        for _ in 0..RUNS_TIMEOUT.as_secs() {
            if check().is_ok() {
                return Ok(());
            }
            probe::sleep_seconds(1);
        }
        check().context("the CronJobs do not run")
    }
}

fn flags(port: u16) -> Vec<String> {
    vec!["--dashboard".to_owned(), format!("127.0.0.1:{port}")]
}

fn cron_job(name: &str, mut spec: Value, command: &str) -> Value {
    let template = json!({"spec": {"backoffLimit": 0, "template": {"spec": {"restartPolicy": "Never",
        "terminationGracePeriodSeconds": 1,
        "containers": [{"name": "main", "image": "none", "command": ["/bin/sh", "-c", command]}]}}}});
    if let Some(fields) = spec.as_object_mut() {
        fields.insert("jobTemplate".to_owned(), template);
    }
    json!({"metadata": {"name": name, "labels": {"team": "shop"}}, "spec": spec})
}
