//! The Job controller's decision: which Pods to create and delete, and which status to write.
//!
//! [`decide`] is a pure function that never fails. It behaves as the Job controller of Kubernetes
//! v1.36: NonIndexed and Indexed Jobs, all policies, the same conditions, counts, reasons and
//! messages. Each call returns one step; see [`Plan`] for the order of its effects and why a crash
//! between any two of them neither loses a Pod nor counts it twice.
//!
//! Not decided here: adopting and orphaning Pods by selector (the controller lists the Pods that the
//! Job controls), removing the finalizer from Pods without a Job, deleting the Pods of a deleted Job
//! (the garbage collector does), and metrics.
//!
//! Each group of rules has its own file, in the order in which they apply:
//!
//! - `ttl`: deletes a finished Job after its time to live
//! - `job_params`: the spec with its defaults
//! - `pod_summary`: counts the Pods by state and index
//! - `finished_condition`: whether the Job has succeeded or failed, and why
//! - `scale` and `pod_removal`: which Pods are created and deleted
//! - `pod_tracking`: counts finished Pods exactly once
//! - `status_draft`: the status to write

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
use self::status_draft::StatusDraft;
use self::step::JobStep;

/// The observed state of a Job and its Pods.
///
/// The Job and its Pods must be at least as new as the controller's own last writes. Otherwise a Pod
/// that is already counted, but is cached with its finalizer, would be counted again.
#[derive(Clone, Copy, Debug)]
pub struct Observed<'a> {
    /// The Job.
    pub job: &'a Job,
    /// All Pods whose controller is the Job, in any order. An adopted Pod must have the finalizer: a
    /// running Pod without it is treated as one whose removal was interrupted, and deleted.
    pub pods: &'a [PodView],
    /// [`Plan::backoff`] of the last call for this Job; the default after a restart.
    pub backoff: &'a Backoff,
    /// Create and delete no Pods, but update the status. Set it after a Pod could not be created:
    /// otherwise a Job that exceeds its quota could never update its status.
    pub status_only: bool,
}

/// Decides the next step for a Job at `now`.
///
/// Never fails: a Job with an unknown completion mode yields an event and no effects.
pub fn decide(observed: &Observed<'_>, now: Timestamp) -> Plan {
    if job_params::is_managed_externally(observed.job) {
        return Plan::default();
    }
    if observed.job.status.is_finished() {
        return ttl::plan_finished_job(observed.job, observed.pods, now);
    }
    let params = match JobParams::from_job(observed.job) {
        Ok(params) => params,
        Err(event) => return Plan { events: vec![event], ..Plan::default() },
    };
    let backoff = observed.backoff.with_pods(&params, observed.pods, now);
    let step = JobStep::next(params, observed, &backoff, now);
    let StatusDraft { status, events, .. } = StatusDraft::from_step(&step, now);
    let is_changed = status != observed.job.status;
    Plan {
        pods_to_create: pod_template::build_pods(&step.summary, &step.creates),
        finalizers_to_remove: step.untracked.iter().map(|pod| PodKey::from_view(pod)).collect(),
        pods_to_delete: (step.removals.iter())
            .map(|pod| DeletePod { key: PodKey::from_view(pod) })
            .collect(),
        delete_job: None,
        events,
        wake_at: step.wake_at,
        status: is_changed.then_some(status),
        backoff,
    }
}
