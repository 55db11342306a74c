//! State that one reconcile of a CronJob leaves to the next: parked results, creates and deletes
//! with an unknown result, Jobs that only a live read showed as finished, and Jobs that we deleted.

use std::collections::BTreeMap;
use std::mem;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
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

/// How long a Job that we deleted is kept if the watch never shows it: a list may have skipped its deletion.
const DELETED_KEPT_MAX: SignedDuration = SignedDuration::from_mins(2);

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
    /// Jobs by UID that we deleted and that the watch does not show as being deleted yet. Without them, a replaced Job
    /// would look active again, or as if its Pods were gone.
    deleted: BTreeMap<String, JobView>,
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
    pub(super) fn add_deleted(&mut self, view: JobView) {
        self.deleted.insert(view.uid.clone(), view);
    }

    /// Removes the record of a Job that the watch shows as gone.
    pub(super) fn remove_deleted(&mut self, uid: &str) {
        self.deleted.remove(uid);
    }

    /// Adds the Jobs that we deleted, as the watch will show them. `jobs` are the Jobs that it shows.
    pub(super) fn add_deleted_jobs(
        &mut self,
        jobs: &mut Option<Arc<Vec<JobView>>>,
        now: Timestamp,
    ) {
        if self.deleted.is_empty() {
            return;
        }
        let cached = jobs.as_ref().map_or(&[][..], |jobs| jobs.as_slice());
        let is_shown =
            |uid: &str| cached.iter().any(|job| job.uid == uid && job.deleted_at.is_some());
        let is_recent = |job: &JobView| {
            job.deleted_at.is_some_and(|at| now.duration_since(at) < DELETED_KEPT_MAX)
        };
        self.deleted.retain(|uid, job| !is_shown(uid) && is_recent(job));
        if self.deleted.is_empty() {
            return;
        }
        let all = Arc::make_mut(jobs.get_or_insert_default());
        for deleted in self.deleted.values() {
            match all.iter_mut().find(|job| job.uid == deleted.uid) {
                Some(job) => job.deleted_at = deleted.deleted_at,
                None => all.push(deleted.clone()),
            }
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
