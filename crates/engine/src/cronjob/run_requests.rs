//! Runs that users ask for with a RunRequest, besides the schedule.
//!
//! A request is carried out by the reconciles of the CronJob that it names, so that the concurrency policy
//! holds for its runs and those of the schedule together. Three properties make that safe:
//!
//! - The runs have a fixed order, and the name of a Job depends only on the request and the position of the
//!   run. The status of the request says how many runs were started, so a run is never started twice.
//! - A requested Job has our finalizer, so its name stays taken until the statuses of the CronJob and of the
//!   request have both recorded it.
//! - The CronJob and the request each count a run when it leaves their list of active runs, in one write. A
//!   crash between the two writes changes nothing: each is decided from its own object.
//!
//! | file | contents |
//! |---|---|
//! | `draft` | a request with the status to write |
//! | `resolve` | which slots a request selects |
//! | `progress` | which of its runs were started, and how they ended |
//! | `start` | whether the next run starts |
//! | `lifetime` | when a request ends and is deleted |

mod adopt;
mod draft;
mod lifetime;
mod progress;
mod resolve;
mod start;

use jiff::Timestamp;
use punctual_api::run_request::condition_reason;

pub(crate) use self::adopt::{adopt_unrecorded_jobs, find_removable_finalizers};
pub(crate) use self::draft::RequestDraft;
pub use self::draft::{RequestKey, RequestUpdate};
pub use self::lifetime::{RequestPlan, plan_without_target};
pub(crate) use self::progress::add_run as add_run_to_request;
pub(crate) use self::start::{has_urgent_request, is_requested};
use super::{Observed, plan::Plan, slot_records::NeededRecords};

/// Plans the next steps of all requests for the CronJob. Fails if slot records must be read first.
pub(crate) fn plan_requests(
    observed: &Observed<'_>,
    plan: &mut Plan,
    now: Timestamp,
) -> Result<(), NeededRecords> {
    for request in observed.requests {
        let mut draft = RequestDraft::new(request, now);
        plan_request(observed, plan, &mut draft, now)?;
        plan.requests.push(draft);
    }
    Ok(())
}

fn plan_request(
    observed: &Observed<'_>,
    plan: &mut Plan,
    draft: &mut RequestDraft,
    now: Timestamp,
) -> Result<(), NeededRecords> {
    if draft.request.is_finished() {
        return Ok(());
    }
    let cron_job = &observed.cron_job.metadata;
    if !draft.request.is_accepted() {
        if cron_job.deletion_timestamp.is_some() {
            return Ok(());
        }
        return resolve::accept(observed, plan, draft, now);
    }
    if draft.status.target_uid != cron_job.uid {
        draft.finish(condition_reason::TARGET_DELETED, now);
        return Ok(());
    }
    progress::update(observed, draft);
    let is_done = draft.status.next_index() >= draft.status.total;
    match (is_done, draft.status.active.is_empty()) {
        (true, true) => draft.finish_by_results(now),
        (true, false) => draft.set_running(condition_reason::RUNNING, "all runs were started"),
        (false, _) => start::start_next(observed, plan, draft, now)?,
    }
    Ok(())
}
