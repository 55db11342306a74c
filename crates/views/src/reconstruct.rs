//! Reconstructs slot records from Jobs and Events, for clusters that keep none.

use jiff::Timestamp;
use jiff::fmt::rfc2822;
use punctual_api::event::Event;
use punctual_api::slot_record::{RunResult, SlotDecision, SlotJob, SlotRecord, reason};
use punctual_api::time::Time;
use punctual_engine::cronjob::{JobResult, JobView};

use crate::snapshot::CronJobSnapshot;

/// The beginning of the message of Kubernetes' event `MissSchedule`; the slot follows.
const MISSED_PREFIX: &str = "Missed scheduled time to start a job: ";

/// Returns the records that the Jobs and Events of a CronJob show.
pub fn reconstruct_records(snapshot: &CronJobSnapshot) -> Vec<SlotRecord> {
    let mut records: Vec<SlotRecord> =
        snapshot.jobs.iter().filter_map(|job| record_of_job(snapshot, job)).collect();
    for event in &snapshot.events {
        let Some(record) = record_of_event(snapshot, event) else { continue };
        if records.iter().all(|known| known.slot != record.slot) {
            records.push(record);
        }
    }
    records
}

fn record_of_job(snapshot: &CronJobSnapshot, job: &JobView) -> Option<SlotRecord> {
    let slot = job.slot?;
    let effective = snapshot.effective_time(slot);
    let result = match job.result {
        Some(JobResult::Complete) => RunResult::Succeeded,
        Some(JobResult::Failed) => RunResult::Failed,
        None => RunResult::Running,
    };
    Some(SlotRecord {
        slot: Some(Time::new(slot)),
        decision: SlotDecision::Started,
        reason: reason::SCHEDULED.into(),
        job: Some(SlotJob { name: job.name.clone(), uid: job.uid.clone() }),
        effective_time: (effective != slot).then(|| Time::new(effective)),
        created_time: job.created_at.map(Time::new),
        start_time: job.started_at.map(Time::new),
        completion_time: job.finished_at.map(Time::new),
        result: Some(result),
        ..SlotRecord::default()
    })
}

fn record_of_event(snapshot: &CronJobSnapshot, event: &Event) -> Option<SlotRecord> {
    match event.reason.as_str() {
        "MissSchedule" => {
            let slot = missed_slot(&event.message)?;
            Some(skipped(slot, SlotDecision::Missed, reason::DEADLINE_EXCEEDED, &event.message))
        }
        "JobAlreadyActive" => {
            let at = event.first_timestamp.or(event.last_timestamp)?.timestamp();
            // A later slot is pending: it starts when the active run ends.
            let started = snapshot.cron_job.status.last_schedule_time?.timestamp();
            let slot = snapshot.latest_slot(at).filter(|slot| *slot <= started)?;
            let reason = reason::CONCURRENCY_FORBIDDEN;
            Some(skipped(slot, SlotDecision::Skipped, reason, &event.message))
        }
        _ => None,
    }
}

fn skipped(slot: Timestamp, decision: SlotDecision, reason: &str, message: &str) -> SlotRecord {
    SlotRecord {
        slot: Some(Time::new(slot)),
        decision,
        reason: reason.into(),
        message: message.into(),
        ..SlotRecord::default()
    }
}

fn missed_slot(message: &str) -> Option<Timestamp> {
    let text = message.strip_prefix(MISSED_PREFIX)?;
    Some(rfc2822::parse(text).ok()?.timestamp())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slot_of_a_missed_event_is_read() {
        let message = "Missed scheduled time to start a job: Tue, 17 Nov 2026 01:00:00 +0000";
        assert_eq!(missed_slot(message).unwrap().to_string(), "2026-11-17T01:00:00Z");
        assert_eq!(missed_slot("Missed scheduled time"), None);
    }
}
