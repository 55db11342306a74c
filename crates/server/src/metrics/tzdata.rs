//! The version of the time zone data, and when it was released.

use jiff::Timestamp;
use jiff::civil::{Date, date};
use jiff::tz::TimeZone;
use punctual_schedule::Zones;

/// Versions of the time zone database and the days by which they were released, in order. The data
/// itself has no date.
const RELEASES: [(&str, Date); 6] = [
    ("2024a", date(2024, 2, 1)),
    ("2024b", date(2024, 9, 4)),
    ("2025a", date(2025, 1, 15)),
    ("2025b", date(2025, 3, 22)),
    ("2026b", date(2026, 4, 22)),
    ("2026e", date(2026, 10, 6)),
];

/// Returns the version of the data, such as `2026e`, without the directory that it was read from.
pub(super) fn version(zones: &Zones) -> &str {
    zones.version().split(' ').next().unwrap_or_default()
}

/// Returns by when a version was released: when it or a later version was, or else at the end of its
/// year. Returns `None` if it is not the version of a release.
pub(super) fn released_by(version: &str) -> Option<Timestamp> {
    let year = version.get(..4)?.parse().ok()?;
    let year_end = Date::new(year, 12, 31).ok()?;
    let known = RELEASES.iter().find(|(known, _)| *known >= version);
    let day = known.map_or(year_end, |(_, day)| *day);
    Some(day.to_zoned(TimeZone::UTC).ok()?.timestamp())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn assert_released_by(version: &str, day: Option<&str>) {
        let found = released_by(version).map(|released| released.to_string());
        assert_eq!(found, day.map(|day| format!("{day}T00:00:00Z")), "{version}");
    }

    #[test]
    fn a_version_was_released_by_the_day_of_the_next_known_one() {
        assert_released_by("2025b", Some("2025-03-22"));
        assert_released_by("2025c", Some("2026-04-22"));
        assert_released_by("2019c", Some("2024-02-01"));
        assert_released_by("2999a", Some("2999-12-31"));
        for unknown in ["unknown", "", "20", "system", "99999999999"] {
            assert_released_by(unknown, None);
        }
    }

    #[test]
    fn the_day_of_the_bundled_version_is_known() {
        let bundled = Zones::bundled();
        let is_known = RELEASES.iter().any(|(known, _)| *known == version(&bundled));
        assert!(is_known, "add {} and its day to RELEASES", bundled.version());
        assert!(RELEASES.is_sorted());
    }

    #[test]
    fn the_version_has_no_directory() {
        let zones =
            Zones::new(jiff::tz::TimeZoneDatabase::bundled(), "2025b (/usr/share/zoneinfo)");
        assert_eq!(version(&zones), "2025b");
    }
}
