//! Removes our finalizer from Jobs whose CronJob was deleted.
//!
//! The finalizer keeps a Job until its slot (scheduled time) is recorded in the status of the CronJob. After the CronJob was
//! deleted, only this module removes the finalizer.

use punctual_queue::Failure;

use super::CronJobController;
use super::key::{OrphanedJob, OwnerCronJob};

impl CronJobController {
    /// Removes our finalizer from a Job, unless its CronJob still exists.
    pub(super) async fn reconcile_orphaned_job(&self, job: &OrphanedJob) -> Result<(), Failure> {
        if let Some(owner) = &job.owner
            && self.exists(owner).await?
        {
            return Ok(());
        }
        Ok(self.client.remove_finalizer(&job.namespace, &job.name, &job.uid).await?)
    }

    /// Whether a CronJob exists. One that is not cached is read, because the watch of CronJobs may lag behind the
    /// watch of Jobs.
    async fn exists(&self, owner: &OwnerCronJob) -> Result<bool, Failure> {
        let is_cached = self.index().contains_uid(&owner.uid);
        if is_cached {
            return Ok(true);
        }
        let found = self.client.read(&owner.name).await?;
        Ok(found.is_some_and(|cron_job| cron_job.metadata.uid == owner.uid))
    }
}
