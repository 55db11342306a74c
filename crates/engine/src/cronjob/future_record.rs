//! Finds recorded times that lie in the future, because a clock was ahead when they were written.
//!
//! Slots at or before the latest recorded time never start. After a clock jumped forward and back, a
//! CronJob therefore waits, perhaps for years. The condition `Settled`, an event and a metric report it.

use jiff::{SignedDuration, Timestamp};
use punctual_api::Time;

use super::{Observed, StartDecision, plan::Plan};

/// Smaller differences between the clocks of machines are normal.
const TOLERANCE: SignedDuration = SignedDuration::from_secs(60);

/// A recorded time in the future.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FutureRecord {
    /// Where it is recorded.
    pub field: &'static str,
    /// The time.
    pub time: Timestamp,
}

impl FutureRecord {
    /// Returns the message of the event and the condition.
    pub(crate) fn message(&self) -> String {
        let FutureRecord { field, time } = self;
        format!(
            "{field} is {time}, which is in the future, so no slot up to then starts; check the clock, \
             then run `punctual repair`"
        )
    }
}

/// Returns the latest recorded time that lies in the future and keeps slots from starting.
pub(crate) fn find_future_record(
    observed: &Observed<'_>,
    plan: &Plan,
    now: Timestamp,
) -> Option<FutureRecord> {
    if matches!(plan.start_decision, StartDecision::Deleted | StartDecision::Suspended) {
        return None;
    }
    let status = &plan.status;
    let created_at = observed.cron_job.metadata.creation_timestamp;
    let records = [
        ("status.lastScheduleTime", status.last_schedule_time.map(Time::timestamp)),
        ("status.lastMissedTime", status.last_missed_time.map(Time::timestamp)),
        ("the annotation punctual.dev/schedule-since", plan.schedule_effective_since),
        ("the annotation punctual.dev/time-zone-gate", plan.zone_gate.map(|record| record.since)),
        ("metadata.creationTimestamp", created_at.map(Time::timestamp)),
    ];
    let records = records.into_iter().filter_map(|(field, time)| {
        let time = time?;
        (time.duration_since(now) > TOLERANCE).then_some(FutureRecord { field, time })
    });
    // Reversed, because `max_by_key` returns the last of equal elements.
    records.rev().max_by_key(|record| record.time)
}
