//! What changes of the clocks do to the slots of a schedule.

use std::fmt;

use jiff::civil::DateTime;
use jiff::tz::{AmbiguousOffset, Offset};
use jiff::{SignedDuration, Timestamp};
use punctual_schedule::{Schedule, ScheduleKind, Zone};

/// The most skipped times that are listed.
const SKIPPED_MAX: usize = 100;

/// A remark about a slot near a change of the clocks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DstNote {
    /// Its civil time occurs twice, and this is the first.
    FirstOfTwo,
    /// Its civil time occurs twice, and this is the second.
    SecondOfTwo,
    /// A civil time of the schedule before it does not exist.
    AfterSkipped(DateTime),
}

impl fmt::Display for DstNote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DstNote::FirstOfTwo => {
                f.write_str("first of two: the clocks go back, this time occurs twice")
            }
            DstNote::SecondOfTwo => f.write_str("second of two: the clocks went back"),
            DstNote::AfterSkipped(civil) => {
                write!(f, "{} is skipped before: the clocks go forward", civil.strftime("%a %H:%M"))
            }
        }
    }
}

/// Returns the remark about a slot. `previous` is the slot or instant before it.
pub(crate) fn note(schedule: &Schedule, previous: Timestamp, slot: Timestamp) -> Option<DstNote> {
    if schedule.kind() != ScheduleKind::Calendar {
        return None;
    }
    repeated(schedule, slot)
        .or_else(|| skipped_between(schedule, previous, slot).pop().map(DstNote::AfterSkipped))
}

fn repeated(schedule: &Schedule, slot: Timestamp) -> Option<DstNote> {
    let zone = schedule.zone().time_zone();
    let civil = schedule.zone().at(slot).datetime();
    let AmbiguousOffset::Fold { before, after } = zone.to_ambiguous_timestamp(civil).offset()
    else {
        return None;
    };
    let first = before.to_timestamp(civil).ok()?;
    let second = after.to_timestamp(civil).ok()?;
    if !schedule.matches(first) || !schedule.matches(second) {
        return None;
    }
    Some(if slot == first { DstNote::FirstOfTwo } else { DstNote::SecondOfTwo })
}

/// Returns the civil times of a schedule that do not exist, because the clocks go forward in `(after, until]`.
pub(crate) fn skipped_between(
    schedule: &Schedule,
    after: Timestamp,
    until: Timestamp,
) -> Vec<DateTime> {
    let zone = schedule.zone();
    let transitions = zone.time_zone().following(after);
    let transitions = transitions.take_while(|change| change.timestamp() <= until);
    let mut skipped = Vec::new();
    for change in transitions.take(SKIPPED_MAX) {
        let at = change.timestamp();
        let before = at.checked_sub(SignedDuration::from_nanos(1)).unwrap_or(at);
        let old = zone.time_zone().to_offset(before);
        let gap = i64::from(change.offset().seconds()) - i64::from(old.seconds());
        if gap > 0 {
            skipped.extend(slots_in_gap(schedule, old, before, gap));
        }
    }
    skipped
}

/// Returns the slots that the schedule would have if the clocks were not set forward.
fn slots_in_gap(schedule: &Schedule, old: Offset, before: Timestamp, gap: i64) -> Vec<DateTime> {
    let Some(unchanged) = fixed_zone(schedule.zone(), old) else { return Vec::new() };
    let Ok(unchanged) = Schedule::parse(fields(schedule.text()), &unchanged) else {
        return Vec::new();
    };
    let end = before.checked_add(SignedDuration::from_secs(gap)).unwrap_or(before);
    let slots = unchanged.between(before, end).take(SKIPPED_MAX);
    slots.map(|slot| unchanged.zone().at(slot).datetime()).collect()
}

/// Returns the text of a schedule without its time zone.
fn fields(text: &str) -> &str {
    let prefix = ["TZ=", "CRON_TZ="].into_iter().find(|prefix| text.starts_with(prefix));
    prefix.and_then(|_| text.split_once(' ')).map_or(text, |(_, fields)| fields)
}

/// Returns a zone with one offset, as a POSIX rule. Its sign is opposite to the usual one.
fn fixed_zone(zone: &Zone, offset: Offset) -> Option<Zone> {
    let seconds = offset.seconds();
    let sign = if seconds > 0 { "-" } else { "" };
    let absolute = seconds.unsigned_abs();
    let rule =
        format!("<X>{sign}{}:{:02}:{:02}", absolute / 3600, absolute / 60 % 60, absolute % 60);
    let rule = rule.replace("<X>", "XXX");
    zone.zones().from_posix(&rule).ok()
}

/// Returns the length of the gap that contains a civil time; `None` if the civil time exists.
pub(crate) fn gap_at(zone: &Zone, civil: DateTime) -> Option<SignedDuration> {
    match zone.time_zone().to_ambiguous_timestamp(civil).offset() {
        AmbiguousOffset::Gap { before, after } => {
            Some(SignedDuration::from_secs(i64::from(after.seconds() - before.seconds())))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use punctual_schedule::Zones;

    use super::*;

    fn notes(text: &str, zone: &str, after: &str, count: usize) -> Vec<String> {
        let schedule = Schedule::parse(text, &Zones::bundled().get(zone).unwrap()).unwrap();
        let mut previous = after.parse().unwrap();
        let mut notes = Vec::new();
        for slot in schedule.after(previous).take(count) {
            notes.push(
                note(&schedule, previous, slot).map_or_else(String::new, |it| it.to_string()),
            );
            previous = slot;
        }
        notes
    }

    #[test]
    fn a_skipped_time_is_noted_at_the_next_slot() {
        let notes = notes("30 2 * * *", "Europe/Berlin", "2026-03-28T00:00:00Z", 3);
        assert_eq!(notes, ["", "Sun 02:30 is skipped before: the clocks go forward", ""]);
    }

    #[test]
    fn a_zone_in_the_schedule_is_understood() {
        let notes = notes("CRON_TZ=America/New_York 30 2 * * *", "UTC", "2026-03-07T12:00:00Z", 1);
        assert_eq!(notes, ["Sun 02:30 is skipped before: the clocks go forward"]);
    }

    #[test]
    fn a_repeated_time_is_noted_at_both_slots() {
        let notes = notes("30 2 * * *", "Europe/Berlin", "2026-10-24T12:00:00Z", 3);
        assert!(notes[0].starts_with("first of two") && notes[1].starts_with("second of two"));
        assert_eq!(notes[2], "");
    }

    #[test]
    fn schedules_outside_the_change_have_no_note() {
        for text in ["0 12 * * *", "@every 90m"] {
            assert_eq!(notes(text, "Europe/Berlin", "2026-03-28T13:00:00Z", 1), [""]);
        }
    }
}
