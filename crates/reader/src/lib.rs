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
    complete_snapshot_between, read_events, read_fleet_records, read_served, slots_between,
    stored_or_reconstructed, with_earlier_record,
};
pub use self::suspension::{MissedSlots, SuspensionPatch, WriteMode, write_suspension};
