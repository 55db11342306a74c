//! The Job controller's decision: what to do about one Job at one instant.
//!
//! [`decide`] is a pure and total function of what was seen. It behaves as Kubernetes' controller
//! (v1.36) does: NonIndexed and Indexed Jobs, all policies, the same conditions, counts, reasons
//! and messages. Each call yields one step; see [`Plan`] for the order of its effects and why a
//! crash between any two of them neither loses nor doubles anything.
//!
//! Not here: adopting and releasing Pods by selector (the shell lists the Pods that the Job
//! controls), taking the finalizer from Pods whose Job is gone (there is no Job to decide about),
//! deleting the Pods of a deleted Job (the garbage collector's), metrics.
//!
//! One file for each family of rules: `terms` (what the spec asks), `census` (who
//! is there), `verdict` (whether it is over), `scale` and `removal` (who comes and goes), `ledger`
//! (who is counted), `draft` (the status), `retirement` (the time after).

mod backoff;
mod blueprint;
mod census;
mod draft;
mod failure_policy;
mod indexes;
mod ledger;
mod naming;
mod plan;
pub mod reasons;
mod removal;
mod retirement;
mod scale;
mod step;
mod success_policy;
mod terms;
mod verdict;
mod view;

use jiff::Timestamp;
use punctual_api::Job;

pub use self::backoff::Backoff;
pub use self::indexes::Indexes;
pub use self::plan::{CreatePod, DeleteJob, DeletePod, Plan, PodKey};
use self::step::Step;
use self::terms::Terms;
pub use self::view::{Exit, IndexFailures, Phase, PodView, Restarts};

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
    pub hands_off: bool,
}

/// What to do about a Job at an instant. Total: a user's mistake is data in the plan.
pub fn decide(seen: &Observed<'_>, now: Timestamp) -> Plan {
    if terms::is_managed_elsewhere(seen.job) {
        return Plan::default();
    }
    if seen.job.status.is_finished() {
        return retirement::plan(seen.job, seen.pods, now);
    }
    let terms = match Terms::read(seen.job) {
        Ok(terms) => terms,
        Err(note) => return Plan { notes: vec![note], ..Plan::default() },
    };
    let backoff = seen.backoff.seeing(&terms, seen.pods, now);
    let step = Step::next(terms, seen, &backoff, now);
    let draft = draft::after(&step, now);
    Plan {
        pods_to_create: blueprint::pods(&step.census, &step.creates),
        finalizers_to_remove: step.released.iter().map(|pod| PodKey::of(pod)).collect(),
        pods_to_delete: (step.removals.iter())
            .map(|pod| DeletePod { key: PodKey::of(pod) })
            .collect(),
        delete_job: None,
        notes: draft.notes,
        wake_at: step.wake_at,
        status: Some(draft.status).filter(|status| *status != seen.job.status),
        backoff,
    }
}
