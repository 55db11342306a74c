//! Times, durations and states in words.

use jiff::{SignedDuration, Timestamp};
use maud::{Markup, html};
use punctual_schedule::Zone;
use punctual_views::{FleetRow, FleetState, format_duration, local_time};

use crate::model::{CellKind, SlotCell};

/// Formats an instant as people say it: `07:35`, `tomorrow 02:00`, `Sun 03:15`, `1 Dec 04:00`.
pub(crate) fn friendly_text(zone: &Zone, at: Timestamp, now: Timestamp) -> String {
    let has_seconds = at.as_second().rem_euclid(60) != 0;
    friendly_clock(zone, at, now, if has_seconds { "%H:%M:%S" } else { "%H:%M" })
}

/// Shows an instant with its seconds, for a column in which other instants have seconds.
pub(crate) fn friendly_seconds(zone: &Zone, at: Timestamp, now: Timestamp) -> Markup {
    let text = friendly_clock(zone, at, now, "%H:%M:%S");
    html! { time datetime=(at) title=(exact_title(zone, at)) { (text) } }
}

fn friendly_clock(zone: &Zone, at: Timestamp, now: Timestamp, clock: &str) -> String {
    let local = zone.at(at);
    let today = zone.at(now).date();
    let clock = local.strftime(clock).to_string();
    let days = local.date().since(today).map_or(i32::MAX, |span| span.get_days());
    match days {
        0 => clock,
        1 => format!("tomorrow {clock}"),
        -1 => format!("yesterday {clock}"),
        -6..=6 => format!("{} {clock}", local.strftime("%a")),
        _ if local.year() == zone.at(now).year() => format!("{} {clock}", local.strftime("%-d %b")),
        _ => format!("{} {clock}", local.strftime("%-d %b %Y")),
    }
}

/// Shows an instant as people say it. The exact time is its title.
pub(crate) fn friendly_time(zone: &Zone, at: Timestamp, now: Timestamp) -> Markup {
    html! { time datetime=(at) title=(exact_title(zone, at)) { (friendly_text(zone, at, now)) } }
}

/// Shows an instant with its date and offset.
pub(crate) fn exact_time(zone: &Zone, at: Timestamp) -> Markup {
    html! { time datetime=(at) title=(exact_title(zone, at)) { (local_time(zone, at)) } }
}

fn exact_title(zone: &Zone, at: Timestamp) -> String {
    let utc = at.strftime("%Y-%m-%d %H:%M:%S").to_string();
    format!("{} {} = {utc} UTC", local_time(zone, at), zone.name())
}

/// Shows how long it is until an instant. The script of the page counts down.
pub(crate) fn countdown(at: Timestamp, now: Timestamp) -> Markup {
    let left = at.duration_since(now);
    let text = if left <= SignedDuration::ZERO {
        "now".to_owned()
    } else {
        format!("in {}", format_duration(SignedDuration::from_secs(left.as_secs())))
    };
    html! { span.countdown data-until=(at.as_second()) { (text) } }
}

/// Shows how long ago an instant was.
pub(crate) fn age(at: Timestamp, now: Timestamp) -> Markup {
    let passed = SignedDuration::from_secs(now.duration_since(at).as_secs().max(0));
    html! { span data-since=(at.as_second()) { (format_duration(passed)) " ago" } }
}

/// Returns the title of a cell.
pub(crate) fn slot_title(slot: &SlotCell, zone: &Zone) -> String {
    let mut title = local_time(zone, slot.slot);
    title.push_str(": ");
    title.push_str(&slot.text);
    if let Some(dst) = &slot.dst {
        title.push_str(" (");
        title.push_str(dst);
        title.push(')');
    }
    title
}

/// Shows a state with its mark, so that the colour is not the only sign.
pub(crate) fn state_badge(row: &FleetRow) -> Markup {
    let (class, mark) = match row.state {
        FleetState::Invalid | FleetState::Stuck | FleetState::Failing => ("badge bad", "✕"),
        FleetState::Overdue => ("badge warn", "!"),
        FleetState::Suspended => ("badge calm", "‖"),
        FleetState::Running => ("badge busy", "▸"),
        FleetState::Ok => ("badge good", "✓"),
        FleetState::New => ("badge calm", "○"),
        FleetState::Complete => ("badge calm", "●"),
        FleetState::Deleting => ("badge calm", "–"),
    };
    html! { span class=(class) { span.mark aria-hidden="true" { (mark) } (row.state.as_str()) } }
}

/// Shows what happened to a slot.
pub(crate) fn kind_badge(kind: CellKind, text: &str) -> Markup {
    let (class, mark) = match kind {
        CellKind::Succeeded => ("badge good", "✓"),
        CellKind::Failed => ("badge bad", "✕"),
        CellKind::Missed => ("badge warn", "!"),
        CellKind::Skipped => ("badge calm", "–"),
        CellKind::Running => ("badge busy", "▸"),
        CellKind::Ended => ("badge calm", "□"),
        CellKind::Upcoming => ("badge calm", "○"),
    };
    html! { span class=(class) { span.mark aria-hidden="true" { (mark) } (text) } }
}

/// Formats a number of seconds; a short one as people measure it.
pub(crate) fn seconds_text(seconds: f64) -> String {
    if seconds < 10.0 && seconds.fract() > 0.05 {
        return format!("{seconds:.1}s");
    }
    #[expect(clippy::cast_possible_truncation, reason = "a duration of a chart has few digits")]
    let whole = seconds.round() as i64;
    format_duration(SignedDuration::from_secs(whole))
}

/// Formats a count with its noun.
pub(crate) fn plural(count: usize, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{} {noun}s", grouped(count)) }
}

/// Formats a number with spaces between its thousands.
pub(crate) fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push('\u{202f}');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use punctual_schedule::Zones;

    use super::*;

    #[test]
    fn times_are_said_as_people_say_them() {
        let zone = Zones::bundled().get("Europe/Berlin").unwrap();
        let now = "2026-11-16T06:30:00Z".parse().unwrap();
        for (at, wanted) in [
            ("2026-11-16T06:35:00Z", "07:35"),
            ("2026-11-16T06:35:09Z", "07:35:09"),
            ("2026-11-16T23:30:00Z", "tomorrow 00:30"),
            ("2026-11-15T00:00:00Z", "yesterday 01:00"),
            ("2026-11-22T02:15:00Z", "Sun 03:15"),
            ("2026-12-01T03:00:00Z", "1 Dec 04:00"),
            ("2027-01-01T03:00:00Z", "1 Jan 2027 04:00"),
        ] {
            assert_eq!(friendly_text(&zone, at.parse().unwrap(), now), wanted);
        }
        assert_eq!(grouped(1_234_567), "1\u{202f}234\u{202f}567");
    }
}
