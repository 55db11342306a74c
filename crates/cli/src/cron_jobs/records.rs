//! Reads a CronJob with its Jobs, Events and slot records.
//!
//! Records are those of the resource `slotrecords` if the cluster serves it, else those of the status, else they are
//! reconstructed from Jobs and Events.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use jiff::{SignedDuration, Timestamp};
use punctual_api::event::Event;
use punctual_api::slot_record::SlotRecord;
use punctual_api::{CronJob, Job, Time};
use punctual_client::resources::{EVENTS, JOBS, ResourceType};
use punctual_engine::cronjob::JobView;
use punctual_schedule::Zone;
use punctual_views::{CronJobSnapshot, Ledger, RecordSource, reconstruct_records};
use serde::Deserialize;

use super::session::{Session, encode};
use super::target;

/// `punctual.dev/v1` slot records.
static SLOT_RECORDS: ResourceType = ResourceType {
    group: "punctual.dev",
    version: "v1",
    kind: "SlotRecord",
    plural: "slotrecords",
    is_namespaced: true,
};

/// A slot record as the server serves it.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ServedRecord {
    #[serde(rename = "cronJobUID", default)]
    cron_job_uid: String,
    #[serde(flatten)]
    record: SlotRecord,
}

/// Which records to read.
#[derive(Clone, Debug)]
pub(super) struct RecordQuery {
    /// The most records.
    pub(super) limit: usize,
    /// Field selectors of the server, which narrow the records down, such as `decision=Missed`.
    pub(super) selectors: Vec<String>,
}

impl RecordQuery {
    /// The newest records, enough for the last days of most CronJobs.
    pub(super) fn newest(limit: usize) -> RecordQuery {
        RecordQuery { limit, selectors: Vec::new() }
    }
}

/// Finds a CronJob by its name and reads everything about it.
pub(super) async fn read_snapshot(
    session: &Session,
    name: &str,
    query: &RecordQuery,
    zone: &Zone,
) -> anyhow::Result<CronJobSnapshot> {
    let cron_job = target::find(session, name).await?;
    complete_snapshot(session, cron_job, query, zone).await
}

/// Reads the Jobs and Events of a CronJob, and its records of the slots from a time until before another.
pub(super) async fn complete_snapshot_between(
    session: &Session,
    cron_job: CronJob,
    slots: Range<Timestamp>,
    zone: &Zone,
) -> anyhow::Result<CronJobSnapshot> {
    let after = Time::new(slots.start.checked_sub(SignedDuration::from_secs(1))?);
    let inside = [format!("slotAfter={after}"), format!("slotBefore={}", Time::new(slots.end))];
    let query = RecordQuery { limit: usize::MAX, selectors: inside.to_vec() };
    let mut snapshot = complete_snapshot(session, cron_job, &query, zone).await?;
    if snapshot.ledger.source() == RecordSource::SlotRecords {
        // A record of several slots may begin before the first one.
        let before = format!("slotBefore={}", Time::new(slots.start));
        let query = RecordQuery { limit: 1, selectors: vec!["request=".to_owned(), before] };
        let earlier = read_served(session, &snapshot.cron_job, &query).await?;
        let records = snapshot.ledger.records().iter().chain(earlier.records()).cloned().collect();
        snapshot.ledger = Ledger::new(records, RecordSource::SlotRecords, false);
    }
    Ok(snapshot)
}

/// Reads the Jobs, Events and records of a CronJob.
pub(super) async fn complete_snapshot(
    session: &Session,
    cron_job: CronJob,
    query: &RecordQuery,
    zone: &Zone,
) -> anyhow::Result<CronJobSnapshot> {
    let mut snapshot = CronJobSnapshot::new(cron_job, zone);
    let metadata = &snapshot.cron_job.metadata;
    let jobs: Vec<Job> = session.list_all(&JOBS, &metadata.namespace, "").await?;
    let own_jobs = jobs.iter().filter(|job| job.metadata.is_controlled_by(&metadata.uid));
    let own_jobs = own_jobs.map(JobView::from_job).collect();
    let events = read_events(session, &snapshot.cron_job).await;
    let served = if session.serves_slot_records() {
        Some(read_served(session, &snapshot.cron_job, query).await?)
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
async fn read_events(session: &Session, cron_job: &CronJob) -> Vec<Event> {
    let selector = format!("involvedObject.uid={}", cron_job.metadata.uid);
    let query = format!("&fieldSelector={}", encode(&selector));
    let listed = session.list_all(&EVENTS, &cron_job.metadata.namespace, &query).await;
    let mut events: Vec<Event> = listed.unwrap_or_default();
    events.retain(|event| event.involved_object.uid == cron_job.metadata.uid);
    events.sort_by_key(|event| event.last_timestamp.or(event.first_timestamp));
    events
}

async fn read_served(
    session: &Session,
    cron_job: &CronJob,
    query: &RecordQuery,
) -> anyhow::Result<Ledger> {
    let metadata = &cron_job.metadata;
    let mut selectors = vec![format!("cronJob={}", metadata.name)];
    selectors.extend(query.selectors.iter().cloned());
    let path = SLOT_RECORDS.collection_path(&metadata.namespace);
    let fields = format!("&fieldSelector={}", encode(&selectors.join(",")));
    let listed = session.list::<ServedRecord>(&path, &fields, query.limit).await?;
    let own = listed.items.into_iter().filter(|served| served.cron_job_uid == metadata.uid);
    let records = own.map(|served| served.record).collect();
    Ok(Ledger::new(records, RecordSource::SlotRecords, listed.is_complete))
}

fn stored_or_reconstructed(snapshot: &CronJobSnapshot) -> Ledger {
    let stored = &snapshot.cron_job.status.slots;
    if stored.is_empty() {
        return Ledger::new(reconstruct_records(snapshot), RecordSource::Reconstructed, false);
    }
    Ledger::new(stored.clone(), RecordSource::Status, false)
}

/// Reads the newest records of many CronJobs, by the UID of the CronJob. At most `limit` records are read; an empty
/// namespace means all.
pub(super) async fn read_fleet_records(
    session: &Session,
    namespace: &str,
    limit: usize,
) -> anyhow::Result<FleetRecords> {
    if !session.serves_slot_records() {
        return Ok(FleetRecords::default());
    }
    let path = SLOT_RECORDS.collection_path(namespace);
    let listed = session.list::<ServedRecord>(&path, "", limit).await?;
    let mut by_uid: HashMap<String, Vec<SlotRecord>> = HashMap::new();
    for served in listed.items {
        by_uid.entry(served.cron_job_uid).or_default().push(served.record);
    }
    Ok(FleetRecords { by_uid, is_complete: listed.is_complete, is_served: true })
}

/// The newest records of many CronJobs.
#[derive(Default)]
pub(super) struct FleetRecords {
    by_uid: HashMap<String, Vec<SlotRecord>>,
    is_complete: bool,
    is_served: bool,
}

impl FleetRecords {
    /// Returns the records of a CronJob: those of the status, which are never older, and those that are served.
    pub(super) fn ledger(&self, cron_job: &CronJob) -> Ledger {
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
