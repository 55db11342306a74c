//! Parses durations such as `90s`, `2h` or `7d`, and times that may be given as a duration before now.

use anyhow::{anyhow, ensure};
use jiff::{SignedDuration, Span, SpanRelativeTo, Timestamp};
use punctual_schedule::Zone;

use crate::slots;

/// The longest duration: ten years.
const DURATION_MAX: SignedDuration = SignedDuration::from_hours(24 * 3653);

/// Parses a positive duration. Days have 24 hours, weeks seven days.
pub(super) fn parse(text: &str) -> anyhow::Result<SignedDuration> {
    let expected = || anyhow!("{text:?} is not a duration; write one like 90s, 2h or 7d");
    let span: Span = text.parse().map_err(|_| expected())?;
    let days_have_24_hours = SpanRelativeTo::days_are_24_hours();
    let duration = span.to_duration(days_have_24_hours).map_err(|_| expected())?;
    ensure!(duration > SignedDuration::ZERO, "{text:?} is not a positive duration");
    ensure!(duration <= DURATION_MAX, "{text:?} is longer than ten years");
    Ok(duration)
}

/// Parses an instant, a civil time in `zone`, or a duration before now.
pub(super) fn parse_past(text: &str, zone: &Zone, now: Timestamp) -> anyhow::Result<Timestamp> {
    if let Ok(duration) = parse(text) {
        return Ok(now.checked_sub(duration)?);
    }
    slots::parse_instant(text, zone)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_units_up_to_weeks() {
        for (text, seconds) in
            [("90s", 90), ("2h", 7200), ("7d", 604_800), ("1w", 604_800), ("1h30m", 5400)]
        {
            assert_eq!(parse(text).unwrap().as_secs(), seconds, "{text}");
        }
        for text in ["", "2", "-2h", "0s", "soon", "99999d", "1y"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
