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

use anyhow::{Context as _, anyhow, bail};
use http::Request;
use kube::Client;
use punctual_api::well_known::annotations;
use punctual_api::{CronJob, Job};
use punctual_client::ApiError;
use punctual_client::resources::{JOBS, cron_jobs_of};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::time::{sleep, timeout};

use self::args::RepairArgs;
use self::plan::RepairPlan;
use crate::{clock, cluster_config, output, transport};

/// The user agent, which the server uses as field manager.
const AGENT: &str = "punctual-repair";
/// The deadline of each request.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);
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
    client: Client,
    url: String,
    path: String,
    jobs_path: String,
}

#[derive(Deserialize)]
struct JobList {
    items: Vec<Job>,
}

impl RepairTarget {
    async fn connect(args: &RepairArgs) -> anyhow::Result<RepairTarget> {
        let config = cluster_config::load(&args.cluster, AGENT).await?;
        let url = cluster_config::display_url(&config.cluster_url);
        let client = transport::build_client(config, 0)
            .with_context(|| format!("could not create a client for the cluster at {url}"))?;
        let namespace = args.namespace.clone().unwrap_or(client.default_namespace().to_owned());
        let path = cron_jobs_of(args.kind.kind()).object_path(&namespace, &args.name);
        Ok(RepairTarget { client, url, path, jobs_path: JOBS.collection_path(&namespace) })
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
        let unreachable = || format!("the cluster at {} does not answer; is it running?", self.url);
        let response = timeout(REQUEST_TIMEOUT, self.client.request(request)).await;
        match response.with_context(unreachable)? {
            Ok(value) => Ok(value),
            Err(kube::Error::Api(status)) => Err(anyhow!(status.message.clone())),
            Err(error) => Err(ApiError::from(error).into()),
        }
    }
}
