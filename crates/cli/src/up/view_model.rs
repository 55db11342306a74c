//! The state behind the live view and the plain lines, built from watch updates.

mod cron_job_table;
mod ordered_map;

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use punctual_api::slot_record::RunResult;

pub(super) use self::cron_job_table::CronJobTable;
use self::ordered_map::OrderedMap;

/// The number of finished Jobs to keep.
pub(super) const FINISHED_MAX: usize = 200;

/// The UID of an object.
pub(super) type ObjectUid = Arc<str>;

/// The kinds that are watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WatchedKind {
    CronJob,
    ScheduledJob,
    Job,
    Pod,
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
    pub(super) next: Option<Timestamp>,
    pub(super) active: usize,
    /// How many runs have failed or were missed since the last success.
    pub(super) failures: i64,
    /// Why its controller cannot do what it should.
    pub(super) stuck: Option<Box<str>>,
    /// Whether its schedule has no further slot.
    pub(super) is_complete: bool,
    /// The newest run that has ended.
    pub(super) last_run: Option<LastRun>,
    pub(super) succeeded: i64,
    /// Includes missed runs.
    pub(super) failed: i64,
    pub(super) missed: i64,
    pub(super) last_missed: Option<Timestamp>,
    pub(super) skipped: i64,
}

/// How the newest run of a CronJob ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LastRun {
    pub(super) result: RunResult,
    pub(super) end: Option<Timestamp>,
    pub(super) took: Option<SignedDuration>,
}

/// The state of a CronJob.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CronJobState {
    Stuck,
    Failing,
    Running,
    Suspended,
    Complete,
    Ok,
    New,
}

impl CronJobState {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            CronJobState::Stuck => "stuck",
            CronJobState::Failing => "failing",
            CronJobState::Running => "running",
            CronJobState::Suspended => "suspended",
            CronJobState::Complete => "complete",
            CronJobState::Ok => "ok",
            CronJobState::New => "new",
        }
    }
}

impl CronJobSummary {
    /// Returns the state, as `punctual list` shows it. A CronJob that fails may be running, too.
    pub(super) fn state(&self) -> CronJobState {
        if self.is_suspended {
            return CronJobState::Suspended;
        }
        if self.stuck.is_some() {
            return CronJobState::Stuck;
        }
        if self.failures > 0 {
            return CronJobState::Failing;
        }
        match &self.last_run {
            _ if self.active > 0 => CronJobState::Running,
            _ if self.is_complete => CronJobState::Complete,
            Some(_) => CronJobState::Ok,
            None if self.succeeded > 0 => CronJobState::Ok,
            None => CronJobState::New,
        }
    }
}

/// The displayed fields of a Job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct JobSummary {
    /// The namespace and name, such as `default/hello-29606400`.
    pub(super) name: Arc<str>,
    pub(super) since: Timestamp,
    /// When the update arrived. The times of the API have only seconds.
    pub(super) seen_at: Timestamp,
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

/// The displayed fields of a Pod of a Job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PodSummary {
    /// The namespace and name of its Job, or else of the Pod.
    pub(super) job: Arc<str>,
    /// Why it failed or cannot start.
    pub(super) problem: Option<Box<str>>,
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
    Pod(ObjectUid, PodSummary),
    Deleted(WatchedKind, ObjectUid),
}

/// A change that the plain output reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum RunEvent {
    Started { job: Arc<str> },
    Problem { job: Arc<str>, problem: Box<str> },
    Finished { job: Arc<str>, took: SignedDuration, error: Option<Box<str>> },
    Missed { cron_job: Arc<str>, slot: Option<Timestamp>, count: i64 },
    Skipped { cron_job: Arc<str>, count: i64 },
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
    pub(super) cron_jobs: CronJobTable,
    /// The oldest first.
    pub(super) running: OrderedMap<JobSummary>,
    /// The latest first.
    pub(super) finished: VecDeque<FinishedJob>,
    pub(super) totals: RunTotals,
    /// The problem of each Pod that has one.
    pod_problems: HashMap<ObjectUid, PodSummary>,
    /// The latest problem of each running Job, by its name.
    job_problems: HashMap<Arc<str>, Box<str>>,
    lists: [ListState; 4],
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
            WatchUpdate::Pod(uid, pod) => {
                self.mark_listed(WatchedKind::Pod, &uid);
                return self.apply_pod(uid, pod).into_iter().collect();
            }
            WatchUpdate::Deleted(WatchedKind::Job, uid) => self.remove_running(&uid),
            WatchUpdate::Deleted(WatchedKind::Pod, uid) => drop(self.pod_problems.remove(&uid)),
            WatchUpdate::Deleted(_, uid) => self.remove_cron_job(&uid),
        }
        Vec::new()
    }

    /// Whether every kind was listed completely at least once.
    pub(super) fn is_complete(&self) -> bool {
        self.lists.iter().all(|list| list.is_complete)
    }

    fn list(&mut self, kind: WatchedKind) -> &mut ListState {
        let [cron_jobs, scheduled_jobs, jobs, pods] = &mut self.lists;
        match kind {
            WatchedKind::CronJob => cron_jobs,
            WatchedKind::ScheduledJob => scheduled_jobs,
            WatchedKind::Job => jobs,
            WatchedKind::Pod => pods,
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
            for removed in self.running.retain(|uid, _| listed.contains(uid)) {
                self.job_problems.remove(&removed.name);
            }
            return;
        }
        if kind == WatchedKind::Pod {
            return self.pod_problems.retain(|uid, _| listed.contains(uid));
        }
        let is_kept =
            |uid: &ObjectUid, it: &CronJobSummary| it.kind != kind || listed.contains(uid);
        for removed in self.cron_jobs.retain(is_kept) {
            self.totals.subtract(&removed);
        }
    }

    fn apply_cron_job(&mut self, uid: ObjectUid, cron_job: CronJobSummary) -> Vec<RunEvent> {
        let previous = self.cron_jobs.insert(uid, cron_job.clone());
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
        let skipped_before = previous.as_ref().map_or(0, |previous| previous.skipped);
        let count = cron_job.skipped - skipped_before;
        if count > 0 {
            events.push(RunEvent::Skipped { cron_job: cron_job.name.clone(), count });
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

    fn apply_job(&mut self, uid: ObjectUid, mut job: JobSummary) -> Option<RunEvent> {
        let is_listed = self.list(WatchedKind::Job).is_complete;
        let previous = self.running.remove(&uid);
        let Some(end) = job.end.clone() else {
            let is_new = is_listed && previous.is_none();
            job.seen_at = previous.map_or(job.seen_at, |previous| previous.seen_at);
            let sort_key = (job.since, job.name.clone());
            self.running.insert(uid, sort_key, job.clone());
            return is_new.then_some(RunEvent::Started { job: job.name });
        };
        self.job_problems.remove(&job.name);
        // After the first list, an update of a Job that had already ended is not a new result.
        if is_listed && previous.is_none() {
            return None;
        }
        let took = run_time(previous.as_ref(), &job, &end);
        let error = end.error.clone();
        self.add_finished(FinishedJob { job: job.name.clone(), took, end });
        is_listed.then_some(RunEvent::Finished { job: job.name, took, error })
    }

    fn remove_running(&mut self, uid: &ObjectUid) {
        if let Some(job) = self.running.remove(uid) {
            self.job_problems.remove(&job.name);
        }
    }

    /// Records the problem of a Pod for its Job. A problem that has passed is removed.
    fn apply_pod(&mut self, uid: ObjectUid, pod: PodSummary) -> Option<RunEvent> {
        let is_listed = self.list(WatchedKind::Pod).is_complete;
        let Some(problem) = pod.problem.clone() else {
            self.pod_problems.remove(&uid);
            self.job_problems.remove(&pod.job);
            return None;
        };
        let job = pod.job.clone();
        let previous = self.pod_problems.insert(uid, pod.clone());
        // A Pod keeps its problem after its Job has ended.
        if previous.as_ref() == Some(&pod) {
            return None;
        }
        self.job_problems.insert(job.clone(), problem.clone());
        is_listed.then_some(RunEvent::Problem { job, problem })
    }

    /// The latest problem of the Pods of a running Job.
    pub(super) fn problem(&self, job: &JobSummary) -> Option<&str> {
        self.job_problems.get(&job.name).map(|problem| &**problem)
    }

    fn add_finished(&mut self, job: FinishedJob) {
        let index = self.finished.partition_point(|other| other.end.at > job.end.at);
        self.finished.insert(index, job);
        self.finished.truncate(FINISHED_MAX);
    }
}

/// How long a Job ran: by the arrival of its updates if that agrees with its times, which have only seconds.
fn run_time(previous: Option<&JobSummary>, job: &JobSummary, end: &JobEnd) -> SignedDuration {
    const ROUNDING_MAX: SignedDuration = SignedDuration::from_secs(2);
    let coarse = end.at.duration_since(job.since);
    let exact = previous.map_or(coarse, |previous| job.seen_at.duration_since(previous.seen_at));
    if (exact - coarse).abs() < ROUNDING_MAX && !exact.is_negative() { exact } else { coarse }
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
pub(super) mod tests;
