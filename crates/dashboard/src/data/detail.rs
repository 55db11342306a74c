//! Reads what the cache does not keep: slot records, Events and whole objects.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use futures::future::join_all;
use jiff::{SignedDuration, Timestamp};
use punctual_api::slot_record::SlotRecord;
use punctual_client::resources::JOBS;
use punctual_reader::{
    Listed, ReadError, Reader, RecordQuery, SLOT_RECORDS, ServedRecord, encode, read_events,
    read_served, slots_between, stored_or_reconstructed, with_earlier_record,
};
use punctual_schedule::Zone;
use punctual_views::{CronJobSnapshot, Ledger, RecordSource};
use serde_json::Value;

use super::cache::{Entry, FleetCache};
use super::cron_job_id::CronJobId;

/// How many records of a CronJob a list of CronJobs shows.
const LIST_RECORDS: usize = 24;
/// How many ledgers are kept for lists that are shown again.
const KEPT_MAX: usize = 1_000;
/// How long after an old slot the run is looked for that superseded it.
const LATER_RUNS: SignedDuration = SignedDuration::from_hours(7 * 24);

/// Reads details of CronJobs as one user.
pub(crate) struct DetailReader {
    pub(crate) reader: Reader,
    cache: Arc<FleetCache>,
    /// The newest records of CronJobs, by UID.
    kept: Mutex<HashMap<String, KeptLedger>>,
}

/// Records that are current as long as the CronJob has this version: both are written together.
struct KeptLedger {
    resource_version: String,
    ledger: Ledger,
}

/// Which records of all CronJobs to read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct LedgerQuery {
    /// Empty for all namespaces.
    pub(crate) namespace: String,
    /// Field selectors of the server.
    pub(crate) selectors: Vec<String>,
    pub(crate) limit: usize,
    /// Continues a list.
    pub(crate) continue_token: Option<String>,
}

/// A page of records of all CronJobs, newest first.
pub(crate) struct LedgerPage {
    pub(crate) records: Vec<LedgerLine>,
    pub(crate) continue_token: Option<String>,
    /// Whether the cluster serves records; else these are the newest that the cache knows.
    pub(crate) is_served: bool,
}

/// A record with its CronJob.
#[derive(Clone, Debug)]
pub(crate) struct LedgerLine {
    pub(crate) id: CronJobId,
    pub(crate) record: SlotRecord,
}

/// A Job with the record of its run.
#[derive(Clone, Debug)]
pub(crate) struct RunJob {
    pub(crate) namespace: String,
    pub(crate) name: String,
}

/// Reads the records around a slot that precedes the newest ones.
pub(crate) fn records_around(slot: Timestamp, limit: usize) -> RecordQuery {
    let until = slot.checked_add(LATER_RUNS).unwrap_or(Timestamp::MAX);
    RecordQuery { limit, selectors: vec![format!("slotBefore={until:.0}")] }
}

/// Reads an object as JSON.
pub(crate) async fn object_json(reader: &Reader, path: &str) -> Result<Option<Value>, ReadError> {
    reader.get_optional(path).await
}

impl DetailReader {
    pub(crate) fn new(reader: Reader, cache: Arc<FleetCache>) -> DetailReader {
        DetailReader { reader, cache, kept: Mutex::default() }
    }

    /// Reads a CronJob with its records and Events.
    pub(crate) async fn snapshot(
        &self,
        entry: &Entry,
        query: &RecordQuery,
    ) -> Result<CronJobSnapshot, ReadError> {
        let cron_job = entry.snapshot.cron_job.clone();
        let mut snapshot = CronJobSnapshot::new(cron_job, self.cache.zone());
        snapshot.jobs = self.cache.jobs_of(entry.uid());
        let events = read_events(&self.reader, &snapshot.cron_job);
        if self.reader.serves_slot_records() {
            let records = read_served(&self.reader, &snapshot.cron_job, query);
            let (events, records) = tokio::join!(events, records);
            snapshot.events = events;
            snapshot.ledger = records?;
        } else {
            snapshot.events = events.await;
            snapshot.ledger = stored_or_reconstructed(&snapshot);
        }
        Ok(snapshot)
    }

    /// Reads a CronJob with its Events, and its records of the slots from a time until before another.
    pub(crate) async fn snapshot_between(
        &self,
        entry: &Entry,
        slots: Range<Timestamp>,
        limit: usize,
    ) -> Result<CronJobSnapshot, ReadError> {
        let start = slots.start;
        let query = RecordQuery { limit, ..slots_between(&slots) };
        let mut snapshot = self.snapshot(entry, &query).await?;
        if snapshot.ledger.source() == RecordSource::SlotRecords {
            snapshot.ledger = with_earlier_record(&self.reader, &snapshot, start).await?;
        }
        Ok(snapshot)
    }

    /// Returns CronJobs of a list with their newest records. A record that cannot be read is missing.
    pub(crate) async fn with_records(&self, entries: &[Arc<Entry>]) -> Vec<CronJobSnapshot> {
        let zone = self.cache.zone();
        join_all(entries.iter().map(|entry| self.with_newest_records(entry, zone))).await
    }

    /// Returns CronJobs with their records from a time on, at most `limit` each.
    pub(crate) async fn with_records_since(
        &self,
        entries: &[Arc<Entry>],
        since: Timestamp,
        limit: usize,
    ) -> Vec<CronJobSnapshot> {
        if !self.reader.serves_slot_records() {
            return self.with_records(entries).await;
        }
        let query = RecordQuery { limit, selectors: vec![format!("slotAfter={since:.0}")] };
        let reads = entries.iter().map(|entry| async {
            let cron_job = entry.snapshot.cron_job.clone();
            let mut snapshot = CronJobSnapshot::new(cron_job, self.cache.zone());
            snapshot.ledger = match read_served(&self.reader, &snapshot.cron_job, &query).await {
                Ok(ledger) => ledger,
                Err(_) => entry.snapshot.ledger.clone(),
            };
            snapshot
        });
        join_all(reads).await
    }

    async fn with_newest_records(&self, entry: &Entry, zone: &Zone) -> CronJobSnapshot {
        let mut snapshot = CronJobSnapshot::new(entry.snapshot.cron_job.clone(), zone);
        snapshot.ledger = entry.snapshot.ledger.clone();
        snapshot.jobs.clone_from(&entry.snapshot.jobs);
        if !self.reader.serves_slot_records() {
            return snapshot;
        }
        let metadata = &snapshot.cron_job.metadata;
        let version = metadata.resource_version.clone();
        let uid = metadata.uid.clone();
        if let Some(ledger) = self.kept_ledger(&uid, &version) {
            snapshot.ledger = ledger;
            return snapshot;
        }
        let query = RecordQuery::newest(LIST_RECORDS);
        match read_served(&self.reader, &snapshot.cron_job, &query).await {
            Ok(ledger) => {
                self.keep_ledger(uid, version, ledger.clone());
                snapshot.ledger = ledger;
            }
            Err(error) => {
                tracing::warn!(cron_job = %entry.id, %error, "could not read slot records; the list shows the newest only");
            }
        }
        snapshot
    }

    fn kept_ledger(&self, uid: &str, version: &str) -> Option<Ledger> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let found = kept.get(uid).filter(|found| found.resource_version == version)?;
        Some(found.ledger.clone())
    }

    fn keep_ledger(&self, uid: String, resource_version: String, ledger: Ledger) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() >= KEPT_MAX {
            kept.clear();
        }
        kept.insert(uid, KeptLedger { resource_version, ledger });
    }

    /// Reads records of all CronJobs.
    pub(crate) async fn ledger_page(&self, query: &LedgerQuery) -> Result<LedgerPage, ReadError> {
        if !self.reader.serves_slot_records() {
            return Ok(self.known_records(query));
        }
        let path = SLOT_RECORDS.collection_path(&query.namespace);
        let mut parameters = String::new();
        if !query.selectors.is_empty() {
            parameters += &format!("&fieldSelector={}", encode(&query.selectors.join(",")));
        }
        if let Some(token) = &query.continue_token {
            parameters += &format!("&continue={}", encode(token));
        }
        let listed: Listed<ServedRecord> =
            self.reader.list_page(&path, &parameters, query.limit).await?;
        let lines = listed.items.into_iter().filter_map(ledger_line).collect();
        Ok(LedgerPage { records: lines, continue_token: listed.continue_token, is_served: true })
    }

    /// Returns the newest records in statuses, or reconstructed from Jobs.
    fn known_records(&self, query: &LedgerQuery) -> LedgerPage {
        let mut records = Vec::new();
        for entry in self.cache.entries() {
            if !query.namespace.is_empty() && entry.id.namespace != query.namespace {
                continue;
            }
            let own = entry.snapshot.ledger.records().iter();
            records.extend(
                own.map(|record| LedgerLine { id: entry.id.clone(), record: record.clone() }),
            );
        }
        records.sort_by_key(|line| std::cmp::Reverse(line.record.slot));
        LedgerPage { records, continue_token: None, is_served: false }
    }

    /// Finds the CronJob of a Job by the UID of its controller.
    pub(crate) fn owner_of(&self, controller_uid: &str) -> Option<Arc<Entry>> {
        self.cache.entry_of_uid(controller_uid)
    }

    /// Whether records of this source are incomplete before a slot, so that older ones must be read.
    pub(crate) fn is_older(snapshot: &CronJobSnapshot, slot: Timestamp) -> bool {
        let ledger = &snapshot.ledger;
        ledger.source() == RecordSource::SlotRecords
            && !ledger.is_complete()
            && ledger.oldest_slot().is_some_and(|oldest| slot < oldest)
    }
}

fn ledger_line(served: ServedRecord) -> Option<LedgerLine> {
    let kind = if served.cron_job_kind == "ScheduledJob" { "scheduledjobs" } else { "cronjobs" };
    let id = CronJobId::from_parts(kind, &served.metadata.namespace, &served.cron_job)?;
    Some(LedgerLine { id, record: served.record })
}

impl RunJob {
    /// Returns the path of the Job in the Kubernetes API.
    pub(crate) fn api_path(&self) -> String {
        JOBS.object_path(&self.namespace, &self.name)
    }
}
