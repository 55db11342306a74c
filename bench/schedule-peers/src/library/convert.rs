//! Converts Unix seconds to the types of the other libraries.

use chrono::{DateTime, TimeZone};
use jiff::{
    Timestamp, Zoned,
    tz::{self, TimeZoneDatabase},
};

use crate::workload::BenchZone;

const IN_RANGE: &str = "the instants of the workload are in range";

/// Converts a Unix second to a chrono time in a zone.
pub(super) fn chrono<Z: TimeZone>(zone: &Z, unix: i64) -> DateTime<Z> {
    zone.timestamp_opt(unix, 0).single().expect(IN_RANGE)
}

/// Converts a Unix second to a jiff time in a zone.
pub(super) fn jiff(zone: &tz::TimeZone, unix: i64) -> Zoned {
    timestamp(unix).to_zoned(zone.clone())
}

pub(super) fn timestamp(unix: i64) -> Timestamp {
    Timestamp::from_second(unix).expect(IN_RANGE)
}

/// Returns a zone of jiff. `TimeZone::UTC` is faster than a loaded zone of that name.
pub(super) fn jiff_zone(zone: BenchZone) -> tz::TimeZone {
    match zone {
        BenchZone::Utc => tz::TimeZone::UTC,
        BenchZone::NewYork => {
            TimeZoneDatabase::bundled().get(zone.name()).expect("the bundled database has the zone")
        }
    }
}
