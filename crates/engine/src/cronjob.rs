//! The CronJob controller's decision.
//!
//! This file has the order of the rules, as `syncCronJob` of Kubernetes v1.37 has it; each family of
//! rules has a file of its own:
//! `active` which runs go on, `history` which finished ones to remove, `unmet` which slots wait,
//! `policy` what the running ones mean for them, `run` the Job to create, `ahead` what comes next,
//! `standing` the conditions, `settle` what came of it.

mod active;
mod ahead;
mod history;
mod plan;
mod policy;
mod reasons;
mod run;
mod settle;
mod since;
mod standing;
mod timetable;
mod unmet;
mod view;

use jiff::Timestamp;
use punctual_api::CronJob;
pub use punctual_api::cronjob::ScheduleSince;

pub use plan::{Attempt, CreateJob, Decision, JobKey, Outcome, Plan, Refusal, Settled, Verdict};
pub use reasons::Trouble;
pub use run::job_for_slot;
pub use settle::settle;
pub use timetable::Timetable;
pub use view::{Ending, JobView};

/// What is known about one CronJob.
#[derive(Clone, Copy, Debug)]
pub struct Observed<'a> {
    /// The CronJob.
    pub cron_job: &'a CronJob,
    /// Its schedule, or why it has none. It changes only with the CronJob, so it is made once.
    pub timetable: &'a Result<Timetable, Trouble>,
    /// The Jobs that it controls, as far as they are in the cache.
    pub jobs: &'a [JobView],
    /// The answers to [`Decision::Read`]: Jobs by name, and those that are not there. Whoever does
    /// not know what came of a create reads that Job too: the cache may not have it yet.
    pub live: &'a [(String, Option<JobView>)],
}

/// What to do about one CronJob at one instant. Total: a user's mistake is data in the plan.
pub fn decide(seen: &Observed<'_>, now: Timestamp) -> Decision {
    let unknown = active::unknown_jobs(seen);
    if !unknown.is_empty() {
        return Decision::Read(unknown);
    }
    let mut plan = Plan::new(seen, now);
    history::clean_up(seen, &mut plan);
    active::reconcile(seen, &mut plan);
    match (standstill(seen), seen.timetable) {
        (None, Ok(timetable)) => schedule(seen, timetable, &mut plan, now),
        (verdict, _) => plan.verdict = verdict.unwrap_or(Verdict::NotDue),
    }
    standing::assess(seen, &mut plan);
    Decision::Act(Box::new(plan))
}

/// Why nothing can be started whatever the time is. Kubernetes looks at the zone before it looks
/// whether the CronJob is suspended, and at the schedule afterwards.
fn standstill(seen: &Observed<'_>) -> Option<Verdict> {
    let suspended = seen.cron_job.is_suspended();
    match seen.timetable {
        _ if seen.cron_job.metadata.deletion_timestamp.is_some() => Some(Verdict::Deleted),
        Err(trouble) if trouble.is_about_zone() || !suspended => {
            Some(Verdict::Trouble(trouble.clone()))
        }
        _ => suspended.then_some(Verdict::Suspended),
    }
}

fn schedule(seen: &Observed<'_>, timetable: &Timetable, plan: &mut Plan, now: Timestamp) {
    plan.notes.extend(timetable.unsupported_zone_note());
    let waiting = unmet::find(seen, timetable, plan, now);
    plan.verdict = policy::choose(seen, &waiting, plan);
    ahead::look(seen, timetable, &waiting, plan, now);
}
