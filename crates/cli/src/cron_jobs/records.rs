//! Reads a CronJob that a command names, with its Jobs, Events and slot records.

use std::ops::Range;

use jiff::Timestamp;
use punctual_api::CronJob;
pub(super) use punctual_reader::{FleetRecords, RecordQuery};
use punctual_schedule::Zone;
use punctual_views::CronJobSnapshot;

use super::session::Session;
use super::target;

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
    let reader = &session.reader;
    Ok(punctual_reader::complete_snapshot_between(reader, cron_job, slots, zone).await?)
}

/// Reads the Jobs, Events and records of a CronJob.
pub(super) async fn complete_snapshot(
    session: &Session,
    cron_job: CronJob,
    query: &RecordQuery,
    zone: &Zone,
) -> anyhow::Result<CronJobSnapshot> {
    Ok(punctual_reader::complete_snapshot(&session.reader, cron_job, query, zone).await?)
}

/// Reads the newest records of many CronJobs. At most `limit` records are read; an empty namespace means all.
pub(super) async fn read_fleet_records(
    session: &Session,
    namespace: &str,
    limit: usize,
) -> anyhow::Result<FleetRecords> {
    Ok(punctual_reader::read_fleet_records(&session.reader, namespace, limit).await?)
}
