//! One reconcile of one CronJob: the life of a slot (a scheduled time), from top to bottom.
//!
//! 1. `decide`: take a snapshot of the index and ask the engine for a plan.
//! 2. `execute`: delete the Jobs that the plan replaces, and create the Job of the slot.
//! 3. `finish`: settle the results, write annotations and status, record events, clean up.
//!
//! While other slots are due, a reconcile ends after `execute`: its results are parked, and a later reconcile of
//! the same key runs `finish`.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use punctual_api::CronJob;
use punctual_api::cronjob::CronJobStatus;
use punctual_api::meta::ObjectReference;
use punctual_client::ApiError;
use punctual_engine::cronjob::{
    CreateJob, CreateResult, Decision, DeleteError, EffectResult, Observed, Plan, RecordRetention,
    Settled, SuspensionChange, build_job_manifest, decide, settle,
};
use punctual_engine::{EventType, PendingEvent};
use punctual_queue::Failure;

use super::CronJobController;
use super::cached_cron_job::{CachedFormError, ParsedCronJob};
use super::client::{Creation, Propagation};
use super::decision_log::{DecisionLog, Problem};
use super::key::{CronJobName, ReconcileKey};
use super::key_state::LiveJobs;
use crate::metrics::{RunOutcome, UnreadableKind};

/// A plan, and the objects that it was made from.
struct Decided {
    parsed: ParsedCronJob,
    plan: Box<Plan>,
    /// Names of unconfirmed Jobs that were read for this plan.
    resolved: Vec<String>,
}

/// A plan whose Jobs were deleted and created. Its results are not written yet.
pub(super) struct Executed {
    pub(super) parsed: ParsedCronJob,
    pub(super) plan: Box<Plan>,
    pub(super) results: Vec<EffectResult>,
    /// How to retry if a call failed.
    pub(super) failure: Failure,
    /// Names of unconfirmed Jobs that were read for this plan. They count as confirmed once the status is
    /// written.
    pub(super) resolved: Vec<String>,
}

/// A CronJob after the writes of a reconcile.
struct WrittenCronJob {
    cron_job: Arc<CronJob>,
    /// Why the annotations could not be written.
    annotation_error: Option<ApiError>,
}

impl CronJobController {
    /// Reconciles a CronJob.
    pub(super) async fn reconcile(
        &self,
        key: &ReconcileKey,
        name: &Arc<CronJobName>,
    ) -> Result<(), Failure> {
        let result = self.execute_and_finish(key, name).await;
        // The backoff after a failure must not delay the next slot.
        result.map_err(|failure| Failure { no_later_than: self.next_slot(name), ..failure })
    }

    async fn execute_and_finish(
        &self,
        key: &ReconcileKey,
        name: &Arc<CronJobName>,
    ) -> Result<(), Failure> {
        if let Some(parked) = self.take_parked(name) {
            // The parked plan does not include changes that arrived since, so reconcile again.
            self.queue.add(key);
            let executed =
                parked.restore().map_err(|error| self.report_unreadable(name, &error))?;
            return self.finish(key, name, executed).await;
        }
        let Some(decided) = self.decide(name).await? else {
            return self.reconcile_requests_without_target(key, name).await;
        };
        let log = DecisionLog { name, cron_job: &decided.parsed.cron_job };
        log.log_decision(&decided.plan);
        let executed = self.execute(name, decided).await;
        if self.queue.has_due() {
            self.park(name, executed);
            self.queue.add(key);
            return Ok(());
        }
        self.finish(key, name, executed).await
    }

    /// Takes a snapshot and asks the engine for a plan. Returns `None` if the CronJob was deleted.
    async fn decide(&self, name: &Arc<CronJobName>) -> Result<Option<Decided>, Failure> {
        let resolved = self.unconfirmed_jobs(name);
        let mut live = self.read_jobs(name, &resolved).await?;
        if live.iter().any(|(_, job)| job.is_none()) && !self.still_exists(name).await? {
            return Ok(None);
        }
        let mut read_records = Vec::new();
        loop {
            let snapshot = self.index().snapshot(name, &live, self.clock.now());
            let Some(snapshot) = snapshot else { return Ok(None) };
            let parsed = snapshot.cached.parse();
            let parsed = parsed.map_err(|error| self.report_unreadable(name, &error))?;
            let observed = Observed {
                cron_job: &parsed.cron_job,
                timetable: &parsed.timetable,
                jobs: snapshot.jobs(),
                live_jobs: &snapshot.live,
                read_records: &read_records,
                requests: &snapshot.requests,
                older_object_of_same_name: snapshot.older_object_of_same_name(),
                gates: self.options.gates,
                retention: self.options.cluster.retention(name.kind),
                counts_manual_jobs: self.options.cluster.extends_policies(name.kind),
                waits_for_replaced_pods: self.options.cluster.extends_policies(name.kind),
            };
            match decide(&observed, self.clock.now()) {
                Decision::Execute(plan) => return Ok(Some(Decided { parsed, plan, resolved })),
                Decision::ReadJobs(jobs) => live.extend(self.read_jobs(name, &jobs).await?),
                Decision::ReadRecords(query) => {
                    let uid = &parsed.cached.uid;
                    read_records.push(self.read_records(name, uid, query).await?);
                }
            }
        }
    }

    /// Whether the cached CronJob still exists. An unconfirmed Job that does not exist may have been deleted
    /// together with its CronJob, and must not be created again then.
    async fn still_exists(&self, name: &Arc<CronJobName>) -> Result<bool, Failure> {
        let uid = self.index().get(name).map(|cached| cached.uid.clone());
        let Some(uid) = uid else { return Ok(false) };
        match self.client.read(name).await? {
            Some(current) if current.metadata.uid == uid => {
                self.apply_response(name, &current);
                Ok(true)
            }
            _ => {
                self.mark_deleted(name, &uid);
                Ok(false)
            }
        }
    }

    async fn read_jobs(&self, name: &CronJobName, jobs: &[String]) -> Result<LiveJobs, Failure> {
        let mut live = Vec::with_capacity(jobs.len());
        for job in jobs {
            let found = self.client.read_job(&name.namespace, job).await?;
            live.push((job.clone(), found));
        }
        Ok(live)
    }

    /// Executes the urgent part of a plan: deletes the Jobs that it replaces, then creates the new one.
    async fn execute(&self, name: &CronJobName, decided: Decided) -> Executed {
        let Decided { parsed, plan, resolved } = decided;
        let mut failure = Failure::default();
        let log = DecisionLog { name, cron_job: &parsed.cron_job };
        let mut results = self.delete_replaced_jobs(&log, &plan, &mut failure).await;
        let is_deleted =
            |result: &&EffectResult| matches!(result, EffectResult::Deleted(_, Ok(())));
        let are_all_deleted =
            results.iter().filter(is_deleted).count() == plan.jobs_to_replace.len();
        if are_all_deleted && let Some(create) = &plan.job_to_create {
            let creation = self.create_job(name, &parsed, create).await;
            results.push(EffectResult::Created(creation.result));
            failure = creation.failure;
        }
        Executed { parsed, plan, results, failure, resolved }
    }

    async fn delete_replaced_jobs(
        &self,
        log: &DecisionLog<'_>,
        plan: &Plan,
        failure: &mut Failure,
    ) -> Vec<EffectResult> {
        let mut results = Vec::new();
        let propagation = if plan.replaces_in_foreground {
            Propagation::Foreground
        } else {
            Propagation::Background
        };
        for job in &plan.jobs_to_replace {
            let was_shown = self.index().has_job(&job.uid);
            let deleted = self.client.delete_job(&log.name.namespace, job, propagation).await;
            match &deleted {
                Ok(()) => {
                    log.log_replacement(&job.name);
                    self.add_deleted(log.name, job, was_shown);
                }
                Err(error) => *failure = error.to_failure(),
            }
            if deleted.as_ref().is_err_and(ApiError::is_conflict) {
                // The Job changed and may have finished, so the next decision reads it.
                self.add_unconfirmed(log.name, &job.name);
                continue;
            }
            let deleted =
                deleted.map_err(|error| DeleteError { message: error.message().to_owned() });
            results.push(EffectResult::Deleted(job.name.clone(), deleted));
        }
        results
    }

    /// Creates the Job of a slot. The Job is marked as unconfirmed until its state is recorded, so that the next
    /// reconcile reads it if the result of the create is unknown.
    async fn create_job(
        &self,
        name: &CronJobName,
        parsed: &ParsedCronJob,
        create: &CreateJob,
    ) -> Creation {
        let timetable = parsed.timetable.as_ref().as_ref().ok();
        let text = match build_job_manifest(&parsed.cron_job, timetable, create) {
            Ok(text) => text,
            Err(error) => {
                return Creation::not_sent(format!("the template is unreadable: {error}"));
            }
        };
        self.add_unconfirmed(name, &create.name);
        let creation = self.client.create_job(&name.namespace, &create.name, text).await;
        if creation.is_unconfirmed {
            self.late_create_window.restart();
        }
        if let CreateResult::Created { .. } = creation.result {
            let log = DecisionLog { name, cron_job: &parsed.cron_job };
            match timetable {
                Some(timetable) if create.requested.is_none() => {
                    let effective = timetable.effective_time(create.slot);
                    let late = self.clock.now().duration_since(effective);
                    let late = late.try_into().unwrap_or(Duration::ZERO);
                    self.metrics.observe_start_skew(late);
                    log.log_start(create, late);
                }
                _ => log.log_requested_start(create),
            }
        } else if !creation.is_unconfirmed {
            self.remove_unconfirmed(name, &create.name);
        }
        creation
    }

    /// Writes the results of a plan, then records events and cleans up. Jobs are cleaned up last, because the status must
    /// count them first.
    async fn finish(
        &self,
        key: &ReconcileKey,
        name: &Arc<CronJobName>,
        executed: Executed,
    ) -> Result<(), Failure> {
        let Executed { parsed, plan, results, failure, mut resolved } = executed;
        let log = DecisionLog { name, cron_job: &parsed.cron_job };
        self.log_new_problems(&log, Problem::find_all(&plan, &results));
        let created = created_job(&plan, &results);
        resolved.extend(created.clone());
        let settled = settle(*plan, &results, self.clock.now());
        let reference = object_reference(name, &parsed.cron_job);
        let written = match self.write(name, &parsed.cron_job, &settled).await {
            Ok(written) => written,
            Err(error) => {
                // The next reconcile does not repeat these effects, so their events are recorded now.
                for event in settled.events.iter().filter(|event| is_about_an_effect(event)) {
                    self.recorder.record(&reference, event);
                }
                return self.handle_write_error(key, name, &parsed.cron_job, &error).await;
            }
        };
        for job in &resolved {
            self.remove_unconfirmed(name, job);
        }
        log.log_settled(&settled, created.as_deref());
        if self.options.cluster.record_retention != RecordRetention::Archived {
            log.log_slot_records(&settled.slot_records);
        }
        self.set_in_future(name, settled.future_record.is_some());
        for event in &settled.events {
            self.recorder.record(&reference, event);
        }
        let Settled { request_updates, requests_to_delete, .. } = &settled;
        let are_requests_written =
            self.write_requests(key, name, request_updates, requests_to_delete).await;
        let is_clean = self.clean_up_and_set_wake(key, &log, &reference, &settled).await;
        if let Some(error) = written.annotation_error {
            return Err(error.to_failure());
        }
        if let Some(change) = settled.suspension_change {
            self.change_suspension(key, name, &written.cron_job, change).await?;
        }
        // Later pending slots may count from a miss that this write recorded, so reconcile again.
        let last_missed = settled.status.as_ref().and_then(|status| status.last_missed_time);
        if last_missed > parsed.cron_job.status.last_missed_time {
            self.queue.add(key);
        }
        let needs_retry = settled.needs_retry || !is_clean || !are_requests_written;
        if needs_retry { Err(failure) } else { Ok(()) }
    }

    /// Writes the changed annotations, then the changed status. If the annotations can permanently not be written,
    /// for example because RBAC forbids it, the status is written anyway.
    async fn write(
        &self,
        name: &Arc<CronJobName>,
        cron_job: &Arc<CronJob>,
        settled: &Settled,
    ) -> Result<WrittenCronJob, ApiError> {
        let storage = self.client.storage(name.kind);
        let log = DecisionLog { name, cron_job };
        let mut current = cron_job.clone();
        let mut annotation_error = None;
        let annotations = storage.changed_annotations(cron_job, settled);
        if !annotations.is_empty() {
            match self.client.annotate(name, &current, &annotations).await {
                Ok(annotated) => {
                    // On a pruning server this write is the one that records the missed runs.
                    self.record_runs(&log, settled, &annotated.status);
                    self.apply_response(name, &annotated);
                    current = annotated;
                }
                Err(error) if error.is_permanent() => annotation_error = Some(error),
                Err(error) => return Err(error),
            }
        }
        if let Some(status) = storage.changed_status(cron_job, settled) {
            let written = self.client.write_status(name, &current, status).await?;
            self.apply_response(name, &written);
            // Missed runs that are not recorded would be counted at every reconcile.
            if annotation_error.is_none()
                && let Some(status) = &settled.status
            {
                self.record_runs(&DecisionLog { name, cron_job: &current }, settled, status);
            }
            current = written;
        }
        // Skipped runs are counted after both writes, because either may be the one that records them.
        if annotation_error.is_none()
            && let Some(status) = &settled.status
        {
            let skipped = status.skipped_runs - cron_job.status.skipped_runs;
            self.count_outcome(name, RunOutcome::Skipped, skipped);
            if skipped > 0 {
                log.log_skipped_slots(&settled.slot_records);
            }
        }
        if let Some(error) = &annotation_error {
            tracing::warn!(
                namespace = name.namespace,
                name = name.name,
                error = error.message(),
                "could not write the annotations of a CronJob, so missed slots are not recorded; grant \
                 the RBAC verb `patch` on cronjobs"
            );
        }
        Ok(WrittenCronJob { cron_job: current, annotation_error })
    }

    /// Resumes the CronJob or removes the annotations about its last suspension, and reconciles it again.
    async fn change_suspension(
        &self,
        key: &ReconcileKey,
        name: &Arc<CronJobName>,
        cron_job: &CronJob,
        change: SuspensionChange,
    ) -> Result<(), Failure> {
        let log = DecisionLog { name, cron_job };
        match self.client.change_suspension(name, cron_job, change).await {
            Ok(changed) => {
                log.log_suspension_change(change);
                self.apply_response(name, &changed);
                self.queue.add(key);
                Ok(())
            }
            Err(error) => {
                log.log_suspension_error(change, error.message());
                self.handle_write_error(key, name, cron_job, &error).await
            }
        }
    }

    /// Reads the CronJob again after a write failed, because it changed or the result of the write is unknown.
    async fn handle_write_error(
        &self,
        key: &ReconcileKey,
        name: &Arc<CronJobName>,
        cron_job: &CronJob,
        error: &ApiError,
    ) -> Result<(), Failure> {
        if !error.is_stale() {
            tracing::warn!(
                namespace = name.namespace,
                name = name.name,
                error = error.message(),
                "could not write the status of a CronJob; retrying with backoff"
            );
        }
        let metadata = &cron_job.metadata;
        let current = self.client.read(name).await.map_err(|read_error| read_error.to_failure())?;
        let Some(current) = current else {
            self.mark_deleted(name, &metadata.uid);
            return Ok(());
        };
        let has_changed = current.metadata.resource_version != metadata.resource_version;
        self.apply_response(name, &current);
        if error.is_conflict() && has_changed {
            self.queue.add(key);
            return Ok(());
        }
        Err(error.to_failure())
    }

    /// Cleans up and sets the next wake-up. While a create may still arrive, the clean-up is postponed. Returns
    /// whether all calls of the clean-up succeeded.
    async fn clean_up_and_set_wake(
        &self,
        key: &ReconcileKey,
        log: &DecisionLog<'_>,
        reference: &ObjectReference,
        settled: &Settled,
    ) -> bool {
        let remaining = self.late_create_window.remaining();
        let mut is_clean = self.give_up_jobs(log, reference, settled).await;
        let mut wake_at = settled.wake_at;
        if remaining.is_zero() {
            is_clean &= self.clean_up(log.name, reference, settled).await;
        } else if !settled.finalizers_to_remove.is_empty() || !settled.jobs_to_clean_up.is_empty() {
            let window_end = self.clock.now().checked_add(remaining).unwrap_or(Timestamp::MAX);
            wake_at = Some(wake_at.map_or(window_end, |wake_at| wake_at.min(window_end)));
        }
        self.queue.set_wake(key, wake_at);
        is_clean
    }

    /// Gives up the Jobs of which no Pod started in time. Returns whether all calls succeeded.
    async fn give_up_jobs(
        &self,
        log: &DecisionLog<'_>,
        reference: &ObjectReference,
        settled: &Settled,
    ) -> bool {
        let mut all_given_up = true;
        for job in &settled.jobs_to_give_up {
            match self.client.give_up_job(&log.name.namespace, job).await {
                Ok(()) => {
                    log.log_given_up(job);
                    self.recorder.record(reference, &job.given_up_event());
                }
                Err(error) => {
                    all_given_up = false;
                    log.log_give_up_error(job, error.message());
                }
            }
        }
        all_given_up
    }

    /// Removes finalizers and deletes old Jobs, now that everything about them is recorded. Returns whether all
    /// calls succeeded.
    async fn clean_up(
        &self,
        name: &CronJobName,
        reference: &ObjectReference,
        settled: &Settled,
    ) -> bool {
        let namespace = &name.namespace;
        let mut is_clean = true;
        for job in &settled.finalizers_to_remove {
            is_clean &= self.client.remove_finalizer(namespace, &job.name, &job.uid).await.is_ok();
        }
        for job in &settled.jobs_to_clean_up {
            let event = match self.client.delete_job(namespace, job, Propagation::Background).await
            {
                Ok(()) => job.deleted_event(),
                Err(error) => {
                    is_clean = false;
                    job.delete_failed_event(error.message())
                }
            };
            self.recorder.record(reference, &event);
        }
        is_clean
    }

    /// Adds the runs that a written status counts beyond the old one to the metrics, and logs the missed ones.
    fn record_runs(&self, log: &DecisionLog<'_>, settled: &Settled, written: &CronJobStatus) {
        let old = &log.cron_job.status;
        let missed = written.missed_runs - old.missed_runs;
        let runs = [
            (RunOutcome::Succeeded, written.successful_runs - old.successful_runs),
            (RunOutcome::Failed, written.failed_runs - old.failed_runs - missed),
            (RunOutcome::Missed, missed),
        ];
        for (outcome, count) in runs {
            self.count_outcome(log.name, outcome, count);
        }
        if missed > 0 {
            log.log_missed_slots(&settled.missed_slots);
        }
    }

    fn count_outcome(&self, name: &CronJobName, outcome: RunOutcome, count: i64) {
        if let Ok(count) = u64::try_from(count) {
            self.metrics.count_runs(&name.namespace, &name.name, outcome, count);
        }
    }

    /// Logs the problems of a reconcile that the previous one did not have.
    fn log_new_problems(&self, log: &DecisionLog<'_>, problems: Vec<Problem<'_>>) {
        let new = self.index().key_state(log.name).map(|state| state.set_problems(problems));
        for problem in new.into_iter().flatten() {
            log.log_problem(&problem);
        }
    }

    fn report_unreadable(&self, name: &CronJobName, error: &CachedFormError) -> Failure {
        self.metrics.count_unreadable(UnreadableKind::CronJob);
        tracing::error!(
            namespace = name.namespace,
            name = name.name,
            error = error as &dyn std::error::Error,
            "could not parse a cached CronJob, so its runs do not start; retrying with backoff. If this \
             persists, restart the controller"
        );
        Failure::default()
    }
}

/// The name of the Job that the effects of a plan created.
fn created_job(plan: &Plan, results: &[EffectResult]) -> Option<String> {
    let create = plan.job_to_create.as_ref()?;
    let is_created = |result: &EffectResult| {
        matches!(result, EffectResult::Created(CreateResult::Created { .. }))
    };
    results.iter().any(is_created).then(|| create.name.clone())
}

/// Whether an event reports something that was done, rather than something that was observed.
fn is_about_an_effect(event: &PendingEvent) -> bool {
    event.reason.starts_with("Successful") || event.event_type == EventType::Warning
}

fn object_reference(name: &CronJobName, cron_job: &CronJob) -> ObjectReference {
    ObjectReference {
        kind: name.kind.kind().to_owned(),
        namespace: name.namespace.clone(),
        name: name.name.clone(),
        uid: cron_job.metadata.uid.clone(),
        api_version: name.kind.api_version().to_owned(),
        resource_version: cron_job.metadata.resource_version.clone(),
        field_path: String::new(),
    }
}
