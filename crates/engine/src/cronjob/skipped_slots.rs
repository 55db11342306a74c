//! Counts and reports the slots that are skipped because a later slot starts.
//!
//! A slot is skipped when it is pending and a later slot starts instead. It is counted in the status
//! write that records the later slot, so every skipped slot is counted exactly once.

use jiff::Timestamp;

use punctual_api::Time;
use punctual_api::slot_record::SlotRecord;

use super::{Timetable, ledger, plan::Plan, reasons};
use crate::PendingEvent;

/// Slots that never start, because a later slot starts instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkippedSlots {
    /// The first of them.
    pub oldest: Timestamp,
    /// The last of them.
    pub latest: Timestamp,
    /// How many there are, exactly.
    pub count: u64,
    /// Their records.
    pub records: Vec<SlotRecord>,
}

/// Returns the slots between `after` and `slot`, without both. `blocked_until` is the time until which
/// another run kept slots from starting.
pub(crate) fn slots_superseded_by(
    slot: Timestamp,
    after: Timestamp,
    timetable: &Timetable,
    blocked_until: Option<Timestamp>,
) -> Option<SkippedSlots> {
    let schedule = timetable.schedule();
    let latest = schedule.before(slot).next().filter(|latest| *latest > after)?;
    let oldest = schedule.next_after(after)?;
    // The slots of an interval are counted from `after`, so there may be none before `slot`.
    let count = Some(schedule.count_in(after, latest)).filter(|count| *count > 0)?;
    let range = ledger::SlotSpan { oldest, latest, count };
    let records = ledger::superseded(range, timetable, blocked_until);
    Some(SkippedSlots { oldest, latest, count, records })
}

/// Counts the slots that `slot` supersedes, and records one event for all of them.
pub(crate) fn count_skipped(skipped: &SkippedSlots, slot: Timestamp, plan: &mut Plan) {
    count(skipped, plan);
    let message = format!("Skipped {}: superseded by the later slot {slot}", skipped.describe());
    plan.events.push(PendingEvent::normal(reasons::SKIPPED_SLOTS, message));
}

/// Counts the slots that were due while the CronJob was suspended, and records one event for all of
/// them.
pub(crate) fn count_suspended(skipped: &SkippedSlots, plan: &mut Plan) {
    count(skipped, plan);
    let message = format!("Skipped {}: the CronJob was suspended", skipped.describe());
    plan.events.push(PendingEvent::normal(reasons::SKIPPED_SLOTS, message));
}

fn count(skipped: &SkippedSlots, plan: &mut Plan) {
    let status = &mut plan.status;
    let added = i64::try_from(skipped.count).unwrap_or(i64::MAX);
    status.skipped_runs = status.skipped_runs.saturating_add(added);
    status.last_skipped_time = status.last_skipped_time.max(Some(Time::new(skipped.latest)));
    status.slots.extend(skipped.records.iter().cloned());
}

impl SkippedSlots {
    fn describe(&self) -> String {
        let SkippedSlots { oldest, latest, count, .. } = self;
        match count {
            1 => format!("the slot {latest}"),
            _ => format!("{count} slots from {oldest} to {latest}"),
        }
    }
}
