//! The state behind the live view and the plain lines, built from watch updates.

mod ordered_map;

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use self::ordered_map::OrderedMap;

/// The number of finished Jobs to keep.
pub(super) const FINISHED_MAX: usize = 10;

/// The UID of an object.
pub(super) type ObjectUid = Arc<str>;

/// The kinds that are watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WatchedKind {
    CronJob,
    ScheduledJob,
    Job,
}

/// The displayed fields of a CronJob or a ScheduledJob.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CronJobSummary {
    pub(super) kind: WatchedKind,
    /// The namespace and name, such as `default/hello`.
    pub(super) name: Arc<str>,
    pub(super) schedule: Box<str>,
    /// `None` means the default time zone.
    pub(super) zone: Option<Box<str>>,
    pub(super) is_suspended: bool,
    pub(super) last: Option<Timestamp>,
    pub(super) next: Option<Timestamp>,
    pub(super) active: usize,
    pub(super) succeeded: i64,
    /// Includes missed runs.
    pub(super) failed: i64,
    pub(super) missed: i64,
    pub(super) last_missed: Option<Timestamp>,
}

/// The displayed fields of a Job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct JobSummary {
    /// The namespace and name, such as `default/hello-29606400`.
    pub(super) name: Arc<str>,
    pub(super) since: Timestamp,
    /// `None` while the Job runs.
    pub(super) end: Option<JobEnd>,
}

/// When a Job ended, and whether it failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct JobEnd {
    pub(super) at: Timestamp,
    /// The reason and message of a failed Job.
    pub(super) error: Option<Box<str>>,
}

/// An update from a watch.
#[derive(Clone, Debug)]
pub(super) enum WatchUpdate {
    /// A list of a kind begins.
    Listing(WatchedKind),
    /// The list is complete. Objects that were not listed no longer exist.
    Listed(WatchedKind),
    CronJob(ObjectUid, CronJobSummary),
    Job(ObjectUid, JobSummary),
    Deleted(WatchedKind, ObjectUid),
}

/// A change that the plain output reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum RunEvent {
    Started { job: Arc<str> },
    Finished { job: Arc<str>, took: SignedDuration, error: Option<Box<str>> },
    Missed { cron_job: Arc<str>, slot: Option<Timestamp>, count: i64 },
    Next { cron_job: Arc<str>, at: Timestamp },
}

/// A Job that has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FinishedJob {
    pub(super) job: Arc<str>,
    pub(super) took: SignedDuration,
    pub(super) end: JobEnd,
}

/// Sums over all existing CronJobs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct RunTotals {
    pub(super) succeeded: i64,
    pub(super) failed: i64,
    pub(super) missed: i64,
}

/// The displayed state of all objects.
#[derive(Debug, Default)]
pub(super) struct ViewModel {
    /// Sorted by the time of the next run.
    pub(super) cron_jobs: OrderedMap<CronJobSummary>,
    /// The oldest first.
    pub(super) running: OrderedMap<JobSummary>,
    /// The latest first.
    pub(super) finished: VecDeque<FinishedJob>,
    pub(super) totals: RunTotals,
    lists: [ListState; 3],
}

/// The progress of listing one kind.
#[derive(Debug, Default)]
struct ListState {
    /// Whether the kind was listed completely at least once.
    is_complete: bool,
    /// The objects of the list in progress.
    listed: Option<HashSet<ObjectUid>>,
}

impl ViewModel {
    /// Applies an update and returns the resulting events. Objects of the first list cause no events.
    pub(super) fn apply(&mut self, update: WatchUpdate) -> Vec<RunEvent> {
        match update {
            WatchUpdate::Listing(kind) => self.list(kind).listed = Some(HashSet::new()),
            WatchUpdate::Listed(kind) => self.finish_list(kind),
            WatchUpdate::CronJob(uid, cron_job) => {
                self.mark_listed(cron_job.kind, &uid);
                return self.apply_cron_job(uid, cron_job);
            }
            WatchUpdate::Job(uid, job) => {
                self.mark_listed(WatchedKind::Job, &uid);
                return self.apply_job(uid, job).into_iter().collect();
            }
            WatchUpdate::Deleted(WatchedKind::Job, uid) => drop(self.running.remove(&uid)),
            WatchUpdate::Deleted(_, uid) => self.remove_cron_job(&uid),
        }
        Vec::new()
    }

    /// Whether every kind was listed completely at least once.
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

    fn mark_listed(&mut self, kind: WatchedKind, uid: &ObjectUid) {
        if let Some(listed) = &mut self.list(kind).listed {
            listed.insert(uid.clone());
        }
    }

    /// Removes the objects that the completed list does not contain.
    fn finish_list(&mut self, kind: WatchedKind) {
        let list = self.list(kind);
        list.is_complete = true;
        let listed = list.listed.take().unwrap_or_default();
        if kind == WatchedKind::Job {
            self.running.retain(|uid, _| listed.contains(uid));
            return;
        }
        let is_kept =
            |uid: &ObjectUid, it: &CronJobSummary| it.kind != kind || listed.contains(uid);
        for removed in self.cron_jobs.retain(is_kept) {
            self.totals.subtract(&removed);
        }
    }

    fn apply_cron_job(&mut self, uid: ObjectUid, cron_job: CronJobSummary) -> Vec<RunEvent> {
        let due = if cron_job.is_suspended { None } else { cron_job.next };
        let sort_key = (due.unwrap_or(Timestamp::MAX), cron_job.name.clone());
        let previous = self.cron_jobs.insert(uid, sort_key, cron_job.clone());
        self.totals.add(&cron_job);
        if let Some(previous) = &previous {
            self.totals.subtract(previous);
        }
        if !self.list(cron_job.kind).is_complete {
            return Vec::new();
        }
        let mut events = Vec::new();
        let missed_before = previous.as_ref().map_or(0, |previous| previous.missed);
        let count = cron_job.missed - missed_before;
        if count > 0 {
            let slot = cron_job.last_missed;
            events.push(RunEvent::Missed { cron_job: cron_job.name.clone(), slot, count });
        }
        let next_before = previous.and_then(|previous| previous.next);
        if let Some(at) = cron_job.next
            && cron_job.next != next_before
        {
            events.push(RunEvent::Next { cron_job: cron_job.name, at });
        }
        events
    }

    fn remove_cron_job(&mut self, uid: &ObjectUid) {
        if let Some(cron_job) = self.cron_jobs.remove(uid) {
            self.totals.subtract(&cron_job);
        }
    }

    fn apply_job(&mut self, uid: ObjectUid, job: JobSummary) -> Option<RunEvent> {
        let is_listed = self.list(WatchedKind::Job).is_complete;
        let Some(end) = job.end.clone() else {
            let sort_key = (job.since, job.name.clone());
            let previous = self.running.insert(uid, sort_key, job.clone());
            let is_new = is_listed && previous.is_none();
            return is_new.then_some(RunEvent::Started { job: job.name });
        };
        let was_running = self.running.remove(&uid).is_some();
        // After the first list, an update of a Job that had already ended is not a new result.
        if is_listed && !was_running {
            return None;
        }
        let took = end.at.duration_since(job.since);
        let error = end.error.clone();
        self.add_finished(FinishedJob { job: job.name.clone(), took, end });
        is_listed.then_some(RunEvent::Finished { job: job.name, took, error })
    }

    fn add_finished(&mut self, job: FinishedJob) {
        let index = self.finished.partition_point(|other| other.end.at > job.end.at);
        self.finished.insert(index, job);
        self.finished.truncate(FINISHED_MAX);
    }
}

impl RunTotals {
    fn add(&mut self, cron_job: &CronJobSummary) {
        self.succeeded += cron_job.succeeded;
        self.failed += cron_job.failed;
        self.missed += cron_job.missed;
    }

    fn subtract(&mut self, cron_job: &CronJobSummary) {
        self.succeeded -= cron_job.succeeded;
        self.failed -= cron_job.failed;
        self.missed -= cron_job.missed;
    }
}

#[cfg(test)]
mod tests;
