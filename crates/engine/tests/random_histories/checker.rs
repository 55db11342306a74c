//! Checks what must and must not have happened, from the state of the server alone.
//!
//! The checker uses schedules and deadlines, but none of the engine's rules.

use std::collections::HashSet;

use jiff::{SignedDuration, Timestamp};
use punctual_api::slot_record::{SlotDecision, reason};
use punctual_api::{ConcurrencyPolicy, CronJob, Time};
use punctual_engine::cronjob::{FeatureGates, Timetable};
use punctual_schedule::Zones;

use crate::server::{CreatedJob, FakeServer};

/// The expectations, derived from the history so far.
pub(crate) struct Checker {
    /// The number of log entries that are checked.
    checked: usize,
    started: HashSet<Timestamp>,
    /// The last slot that was started before the current reconcile.
    started_before: Option<Timestamp>,
    /// The last slot that was missed or skipped before the current reconcile. Both are final.
    not_started_before: Option<Time>,
    not_started: Option<Time>,
    last_schedule_time: Option<Time>,
    skipped_runs: i64,
    pub(crate) created: Timestamp,
    /// Slots up to this time must not start: the creation, or the last edit of the schedule.
    pub(crate) must_not_start_until: Timestamp,
    /// Slots up to this time need not start: the controller had not observed the edit.
    pub(crate) need_not_start_until: Timestamp,
}

/// The default of `catchUpLimit`.
const CATCH_UP_LIMIT: usize = 1_000;

/// The values that the fields of a CronJob had in a history.
pub(crate) struct ObservedEdits {
    pub(crate) deadlines: Vec<Option<i64>>,
    pub(crate) policies: Vec<String>,
}

fn timetable(cron_job: &CronJob) -> Option<Timetable> {
    Timetable::from_cron_job(cron_job, &Zones::bundled().utc(), &FeatureGates::default()).ok()
}

/// How long a slot waits for the Pods of a replaced run: their grace period, a minute more, and the time to react.
const REPLACE_WAIT_MAX: SignedDuration = SignedDuration::from_secs(100);

fn deadline(cron_job: &CronJob) -> Option<SignedDuration> {
    cron_job.spec.starting_deadline_seconds.map(SignedDuration::from_secs)
}

impl Checker {
    pub(crate) fn new(created: Timestamp) -> Checker {
        Checker {
            checked: 0,
            started: HashSet::new(),
            started_before: None,
            not_started_before: None,
            not_started: None,
            last_schedule_time: None,
            skipped_runs: 0,
            created,
            must_not_start_until: created,
            need_not_start_until: created,
        }
    }

    /// Checks the state after any reconcile.
    pub(crate) fn check_reconcile(&mut self, server: &FakeServer) {
        let status = &server.cron_job.status;
        assert!(
            status.last_schedule_time >= self.last_schedule_time,
            "lastScheduleTime moved back"
        );
        self.last_schedule_time = status.last_schedule_time;
        assert!(status.skipped_runs >= self.skipped_runs, "skippedRuns decreased");
        self.skipped_runs = status.skipped_runs;
        self.started_before = self.started.iter().max().copied();
        let not_started = status.last_missed_time.max(status.last_skipped_time);
        self.not_started_before = std::mem::replace(&mut self.not_started, not_started);
        for created in &server.log[self.checked..] {
            self.check_created(created);
        }
        self.checked = server.log.len();
    }

    fn check_created(&mut self, created: &CreatedJob) {
        let CreatedJob { slot, at, cron_job, running, replaced_at } = created;
        assert!(self.started.insert(*slot), "slot {slot} was started twice");
        assert!(
            *slot > self.must_not_start_until,
            "slot {slot} was started although it precedes the schedule"
        );
        assert!(!cron_job.is_suspended(), "slot {slot} was started while suspended");
        let timetable = timetable(cron_job).expect("a schedule");
        let effective = timetable.effective_time(*slot);
        assert!(effective <= *at, "slot {slot} was started before its time {effective}");
        let policy = cron_job.concurrency_policy();
        if let Some(deadline) = deadline(cron_job) {
            // The deadline does not pass while a slot waits for the Pods of a replaced run.
            let is_recent =
                |since: &Timestamp| since <= at && at.duration_since(*since) <= REPLACE_WAIT_MAX;
            let waited_since = match policy {
                ConcurrencyPolicy::Replace => replaced_at.filter(is_recent),
                _ => None,
            };
            let decided_at = waited_since.unwrap_or(*at);
            let lateness = decided_at.duration_since(effective);
            assert!(lateness < deadline, "slot {slot} was started too late");
        }
        let exclusive = [ConcurrencyPolicy::Forbid, ConcurrencyPolicy::CatchUp];
        if exclusive.contains(&policy) {
            assert!(running.is_empty(), "slot {slot} was started while {running:?} were active");
        }
    }

    /// Checks after a reconcile without faults that the due slot was started.
    pub(crate) fn check_complete_reconcile(
        &self,
        server: &FakeServer,
        was_running: bool,
        now: Timestamp,
    ) {
        let cron_job = &server.cron_job;
        let policy = cron_job.concurrency_policy();
        let is_blocked = was_running
            && policy != ConcurrencyPolicy::Allow
            && policy != ConcurrencyPolicy::Replace;
        if is_blocked || cron_job.is_suspended() {
            return;
        }
        let Some(timetable) = timetable(cron_job) else { return };
        if timetable.schedule().text().starts_with('@') {
            return; // The slots of an interval depend on the last one; `check_created` checks them.
        }
        let Some(slot) = self.due_slot(&timetable, cron_job, now) else { return };
        // CatchUp may have started an even older slot, before an edit that was not observed yet.
        let started = self.started.iter().filter(|started| Some(**started) > self.started_before);
        let has_caught_up =
            policy == ConcurrencyPolicy::CatchUp && started.clone().any(|s| *s <= slot);
        let is_started = has_caught_up || self.started.contains(&slot);
        assert!(is_started, "slot {slot} was due and was not started");
    }

    /// Returns the slot that this reconcile must start: the latest startable one, or with CatchUp the
    /// oldest of those within its limit.
    fn due_slot(
        &self,
        timetable: &Timetable,
        cron_job: &CronJob,
        now: Timestamp,
    ) -> Option<Timestamp> {
        let last = self.started_before.max(self.not_started_before.map(Time::timestamp));
        let from =
            last.map_or(self.need_not_start_until, |last| last.max(self.need_not_start_until));
        let is_startable = |slot: &Timestamp| {
            let effective = timetable.effective_time(*slot);
            effective <= now && deadline(cron_job).is_none_or(|d| now.duration_since(effective) < d)
        };
        let schedule = timetable.schedule();
        let newest_first = schedule.before(now + SignedDuration::from_secs(1));
        let mut pending = newest_first.take_while(|slot| *slot > from);
        if cron_job.concurrency_policy() != ConcurrencyPolicy::CatchUp {
            return pending.find(is_startable);
        }
        // Jitter delays the deadline of a slot by less than the longest gap between slots.
        let is_in_time = |slot: &Timestamp| {
            let latest_start = deadline(cron_job).unwrap_or(SignedDuration::MAX);
            now.duration_since(*slot).saturating_sub(SignedDuration::from_hours(72)) < latest_start
        };
        let newest = pending.take_while(is_in_time).filter(is_startable);
        newest.take(CATCH_UP_LIMIT).last()
    }

    /// Checks the counters at the end of a history.
    pub(crate) fn check_end(&self, server: &FakeServer) {
        let status = &server.cron_job.status;
        let uncounted = [
            server.completed - status.successful_runs,
            server.failed + status.missed_runs - status.failed_runs,
        ];
        assert!(uncounted.iter().all(|count| *count >= 0), "counted twice: {uncounted:?}");
        let replaced = server.replaced_finished;
        assert!(uncounted.iter().sum::<i64>() <= replaced, "not counted: {uncounted:?}");
        assert!(status.failures_since_success <= status.failed_runs);
        let listed: Vec<&String> = status.active.iter().map(|entry| &entry.name).collect();
        assert_eq!(listed, server.running().iter().collect::<Vec<_>>(), "active");
    }

    /// Checks at the end of a history with only one schedule that each slot was started, missed or
    /// skipped, up to the last one that the status records.
    pub(crate) fn check_every_slot_is_counted(&self, server: &FakeServer, edits: &ObservedEdits) {
        let CronJob { status, .. } = &server.cron_job;
        let Some(timetable) = timetable(&server.cron_job) else { return };
        // A deadline moves the slots of an interval.
        let has_deadline = edits.deadlines.iter().any(Option::is_some);
        if timetable.schedule().text().starts_with("@every") && has_deadline {
            return;
        }
        let recorded = status.last_schedule_time.max(status.last_missed_time);
        let recorded = recorded.max(status.last_skipped_time);
        let slots = recorded.map_or(0, |recorded| {
            timetable.schedule().count_in(self.created, recorded.timestamp())
        });
        let counted = self.started.len() as i64 + status.missed_runs + status.skipped_runs;
        assert_eq!(counted, slots as i64, "started, missed and skipped slots: {status:?}");
        // CatchUp misses the slots beyond its limit.
        let can_miss = has_deadline || edits.policies.iter().any(|policy| policy == "CatchUp");
        assert!(can_miss || status.missed_runs == 0, "missed without a deadline");
        // A missed slot counts as skipped if a crash and a longer deadline hide that it was missed.
        let has_one_deadline = edits.deadlines.iter().all(|other| *other == edits.deadlines[0]);
        if has_one_deadline && edits.policies.iter().all(|policy| policy == "CatchUp") {
            let records = server.slot_records();
            let mut skipped =
                records.iter().filter(|record| record.decision == SlotDecision::Skipped);
            assert!(
                skipped.all(|record| record.reason == reason::SUSPENDED),
                "skipped with CatchUp"
            );
        }
    }
}
