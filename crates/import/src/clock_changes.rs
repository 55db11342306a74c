//! Whether a schedule has slots in a clock change, where other schedulers behave differently.

use jiff::{SignedDuration, Timestamp};
use punctual_schedule::{Schedule, Zone};

/// Clock changes are checked for two years.
const CHECKED: SignedDuration = SignedDuration::from_hours(2 * 366 * 24);

/// Returns the date of the first clock change whose repeated times contain a slot.
pub(crate) fn first_repeated_slot(schedule: &str, zone: &Zone, now: Timestamp) -> Option<String> {
    let schedule = Schedule::parse(schedule, zone).ok()?;
    let until = now.checked_add(CHECKED).ok()?;
    let time_zone = zone.time_zone();
    let mut offset = time_zone.to_offset(now);
    for transition in time_zone.following(now) {
        let at = transition.timestamp();
        if at > until {
            return None;
        }
        let repeated = offset.seconds() - transition.offset().seconds();
        offset = transition.offset();
        if repeated <= 0 {
            continue;
        }
        // The slot at the transition itself is the first repeated one.
        let before = at.checked_sub(SignedDuration::from_secs(1)).ok()?;
        let end = before.checked_add(SignedDuration::from_secs(repeated.into())).ok()?;
        if schedule.count_in(before, end) > 0 {
            return Some(zone.at(at).strftime("%Y-%m-%d").to_string());
        }
    }
    None
}
