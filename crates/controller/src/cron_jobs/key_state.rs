//! State that one reconcile of a CronJob leaves to the next: parked results, creates and deletes
//! with an unknown result, Jobs that only a live read showed as finished, and Jobs that we deleted.

use std::collections::BTreeMap;
use std::mem;
use std::sync::Arc;

use jiff::Timestamp;
use punctual_engine::cronjob::{EffectResult, JobView, Plan};
use punctual_queue::Failure;

use super::cached_cron_job::{CachedCronJob, CachedFormError};
use super::decision_log::Problem;
use super::reconcile::Executed;

/// Jobs by name as live reads returned them; `None` for a Job that does not exist.
pub(super) type LiveJobs = Vec<(String, Option<JobView>)>;

/// The maximum number of unconfirmed creates of one CronJob. It is exceeded only if the status cannot be
/// written for hours.
const UNCONFIRMED_MAX: usize = 100;

/// The maximum number of Jobs of one CronJob that are known to be finished from live reads alone.
const FINISHED_MAX: usize = 16;

/// State of one CronJob between reconciles. It is empty for most CronJobs, and then allocates nothing.
#[derive(Default)]
pub(super) struct KeyState {
    parked: Option<Box<Parked>>,
    /// Names of Jobs whose create or delete has an unknown result. The next reconcile reads them.
    unconfirmed: Vec<String>,
    /// Jobs by name that a live read showed as finished and the watch does not yet. Without them, a Job
    /// that was counted would look active again and be counted twice.
    finished: BTreeMap<String, JobView>,
    /// When we deleted Jobs, by UID, that the watch does not show as being deleted yet. Without them, a replaced Job
    /// would look active again.
    deleted: BTreeMap<String, Timestamp>,
    /// The identities of the problems that are logged already.
    logged_problems: Vec<String>,
}

/// The results of an executed plan whose status write waits for the end of a burst. It holds the cached form of
/// the CronJob, because in a burst many plans are parked at once.
pub(super) struct Parked {
    cached: Arc<CachedCronJob>,
    plan: Box<Plan>,
    results: Vec<EffectResult>,
    failure: Failure,
    resolved: Vec<String>,
}

impl Parked {
    pub(super) fn new(executed: Executed) -> Parked {
        let Executed { parsed, plan, results, failure, resolved } = executed;
        Parked { cached: parsed.cached, plan, results, failure, resolved }
    }

    pub(super) fn restore(self) -> Result<Executed, CachedFormError> {
        let Parked { cached, plan, results, failure, resolved } = self;
        Ok(Executed { parsed: cached.parse()?, plan, results, failure, resolved })
    }

    /// The UID of the CronJob that the plan is for.
    pub(super) fn cron_job_uid(&self) -> &str {
        &self.cached.uid
    }
}

impl KeyState {
    pub(super) fn park(&mut self, parked: Parked) {
        self.parked = Some(Box::new(parked));
    }

    pub(super) fn take_parked(&mut self) -> Option<Parked> {
        self.parked.take().map(|parked| *parked)
    }

    pub(super) fn unconfirmed(&self) -> &[String] {
        &self.unconfirmed
    }

    /// Marks a Job whose create or delete has an unknown result.
    pub(super) fn add_unconfirmed(&mut self, job: &str) {
        self.unconfirmed.retain(|name| name != job);
        self.unconfirmed.push(job.to_owned());
        let excess = self.unconfirmed.len().saturating_sub(UNCONFIRMED_MAX);
        self.unconfirmed.drain(..excess);
    }

    /// Removes the mark of a Job whose state is known again.
    pub(super) fn remove_unconfirmed(&mut self, job: &str) {
        self.unconfirmed.retain(|name| name != job);
        self.unconfirmed.shrink_to_fit();
    }

    /// Sets the problems of this reconcile. Returns those that are not logged yet.
    pub(super) fn set_problems<'a>(&mut self, mut problems: Vec<Problem<'a>>) -> Vec<Problem<'a>> {
        let identities = problems.iter().map(Problem::identity).collect();
        let logged = mem::replace(&mut self.logged_problems, identities);
        problems.retain(|problem| !logged.contains(&problem.identity()));
        problems
    }

    /// Records that we deleted a Job.
    pub(super) fn add_deleted(&mut self, uid: &str, at: Timestamp) {
        self.deleted.insert(uid.to_owned(), at);
    }

    /// Marks the Jobs that we deleted. `jobs` are the Jobs that the watch shows.
    pub(super) fn mark_deleted(&mut self, jobs: &mut Option<Arc<Vec<JobView>>>) {
        if self.deleted.is_empty() {
            return;
        }
        let cached = jobs.as_ref().map_or(&[][..], |jobs| jobs.as_slice());
        let is_lagging =
            |uid: &str| cached.iter().any(|job| job.uid == uid && job.deleted_at.is_none());
        self.deleted.retain(|uid, _| is_lagging(uid));
        if self.deleted.is_empty() {
            return;
        }
        for job in jobs.as_mut().map(Arc::make_mut).into_iter().flatten() {
            job.deleted_at = job.deleted_at.or_else(|| self.deleted.get(&job.uid).copied());
        }
    }

    /// Combines live reads of this reconcile with Jobs that earlier live reads showed as finished. `jobs` are the
    /// Jobs that the watch shows.
    pub(super) fn merge_live(&mut self, live: &LiveJobs, jobs: &[JobView]) -> LiveJobs {
        self.record_finished(live, jobs);
        // A Job that the watch does not show may have been deleted.
        let is_cached = |uid: &str| jobs.iter().any(|job| job.uid == uid);
        let finished = self.finished.iter().filter(|(_, job)| is_cached(&job.uid));
        let finished = finished.map(|(name, job)| (name.clone(), Some(job.clone())));
        live.iter().cloned().chain(finished).collect()
    }

    /// Records Jobs that a live read showed as finished, and drops those that the watch shows as finished too.
    fn record_finished(&mut self, live: &LiveJobs, jobs: &[JobView]) {
        let found = live.iter().filter_map(|(name, job)| Some((name, job.as_ref()?)));
        let finished = found.filter(|(_, job)| job.result.is_some());
        self.finished.extend(finished.map(|(name, job)| (name.clone(), job.clone())));
        let is_cached = |uid: &str| jobs.iter().any(|job| job.uid == uid && job.result.is_some());
        self.finished.retain(|_, job| !is_cached(&job.uid));
        while self.finished.len() > FINISHED_MAX {
            self.finished.pop_first();
        }
    }
}
