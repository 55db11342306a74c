//! Time spans such as `1h 30min` or `90`.

/// Microseconds in a second.
const SECOND: f64 = 1e6;

/// Parses a time span into seconds. None if it is not one, or if it is `infinity`.
pub(super) fn parse_seconds(text: &str) -> Option<f64> {
    let mut rest = text.trim();
    if rest.is_empty() || rest == "infinity" {
        return None;
    }
    let mut total = 0.0;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let (number, after) = rest.split_at_checked(digits)?;
        let number: f64 = number.parse().ok()?;
        let after = after.trim_start();
        let letters = after.find(|c: char| !c.is_alphabetic()).unwrap_or(after.len());
        let (unit, after) = after.split_at_checked(letters)?;
        total += number * unit_micros(unit)?;
        rest = after.trim_start();
    }
    let seconds = total / SECOND;
    seconds.is_finite().then_some(seconds)
}

fn unit_micros(unit: &str) -> Option<f64> {
    let seconds = match unit {
        "usec" | "us" | "µs" | "μs" => return Some(1.0),
        "msec" | "ms" => return Some(1e3),
        "" | "seconds" | "second" | "sec" | "s" => 1.0,
        "minutes" | "minute" | "min" | "m" => 60.0,
        "hours" | "hour" | "hr" | "h" => 3_600.0,
        "days" | "day" | "d" => 86_400.0,
        "weeks" | "week" | "w" => 604_800.0,
        "months" | "month" | "M" => 2_629_800.0,
        "years" | "year" | "y" => 31_557_600.0,
        _ => return None,
    };
    Some(seconds * SECOND)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_sums_of_units() {
        for (text, wanted) in [
            ("90", Some(90.0)),
            ("1h 30min", Some(5_400.0)),
            ("1h30m", Some(5_400.0)),
            ("1.5d", Some(129_600.0)),
            ("500ms", Some(0.5)),
            ("2 weeks", Some(1_209_600.0)),
            ("infinity", None),
            ("5 apples", None),
            ("", None),
        ] {
            assert_eq!(parse_seconds(text), wanted, "{text}");
        }
    }
}
