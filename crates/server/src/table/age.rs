//! Human-readable durations, as `duration.HumanDuration` of apimachinery formats them.

use jiff::SignedDuration;

const MINUTE: i64 = 60;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;
const YEAR: i64 = 365 * DAY;

/// The longest duration that Go can represent, in seconds.
const MAX_SECS: i64 = i64::MAX / 1_000_000_000;

/// Formats a duration with two or three digits. Slightly negative durations are zero, since clocks
/// may differ.
pub(super) fn format_age(elapsed: SignedDuration) -> String {
    let secs = elapsed.as_secs().min(MAX_SECS);
    match secs {
        ..-1 => "<invalid>".to_owned(),
        -1..0 => "0s".to_owned(),
        _ if secs < 2 * MINUTE => format!("{secs}s"),
        _ if secs < 10 * MINUTE => two_units(secs, MINUTES, SECONDS),
        _ if secs < 3 * HOUR => one_unit(secs, MINUTES),
        _ if secs < 8 * HOUR => two_units(secs, HOURS, MINUTES),
        _ if secs < 2 * DAY => one_unit(secs, HOURS),
        _ if secs < 8 * DAY => two_units(secs, DAYS, HOURS),
        _ if secs < 2 * YEAR => one_unit(secs, DAYS),
        _ if secs < 8 * YEAR => two_units(secs, YEARS, DAYS),
        _ => one_unit(secs, YEARS),
    }
}

/// A unit of time: its length in seconds and its suffix.
#[derive(Clone, Copy)]
struct TimeUnit {
    seconds: i64,
    suffix: char,
}

const SECONDS: TimeUnit = TimeUnit { seconds: 1, suffix: 's' };
const MINUTES: TimeUnit = TimeUnit { seconds: MINUTE, suffix: 'm' };
const HOURS: TimeUnit = TimeUnit { seconds: HOUR, suffix: 'h' };
const DAYS: TimeUnit = TimeUnit { seconds: DAY, suffix: 'd' };
const YEARS: TimeUnit = TimeUnit { seconds: YEAR, suffix: 'y' };

fn one_unit(secs: i64, unit: TimeUnit) -> String {
    format!("{}{}", secs / unit.seconds, unit.suffix)
}

/// Formats a duration in two units. The smaller one is left out if it is zero.
fn two_units(secs: i64, large: TimeUnit, small: TimeUnit) -> String {
    let rest = secs % large.seconds / small.seconds;
    let head = one_unit(secs, large);
    if rest == 0 { head } else { format!("{head}{rest}{}", small.suffix) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_has_two_or_three_digits() {
        for (secs, text) in [
            (0, "0s"),
            (119, "119s"),
            (120, "2m"),
            (125, "2m5s"),
            (599, "9m59s"),
            (600, "10m"),
            (3 * HOUR - 1, "179m"),
            (3 * HOUR, "3h"),
            (3 * HOUR + 20 * MINUTE + 59, "3h20m"),
            (8 * HOUR, "8h"),
            (2 * DAY - 1, "47h"),
            (2 * DAY, "2d"),
            (2 * DAY + 3 * HOUR, "2d3h"),
            (8 * DAY - 1, "7d23h"),
            (8 * DAY + HOUR, "8d"),
            (2 * YEAR - 1, "729d"),
            (2 * YEAR, "2y"),
            (2 * YEAR + 35 * DAY, "2y35d"),
            (8 * YEAR + 35 * DAY, "8y"),
            (i64::MAX, "292y"),
        ] {
            assert_eq!(format_age(SignedDuration::from_secs(secs)), text, "{secs}");
        }
    }

    #[test]
    fn negative_durations_are_invalid_except_for_small_clock_differences() {
        for (millis, text) in [(-1, "0s"), (-1999, "0s"), (-2000, "<invalid>"), (1999, "1s")] {
            assert_eq!(format_age(SignedDuration::from_millis(millis)), text, "{millis}");
        }
        assert_eq!(format_age(SignedDuration::from_secs(i64::MIN)), "<invalid>");
    }
}
