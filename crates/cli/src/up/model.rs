//! What the live view shows and the plain lines tell: a fold of what watches say.

mod ordered;

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use self::ordered::Ordered;

/// So many results are remembered.
pub(super) const RESULTS_MAX: usize = 10;

/// The identity of an object.
pub(super) type Uid = Arc<str>;

/// What is watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    CronJob,
    ScheduledJob,
    Job,
}

/// What is kept of a CronJob, or of a ScheduledJob.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CronJob {
    pub(super) kind: Kind,
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
pub(super) struct Job {
    /// `default/hello-29606400`
    pub(super) name: Arc<str>,
    pub(super) since: Timestamp,
    pub(super) end: Option<End>,
}

/// How a Job ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct End {
    pub(super) at: Timestamp,
    /// Why it failed, if it did.
    pub(super) fault: Option<Box<str>>,
}

/// What a watch says.
#[derive(Clone, Debug)]
pub(super) enum Change {
    /// A list of a kind begins.
    Listing(Kind),
    /// The list is complete: what was not on it is gone.
    Listed(Kind),
    CronJob(Uid, CronJob),
    Job(Uid, Job),
    Gone(Kind, Uid),
}

/// Something that has happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum News {
    Started { job: Arc<str> },
    Finished { job: Arc<str>, took: SignedDuration, fault: Option<Box<str>> },
    Missed { cron_job: Arc<str>, slot: Option<Timestamp>, count: i64 },
    Next { cron_job: Arc<str>, at: Timestamp },
}

/// A run that is over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Outcome {
    pub(super) job: Arc<str>,
    pub(super) took: SignedDuration,
    pub(super) end: End,
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
pub(super) struct Model {
    /// Those that are due come first.
    pub(super) cron_jobs: Ordered<CronJob>,
    /// The oldest first.
    pub(super) running: Ordered<Job>,
    /// The latest first.
    pub(super) outcomes: VecDeque<Outcome>,
    pub(super) totals: Totals,
    lists: [List; 3],
}

/// How far the listing of a kind is.
#[derive(Debug, Default)]
struct List {
    /// Whether there was a complete one.
    is_complete: bool,
    /// What is on the one that is on its way.
    coming: Option<HashSet<Uid>>,
}

impl Model {
    /// Takes a change in, and says what has happened by it. What is found at the start is no news.
    pub(super) fn take(&mut self, change: Change) -> Vec<News> {
        match change {
            Change::Listing(kind) => self.list(kind).coming = Some(HashSet::new()),
            Change::Listed(kind) => self.keep_listed(kind),
            Change::CronJob(uid, cron_job) => {
                self.saw(cron_job.kind, &uid);
                return self.take_cron_job(uid, cron_job);
            }
            Change::Job(uid, job) => {
                self.saw(Kind::Job, &uid);
                return self.take_job(uid, job).into_iter().collect();
            }
            Change::Gone(Kind::Job, uid) => drop(self.running.remove(&uid)),
            Change::Gone(_, uid) => self.forget_cron_job(&uid),
        }
        Vec::new()
    }

    /// Whether everything has been listed once.
    pub(super) fn is_complete(&self) -> bool {
        self.lists.iter().all(|list| list.is_complete)
    }

    fn list(&mut self, kind: Kind) -> &mut List {
        let [cron_jobs, scheduled_jobs, jobs] = &mut self.lists;
        match kind {
            Kind::CronJob => cron_jobs,
            Kind::ScheduledJob => scheduled_jobs,
            Kind::Job => jobs,
        }
    }

    /// Remembers what is on a list until it is complete.
    fn saw(&mut self, kind: Kind, uid: &Uid) {
        if let Some(coming) = &mut self.list(kind).coming {
            coming.insert(uid.clone());
        }
    }

    fn keep_listed(&mut self, kind: Kind) {
        let list = self.list(kind);
        list.is_complete = true;
        let listed = list.coming.take().unwrap_or_default();
        match kind {
            Kind::Job => drop(self.running.take_unless(|uid, _| listed.contains(uid))),
            _ => {
                let stays = |uid: &Uid, it: &CronJob| it.kind != kind || listed.contains(uid);
                let gone = self.cron_jobs.take_unless(stays);
                gone.iter().for_each(|cron_job| self.totals.add(cron_job, -1));
            }
        }
    }

    fn take_cron_job(&mut self, uid: Uid, cron_job: CronJob) -> Vec<News> {
        let due = cron_job.next.filter(|_| !cron_job.is_suspended);
        let rank = (due.unwrap_or(Timestamp::MAX), cron_job.name.clone());
        let before = self.cron_jobs.put(uid, rank, cron_job.clone());
        self.totals.add(&cron_job, 1);
        before.iter().for_each(|before| self.totals.add(before, -1));
        if !self.list(cron_job.kind).is_complete {
            return Vec::new();
        }
        let (missed, next) = before.map_or((0, None), |before| (before.missed, before.next));
        let name = &cron_job.name;
        let (slot, count) = (cron_job.last_missed, cron_job.missed - missed);
        let miss = (count > 0).then(|| News::Missed { cron_job: name.clone(), slot, count });
        let at = cron_job.next.filter(|_| cron_job.next != next);
        let next = at.map(|at| News::Next { cron_job: name.clone(), at });
        miss.into_iter().chain(next).collect()
    }

    fn forget_cron_job(&mut self, uid: &Uid) {
        if let Some(cron_job) = self.cron_jobs.remove(uid) {
            self.totals.add(&cron_job, -1);
        }
    }

    fn take_job(&mut self, uid: Uid, job: Job) -> Option<News> {
        let is_news = self.list(Kind::Job).is_complete;
        let Some(end) = job.end.clone() else {
            let rank = (job.since, job.name.clone());
            let before = self.running.put(uid, rank, job.clone());
            return (is_news && before.is_none()).then_some(News::Started { job: job.name });
        };
        let was_running = self.running.remove(&uid).is_some();
        // One that was over when it was first seen is only of interest for what came before.
        if is_news && !was_running {
            return None;
        }
        let took = end.at.duration_since(job.since);
        let news = News::Finished { job: job.name.clone(), took, fault: end.fault.clone() };
        self.remember(Outcome { job: job.name, took, end });
        is_news.then_some(news)
    }

    fn remember(&mut self, outcome: Outcome) {
        let place = self.outcomes.partition_point(|other| other.end.at > outcome.end.at);
        self.outcomes.insert(place, outcome);
        self.outcomes.truncate(RESULTS_MAX);
    }
}

impl Totals {
    fn add(&mut self, cron_job: &CronJob, times: i64) {
        self.succeeded += times * cron_job.succeeded;
        self.failed += times * cron_job.failed;
        self.missed += times * cron_job.missed;
    }
}

#[cfg(test)]
mod tests;
