//! `punctual repair`: resets the recorded times of a CronJob that lie in the future.
//!
//! After a clock jumped forward and back, `status.lastScheduleTime` lies in the future, and no slot up
//! to then starts. This command sets it to the current time. Slots that have passed are not started, so
//! nothing runs twice.
//!
//! The Jobs of future slots would restore the old time, because the controller records every Job that
//! it finds. So the slot of finished ones is removed first, and the command refuses to continue while
//! one is running.

pub(crate) mod args;
mod plan;

use std::time::Duration;

use anyhow::bail;
use http::Request;
use punctual_api::well_known::annotations;
use punctual_api::{CronJob, Job};
use punctual_client::resources::{JOBS, cron_jobs_of};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::time::sleep;

use self::args::RepairArgs;
use self::plan::RepairPlan;
use crate::cluster_client::{ClusterClient, connect};
use crate::{clock, output};

/// The user agent, which the server uses as field manager.
const AGENT: &str = "punctual-repair";
/// How long the controller gets to read the changed Jobs before the status is written.
const WATCH_DELAY: Duration = Duration::from_secs(2);
/// How often the status is written again if the controller has restored the old time.
const ATTEMPTS_MAX: u32 = 5;

pub(crate) fn run(args: &RepairArgs) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(repair(args))
}

async fn repair(args: &RepairArgs) -> anyhow::Result<()> {
    let target = RepairTarget::connect(args).await?;
    for _ in 0..ATTEMPTS_MAX {
        let plan = target.plan().await?;
        if args.dry_run || plan.is_empty() {
            return output::print(&plan.describe(args.dry_run));
        }
        output::print(&plan.describe(false))?;
        target.execute(&plan).await?;
        if target.plan().await?.is_empty() {
            return output::print("repaired\n");
        }
    }
    bail!(
        "a recorded time is in the future again after {ATTEMPTS_MAX} attempts; is a clock of the \
         controller or the API server still wrong? If only the annotation {} is left, change the \
         schedule and change it back",
        annotations::SCHEDULE_SINCE
    )
}

/// The CronJob to repair.
struct RepairTarget {
    cluster: ClusterClient,
    path: String,
    jobs_path: String,
}

#[derive(Deserialize)]
struct JobList {
    items: Vec<Job>,
}

impl RepairTarget {
    async fn connect(args: &RepairArgs) -> anyhow::Result<RepairTarget> {
        let cluster = connect(&args.cluster, AGENT).await?;
        let namespace = args.namespace.as_deref().unwrap_or(cluster.client.default_namespace());
        let path = cron_jobs_of(args.kind.kind()).object_path(namespace, &args.name);
        let jobs_path = JOBS.collection_path(namespace);
        Ok(RepairTarget { cluster, path, jobs_path })
    }

    async fn plan(&self) -> anyhow::Result<RepairPlan> {
        let cron_job: CronJob = self.send("GET", &self.path, Value::Null).await?;
        let jobs: JobList = self.send("GET", &self.jobs_path, Value::Null).await?;
        RepairPlan::new(&cron_job, &jobs.items, clock::now())
    }

    /// Changes the Jobs first: the controller records every Job that it finds.
    async fn execute(&self, plan: &RepairPlan) -> anyhow::Result<()> {
        for job in &plan.jobs {
            let path = format!("{}/{}", self.jobs_path, job.name);
            self.send::<Value>("PATCH", &path, job.patch()).await?;
        }
        if !plan.jobs.is_empty() {
            sleep(WATCH_DELAY).await;
        }
        if let Some(annotations) = plan.annotation_patch() {
            self.send::<Value>("PATCH", &self.path, annotations).await?;
        }
        let status = plan.status_patch();
        self.send::<Value>("PATCH", &format!("{}/status", self.path), status).await?;
        sleep(WATCH_DELAY).await;
        Ok(())
    }

    /// Sends a request. `body` is a merge patch, or null.
    async fn send<T: DeserializeOwned>(
        &self,
        method: &str,
        path: &str,
        body: Value,
    ) -> anyhow::Result<T> {
        let text = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("Content-Type", "application/merge-patch+json")
            .body(text)?;
        self.cluster.call(self.cluster.client.request(request)).await
    }
}
