//! Formats instants and durations for people.

use jiff::{SignedDuration, Timestamp};
use punctual_schedule::Zone;

/// Formats an instant in a zone, such as `Tue 2026-11-17 02:00 +01:00`. Seconds are shown unless they are zero.
pub fn local_time(zone: &Zone, instant: Timestamp) -> String {
    let format = if instant.as_second().rem_euclid(60) == 0 {
        "%a %Y-%m-%d %H:%M %:z"
    } else {
        "%a %Y-%m-%d %H:%M:%S %:z"
    };
    zone.at(instant).strftime(format).to_string()
}

/// Formats an instant in a zone without its offset, for a table whose header names the zone.
pub fn short_time(zone: &Zone, instant: Timestamp) -> String {
    let format = if instant.as_second().rem_euclid(60) == 0 {
        "%a %Y-%m-%d %H:%M"
    } else {
        "%a %Y-%m-%d %H:%M:%S"
    };
    zone.at(instant).strftime(format).to_string()
}

/// Formats a duration with its two largest units: `3d 4h`, `12s`, or `5m 3s ago` if it is negative.
pub fn format_duration(duration: SignedDuration) -> String {
    let millis = duration.as_millis();
    if (1..1000).contains(&millis) {
        return format!("{millis}ms");
    }
    let secs = duration.as_secs().unsigned_abs();
    let units =
        [(secs / 86_400, "d"), (secs / 3600 % 24, "h"), (secs / 60 % 60, "m"), (secs % 60, "s")];
    let first = units.iter().position(|(count, _)| *count > 0).unwrap_or(units.len() - 1);
    let shown = units.iter().skip(first).take(2).filter(|(count, _)| *count > 0 || secs == 0);
    let text = shown.map(|(count, unit)| format!("{count}{unit}")).collect::<Vec<_>>().join(" ");
    if duration.is_negative() { format!("{text} ago") } else { text }
}

/// Returns the time from one instant to a later one; zero if it is earlier.
pub(crate) fn distance(from: Timestamp, to: Timestamp) -> SignedDuration {
    to.duration_since(from).max(SignedDuration::ZERO)
}

/// Formats a count with its noun: `1 slot`, `3 slots`.
pub(crate) fn plural(count: i64, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}

#[cfg(test)]
mod tests {
    use punctual_schedule::Zones;

    use super::*;

    #[test]
    fn distances_have_at_most_two_units() {
        let cases = [
            (0, "0s"),
            (59, "59s"),
            (60, "1m"),
            (3_725, "1h 2m"),
            (86_400 * 400 + 3_600, "400d 1h"),
            (-90, "1m 30s ago"),
        ];
        for (secs, wanted) in cases {
            assert_eq!(format_duration(SignedDuration::from_secs(secs)), wanted);
        }
    }

    #[test]
    fn seconds_are_shown_unless_they_are_zero() {
        let berlin = Zones::bundled().get("Europe/Berlin").unwrap();
        for (instant, wanted) in [
            ("2026-11-17T01:00:00Z", "Tue 2026-11-17 02:00 +01:00"),
            ("2026-11-17T01:00:07.9Z", "Tue 2026-11-17 02:00:07 +01:00"),
        ] {
            assert_eq!(local_time(&berlin, instant.parse().unwrap()), wanted);
        }
    }
}
