//! What came of the plan: the status to write, what to tell, and when to look again.

use jiff::Timestamp;
use punctual_api::Time;

use super::{
    active,
    plan::{Attempt, CreateJob, JobKey, Outcome, Plan, Refusal, Settled},
    reasons::{self, conditions},
    unmet,
    view::JobView,
};
use crate::Note;

/// Folds what really happened into the status to write and the next wake-up.
///
/// An effect of the plan without an outcome was not carried out, or nobody knows: it is retried.
pub fn settle(mut plan: Plan, outcomes: &[Outcome], now: Timestamp) -> Settled {
    let mut retry = !settle_deletes(&mut plan, outcomes);
    if let Some(create) = plan.create.take() {
        retry |= !settle_create(&mut plan, &create, outcomes);
    }
    plan.standing.write(&mut plan.status, now);
    let changed = plan.status != plan.status_seen;
    Settled {
        status: changed.then_some(plan.status),
        notes: plan.notes,
        clean_up: plan.clean_up,
        release: plan.release,
        remember: plan.remember,
        wake_at: plan.wake_at,
        retry,
    }
}

/// Whether all deletes succeeded.
fn settle_deletes(plan: &mut Plan, outcomes: &[Outcome]) -> bool {
    let mut all_gone = true;
    for delete in std::mem::take(&mut plan.deletes) {
        match outcome_of(&delete, outcomes) {
            Some(Ok(())) => {
                plan.status.active.retain(|entry| entry.uid != delete.uid);
                plan.notes.push(delete.deleted_note());
            }
            Some(Err(error)) => {
                plan.notes.push(delete.failed_note(error));
                all_gone = false;
            }
            None => all_gone = false,
        }
    }
    all_gone
}

fn outcome_of<'a>(delete: &JobKey, outcomes: &'a [Outcome]) -> Option<&'a Result<(), String>> {
    outcomes.iter().find_map(|outcome| match outcome {
        Outcome::Deleted(name, result) if *name == delete.name => Some(result),
        _ => None,
    })
}

/// Whether the slot is done with: started, found started, or given up.
fn settle_create(plan: &mut Plan, create: &CreateJob, outcomes: &[Outcome]) -> bool {
    let attempt = outcomes.iter().find_map(|outcome| match outcome {
        Outcome::Created(attempt) => Some(attempt),
        Outcome::Deleted(..) => None,
    });
    match attempt {
        Some(Attempt::Done { uid, resource_version }) => {
            list(plan, create, uid, resource_version);
            let message = format!("Created job {}", create.name);
            plan.notes.push(Note::normal(reasons::SUCCESSFUL_CREATE, message));
            true
        }
        Some(Attempt::Exists(job)) => {
            settle_existing(plan, create, job);
            true
        }
        Some(Attempt::Failed(refusal)) => {
            settle_refusal(plan, refusal);
            false
        }
        None => false,
    }
}

/// A Job of ours was created by a predecessor that could not record it; adopt it. A foreign one
/// holds the name: the slot is given up.
fn settle_existing(plan: &mut Plan, create: &CreateJob, job: &JobView) {
    if job.controller_uid == plan.owner.uid {
        list(plan, create, &job.uid, &job.resource_version);
        return;
    }
    let CreateJob { name, slot } = create;
    unmet::count_missed(&mut plan.status, *slot, 1);
    let message = format!(
        "Error creating job: jobs.batch {name:?} already exists and belongs to somebody else; the \
         slot of {} is given up",
        Time::new(*slot)
    );
    plan.notes.push(Note::warning(reasons::FAILED_CREATE, &message));
    plan.standing.unsettled = Some((conditions::NAME_TAKEN.into(), message));
}

fn settle_refusal(plan: &mut Plan, refusal: &Refusal) {
    let message = format!("Error creating job: {}", refusal.message);
    if !refusal.namespace_terminating {
        plan.notes.push(Note::warning(reasons::FAILED_CREATE, &message));
    }
    plan.standing.unsettled = Some((conditions::RECONCILE_ERROR.into(), message));
}

fn list(plan: &mut Plan, create: &CreateJob, uid: &str, version: &str) {
    if !active::is_listed(&plan.status, uid) {
        let entry = active::reference(&plan.owner.namespace, &create.name, uid, version);
        plan.status.active.push(entry);
    }
    active::record(&mut plan.status, create.slot);
}
