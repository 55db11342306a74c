//! Counts and reports the slots that are skipped because a later slot starts.
//!
//! A slot is skipped when it is pending and a later slot starts instead. It is counted in the status
//! write that records the later slot, so every skipped slot is counted exactly once.

use jiff::Timestamp;

use super::{Timetable, plan::Plan, reasons};
use crate::PendingEvent;

/// Slots that never start, because a later slot starts instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SkippedSlots {
    /// The first of them.
    pub oldest: Timestamp,
    /// The last of them.
    pub latest: Timestamp,
    /// How many there are, exactly.
    pub count: u64,
}

/// Returns the slots between `after` and `slot`, without both.
pub(crate) fn slots_superseded_by(
    slot: Timestamp,
    after: Timestamp,
    timetable: &Timetable,
) -> Option<SkippedSlots> {
    let schedule = timetable.schedule();
    let latest = schedule.before(slot).next().filter(|latest| *latest > after)?;
    let oldest = schedule.next_after(after)?;
    Some(SkippedSlots { oldest, latest, count: schedule.count_in(after, latest) })
}

/// Counts the slots that `slot` supersedes, and records one event for all of them.
pub(crate) fn count_skipped(skipped: &SkippedSlots, slot: Timestamp, plan: &mut Plan) {
    let SkippedSlots { oldest, latest, count } = *skipped;
    let added = i64::try_from(count).unwrap_or(i64::MAX);
    plan.status.skipped_runs = plan.status.skipped_runs.saturating_add(added);
    let slots = match count {
        1 => format!("the slot {latest}"),
        _ => format!("{count} slots from {oldest} to {latest}"),
    };
    let message = format!("Skipped {slots}: superseded by the later slot {slot}");
    plan.events.push(PendingEvent::normal(reasons::SKIPPED_SLOTS, message));
}
