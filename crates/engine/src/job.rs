//! The Job controller's decision: what to do about one Job at one instant.
//!
//! [`decide`] is a pure and total function of what was observed. It behaves as Kubernetes' controller
//! (v1.36) does: NonIndexed and Indexed Jobs, all policies, the same conditions, counts, reasons
//! and messages. Each call yields one step; see [`Plan`] for the order of its effects and why a
//! crash between any two of them neither loses nor doubles anything.
//!
//! Not here: adopting and releasing Pods by selector (the shell lists the Pods that the Job
//! controls), taking the finalizer from Pods whose Job is gone (there is no Job to decide about),
//! deleting the Pods of a deleted Job (the garbage collector's), metrics.
//!
//! One file for each family of rules: `params` (what the spec asks), `summary` (who
//! is there), `finished` (whether it is over), `scale` and `removal` (who comes and goes), `tracking`
//! (who is counted), `draft` (the status), `retirement` (the time after).

mod backoff;
mod failure_policy;
mod finished_condition;
mod indexes;
mod job_params;
mod plan;
mod pod_names;
mod pod_removal;
mod pod_summary;
mod pod_template;
mod pod_tracking;
mod pod_view;
pub mod reasons;
mod scale;
mod status_draft;
mod step;
mod success_policy;
mod ttl;

use jiff::Timestamp;
use punctual_api::Job;

pub use self::backoff::Backoff;
pub use self::indexes::Indexes;
use self::job_params::JobParams;
pub use self::plan::{CreatePod, DeleteJob, DeletePod, Plan, PodKey};
pub use self::pod_view::{ContainerExit, IndexFailures, PodPhase, PodView, RestartCounts};
use self::step::JobStep;

/// What was seen of a Job.
///
/// The Job and its Pods must be at least as new as our own last writes to them: a Pod that is seen
/// with the finalizer that we took, beside a Job in which it is counted, would be counted again.
#[derive(Clone, Copy, Debug)]
pub struct Observed<'a> {
    /// The Job.
    pub job: &'a Job,
    /// All Pods whose controller it is, in any order. One that was adopted carries the finalizer:
    /// a Pod without it that runs is taken to be on its way out, and deleted.
    pub pods: &'a [PodView],
    /// [`Plan::backoff`] of the last call for this Job; the default after a restart.
    pub backoff: &'a Backoff,
    /// Creating a Pod has just failed: say what is there, but create and delete nothing. Without
    /// this, a Job that is over its quota could never report.
    pub status_only: bool,
}

/// What to do about a Job at an instant. Total: a user's mistake is data in the plan.
pub fn decide(observed: &Observed<'_>, now: Timestamp) -> Plan {
    if job_params::is_managed_elsewhere(observed.job) {
        return Plan::default();
    }
    if observed.job.status.is_finished() {
        return ttl::plan(observed.job, observed.pods, now);
    }
    let params = match JobParams::from_job(observed.job) {
        Ok(params) => params,
        Err(note) => return Plan { events: vec![note], ..Plan::default() },
    };
    let backoff = observed.backoff.seeing(&params, observed.pods, now);
    let step = JobStep::next(params, observed, &backoff, now);
    let draft = status_draft::after(&step, now);
    Plan {
        pods_to_create: pod_template::build_pods(&step.summary, &step.creates),
        finalizers_to_remove: step.released.iter().map(|pod| PodKey::of(pod)).collect(),
        pods_to_delete: (step.removals.iter())
            .map(|pod| DeletePod { key: PodKey::of(pod) })
            .collect(),
        delete_job: None,
        events: draft.events,
        wake_at: step.wake_at,
        status: Some(draft.status).filter(|status| *status != observed.job.status),
        backoff,
    }
}
