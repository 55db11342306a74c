//! Durations for people, as `duration.HumanDuration` of apimachinery writes them.

use jiff::SignedDuration;

const MINUTE: i64 = 60;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;
const YEAR: i64 = 365 * DAY;

/// The longest duration that Go can count, in seconds.
const MAX_SECS: i64 = i64::MAX / 1_000_000_000;

/// A duration to two or three digits. A clock may be behind by a second before that shows.
pub(super) fn human(elapsed: SignedDuration) -> String {
    let secs = elapsed.as_secs().min(MAX_SECS);
    match secs {
        ..-1 => "<invalid>".to_owned(),
        -1..0 => "0s".to_owned(),
        _ if secs < 2 * MINUTE => format!("{secs}s"),
        _ if secs < 10 * MINUTE => two_units(secs, (MINUTE, 'm'), (1, 's')),
        _ if secs < 3 * HOUR => one_unit(secs, (MINUTE, 'm')),
        _ if secs < 8 * HOUR => two_units(secs, (HOUR, 'h'), (MINUTE, 'm')),
        _ if secs < 2 * DAY => one_unit(secs, (HOUR, 'h')),
        _ if secs < 8 * DAY => two_units(secs, (DAY, 'd'), (HOUR, 'h')),
        _ if secs < 2 * YEAR => one_unit(secs, (DAY, 'd')),
        _ if secs < 8 * YEAR => two_units(secs, (YEAR, 'y'), (DAY, 'd')),
        _ => one_unit(secs, (YEAR, 'y')),
    }
}

fn one_unit(secs: i64, (unit, mark): (i64, char)) -> String {
    format!("{}{mark}", secs / unit)
}

/// The smaller unit is left out where it is zero.
fn two_units(secs: i64, large: (i64, char), (small, mark): (i64, char)) -> String {
    let rest = secs % large.0 / small;
    let head = one_unit(secs, large);
    if rest == 0 { head } else { format!("{head}{rest}{mark}") }
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
            assert_eq!(human(SignedDuration::from_secs(secs)), text, "{secs}");
        }
    }

    #[test]
    fn the_future_is_invalid_but_for_a_clock_that_is_a_little_behind() {
        for (millis, text) in [(-1, "0s"), (-1999, "0s"), (-2000, "<invalid>"), (1999, "1s")] {
            assert_eq!(human(SignedDuration::from_millis(millis)), text, "{millis}");
        }
        assert_eq!(human(SignedDuration::from_secs(i64::MIN)), "<invalid>");
    }
}
