//! Jobs that carry our finalizer and have lost their CronJob.
//!
//! The finalizer keeps a Job until its slot is recorded. When the CronJob is gone there is nothing to
//! record it in, and nobody but us to let the Job go.

use punctual_queue::Failure;

use super::Controller;
use super::seen::{CronJobName, JobName};

impl Controller {
    /// Takes our finalizer from a Job whose CronJob is gone.
    pub(super) async fn let_go(&self, job: &JobName) -> Result<(), Failure> {
        if let Some((owner, uid)) = &job.owner
            && !self.is_gone(owner, uid).await?
        {
            return Ok(());
        }
        Ok(self.effects.release(&job.namespace, &job.name, &job.uid).await?)
    }

    /// Watches of different kinds are not in step, so who is not known is asked for.
    async fn is_gone(&self, owner: &CronJobName, uid: &str) -> Result<bool, Failure> {
        if self.cache.is_owner_known(uid) {
            return Ok(false);
        }
        let found = self.effects.read(owner).await?;
        Ok(found.is_none_or(|cron_job| cron_job.metadata.uid != uid))
    }
}
