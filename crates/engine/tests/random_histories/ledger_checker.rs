//! Checks the slot records at the end of a history: each slot is in exactly one record, and the counters
//! of the status are the sums of the records.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};
use punctual_api::slot_record::{RunResult, SlotDecision, SlotRecord, reason};
use punctual_api::{CronJob, Time};
use punctual_engine::cronjob::{FeatureGates, Timetable};
use punctual_schedule::{ScheduleKind, Zones};

use crate::server::FakeServer;

/// Checks that the counters of the status are the sums of the records.
pub(crate) fn check_sums(server: &FakeServer) {
    let records = server.slot_records();
    let sum = |is_counted: &dyn Fn(&SlotRecord) -> bool| -> i64 {
        records.iter().filter(|record| is_counted(record)).map(|record| record.slots()).sum()
    };
    let status = &server.cron_job.status;
    let missed = sum(&|record| record.decision == SlotDecision::Missed);
    let skipped = sum(&|record| record.decision == SlotDecision::Skipped);
    let succeeded = sum(&|record| record.result == Some(RunResult::Succeeded));
    let failed = sum(&|record| record.result == Some(RunResult::Failed));
    assert_eq!(missed, status.missed_runs, "missedRuns");
    assert_eq!(skipped, status.skipped_runs, "skippedRuns");
    assert_eq!(succeeded, status.successful_runs, "successfulRuns");
    assert_eq!(failed + missed, status.failed_runs, "failedRuns");
}

/// Checks that each Job has one record, and that a record is complete.
pub(crate) fn check_runs(server: &FakeServer) {
    let records = server.slot_records();
    let started = records.iter().filter(|record| record.decision == SlotDecision::Started);
    let recorded: Vec<Timestamp> = started.clone().map(|record| slot(record)).collect();
    let mut created: Vec<Timestamp> = server.log.iter().map(|created| created.slot).collect();
    created.sort();
    assert_eq!(recorded, created, "started slots");
    for record in started {
        let job = record.job.as_ref().expect("a Job");
        assert!(!job.name.is_empty() && !job.uid.is_empty(), "{record:?}");
        assert!(record.created_time.is_some() && record.slots() == 1, "{record:?}");
        let has_end = matches!(record.result, Some(RunResult::Succeeded | RunResult::Failed));
        assert!(!has_end || record.completion_time.is_some(), "{record:?}");
        let is_active = server.running().contains(&job.name);
        assert_eq!(record.is_running(), is_active, "{record:?}");
    }
    for record in records.iter().filter(|record| record.decision != SlotDecision::Started) {
        assert!(record.job.is_none() && record.result.is_none(), "{record:?}");
    }
}

/// Checks that the records cover each slot since the creation exactly once. The slots of an interval
/// depend on the previous one, so only their number is checked, by the sums.
pub(crate) fn check_coverage(server: &FakeServer, created: Timestamp) {
    let cron_job = &server.cron_job;
    let gates = FeatureGates::default();
    let timetable = Timetable::from_cron_job(cron_job, &Zones::bundled().utc(), &gates);
    let Ok(timetable) = timetable else { return };
    if matches!(timetable.schedule().kind(), ScheduleKind::Every(_)) {
        return;
    }
    let mut covered = BTreeSet::new();
    for record in server.slot_records() {
        let through = record.last_slot().expect("a slot").timestamp();
        let first = slot(record) - SignedDuration::from_secs(1);
        let slots = timetable.schedule().after(first).take_while(|slot| *slot <= through);
        let slots: Vec<Timestamp> = slots.collect();
        assert_eq!(slots.len() as i64, record.slots(), "{record:?}");
        for slot in slots {
            assert!(covered.insert(slot), "two records of {slot}");
        }
        check_reason(cron_job, record);
    }
    let Some(last) = covered.last() else { return };
    let expected = timetable.schedule().count_in(created, *last);
    assert_eq!(covered.len() as u64, expected, "slots without a record");
}

/// Checks that the fields of a CronJob whose schedule was never edited allow the reason.
fn check_reason(cron_job: &CronJob, record: &SlotRecord) {
    let reasons: &[&str] = match record.decision {
        SlotDecision::Started => &[reason::SCHEDULED, reason::CAUGHT_UP],
        SlotDecision::Skipped => {
            &[reason::SUPERSEDED, reason::CONCURRENCY_FORBIDDEN, reason::SUSPENDED]
        }
        SlotDecision::Missed => {
            &[reason::DEADLINE_EXCEEDED, reason::CREATE_REJECTED, reason::CATCH_UP_LIMIT_EXCEEDED]
        }
    };
    assert!(reasons.contains(&&*record.reason), "{record:?} of {cron_job:?}");
    if record.reason == reason::CREATE_REJECTED {
        assert!(record.message.contains("quota"), "{record:?}");
    }
}

fn slot(record: &SlotRecord) -> Timestamp {
    record.slot.map(Time::timestamp).expect("a slot")
}
