//! What must and must not have happened, told from the server's log alone.
//!
//! The checker knows schedules and deadlines, and nothing of how the engine decides.

use std::collections::HashSet;

use jiff::{SignedDuration, Timestamp};
use punctual_api::{ConcurrencyPolicy, CronJob, Time};
use punctual_engine::cronjob::Timetable;
use punctual_schedule::Zones;

use crate::server::{Created, Server};

/// What the checker knows of the past.
pub(crate) struct Checker {
    checked: usize,
    started: HashSet<Timestamp>,
    /// The last slot that was started before the present turn.
    started_before: Option<Timestamp>,
    /// The last miss that was told before the present turn: a miss is final.
    missed_before: Option<Time>,
    missed: Option<Time>,
    last_schedule_time: Option<Time>,
    pub(crate) created: Timestamp,
    /// No slot up to this moment may be started: the creation, or an edit of the schedule.
    pub(crate) not_before: Timestamp,
    /// Slots up to this moment need not be started: the controller had not seen the edit.
    pub(crate) need_not_before: Timestamp,
}

fn timetable(cron_job: &CronJob) -> Option<Timetable> {
    Timetable::from_cron_job(cron_job, &Zones::bundled().utc()).ok()
}

fn deadline(cron_job: &CronJob) -> Option<SignedDuration> {
    cron_job.spec.starting_deadline_seconds.map(SignedDuration::from_secs)
}

impl Checker {
    pub(crate) fn new(created: Timestamp) -> Checker {
        Checker {
            checked: 0,
            started: HashSet::new(),
            started_before: None,
            missed_before: None,
            missed: None,
            last_schedule_time: None,
            created,
            not_before: created,
            need_not_before: created,
        }
    }

    /// After every turn, whatever went wrong in it.
    pub(crate) fn check_turn(&mut self, server: &Server) {
        let status = &server.cron_job.status;
        assert!(status.last_schedule_time >= self.last_schedule_time, "lastScheduleTime went back");
        self.last_schedule_time = status.last_schedule_time;
        self.started_before = self.started.iter().max().copied();
        self.missed_before = std::mem::replace(&mut self.missed, status.last_missed_time);
        for created in &server.log[self.checked..] {
            self.check_created(created);
        }
        self.checked = server.log.len();
    }

    fn check_created(&mut self, created: &Created) {
        let Created { slot, at, cron_job, running } = created;
        assert!(self.started.insert(*slot), "slot {slot} was started twice");
        assert!(*slot > self.not_before, "slot {slot} was started retroactively");
        assert!(!cron_job.is_suspended(), "slot {slot} was started while suspended");
        let timetable = timetable(cron_job).expect("a schedule");
        let effective = timetable.effective_time(*slot);
        assert!(effective <= *at, "slot {slot} was started before its time {effective}");
        if let Some(deadline) = deadline(cron_job) {
            assert!(at.duration_since(effective) < deadline, "slot {slot} was started too late");
        }
        let alone = [ConcurrencyPolicy::Forbid, ConcurrencyPolicy::CatchUp];
        if alone.contains(&cron_job.concurrency_policy()) {
            assert!(running.is_empty(), "slot {slot} was started beside {running:?}");
        }
    }

    /// After a turn in which nothing went wrong: what was due was started.
    pub(crate) fn check_whole_turn(&self, server: &Server, was_running: bool, now: Timestamp) {
        let cron_job = &server.cron_job;
        let policy = cron_job.concurrency_policy();
        let waits = was_running
            && policy != ConcurrencyPolicy::Allow
            && policy != ConcurrencyPolicy::Replace;
        let Some(timetable) = timetable(cron_job).filter(|_| !cron_job.is_suspended() && !waits)
        else {
            return;
        };
        if timetable.schedule().text().starts_with('@') {
            return; // An interval's slots depend on the last one; its starts are checked above.
        }
        let Some(slot) = self.due(&timetable, cron_job, now) else { return };
        // Who catches up may have begun even earlier, before an edit that was not seen then.
        let started = self.started.iter().filter(|started| Some(**started) > self.started_before);
        let begun = policy == ConcurrencyPolicy::CatchUp && started.clone().any(|s| *s <= slot);
        let done = begun || self.started.contains(&slot);
        assert!(done, "slot {slot} had its chance and was not started");
    }

    /// The slot that was to be started in this turn: the last that could be, or the first for those
    /// who catch up.
    fn due(&self, timetable: &Timetable, cron_job: &CronJob, now: Timestamp) -> Option<Timestamp> {
        let done = self.started_before.max(self.missed_before.map(Time::timestamp));
        let from = done.map_or(self.need_not_before, |done| done.max(self.need_not_before));
        let could_be = |slot: &Timestamp| {
            let effective = timetable.effective_time(*slot);
            effective <= now && deadline(cron_job).is_none_or(|d| now.duration_since(effective) < d)
        };
        let schedule = timetable.schedule();
        let back = schedule.before(now + SignedDuration::from_secs(1));
        let mut waiting = back.take_while(|slot| *slot > from);
        if cron_job.concurrency_policy() != ConcurrencyPolicy::CatchUp {
            return waiting.find(could_be);
        }
        // Jitter keeps a slot from being late for at most as long as the longest gap.
        let in_time = |slot: &Timestamp| {
            let latest_start = deadline(cron_job).unwrap_or(SignedDuration::MAX);
            now.duration_since(*slot).saturating_sub(SignedDuration::from_hours(72)) < latest_start
        };
        waiting.take_while(in_time).filter(could_be).last()
    }

    /// When all is done: the counters tell what happened.
    pub(crate) fn check_end(&self, server: &Server) {
        let status = &server.cron_job.status;
        let uncounted = [
            server.completed - status.successful_runs,
            server.failed + status.missed_runs - status.failed_runs,
        ];
        assert!(uncounted.iter().all(|count| *count >= 0), "counted twice: {uncounted:?}");
        let replaced = server.replaced_unseen;
        assert!(uncounted.iter().sum::<i64>() <= replaced, "not counted: {uncounted:?}");
        assert!(status.failures_since_success <= status.failed_runs);
        let listed: Vec<&String> = status.active.iter().map(|entry| &entry.name).collect();
        assert_eq!(listed, server.running().iter().collect::<Vec<_>>(), "active");
    }
}
