//! Reads a CronJob with its Jobs, Events and slot records.
//!
//! Records are those of the resource `slotrecords` if the cluster serves it, else those of the status, else they are
//! reconstructed from Jobs and Events.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use jiff::{SignedDuration, Timestamp};
use punctual_api::event::Event;
use punctual_api::slot_record::SlotRecord;
use punctual_api::{CronJob, Job, ObjectMeta, Time};
use punctual_client::resources::{EVENTS, JOBS, ResourceType};
use punctual_engine::cronjob::JobView;
use punctual_schedule::Zone;
use punctual_views::{CronJobSnapshot, Ledger, RecordSource, reconstruct_records};
use serde::Deserialize;

use crate::error::ReadError;
use crate::reader::{Reader, encode};

/// `punctual.dev/v1` slot records.
pub static SLOT_RECORDS: ResourceType = ResourceType {
    group: "punctual.dev",
    version: "v1",
    kind: "SlotRecord",
    plural: "slotrecords",
    is_namespaced: true,
};

/// A slot record as the server serves it.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ServedRecord {
    /// The UID of the CronJob.
    #[serde(rename = "cronJobUID", default)]
    pub cron_job_uid: String,
    /// The name of the CronJob.
    #[serde(default)]
    pub cron_job: String,
    /// The kind of the CronJob.
    #[serde(default)]
    pub cron_job_kind: String,
    /// The name and the namespace of the record.
    #[serde(default)]
    pub metadata: ObjectMeta,
    /// The record.
    #[serde(flatten)]
    pub record: SlotRecord,
}

/// Which records to read.
#[derive(Clone, Debug)]
pub struct RecordQuery {
    /// The most records.
    pub limit: usize,
    /// Field selectors of the server, which narrow the records down, such as `decision=Missed`.
    pub selectors: Vec<String>,
}

impl RecordQuery {
    /// The newest records, enough for the last days of most CronJobs.
    pub fn newest(limit: usize) -> RecordQuery {
        RecordQuery { limit, selectors: Vec::new() }
    }
}

/// Reads the Jobs and Events of a CronJob, and its records of the slots from a time until before another.
pub async fn complete_snapshot_between(
    reader: &Reader,
    cron_job: CronJob,
    slots: Range<Timestamp>,
    zone: &Zone,
) -> Result<CronJobSnapshot, ReadError> {
    let inside = slots_between(&slots);
    let mut snapshot = complete_snapshot(reader, cron_job, &inside, zone).await?;
    if snapshot.ledger.source() == RecordSource::SlotRecords {
        snapshot.ledger = with_earlier_record(reader, &snapshot, slots.start).await?;
    }
    Ok(snapshot)
}

/// Selects the records of the slots from a time until before another.
pub fn slots_between(slots: &Range<Timestamp>) -> RecordQuery {
    let second = SignedDuration::from_secs(1);
    let after = Time::new(slots.start.checked_sub(second).unwrap_or(Timestamp::MIN));
    let inside = [format!("slotAfter={after}"), format!("slotBefore={}", Time::new(slots.end))];
    RecordQuery { limit: usize::MAX, selectors: inside.to_vec() }
}

/// Adds the record before a time: a record of several slots may begin before the first one.
pub async fn with_earlier_record(
    reader: &Reader,
    snapshot: &CronJobSnapshot,
    start: Timestamp,
) -> Result<Ledger, ReadError> {
    let before = format!("slotBefore={}", Time::new(start));
    let query = RecordQuery { limit: 1, selectors: vec!["request=".to_owned(), before] };
    let earlier = read_served(reader, &snapshot.cron_job, &query).await?;
    let records = snapshot.ledger.records().iter().chain(earlier.records()).cloned().collect();
    Ok(Ledger::new(records, RecordSource::SlotRecords, false))
}

/// Reads the Jobs, Events and records of a CronJob.
pub async fn complete_snapshot(
    reader: &Reader,
    cron_job: CronJob,
    query: &RecordQuery,
    zone: &Zone,
) -> Result<CronJobSnapshot, ReadError> {
    let mut snapshot = CronJobSnapshot::new(cron_job, zone);
    let metadata = &snapshot.cron_job.metadata;
    let jobs: Vec<Job> = reader.list_all(&JOBS, &metadata.namespace, "").await?;
    let own_jobs = jobs.iter().filter(|job| job.metadata.is_controlled_by(&metadata.uid));
    let own_jobs = own_jobs.map(JobView::from_job).collect();
    let events = read_events(reader, &snapshot.cron_job).await;
    let served = if reader.serves_slot_records() {
        Some(read_served(reader, &snapshot.cron_job, query).await?)
    } else {
        None
    };
    snapshot.jobs = own_jobs;
    snapshot.events = events;
    snapshot.ledger = match served {
        Some(ledger) => ledger,
        None => stored_or_reconstructed(&snapshot),
    };
    Ok(snapshot)
}

/// Reads the Events of a CronJob. They only add details, so a user who may not read them gets none.
pub async fn read_events(reader: &Reader, cron_job: &CronJob) -> Vec<Event> {
    let selector = format!("involvedObject.uid={}", cron_job.metadata.uid);
    let query = format!("&fieldSelector={}", encode(&selector));
    let listed = reader.list_all(&EVENTS, &cron_job.metadata.namespace, &query).await;
    let mut events: Vec<Event> = listed.unwrap_or_default();
    events.retain(|event| event.involved_object.uid == cron_job.metadata.uid);
    events.sort_by_key(|event| event.last_timestamp.or(event.first_timestamp));
    events
}

/// Reads the records of a CronJob from the resource `slotrecords`.
pub async fn read_served(
    reader: &Reader,
    cron_job: &CronJob,
    query: &RecordQuery,
) -> Result<Ledger, ReadError> {
    let metadata = &cron_job.metadata;
    let mut selectors = vec![format!("cronJob={}", metadata.name)];
    selectors.extend(query.selectors.iter().cloned());
    let path = SLOT_RECORDS.collection_path(&metadata.namespace);
    let fields = format!("&fieldSelector={}", encode(&selectors.join(",")));
    let listed = reader.list::<ServedRecord>(&path, &fields, query.limit).await?;
    let own = listed.items.into_iter().filter(|served| served.cron_job_uid == metadata.uid);
    let records = own.map(|served| served.record).collect();
    Ok(Ledger::new(records, RecordSource::SlotRecords, listed.is_complete))
}

/// Returns the records in the status of a CronJob, or those that its Jobs and Events show.
pub fn stored_or_reconstructed(snapshot: &CronJobSnapshot) -> Ledger {
    let stored = &snapshot.cron_job.status.slots;
    if stored.is_empty() {
        return Ledger::new(reconstruct_records(snapshot), RecordSource::Reconstructed, false);
    }
    Ledger::new(stored.clone(), RecordSource::Status, false)
}

/// Reads the newest records of many CronJobs, by the UID of the CronJob. At most `limit` records are read; an empty
/// namespace means all.
pub async fn read_fleet_records(
    reader: &Reader,
    namespace: &str,
    limit: usize,
) -> Result<FleetRecords, ReadError> {
    if !reader.serves_slot_records() {
        return Ok(FleetRecords::default());
    }
    let path = SLOT_RECORDS.collection_path(namespace);
    let listed = reader.list::<ServedRecord>(&path, "", limit).await?;
    let mut by_uid: HashMap<String, Vec<SlotRecord>> = HashMap::new();
    for served in listed.items {
        by_uid.entry(served.cron_job_uid).or_default().push(served.record);
    }
    Ok(FleetRecords { by_uid, is_complete: listed.is_complete, is_served: true })
}

/// The newest records of many CronJobs.
#[derive(Default)]
pub struct FleetRecords {
    by_uid: HashMap<String, Vec<SlotRecord>>,
    is_complete: bool,
    is_served: bool,
}

impl FleetRecords {
    /// Returns the records of a CronJob: those of the status, which are never older, and those that are served.
    pub fn ledger(&self, cron_job: &CronJob) -> Ledger {
        let mut records = cron_job.status.slots.clone();
        let key = |record: &SlotRecord| (record.slot, record.request.clone());
        let known: HashSet<_> = records.iter().map(key).collect();
        let served = self.by_uid.get(&cron_job.metadata.uid);
        let older = served.into_iter().flatten().filter(|record| !known.contains(&key(record)));
        records.extend(older.cloned());
        let source = if self.is_served { RecordSource::SlotRecords } else { RecordSource::Status };
        Ledger::new(records, source, self.is_complete)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_served_record_is_read() {
        let text = r#"{"apiVersion":"punctual.dev/v1","kind":"SlotRecord","metadata":{"name":"x"},"cronJob":"a",
            "cronJobKind":"CronJob","cronJobUID":"u","slot":"2026-01-31T08:00:00Z","decision":"Missed",
            "reason":"DeadlineExceeded"}"#;
        let served: ServedRecord = serde_json::from_str(text).unwrap();
        assert_eq!(served.cron_job_uid, "u");
        assert_eq!(served.record.reason, "DeadlineExceeded");
    }
}
