//! Reads the CronJobs of a namespace, or of all.

use std::collections::HashMap;

use punctual_api::{CronJob, Job};
use punctual_client::resources::JOBS;
use punctual_engine::cronjob::JobView;
use punctual_schedule::Zone;
use punctual_views::{CronJobSnapshot, Ledger, RecordSource, reconstruct_records};

use super::records::{FleetRecords, read_fleet_records};
use super::session::Session;

/// CronJobs that were read together.
pub(super) struct Fleet {
    pub(super) snapshots: Vec<CronJobSnapshot>,
    /// The records from which the rows of changed CronJobs are computed again.
    pub(super) records: FleetRecords,
    /// Whether records were reconstructed from Jobs.
    pub(super) is_reconstructed: bool,
}

/// Which CronJobs to read.
pub(super) struct FleetScope<'a> {
    /// Empty for all namespaces.
    pub(super) namespace: &'a str,
    pub(super) selector: Option<&'a str>,
    /// The most slot records.
    pub(super) records_max: usize,
}

/// Reads the CronJobs and their newest records.
pub(super) async fn read(
    session: &Session,
    scope: &FleetScope<'_>,
    zone: &Zone,
) -> anyhow::Result<Fleet> {
    let mut cron_jobs: Vec<CronJob> = Vec::new();
    for kind in session.kinds() {
        let listed = session.list_cron_jobs(kind, scope.namespace, scope.selector).await?;
        cron_jobs.extend(listed.items);
    }
    let records = read_fleet_records(session, scope.namespace, scope.records_max).await?;
    let needs_jobs = |cron_job: &CronJob| {
        cron_job.status.slots.is_empty() && cron_job.status.last_schedule_time.is_some()
    };
    let is_reconstructed = !session.serves_slot_records() && cron_jobs.iter().any(needs_jobs);
    let mut jobs = HashMap::new();
    if is_reconstructed {
        jobs = read_jobs(session, scope.namespace).await?;
    }
    let snapshots = cron_jobs.into_iter().map(|cron_job| {
        let mut snapshot = CronJobSnapshot::new(cron_job, zone);
        snapshot.jobs = jobs.remove(&snapshot.cron_job.metadata.uid).unwrap_or_default();
        snapshot.ledger = ledger(&snapshot, &records, is_reconstructed);
        snapshot
    });
    let snapshots = snapshots.collect();
    Ok(Fleet { snapshots, records, is_reconstructed })
}

fn ledger(snapshot: &CronJobSnapshot, records: &FleetRecords, is_reconstructed: bool) -> Ledger {
    let ledger = records.ledger(&snapshot.cron_job);
    if is_reconstructed && ledger.records().is_empty() {
        return Ledger::new(reconstruct_records(snapshot), RecordSource::Reconstructed, false);
    }
    ledger
}

/// Reads all Jobs of the namespace, by the UID of their controller.
async fn read_jobs(
    session: &Session,
    namespace: &str,
) -> anyhow::Result<HashMap<String, Vec<JobView>>> {
    let jobs: Vec<Job> = session.list_all(&JOBS, namespace, "").await?;
    let mut by_uid: HashMap<String, Vec<JobView>> = HashMap::new();
    for job in &jobs {
        let view = JobView::from_job(job);
        by_uid.entry(view.controller_uid.clone()).or_default().push(view);
    }
    Ok(by_uid)
}
