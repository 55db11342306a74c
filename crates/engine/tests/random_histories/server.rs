//! A fake API server with one CronJob, its Jobs and a log of all creates.

use std::collections::BTreeMap;

use jiff::Timestamp;
use punctual_api::cronjob::CronJobStatus;
use punctual_api::slot_record::SlotRecord;
use punctual_api::{CronJob, Job, Time, job::JobCondition};
use punctual_engine::cronjob::{JobResult, JobView};

/// A log entry about a created Job.
#[derive(Clone, Debug)]
pub(crate) struct CreatedJob {
    pub(crate) slot: Timestamp,
    pub(crate) at: Timestamp,
    /// The CronJob at the time of the create.
    pub(crate) cron_job: CronJob,
    /// The Jobs that were active at the time of the create.
    pub(crate) running: Vec<String>,
    /// When a Job was last replaced.
    pub(crate) replaced_at: Option<Timestamp>,
}

pub(crate) struct FakeServer {
    pub(crate) cron_job: CronJob,
    pub(crate) jobs: BTreeMap<String, Job>,
    pub(crate) log: Vec<CreatedJob>,
    /// The number of Jobs that succeeded.
    pub(crate) completed: i64,
    /// The number of Jobs that failed.
    pub(crate) failed: i64,
    /// The number of Jobs that were replaced although they had already finished.
    pub(crate) replaced_finished: i64,
    /// When a Job was last replaced.
    replaced_at: Option<Timestamp>,
    /// Slot records that the status no longer has.
    pub(crate) archive: Vec<SlotRecord>,
    last_uid: u64,
}

impl FakeServer {
    pub(crate) fn new(cron_job: CronJob) -> FakeServer {
        FakeServer {
            cron_job,
            jobs: BTreeMap::new(),
            log: Vec::new(),
            completed: 0,
            failed: 0,
            replaced_finished: 0,
            replaced_at: None,
            archive: Vec::new(),
            last_uid: 0,
        }
    }

    /// Writes the status. Like the real server, moves all slot records into the archive except the newest
    /// one and those of active runs.
    pub(crate) fn write_status(&mut self, mut status: CronJobStatus) {
        let newest = status.slots.iter().map(|record| record.slot).max();
        let is_kept = |record: &SlotRecord| record.is_running() || Some(record.slot) == newest;
        let (kept, archived): (Vec<_>, Vec<_>) = status.slots.into_iter().partition(is_kept);
        status.slots = kept;
        self.archive.extend(archived);
        self.cron_job.status = status;
    }

    /// All slot records, in the order of their slots.
    pub(crate) fn slot_records(&self) -> Vec<&SlotRecord> {
        let mut records: Vec<_> = self.archive.iter().chain(&self.cron_job.status.slots).collect();
        records.sort_by_key(|record| record.slot);
        records
    }

    pub(crate) fn views(&self) -> Vec<JobView> {
        self.jobs.values().map(JobView::from_job).collect()
    }

    pub(crate) fn view(&self, name: &str) -> Option<JobView> {
        self.jobs.get(name).map(JobView::from_job)
    }

    /// The unfinished Jobs.
    pub(crate) fn running(&self) -> Vec<String> {
        let running = self.jobs.values().filter(|job| !job.status.is_finished());
        running.map(|job| job.metadata.name.clone()).collect()
    }

    /// The unfinished Jobs that are not being deleted.
    pub(crate) fn active(&self) -> Vec<String> {
        let views = self.views().into_iter();
        views.filter(|job| job.result.is_none() && !job.is_deleting()).map(|job| job.name).collect()
    }

    /// Creates a Job from its manifest. Returns the existing Job if the name is taken.
    pub(crate) fn create(
        &mut self,
        manifest: &str,
        at: Timestamp,
    ) -> Result<JobView, Box<JobView>> {
        let mut job: Job = serde_json::from_str(manifest).unwrap();
        let name = job.metadata.name.clone();
        if let Some(existing) = self.view(&name) {
            return Err(Box::new(existing));
        }
        self.last_uid += 1;
        job.metadata.uid = format!("uid-{}", self.last_uid);
        job.metadata.creation_timestamp = Some(Time::new(at));
        job.status.start_time = Some(Time::new(at));
        let view = JobView::from_job(&job);
        self.log.push(CreatedJob {
            slot: view.slot.unwrap(),
            at,
            cron_job: self.cron_job.clone(),
            running: self.active(),
            replaced_at: self.replaced_at,
        });
        self.jobs.insert(name, job);
        Ok(view)
    }

    /// Deletes the Job with this UID. A finalizer keeps it with a deletion timestamp.
    pub(crate) fn delete(&mut self, name: &str, uid: &str, at: Timestamp) {
        let Some(job) = self.jobs.get_mut(name).filter(|job| job.metadata.uid == uid) else {
            return;
        };
        job.metadata.deletion_timestamp = Some(Time::new(at));
        if job.metadata.finalizers.is_empty() {
            self.jobs.remove(name);
        }
    }

    /// Deletes a Job for policy `Replace`. If the Job has already finished, whether it is counted
    /// depends on what the controller observes before the Job is removed.
    pub(crate) fn replace(&mut self, name: &str, uid: &str, at: Timestamp) {
        self.replaced_at = Some(at);
        let job = self.view(name).filter(|job| job.uid == uid);
        if job.is_some_and(|job| job.result.is_some()) {
            self.replaced_finished += 1;
        }
        self.delete(name, uid, at);
    }

    pub(crate) fn remove_finalizers(&mut self, name: &str) {
        let Some(job) = self.jobs.get_mut(name) else { return };
        job.metadata.finalizers.clear();
        if job.metadata.deletion_timestamp.is_some() {
            self.jobs.remove(name);
        }
    }

    pub(crate) fn finish(&mut self, name: &str, result: JobResult, at: Timestamp) {
        let Some(job) = self.jobs.get_mut(name) else { return };
        job.status.conditions.push(JobCondition {
            condition_type: result.as_str().into(),
            status: "True".into(),
            last_transition_time: Some(Time::new(at)),
            ..JobCondition::default()
        });
        match result {
            JobResult::Complete => {
                job.status.completion_time = Some(Time::new(at));
                self.completed += 1;
            }
            JobResult::Failed => self.failed += 1,
        }
    }
}
