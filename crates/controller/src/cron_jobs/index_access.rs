//! Short accesses of a reconcile to the index. None holds its lock across a call.

use std::sync::Arc;

use jiff::Timestamp;
use punctual_api::CronJob;
use punctual_engine::cronjob::{JobKey, JobView};

use super::CronJobController;
use super::key::CronJobName;
use super::key_state::Parked;
use super::reconcile::Executed;

impl CronJobController {
    /// The effective time of the next slot of a CronJob.
    pub(super) fn next_slot(&self, name: &CronJobName) -> Option<Timestamp> {
        let timetable = self.index().get(name)?.timetable();
        timetable.as_ref().as_ref().ok()?.next_effective_time(self.clock.now())
    }

    pub(super) fn take_parked(&self, name: &CronJobName) -> Option<Parked> {
        self.index().key_state(name)?.take_parked()
    }

    /// Leaves the results of a plan to a later reconcile, unless the CronJob was replaced.
    pub(super) fn park(&self, name: &CronJobName, executed: Executed) {
        let parked = Parked::new(executed);
        let mut index = self.index();
        let is_current = index.get(name).is_some_and(|cached| cached.uid == parked.cron_job_uid());
        if is_current && let Some(state) = index.key_state(name) {
            state.park(parked);
        }
    }

    pub(super) fn unconfirmed_jobs(&self, name: &CronJobName) -> Vec<String> {
        let mut index = self.index();
        index.key_state(name).map(|state| state.unconfirmed().to_vec()).unwrap_or_default()
    }

    pub(super) fn add_unconfirmed(&self, name: &CronJobName, job: &str) {
        if let Some(state) = self.index().key_state(name) {
            state.add_unconfirmed(job);
        }
    }

    /// Records that we deleted a Job, unless the watch has shown since that it is gone. `was_shown` is whether the watch
    /// showed the Job before the call.
    pub(super) fn add_deleted(&self, name: &CronJobName, job: &JobKey, was_shown: bool) {
        let mut index = self.index();
        if was_shown && !index.has_job(&job.uid) {
            return;
        }
        let Some(cached) = index.get(name) else { return };
        let view = JobView {
            name: job.name.clone(),
            uid: job.uid.clone(),
            controller_uid: cached.uid.clone(),
            slot: job.slot,
            deleted_at: Some(self.clock.now()),
            ..JobView::default()
        };
        if let Some(state) = index.key_state(name) {
            state.add_deleted(view);
        }
    }

    pub(super) fn remove_unconfirmed(&self, name: &CronJobName, job: &str) {
        if let Some(state) = self.index().key_state(name) {
            state.remove_unconfirmed(job);
        }
    }

    pub(super) fn apply_response(&self, name: &Arc<CronJobName>, cron_job: &CronJob) {
        self.index().apply_response(name, cron_job, &self.options);
    }

    /// Removes a CronJob that a live read showed as deleted. The watch may lag behind.
    pub(super) fn mark_deleted(&self, name: &Arc<CronJobName>, uid: &str) {
        let mut index = self.index();
        index.mark_deleted(name, uid);
        self.remove_cron_job(&mut index, name, uid);
    }
}
