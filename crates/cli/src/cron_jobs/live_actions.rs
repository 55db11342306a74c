//! What the live view of `punctual up` does with CronJobs, over the API as the commands do it.

use anyhow::Context as _;
use punctual_api::run_request::{RunRequestSpec, RunTarget};
use punctual_api::{CronJob, CronJobKind, Job};
use punctual_client::resources::{JOBS, cron_jobs_of};
use punctual_schedule::Zone;
use punctual_views::{CronJobSnapshot, describe};
use tokio::sync::mpsc;

use super::logs::{LogOutput, LogPrinter, RunJob, latest_run};
use super::patch::{self, SuspensionPatch};
use super::records::{RecordQuery, complete_snapshot};
use super::session::Session;
use super::target::with_kind;
use super::{describe as describe_command, plain_job, run_requests, suspend, why};
use crate::clock;

/// How many records are read for the details and for the latest run.
const RECORDS_MAX: usize = 200;
/// How many slots the details list.
const UPCOMING_MAX: usize = 5;
/// How many of the last lines of a log are read.
const LOG_LINES_MAX: usize = 5_000;

/// The name of a CronJob or ScheduledJob.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CronJobName {
    pub(crate) kind: CronJobKind,
    pub(crate) namespace: String,
    pub(crate) name: String,
}

/// Reads and changes CronJobs.
#[derive(Clone)]
pub(crate) struct LiveActions {
    client: kube::Client,
    url: String,
    zone: Zone,
}

impl LiveActions {
    pub(crate) fn new(client: kube::Client, url: &str, zone: Zone) -> LiveActions {
        LiveActions { client, url: url.to_owned(), zone }
    }

    async fn session(&self) -> anyhow::Result<Session> {
        Session::with_client(self.client.clone(), &self.url).await
    }

    async fn read(&self, session: &Session, name: &CronJobName) -> anyhow::Result<CronJob> {
        let CronJobName { kind, namespace, name } = name;
        let path = cron_jobs_of(*kind).object_path(namespace, name);
        let found: Option<CronJob> = session.get_optional(&path).await?;
        let found = found.with_context(|| format!("{namespace}/{name} does not exist any more"))?;
        Ok(with_kind(found, *kind))
    }

    async fn snapshot(
        &self,
        session: &Session,
        name: &CronJobName,
    ) -> anyhow::Result<CronJobSnapshot> {
        let cron_job = self.read(session, name).await?;
        let query = RecordQuery::newest(RECORDS_MAX);
        complete_snapshot(session, cron_job, &query, &self.zone).await
    }

    /// Returns why nothing or something runs now, and the description.
    pub(crate) async fn details(&self, name: &CronJobName) -> anyhow::Result<String> {
        let session = self.session().await?;
        let snapshot = self.snapshot(&session, name).await?;
        let now = clock::now();
        let explained = why::explain(&snapshot, None, now);
        let description = describe(&snapshot, UPCOMING_MAX, now);
        let why = why::text(&explained, &snapshot);
        Ok(format!("{why}\n{}", describe_command::text(&description, snapshot.zone(), now)))
    }

    /// Suspends it until a user resumes it. Returns what was done.
    pub(crate) async fn suspend(&self, name: &CronJobName) -> anyhow::Result<String> {
        let session = self.session().await?;
        let cron_job = self.read(&session, name).await?;
        let patch = SuspensionPatch {
            is_suspended: true,
            until: None,
            reason: None,
            by: Some(suspend::local_user_name()),
            missed: None,
        };
        let is_changed = patch::write(&session, &cron_job, &patch, None).await?;
        let verb = if is_changed { "suspended" } else { "was already suspended" };
        Ok(format!("{} {verb}", cron_job.key()))
    }

    /// Resumes it. Returns what was done.
    pub(crate) async fn resume(&self, name: &CronJobName) -> anyhow::Result<String> {
        let session = self.session().await?;
        let cron_job = self.read(&session, name).await?;
        let is_changed =
            patch::write(&session, &cron_job, &SuspensionPatch::resume(None), None).await?;
        let verb = if is_changed { "resumed" } else { "was not suspended" };
        Ok(format!("{} {verb}", cron_job.key()))
    }

    /// Starts a run now. Returns what was done.
    pub(crate) async fn trigger(&self, name: &CronJobName) -> anyhow::Result<String> {
        let session = self.session().await?;
        let cron_job = self.read(&session, name).await?;
        if !session.serves_run_requests() {
            let job = plain_job::create(&session, &cron_job).await?;
            return Ok(format!("created Job {}/{}", job.metadata.namespace, job.metadata.name));
        }
        let target =
            RunTarget { kind: cron_job.kind.clone(), name: cron_job.metadata.name.clone() };
        let spec = RunRequestSpec { target, now: true, ..RunRequestSpec::default() };
        let request = run_requests::create(&session, &cron_job, &spec).await?;
        Ok(format!("requested a run of {} ({})", cron_job.key(), request.metadata.name))
    }

    /// Follows the log of the latest run until the run ends.
    pub(crate) async fn follow_latest_log(
        &self,
        name: &CronJobName,
        log: mpsc::Sender<Vec<u8>>,
    ) -> anyhow::Result<()> {
        let session = self.session().await?;
        let cron_job = self.read(&session, name).await?;
        let run = match latest_job(&session, &cron_job).await? {
            Some(run) => run,
            // The records say why there is no log.
            None => latest_run(&self.snapshot(&session, name).await?)?,
        };
        follow(&session, &run, log).await
    }

    /// Follows the log of a Job until the Job ends.
    pub(crate) async fn follow_job_log(
        &self,
        namespace: &str,
        name: &str,
        log: mpsc::Sender<Vec<u8>>,
    ) -> anyhow::Result<()> {
        let session = self.session().await?;
        let run = format!("{namespace}/{name}");
        let run = RunJob { namespace: namespace.to_owned(), name: name.to_owned(), run };
        follow(&session, &run, log).await
    }
}

/// Returns the newest Job of a CronJob, also one that a user started; `None` if there is none.
async fn latest_job(session: &Session, cron_job: &CronJob) -> anyhow::Result<Option<RunJob>> {
    let CronJob { metadata, .. } = cron_job;
    let jobs: Vec<Job> = session.list_all(&JOBS, &metadata.namespace, "").await?;
    let is_own =
        |job: &Job| job.metadata.owner_references.iter().any(|owner| owner.uid == metadata.uid);
    let own = jobs.into_iter().filter(is_own);
    let newest = own.max_by_key(|job| (job.metadata.creation_timestamp, job.metadata.name.clone()));
    Ok(newest.map(|job| RunJob {
        namespace: metadata.namespace.clone(),
        run: format!("the latest run of {}", cron_job.key()),
        name: job.metadata.name,
    }))
}

async fn follow(session: &Session, run: &RunJob, log: mpsc::Sender<Vec<u8>>) -> anyhow::Result<()> {
    let printer = LogPrinter {
        session,
        container: None,
        is_following: true,
        tail_lines: Some(LOG_LINES_MAX),
        output: LogOutput::Channel(log),
    };
    printer.print(run).await
}
