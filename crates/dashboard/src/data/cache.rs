//! The CronJobs and Jobs of the cluster, kept current by watches.
//!
//! A change builds a new [`Entry`]. Pages take the entries, which they share with the cache, and compute without a lock.

mod feed;
mod jobs;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::{SignedDuration, Timestamp};
use punctual_api::CronJob;
use punctual_engine::cronjob::JobView;
use punctual_schedule::Zone;
use punctual_views::{CronJobSnapshot, FleetRow, Ledger, RecordSource, reconstruct_records};
use tokio::sync::watch;

pub(crate) use self::feed::CacheFeed;
use self::jobs::{CachedJobs, FleetJob};
use super::cron_job_id::CronJobId;
use super::durations::Durations;

/// A row with a slot that should have started is computed again after this time.
const RECHECK_DELAY: SignedDuration = SignedDuration::from_secs(5);

/// What a page shows, as far as changes of the cluster matter to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    /// All CronJobs and Jobs.
    Fleet,
    /// One CronJob and its Jobs.
    CronJob(CronJobId),
    /// One Job.
    Job {
        /// Its namespace.
        namespace: String,
        /// Its name.
        name: String,
    },
}

/// A CronJob with the records of its status.
pub(crate) struct Entry {
    pub(crate) id: CronJobId,
    pub(crate) snapshot: CronJobSnapshot,
    /// The number of the change that made this entry.
    revision: u64,
    row: Mutex<Option<ValidRow>>,
}

/// A row and until when it is valid if nothing changes.
#[derive(Clone)]
struct ValidRow {
    row: Arc<FleetRow>,
    until: Timestamp,
}

/// The CronJobs and Jobs of the cluster.
pub(crate) struct FleetCache {
    /// The zone of schedules that name none.
    zone: Zone,
    /// Whether the cluster keeps no records, so that they are reconstructed from Jobs.
    reconstructs: bool,
    state: Mutex<CacheState>,
    revision: watch::Sender<u64>,
}

#[derive(Default)]
struct CacheState {
    entries: BTreeMap<(String, String, &'static str), Arc<Entry>>,
    keys: HashMap<String, (String, String, &'static str)>,
    jobs: CachedJobs,
    durations: Durations,
    revision: u64,
    is_synced: bool,
}

impl Entry {
    /// Returns the row of the fleet list. It is computed again when time has changed it.
    pub(crate) fn row(&self, now: Timestamp) -> Arc<FleetRow> {
        let mut known = self.row.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(valid) = known.as_ref().filter(|valid| now < valid.until) {
            return valid.row.clone();
        }
        let row = Arc::new(FleetRow::new(&self.snapshot, now));
        let until = valid_until(&self.snapshot, &row, now);
        *known = Some(ValidRow { row: row.clone(), until });
        row
    }

    /// Returns the UID.
    pub(crate) fn uid(&self) -> &str {
        &self.snapshot.cron_job.metadata.uid
    }
}

/// Returns until when a row is valid: its next start, or soon if a slot should have started.
fn valid_until(snapshot: &CronJobSnapshot, row: &FleetRow, now: Timestamp) -> Timestamp {
    let is_pending =
        snapshot.latest_slot(now) > snapshot.last_decided().max(snapshot.schedule_since());
    let soon = now.checked_add(RECHECK_DELAY).unwrap_or(now);
    let next = row.next.unwrap_or(Timestamp::MAX);
    let resumed = row.suspension.as_ref().and_then(|suspension| suspension.until);
    let next = resumed.map_or(next, |resumed| next.min(resumed.max(soon)));
    if is_pending { next.min(soon) } else { next }
}

impl FleetCache {
    pub(crate) fn new(zone: Zone, reconstructs: bool) -> FleetCache {
        FleetCache { zone, reconstructs, state: Mutex::default(), revision: watch::Sender::new(0) }
    }

    /// Returns the zone of schedules that name none.
    pub(crate) fn zone(&self) -> &Zone {
        &self.zone
    }

    /// Whether the first lists are complete.
    pub(crate) fn is_synced(&self) -> bool {
        self.lock().is_synced
    }

    /// Returns all CronJobs, by namespace and name.
    pub(crate) fn entries(&self) -> Vec<Arc<Entry>> {
        self.lock().entries.values().cloned().collect()
    }

    /// Finds a CronJob.
    pub(crate) fn entry(&self, id: &CronJobId) -> Option<Arc<Entry>> {
        let key = (id.namespace.clone(), id.name.clone(), id.kind.plural());
        self.lock().entries.get(&key).cloned()
    }

    /// Finds a CronJob by its UID.
    pub(crate) fn entry_of_uid(&self, uid: &str) -> Option<Arc<Entry>> {
        let state = self.lock();
        let key = state.keys.get(uid)?;
        state.entries.get(key).cloned()
    }

    /// Returns the Jobs of a CronJob.
    pub(crate) fn jobs_of(&self, uid: &str) -> Vec<JobView> {
        self.lock().jobs.of_controller(uid)
    }

    /// Returns how long a run of each CronJob takes, by UID.
    pub(crate) fn medians(&self, entries: &[Arc<Entry>]) -> HashMap<String, SignedDuration> {
        let state = self.lock();
        let medians = entries.iter().filter_map(|entry| {
            Some((entry.uid().to_owned(), state.durations.median(entry.uid())?))
        });
        medians.collect()
    }

    /// Returns the number of the last change that matters to a scope; `None` if the object does not exist.
    pub(crate) fn revision_of(&self, scope: &Scope) -> Option<u64> {
        let state = self.lock();
        match scope {
            Scope::Fleet => Some(state.revision),
            Scope::CronJob(id) => {
                let key = (id.namespace.clone(), id.name.clone(), id.kind.plural());
                state.entries.get(&key).map(|entry| entry.revision)
            }
            Scope::Job { namespace, name } => state.jobs.revision_of(namespace, name),
        }
    }

    /// Returns a receiver that notices each change.
    pub(crate) fn subscribe(&self) -> watch::Receiver<u64> {
        self.revision.subscribe()
    }

    fn lock(&self) -> MutexGuard<'_, CacheState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set_synced(&self) {
        let mut state = self.lock();
        state.is_synced = true;
        self.publish(state);
    }

    fn apply_cron_job(&self, cron_job: CronJob) {
        let mut state = self.lock();
        state.revision += 1;
        let uid = cron_job.metadata.uid.clone();
        state.durations.add(&uid, cron_job.status.slots.iter());
        let entry = self.build_entry(cron_job, &state);
        let key = (entry.id.namespace.clone(), entry.id.name.clone(), entry.id.kind.plural());
        if let Some(replaced) = state.entries.insert(key.clone(), Arc::new(entry)) {
            state.keys.remove(replaced.uid());
        }
        state.keys.insert(uid, key);
        self.publish(state);
    }

    fn build_entry(&self, cron_job: CronJob, state: &CacheState) -> Entry {
        let mut snapshot = CronJobSnapshot::new(cron_job, &self.zone);
        let stored = snapshot.cron_job.status.slots.clone();
        snapshot.ledger = if self.reconstructs && stored.is_empty() {
            snapshot.jobs = state.jobs.of_controller(&snapshot.cron_job.metadata.uid);
            Ledger::new(reconstruct_records(&snapshot), RecordSource::Reconstructed, false)
        } else {
            Ledger::new(stored, RecordSource::Status, false)
        };
        let id = CronJobId::of(&snapshot);
        Entry { id, snapshot, revision: state.revision, row: Mutex::default() }
    }

    fn delete_cron_job(&self, uid: &str) {
        let mut state = self.lock();
        state.revision += 1;
        state.durations.remove(uid);
        if let Some(key) = state.keys.remove(uid) {
            state.entries.remove(&key);
        }
        self.publish(state);
    }

    /// Removes the CronJobs of a kind that a complete list did not contain.
    fn retain_cron_jobs(&self, plural: &str, uids: &HashSet<String>) {
        let gone: Vec<String> = {
            let state = self.lock();
            let of_kind = state.entries.values().filter(|entry| entry.id.kind.plural() == plural);
            of_kind.map(|entry| entry.uid().to_owned()).filter(|uid| !uids.contains(uid)).collect()
        };
        for uid in gone {
            self.delete_cron_job(&uid);
        }
    }

    fn apply_job(&self, job: FleetJob) {
        let mut state = self.lock();
        state.revision += 1;
        let revision = state.revision;
        let owner = job.view.controller_uid.clone();
        state.jobs.insert(job, revision);
        self.refresh_owner(&mut state, &owner);
        self.publish(state);
    }

    fn delete_job(&self, uid: &str) {
        let mut state = self.lock();
        state.revision += 1;
        if let Some(job) = state.jobs.remove(uid) {
            self.refresh_owner(&mut state, &job.view.controller_uid);
        }
        self.publish(state);
    }

    fn retain_jobs(&self, uids: &HashSet<String>) {
        let gone = self.lock().jobs.missing_from(uids);
        for uid in gone {
            self.delete_job(&uid);
        }
    }

    /// Makes a new entry for the CronJob of a Job that changed.
    fn refresh_owner(&self, state: &mut CacheState, uid: &str) {
        let Some(key) = state.keys.get(uid).cloned() else { return };
        let Some(known) = state.entries.get(&key) else { return };
        let entry = self.build_entry(known.snapshot.cron_job.clone(), state);
        state.entries.insert(key, Arc::new(entry));
    }

    fn add_durations<'a>(
        &self,
        records: impl Iterator<Item = (&'a str, &'a punctual_api::slot_record::SlotRecord)>,
    ) {
        let mut state = self.lock();
        for (uid, record) in records {
            state.durations.add(uid, std::iter::once(record));
        }
    }

    fn publish(&self, state: MutexGuard<'_, CacheState>) {
        let revision = state.revision;
        drop(state);
        self.revision.send_replace(revision);
    }
}
