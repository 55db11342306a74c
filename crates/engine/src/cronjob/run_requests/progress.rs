//! Which runs of a RunRequest were started, and how they ended.

use punctual_api::run_request::ActiveRun;

use super::draft::RequestDraft;
use crate::cronjob::{
    Observed, active_jobs,
    job_view::{JobResult, JobView},
};

/// Adds the Jobs that were created to the active runs, and counts those that have ended.
pub(crate) fn update(observed: &Observed<'_>, draft: &mut RequestDraft) {
    add_started_runs(observed, draft);
    count_ended_runs(observed, draft);
}

/// Adds the Jobs of runs that the status does not record, because a controller crashed before it wrote
/// the status. The runs before such a run were skipped.
fn add_started_runs(observed: &Observed<'_>, draft: &mut RequestDraft) {
    let mut started: Vec<(i64, &JobView)> = active_jobs::current_jobs(observed)
        .filter_map(|job| Some((job.index_in(&draft.request.metadata.uid)?, job)))
        .filter(|(index, _)| *index >= draft.status.next_index() && *index < draft.status.total)
        .collect();
    started.sort_by_key(|(index, _)| *index);
    for (index, job) in started {
        if index < draft.status.next_index() {
            continue;
        }
        add_run(draft, index, &job.name, &job.uid);
    }
}

/// Adds an active run.
pub(crate) fn add_run(draft: &mut RequestDraft, index: i64, name: &str, uid: &str) {
    let status = &mut draft.status;
    status.skipped += index - status.next_index();
    status.started += 1;
    status.active.push(ActiveRun { index, name: name.to_owned(), uid: uid.to_owned() });
}

fn count_ended_runs(observed: &Observed<'_>, draft: &mut RequestDraft) {
    let status = &mut draft.status;
    let active = std::mem::take(&mut status.active);
    for run in active {
        match find_end(observed, &run) {
            None => status.active.push(run),
            Some(RunEnd::Finished(JobResult::Complete)) => status.succeeded += 1,
            Some(RunEnd::Finished(JobResult::Failed) | RunEnd::Deleted) => status.failed += 1,
        }
    }
}

/// How an active run ended.
enum RunEnd {
    Finished(JobResult),
    Deleted,
}

/// Returns how a run ended; `None` if it is active.
fn find_end(observed: &Observed<'_>, run: &ActiveRun) -> Option<RunEnd> {
    // A Job that a live read showed as finished is newer than the cached one.
    let views = active_jobs::own_live_jobs(observed).chain(observed.jobs);
    let mut views = views.filter(|job| job.uid == run.uid).peekable();
    if views.peek().is_none() {
        return Some(RunEnd::Deleted);
    }
    views.find_map(|job| job.result).map(RunEnd::Finished)
}
