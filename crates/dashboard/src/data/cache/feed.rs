//! Feeds the cache from watches.

use std::collections::HashSet;
use std::sync::Arc;

use punctual_api::{CronJob, CronJobKind};
use punctual_client::resources::{JOBS, cron_jobs_of};
use punctual_client::{EventHandler, SyncTracker, WatchSource, watch_resource};
use punctual_reader::{Reader, SLOT_RECORDS, ServedRecord, with_kind};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::{FleetCache, FleetJob};

/// How many records are read for the durations of runs.
const DURATION_RECORDS_MAX: usize = 20_000;

/// Watches CronJobs and Jobs.
pub(crate) struct CacheFeed {
    pub(crate) cache: Arc<FleetCache>,
    pub(crate) reader: Reader,
    pub(crate) watches: WatchSource,
}

struct CronJobHandler {
    cache: Arc<FleetCache>,
    kind: CronJobKind,
}

struct JobHandler {
    cache: Arc<FleetCache>,
}

impl EventHandler<CronJob> for CronJobHandler {
    fn apply(&self, object: CronJob) {
        self.cache.apply_cron_job(with_kind(object, self.kind));
    }

    fn delete(&self, object: CronJob) {
        self.cache.delete_cron_job(&object.metadata.uid);
    }

    fn retain(&self, uids: &HashSet<String>) {
        self.cache.retain_cron_jobs(self.kind.plural(), uids);
    }
}

impl EventHandler<FleetJob> for JobHandler {
    fn apply(&self, object: FleetJob) {
        self.cache.apply_job(object);
    }

    fn delete(&self, object: FleetJob) {
        self.cache.delete_job(&object.view.uid);
    }

    fn retain(&self, uids: &HashSet<String>) {
        self.cache.retain_jobs(uids);
    }
}

impl CacheFeed {
    /// Keeps the cache current until `stop` is cancelled.
    pub(crate) async fn run(self, stop: CancellationToken) {
        let synced = SyncTracker::new();
        let mut tasks = JoinSet::new();
        let kinds = self.reader.kinds();
        let watches = kinds.len() + 1;
        for kind in kinds {
            let handler = Arc::new(CronJobHandler { cache: self.cache.clone(), kind });
            let watch = watch_resource::<CronJob, CronJobHandler>(
                self.watches.clone(),
                cron_jobs_of(kind),
                handler,
                synced.clone(),
                stop.clone(),
            );
            tasks.spawn(watch);
        }
        let handler = Arc::new(JobHandler { cache: self.cache.clone() });
        tasks.spawn(watch_resource::<FleetJob, JobHandler>(
            self.watches.clone(),
            &JOBS,
            handler,
            synced.clone(),
            stop.clone(),
        ));
        tokio::select! {
            () = stop.cancelled() => {}
            () = self.read_first(&synced, watches) => stop.cancelled().await,
        }
        tasks.shutdown().await;
    }

    /// Waits for the first lists, and then reads how long the last runs took.
    async fn read_first(&self, synced: &SyncTracker, watches: usize) {
        synced.wait_for(watches).await;
        self.cache.set_synced();
        if !self.reader.serves_slot_records() {
            return;
        }
        let path = SLOT_RECORDS.collection_path("");
        let query = "&fieldSelector=decision%3DStarted";
        match self.reader.list::<ServedRecord>(&path, query, DURATION_RECORDS_MAX).await {
            Ok(listed) => self.cache.add_durations(
                listed.items.iter().map(|served| (served.cron_job_uid.as_str(), &served.record)),
            ),
            Err(error) => tracing::warn!(
                %error,
                "could not read the durations of past runs; the dashboard predicts short runs until it sees new ones"
            ),
        }
    }
}
