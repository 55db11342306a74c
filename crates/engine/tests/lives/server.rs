//! What is on the server: one CronJob, its Jobs, and a log of every Job that was ever created.

use std::collections::BTreeMap;

use jiff::Timestamp;
use punctual_api::{CronJob, Job, Time, job::JobCondition};
use punctual_engine::cronjob::{JobResult, JobView};

/// A Job that was created, for the record.
#[derive(Clone, Debug)]
pub(crate) struct Created {
    pub(crate) slot: Timestamp,
    pub(crate) at: Timestamp,
    /// The schedule and deadline that held, and what was running beside it.
    pub(crate) cron_job: CronJob,
    pub(crate) running: Vec<String>,
}

pub(crate) struct Server {
    pub(crate) cron_job: CronJob,
    pub(crate) jobs: BTreeMap<String, Job>,
    pub(crate) log: Vec<Created>,
    /// Jobs that ended, by how.
    pub(crate) completed: i64,
    pub(crate) failed: i64,
    /// Jobs that were replaced when they had just ended.
    pub(crate) replaced_unseen: i64,
    uids: u64,
}

impl Server {
    pub(crate) fn new(cron_job: CronJob) -> Server {
        Server {
            cron_job,
            jobs: BTreeMap::new(),
            log: Vec::new(),
            completed: 0,
            failed: 0,
            replaced_unseen: 0,
            uids: 0,
        }
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

    /// The unfinished Jobs that nobody is deleting.
    pub(crate) fn undisturbed(&self) -> Vec<String> {
        let views = self.views().into_iter();
        views.filter(|job| job.result.is_none() && !job.is_deleting).map(|job| job.name).collect()
    }

    /// Creates a Job from its text, unless the name is taken.
    pub(crate) fn create(&mut self, text: &str, at: Timestamp) -> Result<JobView, Box<JobView>> {
        let mut job: Job = serde_json::from_str(text).unwrap();
        let name = job.metadata.name.clone();
        if let Some(known) = self.view(&name) {
            return Err(Box::new(known));
        }
        self.uids += 1;
        job.metadata.uid = format!("uid-{}", self.uids);
        job.status.start_time = Some(Time::new(at));
        let view = JobView::from_job(&job);
        self.log.push(Created {
            slot: view.slot.unwrap(),
            at,
            cron_job: self.cron_job.clone(),
            running: self.undisturbed(),
        });
        self.jobs.insert(name, job);
        Ok(view)
    }

    /// Deletes a Job with that identity; a finalizer keeps it as one that is going.
    pub(crate) fn delete(&mut self, name: &str, uid: &str, at: Timestamp) {
        let Some(job) = self.jobs.get_mut(name).filter(|job| job.metadata.uid == uid) else {
            return;
        };
        job.metadata.deletion_timestamp = Some(Time::new(at));
        if job.metadata.finalizers.is_empty() {
            self.jobs.remove(name);
        }
    }

    /// Makes room for another Job. One that has ended unseen goes with the others, and whether its
    /// end is counted then depends on what is seen of it before it is gone.
    pub(crate) fn replace(&mut self, name: &str, uid: &str, at: Timestamp) {
        let job = self.view(name).filter(|job| job.uid == uid);
        if job.is_some_and(|job| job.result.is_some()) {
            self.replaced_unseen += 1;
        }
        self.delete(name, uid, at);
    }

    pub(crate) fn release(&mut self, name: &str) {
        let Some(job) = self.jobs.get_mut(name) else { return };
        job.metadata.finalizers.clear();
        if job.metadata.deletion_timestamp.is_some() {
            self.jobs.remove(name);
        }
    }

    pub(crate) fn end(&mut self, name: &str, ending: JobResult, at: Timestamp) {
        let Some(job) = self.jobs.get_mut(name) else { return };
        let kind = ending.as_str().into();
        let last_transition_time = Some(Time::new(at));
        let status = "True".into();
        let condition = JobCondition {
            condition_type: kind,
            status,
            last_transition_time,
            ..JobCondition::default()
        };
        job.status.conditions.push(condition);
        match ending {
            JobResult::Complete => {
                job.status.completion_time = Some(Time::new(at));
                self.completed += 1;
            }
            JobResult::Failed => self.failed += 1,
        }
    }
}
