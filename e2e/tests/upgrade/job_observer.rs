//! Observes the Jobs and CronJobs of a namespace without a gap, including those that are deleted soon.

use std::collections::BTreeMap;

use anyhow::{Context, bail};
use jiff::Timestamp;
use punctual_e2e::{
    Client, Cluster,
    client::{WatchPoll, WatchStream},
    json,
};
use serde_json::Value;

/// Times in the status of a CronJob that must never go back.
const STATUS_TIMES: [&str; 2] = ["lastScheduleTime", "lastSuccessfulTime"];
/// The number of refreshes before a wait fails. Each takes at least 0.2 seconds.
const REFRESHES_MAX: usize = 450;

/// The Jobs and CronJobs of a namespace, and what happened to them.
pub(super) struct JobObserver {
    job_events: ResourceEvents,
    cron_job_events: ResourceEvents,
    /// All Jobs that were created, as they were then.
    created: Vec<Value>,
    /// The Jobs that exist, by name.
    jobs: BTreeMap<String, Value>,
    /// The Jobs that were deleted.
    deleted: Vec<Value>,
    cron_jobs: BTreeMap<String, Value>,
    /// Changes of a status that set a time back.
    regressions: Vec<String>,
}

impl JobObserver {
    /// Starts observing a namespace that has no Jobs yet.
    pub(super) fn start(cluster: &Cluster, namespace: &str) -> anyhow::Result<JobObserver> {
        let events = |resource| {
            let path = format!("/apis/batch/v1/namespaces/{namespace}/{resource}");
            ResourceEvents::start(cluster, path)
        };
        Ok(JobObserver {
            job_events: events("jobs")?,
            cron_job_events: events("cronjobs")?,
            created: Vec::new(),
            jobs: BTreeMap::new(),
            deleted: Vec::new(),
            cron_jobs: BTreeMap::new(),
            regressions: Vec::new(),
        })
    }

    /// Waits until a condition holds.
    pub(super) fn wait_for(
        &mut self,
        condition: &str,
        mut holds: impl FnMut(&JobObserver) -> bool,
    ) -> anyhow::Result<()> {
        for _ in 0..REFRESHES_MAX {
            self.refresh()?;
            if holds(self) {
                return Ok(());
            }
        }
        let jobs: Vec<&String> = self.jobs.keys().collect();
        let statuses: Vec<_> =
            self.cron_jobs.iter().map(|(name, object)| (name, object.get("status"))).collect();
        bail!("{condition}: not in time. Jobs: {jobs:?}, statuses: {statuses:?}")
    }

    /// Reads all events until none comes for a moment.
    pub(super) fn refresh(&mut self) -> anyhow::Result<()> {
        while let Some(event) = self.job_events.next()? {
            self.apply_job_event(event)?;
        }
        while let Some(event) = self.cron_job_events.next()? {
            self.apply_cron_job_event(event)?;
        }
        Ok(())
    }

    /// The slots of all Jobs that a CronJob created, in order.
    pub(super) fn slots(&self, cron_job: &str) -> Vec<Timestamp> {
        let owned = self.created.iter().filter(|job| owner(job) == cron_job);
        let mut slots: Vec<Timestamp> = owned.map(slot).collect();
        slots.sort_unstable();
        slots
    }

    /// The Job of a slot, as it was when it was created.
    pub(super) fn job_of_slot(&self, cron_job: &str, at: Timestamp) -> Option<&Value> {
        self.created.iter().find(|job| owner(job) == cron_job && slot(job) == at)
    }

    /// The Jobs of a CronJob that exist.
    pub(super) fn jobs(&self, cron_job: &str) -> Vec<&Value> {
        self.jobs.values().filter(|job| owner(job) == cron_job).collect()
    }

    /// The names of CronJobs of which a Job was deleted.
    pub(super) fn owners_of_deleted(&self) -> Vec<&str> {
        self.deleted.iter().map(owner).collect()
    }

    /// The latest state of a CronJob; `null` if it was not observed yet.
    pub(super) fn cron_job(&self, name: &str) -> &Value {
        self.cron_jobs.get(name).unwrap_or(&Value::Null)
    }

    /// Changes of a status that set a time back.
    pub(super) fn regressions(&self) -> &[String] {
        &self.regressions
    }

    fn apply_job_event(&mut self, event: Value) -> anyhow::Result<()> {
        let job = event.get("object").context("an event without an object")?.clone();
        let name = json::name(&job).to_owned();
        match json::text(&event, "/type") {
            "ADDED" => {
                self.created.push(job.clone());
                self.jobs.insert(name, job);
            }
            "MODIFIED" => {
                self.jobs.insert(name, job);
            }
            "DELETED" => {
                self.jobs.remove(&name);
                self.deleted.push(job);
            }
            other => bail!("a watch event of type {other:?}: {event}"),
        }
        Ok(())
    }

    fn apply_cron_job_event(&mut self, event: Value) -> anyhow::Result<()> {
        let object = event.get("object").context("an event without an object")?.clone();
        let name = json::name(&object).to_owned();
        for field in STATUS_TIMES {
            let pointer = format!("/status/{field}");
            let before = json::text(self.cron_job(&name), &pointer);
            let after = json::text(&object, &pointer);
            // Both are in UTC and without fractions, so that texts are ordered as times are.
            if after < before {
                self.regressions.push(format!("{name}: {field} went from {before} to {after:?}"));
            }
        }
        self.cron_jobs.insert(name, object);
        Ok(())
    }
}

/// The events of a list. A watch that ends is opened again where it ended.
struct ResourceEvents {
    client: Client,
    path: String,
    watch: WatchStream,
    /// The resource version of the last event.
    version: String,
}

impl ResourceEvents {
    fn start(cluster: &Cluster, path: String) -> anyhow::Result<ResourceEvents> {
        let mut client = Client::new(cluster)?;
        let version = json::text(&client.get(&path)?, "/metadata/resourceVersion").to_owned();
        let watch = open_watch(&client, &path, &version)?;
        Ok(ResourceEvents { client, path, watch, version })
    }

    /// Returns the next event, or `None` after a short time without one.
    fn next(&mut self) -> anyhow::Result<Option<Value>> {
        match self.watch.poll()? {
            // A server that has just started answers with an error until its cache is complete.
            WatchPoll::Event(event) if json::number(&event, "/object/code") == 504 => {}
            WatchPoll::Event(event) => {
                self.version = json::text(&event, "/object/metadata/resourceVersion").to_owned();
                return Ok(Some(event));
            }
            WatchPoll::Timeout => return Ok(None),
            WatchPoll::Closed => {}
        }
        self.watch = open_watch(&self.client, &self.path, &self.version)?;
        Ok(None)
    }
}

fn open_watch(client: &Client, path: &str, version: &str) -> anyhow::Result<WatchStream> {
    client.watch(&format!("{path}?resourceVersion={version}"))
}

fn owner(job: &Value) -> &str {
    json::text(job, "/metadata/ownerReferences/0/name")
}

/// The slot of a Job; 1970 if it has none, which no check accepts.
pub(super) fn slot(job: &Value) -> Timestamp {
    json::slot(job).unwrap_or(Timestamp::UNIX_EPOCH)
}
