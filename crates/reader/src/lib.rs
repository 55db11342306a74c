//! Reads CronJobs with their Jobs, Events and slot records from any Kubernetes API, and writes their suspension.
//!
//! The commands and the dashboard read with this crate, and show what `punctual-views` computes.

mod error;
mod reader;
mod records;
mod suspension;

pub use self::error::ReadError;
pub use self::reader::{Listed, Reader, encode, selector_query, with_kind};
pub use self::records::{
    FleetRecords, RecordQuery, SLOT_RECORDS, ServedRecord, complete_snapshot,
    complete_snapshot_between, slots_between, with_earlier_record, read_fleet_records,
};
pub use self::suspension::{MissedSlots, SuspensionPatch, WriteMode, write_suspension};
