//! `punctual logs`: the logs of the latest, a given or the latest failed run.

use std::collections::HashSet;
use std::pin::pin;

use anyhow::{Context as _, anyhow, bail, ensure};
use futures::{AsyncReadExt as _, Stream, StreamExt as _, stream};
use http::Request;
use kube::Api;
use kube::api::DynamicObject;
use kube::runtime::{WatchStreamExt as _, watcher};
use punctual_api::slot_record::{RunResult, SlotRecord};
use punctual_api::{Job, Pod};
use punctual_client::resources::{JOBS, PODS, ResourceType};
use punctual_schedule::Zone;
use punctual_views::{ChosenSlot, CronJobSnapshot, choose_slot, local_time};
use tokio::sync::mpsc;

use super::args::LogsArgs;
use super::history::is_run_of;
use super::records::{RecordQuery, read_snapshot};
use super::session::{Session, encode};
use crate::{clock, output};

/// How many records are read to find the run of a slot, and otherwise.
const RECORDS_MAX: usize = 2_000;
const LATEST_MAX: usize = 20;
const CHUNK_SIZE: usize = 16 * 1024;

/// The Job of a run.
pub(super) struct RunJob {
    pub(super) namespace: String,
    pub(super) name: String,
    /// What the run is, for messages.
    pub(super) run: String,
}

pub(super) async fn run(args: &LogsArgs, zone: &Zone) -> anyhow::Result<()> {
    let session = Session::connect(&args.target.connection).await?;
    let snapshot = read_snapshot(&session, &args.target.target, &query(args), zone).await?;
    let run = choose_run(&snapshot, args)?;
    let printer = LogPrinter {
        session: &session,
        container: args.container.as_deref(),
        is_following: args.follow,
        tail_lines: None,
        output: LogOutput::Stdout,
    };
    printer.print(&run).await
}

/// Prints the logs of a Job until it ends.
pub(super) async fn follow_job(session: &Session, run: &RunJob) -> anyhow::Result<()> {
    let printer = LogPrinter {
        session,
        container: None,
        is_following: true,
        tail_lines: None,
        output: LogOutput::Stdout,
    };
    printer.follow(run).await
}

/// Where logs are written.
pub(super) enum LogOutput {
    Stdout,
    /// To a page that takes them as fast as it shows them.
    Channel(mpsc::Sender<Vec<u8>>),
}

impl LogOutput {
    async fn write(&self, bytes: &[u8]) -> anyhow::Result<()> {
        match self {
            LogOutput::Stdout => output::print_bytes(bytes),
            LogOutput::Channel(sender) => Ok(sender.send(bytes.to_owned()).await?),
        }
    }

    /// Reports why there is no log.
    async fn report(&self, text: &str) -> anyhow::Result<()> {
        match self {
            LogOutput::Stdout => output::print_error(text),
            LogOutput::Channel(sender) => sender.send(format!("{text}\n").into_bytes()).await?,
        }
        Ok(())
    }
}

/// Finds the Job of the latest run.
pub(super) fn latest_run(snapshot: &CronJobSnapshot) -> anyhow::Result<RunJob> {
    let key = snapshot.cron_job.key();
    let latest = snapshot.ledger.runs().next();
    let latest = latest.with_context(|| format!("no run of {key} is known; has it run yet?"))?;
    run_job(snapshot, latest)
}

/// Lets the server select the records.
fn query(args: &LogsArgs) -> RecordQuery {
    if args.failed {
        let selectors = vec!["result=Failed".to_owned()];
        return RecordQuery { limit: LATEST_MAX, selectors };
    }
    let limit = if args.slot.is_some() { RECORDS_MAX } else { LATEST_MAX };
    RecordQuery { limit, selectors: vec!["decision=Started".to_owned()] }
}

/// Finds the Job of the run that the user asks for.
fn choose_run(snapshot: &CronJobSnapshot, args: &LogsArgs) -> anyhow::Result<RunJob> {
    let key = snapshot.cron_job.key();
    let mut runs = snapshot.ledger.runs();
    let record = if let Some(text) = &args.slot {
        let slot = match choose_slot(snapshot, text, clock::now())? {
            ChosenSlot::At(slot) => slot,
            ChosenSlot::Skipped(civil) => bail!("{civil} did not exist: the clocks went forward"),
        };
        let at = local_time(snapshot.zone(), slot);
        runs.find(|record| is_run_of(record, slot)).with_context(|| {
            format!(
                "{key} has no run of slot {at}; `punctual why {} {text}` says why",
                snapshot.cron_job.metadata.name
            )
        })?
    } else if args.failed {
        runs.find(|record| record.result == Some(RunResult::Failed))
            .with_context(|| format!("no failed run of {key} is known"))?
    } else {
        return latest_run(snapshot);
    };
    run_job(snapshot, record)
}

fn run_job(snapshot: &CronJobSnapshot, record: &SlotRecord) -> anyhow::Result<RunJob> {
    let slot = record.slot.map(|slot| local_time(snapshot.zone(), slot.timestamp()));
    let slot = slot.unwrap_or_default();
    let job = record.job.as_ref().with_context(|| format!("the run of slot {slot} has no Job"))?;
    let is_kept = snapshot.jobs.iter().any(|kept| kept.uid == job.uid || kept.name == job.name);
    let (successful, failed) = snapshot.cron_job.history_limits();
    ensure!(
        is_kept,
        "the Job {} of slot {slot} is gone, and its logs with it (it {}); {} keeps {successful} successful and \
         {failed} failed Jobs: raise successfulJobsHistoryLimit and failedJobsHistoryLimit to keep more",
        job.name,
        record.result.map_or_else(|| "ended".to_owned(), |it| it.to_string().to_lowercase()),
        snapshot.cron_job.key()
    );
    Ok(RunJob {
        namespace: snapshot.cron_job.metadata.namespace.clone(),
        name: job.name.clone(),
        run: format!("the run of slot {slot}"),
    })
}

/// Prints the logs of the Pods of one Job.
pub(super) struct LogPrinter<'a> {
    pub(super) session: &'a Session,
    /// Only this container.
    pub(super) container: Option<&'a str>,
    /// Whether to wait for what is added.
    pub(super) is_following: bool,
    /// Only this many of the last lines.
    pub(super) tail_lines: Option<usize>,
    pub(super) output: LogOutput,
}

impl LogPrinter<'_> {
    pub(super) async fn print(&self, run: &RunJob) -> anyhow::Result<()> {
        if self.is_following {
            return self.follow(run).await;
        }
        let pods = self.pods(run).await?;
        ensure!(
            !pods.is_empty(),
            "the Job {} of {} has no Pod; either none was created yet, or they are deleted",
            run.name,
            run.run
        );
        let has_headers = self.has_headers(&pods);
        for pod in &pods {
            self.print_pod(pod, has_headers).await?;
        }
        Ok(())
    }

    /// Returns the Pods of a Job, oldest first.
    async fn pods(&self, run: &RunJob) -> anyhow::Result<Vec<Pod>> {
        let query = format!("&labelSelector={}", encode(&format!("job-name={}", run.name)));
        let mut pods: Vec<Pod> = self.session.list_all(&PODS, &run.namespace, &query).await?;
        pods.sort_by_key(|pod| (pod.metadata.creation_timestamp, pod.metadata.name.clone()));
        Ok(pods)
    }

    fn has_headers(&self, pods: &[Pod]) -> bool {
        let containers = pods.iter().map(|pod| self.containers(pod).len());
        containers.sum::<usize>() > 1
    }

    /// Returns the containers of a Pod whose logs to print, in the order in which they run.
    fn containers(&self, pod: &Pod) -> Vec<String> {
        let names = pod.spec.containers_in_order().map(|(_, _, container)| container.name.clone());
        let is_wanted = |name: &String| self.container.is_none_or(|it| it == name);
        names.filter(is_wanted).collect()
    }

    async fn print_pod(&self, pod: &Pod, has_headers: bool) -> anyhow::Result<()> {
        let containers = self.containers(pod);
        let name = &pod.metadata.name;
        if containers.is_empty()
            && let Some(wanted) = self.container
        {
            bail!("the Pod {name} has no container {wanted:?}");
        }
        for container in containers {
            if has_headers {
                let header = format!("==> {name} {container} <==\n");
                self.output.write(header.as_bytes()).await?;
            }
            self.copy_log(pod, &container).await?;
        }
        Ok(())
    }

    /// Copies the log of a container.
    async fn copy_log(&self, pod: &Pod, container: &str) -> anyhow::Result<()> {
        let path = PODS.object_path(&pod.metadata.namespace, &pod.metadata.name);
        let mut query = encode(container);
        if self.is_following {
            query += "&follow=true";
        }
        if let Some(lines) = self.tail_lines {
            query += &format!("&tailLines={lines}");
        }
        let uri = format!("{path}/log?container={query}");
        let request = Request::get(uri).body(Vec::new())?;
        let stream = self.session.cluster.wait(self.session.cluster.client.request_stream(request));
        let log = match stream.await? {
            Ok(log) => log,
            Err(kube::Error::Api(status)) if status.code == 400 || status.code == 404 => {
                let reason = format!("{}: {}", pod.metadata.name, status.message);
                return self.output.report(&reason).await;
            }
            Err(error) => return Err(crate::cluster_client::describe_error(error)),
        };
        let mut log = pin!(log);
        let mut chunk = vec![0; CHUNK_SIZE];
        loop {
            let read = log.read(&mut chunk).await?;
            let Some(bytes) = chunk.get(..read).filter(|bytes| !bytes.is_empty()) else {
                return Ok(());
            };
            self.output.write(bytes).await?;
        }
    }

    /// Follows the Pods of a Job, one after another, until the Job ends.
    async fn follow(&self, run: &RunJob) -> anyhow::Result<()> {
        let mut printed: HashSet<String> = HashSet::new();
        let pods = watcher::Config::default().labels(&format!("job-name={}", run.name));
        // A Job can end after the last change of its Pods.
        let job = watcher::Config::default().fields(&format!("metadata.name={}", run.name));
        let pods = self.watch(&PODS, &run.namespace, pods);
        let job = self.watch(&JOBS, &run.namespace, job);
        let mut changes = pin!(stream::select(pods, job));
        loop {
            let job: Option<Job> =
                self.session.get_optional(&JOBS.object_path(&run.namespace, &run.name)).await?;
            let is_over = job.is_none_or(|job| job.status.is_finished());
            let pods = self.pods(run).await?;
            let mut is_new = false;
            for pod in pods.iter().filter(|pod| has_started(pod)) {
                if printed.insert(pod.metadata.uid.clone()) {
                    is_new = true;
                    let has_headers = printed.len() > 1 || self.containers(pod).len() > 1;
                    self.print_pod(pod, has_headers).await?;
                }
            }
            if is_new {
                continue;
            }
            if is_over {
                return Ok(());
            }
            let change = changes.next().await;
            change.ok_or_else(|| anyhow!("the watch of the Pods ended"))??;
        }
    }

    fn watch(
        &self,
        resource: &ResourceType,
        namespace: &str,
        config: watcher::Config,
    ) -> impl Stream<Item = watcher::Result<DynamicObject>> + use<> {
        let client = self.session.cluster.client.clone();
        let api: Api<DynamicObject> =
            Api::namespaced_with(client, namespace, &resource.api_resource());
        watcher(api, config).default_backoff().touched_objects()
    }
}

/// Whether a Pod has a log.
fn has_started(pod: &Pod) -> bool {
    pod.status.phase != "Pending" && !pod.status.phase.is_empty()
}
