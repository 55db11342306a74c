//! One CronJob as it was read, with its Jobs, Events and slot records.

use std::iter;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use punctual_api::event::Event;
use punctual_api::{ConcurrencyPolicy, CronJob, CronJobKind, RunRequest};
use punctual_engine::cronjob::{
    self, Decision, EffectiveSchedule, FeatureGates, JobView, Observed, Plan, ReadRecords,
    RecordRetention, ScheduleError, Timetable,
};
use punctual_schedule::{ScheduleKind, Zone};

use crate::ledger::{Ledger, instant};
use crate::suspension::Suspension;

/// How often a decision may ask for further Jobs. Each round reads at least one, so this is never reached.
const READS_MAX: usize = 8;

/// One CronJob as it was read, with its Jobs, Events and slot records.
#[derive(Debug)]
pub struct CronJobSnapshot {
    /// The CronJob.
    pub cron_job: CronJob,
    /// Its slot records.
    pub ledger: Ledger,
    /// The Jobs that it controls.
    pub jobs: Vec<JobView>,
    /// Its Events.
    pub events: Vec<Event>,
    timetable: Result<Timetable, ScheduleError>,
    default_zone: Zone,
}

impl CronJobSnapshot {
    /// Parses the schedule of a CronJob. `default_zone` applies if it names no time zone.
    pub fn new(cron_job: CronJob, default_zone: &Zone) -> CronJobSnapshot {
        let gates = FeatureGates::default();
        let timetable = Timetable::from_cron_job(&cron_job, default_zone, &gates);
        CronJobSnapshot {
            cron_job,
            ledger: Ledger::default(),
            jobs: Vec::new(),
            events: Vec::new(),
            timetable,
            default_zone: default_zone.clone(),
        }
    }

    /// Returns the same state with another spec, as after an edit at this moment.
    pub fn with_edit(&self, cron_job: CronJob) -> CronJobSnapshot {
        let edited = CronJobSnapshot::new(cron_job, &self.default_zone);
        CronJobSnapshot {
            ledger: self.ledger.clone(),
            jobs: self.jobs.clone(),
            events: self.events.clone(),
            ..edited
        }
    }

    /// Returns the schedule with its zone and jitter.
    pub fn timetable(&self) -> Result<&Timetable, &ScheduleError> {
        self.timetable.as_ref()
    }

    /// Returns the kind.
    pub fn kind(&self) -> CronJobKind {
        self.cron_job.cron_job_kind().unwrap_or(CronJobKind::BatchV1)
    }

    /// Returns the zone in which to show times: that of the schedule, or the default.
    pub fn zone(&self) -> &Zone {
        match &self.timetable {
            Ok(timetable) => timetable.schedule().zone(),
            Err(_) => &self.default_zone,
        }
    }

    /// Whether the zone is the default, because the CronJob names none.
    pub fn is_default_zone(&self) -> bool {
        let spec = &self.cron_job.spec;
        spec.zone_name().is_none() && !spec.schedule.contains("TZ")
    }

    /// Returns how the CronJob is suspended; `None` if it is not.
    pub fn suspension(&self) -> Option<Suspension> {
        Suspension::from_cron_job(&self.cron_job)
    }

    /// Returns the concurrency policy.
    pub fn policy(&self) -> ConcurrencyPolicy {
        self.cron_job.concurrency_policy()
    }

    /// Returns what the controller would do now.
    pub fn decide(&self, now: Timestamp) -> Option<Plan> {
        self.decide_with_requests(&[], now)
    }

    /// Returns what the controller would do now if there were these RunRequests.
    pub(crate) fn decide_with_requests(
        &self,
        requests: &[Arc<RunRequest>],
        now: Timestamp,
    ) -> Option<Plan> {
        let mut live: Vec<(String, Option<JobView>)> = Vec::new();
        let mut read_records: Vec<ReadRecords> = Vec::new();
        for _ in 0..READS_MAX {
            let observed = Observed {
                cron_job: &self.cron_job,
                timetable: &self.timetable,
                jobs: &self.jobs,
                live_jobs: &live,
                read_records: &read_records,
                requests,
                older_object_of_same_name: None,
                gates: FeatureGates::default(),
                retention: RecordRetention::Archived,
                counts_manual_jobs: true,
                waits_for_replaced_pods: true,
            };
            match cronjob::decide(&observed, now) {
                Decision::Execute(plan) => return Some(*plan),
                Decision::ReadJobs(names) => live.extend(names.into_iter().map(|name| {
                    let found = self.jobs.iter().find(|job| job.name == name).cloned();
                    (name, found)
                })),
                Decision::ReadRecords(query) => {
                    let records = self.ledger.records().to_vec();
                    read_records.push(ReadRecords { query, records });
                }
            }
        }
        None
    }

    /// Returns since when the current schedule applies: its last change or the creation.
    pub fn schedule_since(&self) -> Option<Timestamp> {
        let created = instant(self.cron_job.metadata.creation_timestamp);
        let recorded = EffectiveSchedule::from_cron_job(&self.cron_job).map(|record| record.since);
        recorded.max(created)
    }

    /// Returns the last slot that is accounted for: it was started or missed.
    pub fn last_decided(&self) -> Option<Timestamp> {
        let status = &self.cron_job.status;
        let recorded = self.ledger.records().iter().filter(|record| record.is_scheduled());
        let recorded = recorded.filter_map(|record| instant(record.last_slot())).max();
        instant(status.last_schedule_time).max(instant(status.last_missed_time)).max(recorded)
    }

    /// Returns the slots after an instant, earliest first, whether or not the CronJob is suspended. Slots of an
    /// interval count from the last slot, as in the controller.
    pub fn slots_after(&self, after: Timestamp) -> Box<dyn Iterator<Item = Timestamp> + '_> {
        let Ok(timetable) = &self.timetable else { return Box::new(iter::empty()) };
        let schedule = timetable.schedule();
        let from = match schedule.kind() {
            ScheduleKind::Every(_) => self.latest_interval_slot(timetable, after),
            _ => after,
        };
        Box::new(schedule.after(from).filter(move |slot| *slot > after))
    }

    fn latest_interval_slot(&self, timetable: &Timetable, after: Timestamp) -> Timestamp {
        let anchor = self.last_decided().max(self.schedule_since()).unwrap_or(after);
        timetable.schedule().latest_in(anchor, after).unwrap_or(anchor)
    }

    /// Returns the latest slot at or before an instant; `None` for an interval without a start.
    pub fn latest_slot(&self, until: Timestamp) -> Option<Timestamp> {
        let timetable = self.timetable.as_ref().ok()?;
        let schedule = timetable.schedule();
        match schedule.kind() {
            ScheduleKind::Every(_) => {
                schedule.latest_in(self.last_decided().max(self.schedule_since())?, until)
            }
            _ => schedule.latest_at_or_before(until),
        }
    }

    /// Returns the slots in `(from, until]` that would start: none while the CronJob is suspended, and only
    /// those within its starting deadline.
    pub fn planned_slots(
        &self,
        from: Timestamp,
        until: Timestamp,
    ) -> impl Iterator<Item = Timestamp> {
        let resumed_at = match self.suspension() {
            None => Some(from),
            Some(suspension) => suspension.until,
        };
        let never = self.cron_job.spec.starting_deadline_seconds == Some(0);
        let start = resumed_at.map_or(until, |resumed_at| resumed_at.max(from));
        let limit = if never { start } else { until };
        self.slots_after(start).take_while(move |slot| *slot <= limit)
    }

    /// Returns the effective time of a slot: the slot with its jitter.
    pub fn effective_time(&self, slot: Timestamp) -> Timestamp {
        self.timetable.as_ref().map_or(slot, |timetable| timetable.effective_time(slot))
    }

    /// Returns when the next run starts; `None` if none is planned.
    pub fn next_start(&self, now: Timestamp) -> Option<Timestamp> {
        let horizon =
            now.checked_add(SignedDuration::from_hours(24 * 366 * 9)).unwrap_or(Timestamp::MAX);
        // The effective time of a slot that has passed can still be in the future.
        let passed = if self.suspension().is_none() { self.latest_slot(now) } else { None };
        let passed = passed.into_iter().filter(|slot| Some(*slot) > self.last_decided());
        let slots = passed.chain(self.planned_slots(now, horizon));
        slots.map(|slot| self.effective_time(slot)).find(|time| *time > now)
    }
}
