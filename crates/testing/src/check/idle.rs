//! Checks that nothing is written and no process polls once nothing is due.

use super::CheckContext;
use crate::history::{HistoryEvent, HistoryRecord, IDLE_CHECK_PERIOD};
use crate::scenario::Millis;

/// How long it may take until the last start, and later the last end, is recorded everywhere.
const SETTLING: Millis = 30_000;
/// The number of clock reads in the [`IDLE_CHECK_PERIOD`] of an idle system.
const CLOCK_READS_MAX: u64 = 3_000;

pub(super) fn check(context: &mut CheckContext<'_>, history: &[HistoryRecord]) {
    let from = idle_from(context);
    for HistoryRecord { at, event } in history.iter().filter(|record| record.at > from) {
        check_clock_reads(context, *at, event);
        let HistoryEvent::Written { key, value, revision } = event else { continue };
        let is_lease_renewal = key.starts_with("/leases.coordination.k8s.io/");
        let is_event_expiry = key.starts_with("/events/") && value.is_none();
        if !is_lease_renewal && !is_event_expiry {
            let text = format!("{key} is written in revision {revision} although nothing is due");
            context.report(*at, "quiescence", text);
        }
    }
}

/// Lease renewals and watches take a few clock reads a second.
fn check_clock_reads(context: &mut CheckContext<'_>, at: Millis, event: &HistoryEvent) {
    let HistoryEvent::ClockReads(count) = event else { return };
    if idle_from(context) < at - IDLE_CHECK_PERIOD && *count > CLOCK_READS_MAX {
        let text = format!("{count} clock reads in the last {IDLE_CHECK_PERIOD} ms");
        context.report(at, "restless", text);
    }
}

/// When the last run has ended and is cleaned up, by the slowest clock.
fn idle_from(context: &CheckContext<'_>) -> Millis {
    let specs = || context.scenario.specs();
    let longest = specs().map(|spec| spec.pod_duration).max().unwrap_or(0);
    let ttl = specs().filter_map(|spec| spec.ttl).max().unwrap_or(0);
    let skew = context.clocks.all(0, context.end).size();
    context.scenario.all_suspended_at()
        + 2 * SETTLING
        + longest
        + context.scenario.requests_take()
        + 1000 * Millis::from(ttl)
        + 2 * skew
}
