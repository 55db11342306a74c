//! Unix seconds as the types that the peers take.

use chrono::{DateTime, TimeZone};
use jiff::{
    Timestamp, Zoned,
    tz::{self, TimeZoneDatabase},
};

use crate::workload::Zone;

const IN_RANGE: &str = "the instants of the workload are far from the ends of time";

/// A Unix second in a zone of chrono.
pub(super) fn chrono<Z: TimeZone>(zone: &Z, unix: i64) -> DateTime<Z> {
    zone.timestamp_opt(unix, 0).single().expect(IN_RANGE)
}

/// A Unix second in a zone of jiff.
pub(super) fn jiff(zone: &tz::TimeZone, unix: i64) -> Zoned {
    timestamp(unix).to_zoned(zone.clone())
}

pub(super) fn timestamp(unix: i64) -> Timestamp {
    Timestamp::from_second(unix).expect(IN_RANGE)
}

/// A zone as jiff has it. The plain UTC is cheaper than a zone of that name, so peers get that one.
pub(super) fn jiff_zone(zone: Zone) -> tz::TimeZone {
    match zone {
        Zone::Utc => tz::TimeZone::UTC,
        Zone::NewYork => TimeZoneDatabase::bundled()
            .get(zone.name())
            .expect("the bundled database has every zone of the workload"),
    }
}
