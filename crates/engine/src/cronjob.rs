//! The CronJob controller's decision: which Job to create, and which status to write.
//!
//! [`decide`] has the order of the rules, which follows `syncCronJob` of Kubernetes v1.37. Each
//! group of rules has its own file:
//!
//! - `active_jobs`: which Jobs are active, and how often finished Jobs are counted
//! - `history_limits`: which finished Jobs are deleted
//! - `pending_slots`: which slots (scheduled times) are pending, and which are missed
//! - `concurrency`: which pending slot starts while Jobs are active
//! - `run_requests`: runs that users ask for with a RunRequest
//! - `replacement`: how long a slot waits for the Pods of the Jobs that it replaces
//! - `skipped_slots`: which slots never start, because a later one starts
//! - `job_manifest`: the Job to create
//! - `pending_deadline`: which active Jobs to give up, because none of their Pods started
//! - `next_wake`: when to reconcile again
//! - `conditions`: the conditions of the status
//! - `future_record`: which recorded times lie in the future
//! - `feature_gates`: which features are on
//! - `suspension`: which slots are skipped after a suspension
//! - `ledger`: the records of what was decided about each slot
//! - `manual_jobs`: Jobs that users created from the CronJob
//! - `settle`: the status after the effects

mod active_jobs;
mod concurrency;
mod conditions;
mod effective_schedule;
mod feature_gates;
mod future_record;
mod history_limits;
mod job_manifest;
mod job_view;
mod ledger;
mod manual_jobs;
mod next_wake;
mod pending_deadline;
mod pending_slots;
mod plan;
mod reasons;
mod replacement;
mod run_overrides;
mod run_requests;
mod schedule_error;
mod settle;
mod skipped_slots;
mod slot_records;
mod suspension;
mod timetable;
mod zone_gate_record;

use std::sync::Arc;

use jiff::Timestamp;
pub use punctual_api::cronjob::EffectiveSchedule;
use punctual_api::{CronJob, RunRequest};

pub use conditions::ConditionsDraft;
pub use feature_gates::{FeatureGate, FeatureGates, FeatureGatesError};
pub use future_record::FutureRecord;
pub use job_manifest::build_job_manifest;
pub use job_view::{JobRequest, JobResult, JobView};
pub use ledger::RecordRetention;
pub use plan::{
    CreateError, CreateJob, CreateResult, CronJobRef, Decision, DeleteError, EffectResult,
    FinishedRun, GiveUpJob, JobKey, MissReason, MissedSlots, Plan, RequestedRun, Settled,
    StartDecision,
};
pub use run_requests::{RequestKey, RequestPlan, RequestUpdate, plan_without_target};
pub use schedule_error::ScheduleError;
pub use settle::settle;
pub use skipped_slots::SkippedSlots;
pub use slot_records::{NeededRecords, ReadRecords};
pub use suspension::SuspensionChange;
pub use timetable::Timetable;
pub use zone_gate_record::ZoneGateRecord;

/// The observed state of a CronJob and its Jobs.
#[derive(Clone, Copy, Debug)]
pub struct Observed<'a> {
    /// The CronJob.
    pub cron_job: &'a CronJob,
    /// Its parsed schedule. The caller parses it once and keeps it until the CronJob changes.
    pub timetable: &'a Result<Timetable, ScheduleError>,
    /// The cached Jobs whose controller is the CronJob.
    pub jobs: &'a [JobView],
    /// Jobs that were read from the server, by name; `None` if the server has no such Job.
    ///
    /// They answer [`Decision::ReadJobs`]. After an unconfirmed create, the caller reads that Job
    /// too, because the cache may not have it yet.
    pub live_jobs: &'a [(String, Option<JobView>)],
    /// Slot records that were read from the server. They answer [`Decision::ReadRecords`].
    pub read_records: &'a [ReadRecords],
    /// The RunRequests for the CronJob, oldest first.
    pub requests: &'a [Arc<RunRequest>],
    /// The timetable of an older object of another kind with the same namespace and name, if that object
    /// can start runs. The names of the Jobs of its slots belong to it.
    pub older_object_of_same_name: Option<&'a Timetable>,
    /// The features that are on. The timetable must be made with the same gates.
    pub gates: FeatureGates,
    /// How many slot records the status keeps.
    pub retention: RecordRetention,
    /// Whether Jobs that users created from the CronJob count for its concurrency policy, unless an
    /// annotation says otherwise.
    pub counts_manual_jobs: bool,
    /// Whether a slot under the policy `Replace` waits until the Pods of the replaced Jobs are gone, unless an
    /// annotation says otherwise.
    pub waits_for_replaced_pods: bool,
}

/// Decides what to do for a CronJob at `now`.
///
/// Never fails: an invalid schedule becomes an event and a condition of the plan.
pub fn decide(observed: &Observed<'_>, now: Timestamp) -> Decision {
    // 1. Read the Jobs of `status.active` that the cache does not have: the cache may be behind.
    let uncached = active_jobs::uncached_jobs(observed);
    if !uncached.is_empty() {
        return Decision::ReadJobs(uncached);
    }
    match make_plan(observed, now) {
        Ok(plan) => Decision::Execute(Box::new(plan)),
        Err(decision) => decision,
    }
}

/// Makes the plan. Fails if something must be read from the server first.
fn make_plan(observed: &Observed<'_>, now: Timestamp) -> Result<Plan, Decision> {
    let mut plan = Plan::new(observed, now);
    // 2. Delete the oldest finished Jobs beyond the history limits.
    history_limits::find_surplus_jobs(observed, &mut plan);
    // 3. Add unrecorded Jobs to `status.active`, and count and remove the finished ones.
    active_jobs::update_status(observed, &mut plan)?;
    if let Ok(timetable) = observed.timetable {
        pending_slots::count_slots_before_unrecorded_jobs(observed, timetable, &mut plan, now);
    }
    suspension::update_suspended_since(observed, &mut plan, now);
    match blocked_reason(observed) {
        // 4. Start nothing if the CronJob is being deleted, is suspended or has no valid schedule.
        Err(reason) => {
            plan.start_decision = reason;
            suspension::plan_resume(observed, &mut plan, now);
        }
        Ok(timetable) => {
            plan.events.extend(timetable.unsupported_zone_event());
            // 5. Find the slots that are due and not started. Count those past their deadline as missed.
            let pending = pending_slots::find_pending_slots(observed, timetable, &mut plan, now);
            // 6. Choose the slot to start. The concurrency policy decides if Jobs are active.
            plan.start_decision =
                concurrency::choose_slot(observed, timetable, &pending, &mut plan, now);
            if let Some(job) = concurrency::job_to_read_before_replace(observed, &plan) {
                return Err(Decision::ReadJobs(vec![job]));
            }
            concurrency::keep_jobs_if_name_is_taken(observed, &mut plan);
            replacement::wait_for_replaced_pods(observed, &mut plan, now);
            suspension::clear_annotations_after_last_slot(observed, &mut plan);
            // 7. Wake up at the next slot.
            next_wake::set_next_wake(observed, timetable, &pending, &mut plan, now);
        }
    }
    // 8. Start the next runs that users asked for, unless they have to wait.
    run_requests::plan_requests(observed, &mut plan, now)?;
    // 9. Give up active Jobs of which no Pod started within the pending deadline.
    pending_deadline::find_runs_to_give_up(observed, &mut plan, now);
    // 10. Draft the conditions. `settle` adds the errors of the effects and writes the conditions.
    plan.future_record = future_record::find_future_record(observed, &plan, now);
    conditions::draft_conditions(observed, &mut plan);
    Ok(plan)
}

/// Returns the schedule, or the reason why no slot can start at any time.
///
/// Kubernetes checks the time zone before `spec.suspend`, and the schedule after it.
fn blocked_reason<'a>(observed: &Observed<'a>) -> Result<&'a Timetable, StartDecision> {
    if observed.cron_job.metadata.deletion_timestamp.is_some() {
        return Err(StartDecision::Deleted);
    }
    if let Err(error) = observed.timetable
        && error.is_about_zone()
    {
        return Err(StartDecision::NoSchedule(error.clone()));
    }
    if observed.cron_job.is_suspended() {
        return Err(StartDecision::Suspended);
    }
    match observed.timetable {
        Ok(timetable) if timetable.is_single() && !observed.gates.one_shot => {
            Err(StartDecision::OneShotDisabled)
        }
        Ok(timetable) => Ok(timetable),
        Err(error) => Err(StartDecision::NoSchedule(error.clone())),
    }
}
