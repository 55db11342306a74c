//! Slot records that a decision needs and that the status does not have.
//!
//! Our server moves records out of the status into its archive. A decision that needs them returns a
//! [`NeededRecords`]; the caller reads them and decides again.

use jiff::Timestamp;
use punctual_api::Time;
use punctual_api::cronjob::CronJobStatus;
use punctual_api::slot_record::SlotRecord;

use super::{Decision, Observed};

/// The slots whose records are needed, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NeededRecords {
    /// The first slot.
    pub from: Timestamp,
    /// The last slot.
    pub through: Timestamp,
}

impl From<NeededRecords> for Decision {
    fn from(query: NeededRecords) -> Decision {
        Decision::ReadRecords(query)
    }
}

/// The answer to a query.
#[derive(Clone, Debug)]
pub struct ReadRecords {
    /// The query.
    pub query: NeededRecords,
    /// The records of the CronJob that are about at least one of the slots.
    pub records: Vec<SlotRecord>,
}

/// Returns the records of a drafted status and of the archive that are about these slots. Fails if those of
/// the archive must be read.
pub(crate) fn find_records<'a>(
    observed: &Observed<'a>,
    status: &'a CronJobStatus,
    query: NeededRecords,
) -> Result<Vec<&'a SlotRecord>, NeededRecords> {
    let archived: &'a [SlotRecord] = if observed.retention.has_archive() {
        let answer = observed.read_records.iter().find(|read| read.query == query);
        &answer.ok_or(query)?.records
    } else {
        &[]
    };
    let is_inside = |record: &&SlotRecord| {
        let from = record.slot.map(Time::timestamp);
        let through = record.last_slot().map(Time::timestamp);
        from <= Some(query.through) && through >= Some(query.from)
    };
    // A record of the status is newer than the same one in the archive.
    let stored = status.slots.iter().filter(is_inside);
    let is_stored = |record: &&SlotRecord| {
        let uid = record.job.as_ref().map(|job| job.uid.as_str());
        uid.is_some_and(|uid| status.slots.iter().any(|stored| stored.is_of_job(uid)))
    };
    let older = archived.iter().filter(move |record| !is_stored(record));
    Ok(stored.chain(older).collect())
}
