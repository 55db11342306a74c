//! One look at one CronJob.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use punctual_api::CronJob;
use punctual_api::cronjob::CronJobStatus;
use punctual_api::meta::ObjectReference;
use punctual_client::ApiError;
use punctual_engine::cronjob::{
    CreateJob, CreateResult, Decision, EffectResult, Plan, Settled, build_job_manifest, settle,
};
use punctual_engine::{EventType, PendingEvent};
use punctual_queue::Failure;

use super::Controller;
use super::cache::{Acted, Entry, Live};
use super::effects::Creation;
use super::seen::{CronJobName, Key};
use crate::metrics::Outcome as Ending;

impl Controller {
    /// Does what is due, and writes down what came of it; in a burst, the second part waits for a
    /// later turn.
    pub(super) async fn turn(&self, key: &Key, name: &Arc<CronJobName>) -> Result<(), Failure> {
        // The next slot must not wait for what keeps failing; it may be over by then.
        let no_later_than = || self.cache.next_slot(name, self.clock.now());
        let result = self.act_and_conclude(key, name).await;
        result.map_err(|failure| Failure { no_later_than: no_later_than(), ..failure })
    }

    async fn act_and_conclude(&self, key: &Key, name: &Arc<CronJobName>) -> Result<(), Failure> {
        if let Some(acted) = self.cache.take_acted(name) {
            // News that came in between has not been looked at.
            self.queue.add(key);
            return self.conclude(key, name, acted).await;
        }
        match self.act(name).await? {
            None => Ok(()),
            Some(acted) if self.queue.has_due() => {
                self.cache.leave_acted(name, acted);
                self.queue.add(key);
                Ok(())
            }
            Some(acted) => self.conclude(key, name, acted).await,
        }
    }

    /// Decides, and carries out the urgent part: what makes room, and the new run. None if the
    /// CronJob is gone.
    async fn act(&self, name: &Arc<CronJobName>) -> Result<Option<Acted>, Failure> {
        let doubtful = self.cache.doubtful(name);
        let mut live = self.read_jobs(name, doubtful.clone()).await?;
        if live.iter().any(|(_, job)| job.is_none()) && !self.is_still_there(name).await? {
            return Ok(None);
        }
        let (entry, plan) = loop {
            match self.cache.decide(name, &live, self.clock.now()) {
                None => return Ok(None),
                Some((entry, Decision::Execute(plan))) => break (entry, plan),
                Some((_, Decision::ReadJobs(jobs))) => {
                    live.extend(self.read_jobs(name, jobs).await?);
                }
            }
        };
        let (mut outcomes, mut failure) = self.make_room(name, &plan).await;
        let is_gone = |outcome: &&EffectResult| matches!(outcome, EffectResult::Deleted(_, Ok(())));
        let is_free = outcomes.iter().filter(is_gone).count() == plan.jobs_to_replace.len();
        if let Some(create) = plan.job_to_create.as_ref().filter(|_| is_free) {
            let creation = self.start(name, &entry, create).await;
            outcomes.push(EffectResult::Created(creation.attempt));
            failure = creation.failure;
        }
        Ok(Some(Acted { entry, plan, outcomes, failure, doubtful }))
    }

    /// Whether there still is the CronJob that we know. A Job that may have been created and is not there
    /// may also have gone with its CronJob, unseen by us, and must not be created again then.
    async fn is_still_there(&self, name: &Arc<CronJobName>) -> Result<bool, Failure> {
        let Some(uid) = self.cache.uid(name) else { return Ok(false) };
        match self.effects.read(name).await? {
            Some(current) if current.metadata.uid == uid => {
                self.cache.refresh(name, current);
                Ok(true)
            }
            _ => {
                self.cache.bury(name, &uid);
                Ok(false)
            }
        }
    }

    async fn read_jobs(&self, name: &CronJobName, jobs: Vec<String>) -> Result<Live, Failure> {
        let mut live = Vec::with_capacity(jobs.len());
        for job in jobs {
            let found = self.effects.read_job(&name.namespace, &job).await?;
            live.push((job, found));
        }
        Ok(live)
    }

    /// Deletes what is in the way; what came of it, and what kept it from being done.
    async fn make_room(&self, name: &CronJobName, plan: &Plan) -> (Vec<EffectResult>, Failure) {
        let (mut outcomes, mut failure) = (Vec::new(), Failure::default());
        for job in &plan.jobs_to_replace {
            let deleted = self.effects.delete_job(&name.namespace, job).await;
            failure = deleted.as_ref().err().map_or(failure, ApiError::to_failure);
            // It is not what it was; perhaps it has ended. It is read before the next decision.
            if deleted.as_ref().is_err_and(ApiError::is_conflict) {
                self.cache.doubt(name, &job.name, true);
                continue;
            }
            let deleted = deleted.map_err(|refused| refused.message().to_owned());
            outcomes.push(EffectResult::Deleted(job.name.clone(), deleted));
        }
        (outcomes, failure)
    }

    /// Creates the Job of a slot. What nobody has heard of is remembered, and looked for next time.
    async fn start(&self, name: &CronJobName, entry: &Entry, create: &CreateJob) -> Creation {
        let timetable = match &*entry.timetable {
            Ok(timetable) => timetable,
            Err(_) => return Creation::impossible("there is no schedule".to_owned()),
        };
        let text = match build_job_manifest(&entry.cron_job, timetable, create.slot) {
            Ok(text) => text,
            Err(why) => return Creation::impossible(format!("the template is unreadable: {why}")),
        };
        self.cache.doubt(name, &create.name, true);
        let creation = self.effects.create_job(&name.namespace, &create.name, text).await;
        if creation.is_doubtful {
            self.echo.begin();
        }
        if let CreateResult::Created { .. } = creation.attempt {
            let late = self.clock.now().duration_since(timetable.effective_time(create.slot));
            self.metrics.started(late.try_into().unwrap_or(Duration::ZERO));
        } else if !creation.is_doubtful {
            self.cache.doubt(name, &create.name, false);
        }
        creation
    }

    /// Writes down what came of a plan, and does what had to wait for that.
    async fn conclude(
        &self,
        key: &Key,
        name: &Arc<CronJobName>,
        acted: Acted,
    ) -> Result<(), Failure> {
        let Acted { entry, plan, outcomes, failure, mut doubtful } = acted;
        let is_created =
            |o: &EffectResult| matches!(o, EffectResult::Created(CreateResult::Created { .. }));
        let created = plan.job_to_create.as_ref().filter(|_| outcomes.iter().any(is_created));
        doubtful.extend(created.map(|create| create.name.clone()));
        let settled = settle(*plan, &outcomes, self.clock.now());
        let about = reference(name, &entry.cron_job);
        let unwritten = match self.write(name, &entry.cron_job, &settled).await {
            Ok(unwritten) => unwritten,
            Err(refused) => {
                // What was done was done, and would not be told again.
                let deeds = settled.events.iter().filter(|note| is_deed(note));
                deeds.for_each(|note| self.recorder.record(&about, note));
                return self.take_refusal(key, name, &entry.cron_job, &refused).await;
            }
        };
        // What they were looked up for is written down.
        doubtful.iter().for_each(|job| self.cache.doubt(name, job, false));
        settled.events.iter().for_each(|note| self.recorder.record(&about, note));
        let (is_clean, wake_at) = match self.echo.left() {
            Duration::ZERO => (self.clean_up(name, &about, &settled).await, settled.wake_at),
            left => (true, self.clean_up_after(left, &settled)),
        };
        self.queue.set_wake(key, wake_at);
        if let Some(refused) = unwritten {
            return Err(refused.to_failure());
        }
        // What waits after a miss may count from it, and only this turn knows that it was booked.
        let missed = settled.status.as_ref().and_then(|status| status.last_missed_time);
        if missed > entry.cron_job.status.last_missed_time {
            self.queue.add(key);
        }
        match settled.needs_retry || !is_clean {
            true => Err(failure),
            false => Ok(()),
        }
    }

    /// Writes what has changed of the CronJob itself. The result is what keeps our annotations from being
    /// written: where nobody may change the CronJob, its status can still be told.
    async fn write(
        &self,
        name: &Arc<CronJobName>,
        seen: &Arc<CronJob>,
        settled: &Settled,
    ) -> Result<Option<ApiError>, ApiError> {
        let (mut current, storage) = (seen.clone(), self.effects.storage(name.flavor));
        let annotations = storage.annotations(seen, settled);
        let mut unwritten = None;
        if !annotations.is_empty() {
            match self.effects.annotate(name, &current, &annotations).await {
                Ok(annotated) => {
                    // Where the annotations keep what was missed, it is counted by now.
                    self.count(name, &seen.status, &annotated.status);
                    self.cache.refresh(name, annotated.clone());
                    current = annotated;
                }
                Err(refused) if refused.is_permanent() => unwritten = Some(refused),
                Err(refused) => return Err(refused),
            }
        }
        if let Some(status) = storage.status(seen, settled) {
            let written = self.effects.write_status(name, &current, status).await?;
            self.cache.refresh(name, written);
            // What was missed and is not written down would be counted again and again.
            if let Some(status) = settled.status.as_ref().filter(|_| unwritten.is_none()) {
                self.count(name, &current.status, status);
            }
        }
        if let Some(refused) = &unwritten {
            let (namespace, cron_job, why) = (&name.namespace, &name.name, refused.message());
            tracing::warn!(namespace, cron_job, why, "our annotations could not be written");
        }
        Ok(unwritten)
    }

    /// The CronJob is not what we took it for, or nobody knows: look at it anew.
    async fn take_refusal(
        &self,
        key: &Key,
        name: &Arc<CronJobName>,
        seen: &CronJob,
        refused: &ApiError,
    ) -> Result<(), Failure> {
        if !refused.is_stale() {
            let (namespace, cron_job) = (&name.namespace, &name.name);
            let why = refused.message();
            tracing::warn!(namespace, cron_job, why, "the status could not be written");
        }
        let (uid, version) = (&seen.metadata.uid, &seen.metadata.resource_version);
        let current = self.effects.read(name).await.map_err(|unread| unread.to_failure())?;
        let Some(current) = current else {
            self.cache.bury(name, uid);
            return Ok(());
        };
        let is_news = current.metadata.resource_version != *version;
        self.cache.refresh(name, current);
        if refused.is_conflict() && is_news {
            self.queue.add(key);
            return Ok(());
        }
        Err(refused.to_failure())
    }

    /// When to look again, if nothing may go for a while.
    fn clean_up_after(&self, left: Duration, settled: &Settled) -> Option<Timestamp> {
        if settled.finalizers_to_remove.is_empty() && settled.jobs_to_clean_up.is_empty() {
            return settled.wake_at;
        }
        let then = self.clock.now().checked_add(left).unwrap_or(Timestamp::MAX);
        Some(settled.wake_at.map_or(then, |wake_at| wake_at.min(then)))
    }

    /// What may go once everything is written down. Whether all of it went.
    async fn clean_up(
        &self,
        name: &CronJobName,
        about: &ObjectReference,
        settled: &Settled,
    ) -> bool {
        let mut is_clean = true;
        for job in &settled.finalizers_to_remove {
            is_clean &= self.effects.release(&name.namespace, &job.name, &job.uid).await.is_ok();
        }
        for job in &settled.jobs_to_clean_up {
            let note = match self.effects.delete_job(&name.namespace, job).await {
                Ok(()) => job.deleted_event(),
                Err(refused) => {
                    is_clean = false;
                    job.delete_failed_event(refused.message())
                }
            };
            self.recorder.record(about, &note);
        }
        is_clean
    }

    /// Counts what a status has more than the one before it.
    fn count(&self, name: &CronJobName, old: &CronJobStatus, new: &CronJobStatus) {
        let missed = new.missed_runs - old.missed_runs;
        let runs = [
            (Ending::Succeeded, new.successful_runs - old.successful_runs),
            (Ending::Failed, new.failed_runs - old.failed_runs - missed),
            (Ending::Missed, missed),
        ];
        for (outcome, more) in runs {
            if let Ok(more) = u64::try_from(more) {
                self.metrics.runs(&name.namespace, &name.name, outcome, more);
            }
        }
    }
}

/// Notes about what was done rather than about what was seen.
fn is_deed(note: &PendingEvent) -> bool {
    note.reason.starts_with("Successful") || note.event_type == EventType::Warning
}

fn reference(name: &CronJobName, cron_job: &CronJob) -> ObjectReference {
    ObjectReference {
        kind: name.flavor.kind().to_owned(),
        namespace: name.namespace.clone(),
        name: name.name.clone(),
        uid: cron_job.metadata.uid.clone(),
        api_version: name.flavor.api_version().to_owned(),
        resource_version: cron_job.metadata.resource_version.clone(),
        field_path: String::new(),
    }
}
