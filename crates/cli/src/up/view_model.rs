//! What the live view shows and the plain lines tell: a fold of what watches say.

mod ordered_map;

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use self::ordered_map::OrderedMap;

/// So many results are remembered.
pub(super) const RESULTS_MAX: usize = 10;

/// The identity of an object.
pub(super) type ObjectUid = Arc<str>;

/// What is watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WatchedKind {
    CronJob,
    ScheduledJob,
    Job,
}

/// What is kept of a CronJobSummary, or of a ScheduledJob.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CronJobSummary {
    pub(super) kind: WatchedKind,
    /// `default/hello`
    pub(super) name: Arc<str>,
    pub(super) schedule: Box<str>,
    /// None for the usual one.
    pub(super) zone: Option<Box<str>>,
    pub(super) is_suspended: bool,
    pub(super) last: Option<Timestamp>,
    pub(super) next: Option<Timestamp>,
    pub(super) active: usize,
    pub(super) succeeded: i64,
    /// Misses included.
    pub(super) failed: i64,
    pub(super) missed: i64,
    pub(super) last_missed: Option<Timestamp>,
}

/// A Job as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct JobSummary {
    /// `default/hello-29606400`
    pub(super) name: Arc<str>,
    pub(super) since: Timestamp,
    pub(super) end: Option<JobEnd>,
}

/// How a Job ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct JobEnd {
    pub(super) at: Timestamp,
    /// Why it failed, if it did.
    pub(super) fault: Option<Box<str>>,
}

/// What a watch says.
#[derive(Clone, Debug)]
pub(super) enum WatchUpdate {
    /// A list of a kind begins.
    Listing(WatchedKind),
    /// The list is complete: what was not on it is gone.
    Listed(WatchedKind),
    CronJob(ObjectUid, CronJobSummary),
    Job(ObjectUid, JobSummary),
    Deleted(WatchedKind, ObjectUid),
}

/// Something that has happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum RunEvent {
    Started { job: Arc<str> },
    Finished { job: Arc<str>, took: SignedDuration, fault: Option<Box<str>> },
    Missed { cron_job: Arc<str>, slot: Option<Timestamp>, count: i64 },
    Next { cron_job: Arc<str>, at: Timestamp },
}

/// A run that is over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FinishedJob {
    pub(super) job: Arc<str>,
    pub(super) took: SignedDuration,
    pub(super) end: JobEnd,
}

/// Counts over all CronJobs there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Totals {
    pub(super) succeeded: i64,
    pub(super) failed: i64,
    pub(super) missed: i64,
}

/// Everything that is known.
#[derive(Debug, Default)]
pub(super) struct ViewModel {
    /// Those that are due come first.
    pub(super) cron_jobs: OrderedMap<CronJobSummary>,
    /// The oldest first.
    pub(super) running: OrderedMap<JobSummary>,
    /// The latest first.
    pub(super) finished: VecDeque<FinishedJob>,
    pub(super) totals: Totals,
    lists: [ListState; 3],
}

/// How far the listing of a kind is.
#[derive(Debug, Default)]
struct ListState {
    /// Whether there was a complete one.
    is_complete: bool,
    /// What is on the one that is on its way.
    coming: Option<HashSet<ObjectUid>>,
}

impl ViewModel {
    /// Takes a change in, and says what has happened by it. What is found at the start is no event.
    pub(super) fn apply(&mut self, change: WatchUpdate) -> Vec<RunEvent> {
        match change {
            WatchUpdate::Listing(kind) => self.list(kind).coming = Some(HashSet::new()),
            WatchUpdate::Listed(kind) => self.keep_listed(kind),
            WatchUpdate::CronJob(uid, cron_job) => {
                self.saw(cron_job.kind, &uid);
                return self.take_cron_job(uid, cron_job);
            }
            WatchUpdate::Job(uid, job) => {
                self.saw(WatchedKind::Job, &uid);
                return self.take_job(uid, job).into_iter().collect();
            }
            WatchUpdate::Deleted(WatchedKind::Job, uid) => drop(self.running.remove(&uid)),
            WatchUpdate::Deleted(_, uid) => self.forget_cron_job(&uid),
        }
        Vec::new()
    }

    /// Whether everything has been listed once.
    pub(super) fn is_complete(&self) -> bool {
        self.lists.iter().all(|list| list.is_complete)
    }

    fn list(&mut self, kind: WatchedKind) -> &mut ListState {
        let [cron_jobs, scheduled_jobs, jobs] = &mut self.lists;
        match kind {
            WatchedKind::CronJob => cron_jobs,
            WatchedKind::ScheduledJob => scheduled_jobs,
            WatchedKind::Job => jobs,
        }
    }

    /// Remembers what is on a list until it is complete.
    fn saw(&mut self, kind: WatchedKind, uid: &ObjectUid) {
        if let Some(coming) = &mut self.list(kind).coming {
            coming.insert(uid.clone());
        }
    }

    fn keep_listed(&mut self, kind: WatchedKind) {
        let list = self.list(kind);
        list.is_complete = true;
        let listed = list.coming.take().unwrap_or_default();
        match kind {
            WatchedKind::Job => drop(self.running.take_unless(|uid, _| listed.contains(uid))),
            _ => {
                let stays =
                    |uid: &ObjectUid, it: &CronJobSummary| it.kind != kind || listed.contains(uid);
                let gone = self.cron_jobs.take_unless(stays);
                gone.iter().for_each(|cron_job| self.totals.add(cron_job, -1));
            }
        }
    }

    fn take_cron_job(&mut self, uid: ObjectUid, cron_job: CronJobSummary) -> Vec<RunEvent> {
        let due = cron_job.next.filter(|_| !cron_job.is_suspended);
        let sort_key = (due.unwrap_or(Timestamp::MAX), cron_job.name.clone());
        let before = self.cron_jobs.insert(uid, sort_key, cron_job.clone());
        self.totals.add(&cron_job, 1);
        before.iter().for_each(|before| self.totals.add(before, -1));
        if !self.list(cron_job.kind).is_complete {
            return Vec::new();
        }
        let (missed, next) = before.map_or((0, None), |before| (before.missed, before.next));
        let name = &cron_job.name;
        let (slot, count) = (cron_job.last_missed, cron_job.missed - missed);
        let miss = (count > 0).then(|| RunEvent::Missed { cron_job: name.clone(), slot, count });
        let at = cron_job.next.filter(|_| cron_job.next != next);
        let next = at.map(|at| RunEvent::Next { cron_job: name.clone(), at });
        miss.into_iter().chain(next).collect()
    }

    fn forget_cron_job(&mut self, uid: &ObjectUid) {
        if let Some(cron_job) = self.cron_jobs.remove(uid) {
            self.totals.add(&cron_job, -1);
        }
    }

    fn take_job(&mut self, uid: ObjectUid, job: JobSummary) -> Option<RunEvent> {
        let is_news = self.list(WatchedKind::Job).is_complete;
        let Some(end) = job.end.clone() else {
            let sort_key = (job.since, job.name.clone());
            let before = self.running.insert(uid, sort_key, job.clone());
            return (is_news && before.is_none()).then_some(RunEvent::Started { job: job.name });
        };
        let was_running = self.running.remove(&uid).is_some();
        // One that was over when it was first seen is only of interest for what came before.
        if is_news && !was_running {
            return None;
        }
        let took = end.at.duration_since(job.since);
        let event = RunEvent::Finished { job: job.name.clone(), took, fault: end.fault.clone() };
        self.remember(FinishedJob { job: job.name, took, end });
        is_news.then_some(event)
    }

    fn remember(&mut self, finished_job: FinishedJob) {
        let place = self.finished.partition_point(|other| other.end.at > finished_job.end.at);
        self.finished.insert(place, finished_job);
        self.finished.truncate(RESULTS_MAX);
    }
}

impl Totals {
    fn add(&mut self, cron_job: &CronJobSummary, times: i64) {
        self.succeeded += times * cron_job.succeeded;
        self.failed += times * cron_job.failed;
        self.missed += times * cron_job.missed;
    }
}

#[cfg(test)]
mod tests;
