//! Decides whether a slot (a scheduled time) must have started. It uses the injected faults and the
//! recorded holders of the Lease, and nothing that the controllers report about themselves.
//!
//! Each of two rules alone requires that the slot was started:
//!
//! - before the deadline, one controller ran and could reach the server for [`ELECTION`] without
//!   interruption, and the other did not keep the Lease over a slow connection meanwhile;
//! - one controller held the Lease and was undisturbed from [`SETTLED`] before the slot to [`REACTION`]
//!   after it.

use jiff::SignedDuration;

use super::{
    controller_processes::NAMES,
    fault::{FaultKind, RecordedFault},
};
use crate::timing::TimeSpan;

/// The longest election: a Lease of 4 s that was just renewed, half a second until its expiry is
/// noticed, the same again if two candidates compete, and the first lists of the term, on a machine that
/// runs a whole cluster.
pub(super) const ELECTION: SignedDuration = SignedDuration::from_secs(9);
/// The time from the start of a controller to its candidacy. It first looks for a competing controller
/// for five seconds.
const START: SignedDuration = SignedDuration::from_secs(7);
/// The same if the first request fails: the controller retries after ten seconds.
const DISTURBED_START: SignedDuration = SignedDuration::from_secs(17);
/// The time after a restart of the server in which it may reject requests, because it has not loaded
/// the RBAC rules, and in which failed calls wait for their retries.
const SERVER_START: SignedDuration = SignedDuration::from_secs(10);
/// The time after a slow period of the server in which delayed work is done.
const SLOW_RECOVERY: SignedDuration = SignedDuration::from_secs(1);
/// A leader has synced its caches and recovered from earlier faults after this time.
const SETTLED: SignedDuration = SignedDuration::from_secs(4);
/// A leader starts a due slot within this time.
const REACTION: SignedDuration = SignedDuration::from_secs(3);

/// A time during which the Lease had one holder.
#[derive(Clone, Copy, Debug)]
pub(super) struct LeaseHold {
    /// The controller; `None` if the Lease had no holder or an unknown one.
    pub(super) controller: Option<usize>,
    pub(super) span: TimeSpan,
}

/// When each controller was able to start runs.
#[derive(Clone, Debug)]
pub(super) struct Availability {
    /// When each controller was certainly or possibly unable to work.
    disturbed: [Vec<TimeSpan>; NAMES.len()],
    /// When each controller may have kept the Lease while it was unable to work.
    blocking: [Vec<TimeSpan>; NAMES.len()],
    lease_holds: Vec<LeaseHold>,
    /// When the server was slow.
    slow: Vec<TimeSpan>,
}

impl Availability {
    /// Combines the faults, the Lease's holders in order of time, and the slow periods of the server.
    pub(super) fn new(
        faults: &[RecordedFault],
        lease_holds: Vec<LeaseHold>,
        slow: Vec<TimeSpan>,
    ) -> Availability {
        let with_recovery = |span: &TimeSpan| TimeSpan { to: span.to + SLOW_RECOVERY, ..*span };
        let slowed: Vec<TimeSpan> = slow.iter().map(with_recovery).collect();
        let mut disturbed = [slowed.clone(), slowed];
        let mut blocking = [Vec::new(), Vec::new()];
        for fault in faults {
            let TimeSpan { from, to } = fault.span;
            let span = TimeSpan { from, to: to + recovery_time(fault, faults) };
            for (controller, spans) in disturbed.iter_mut().enumerate() {
                if fault.affects(controller) {
                    spans.push(span);
                }
            }
            if !fault.may_keep_lease() {
                continue;
            }
            let held = lease_holds.iter().filter(|hold| hold.controller == fault.controller);
            if let Some(spans) = fault.controller.and_then(|number| blocking.get_mut(number)) {
                spans.extend(held.filter_map(|hold| hold.span.intersection(span)));
            }
        }
        Availability { disturbed, blocking, lease_holds, slow }
    }

    /// Whether a slot must have started within `window`. In the spans of `busy` it had to wait for
    /// another run.
    pub(super) fn must_have_started(&self, window: TimeSpan, busy: &[TimeSpan]) -> bool {
        (0..NAMES.len()).any(|controller| {
            self.had_election_time(controller, window, busy)
                || self.led_at_slot(controller, window, busy)
        })
    }

    /// The first rule.
    fn had_election_time(&self, controller: usize, window: TimeSpan, busy: &[TimeSpan]) -> bool {
        let other = NAMES.len() - 1 - controller;
        let disturbed = self.disturbed.get(controller).into_iter().flatten();
        let blocking = self.blocking.get(other).into_iter().flatten();
        let mut blocked: Vec<TimeSpan> = disturbed
            .chain(blocking)
            .chain(busy)
            .filter_map(|span| span.intersection(window))
            .collect();
        blocked.sort();
        blocked.push(TimeSpan { from: window.to, to: window.to });
        let mut free_since = window.from;
        for span in blocked {
            if span.from.duration_since(free_since) >= ELECTION {
                return true;
            }
            free_since = free_since.max(span.to);
        }
        false
    }

    /// The second rule.
    fn led_at_slot(&self, controller: usize, window: TimeSpan, busy: &[TimeSpan]) -> bool {
        let slot = window.from;
        let reaction = TimeSpan { from: slot, to: slot + REACTION };
        let calm = TimeSpan { from: slot - SETTLED, to: reaction.to };
        let held = self.lease_holds.iter().filter(|hold| hold.controller == Some(controller));
        let held = held.filter_map(|hold| hold.span.intersection(calm));
        let mut disturbed = self.disturbed.get(controller).into_iter().flatten();
        reaction.to <= window.to
            && held.map(TimeSpan::duration).max() == Some(calm.duration())
            && !disturbed.any(|span| span.overlaps(calm))
            && !busy.iter().any(|span| span.overlaps(reaction))
    }

    /// When the server was slow within a span.
    pub(super) fn slow_spans(&self, span: TimeSpan) -> impl Iterator<Item = TimeSpan> {
        self.slow.iter().filter_map(move |slow| slow.intersection(span))
    }

    /// The holders of the Lease within a span.
    pub(super) fn lease_holds(&self, span: TimeSpan) -> impl Iterator<Item = &LeaseHold> {
        self.lease_holds.iter().filter(move |hold| hold.span.overlaps(span))
    }
}

/// How long a controller may be unable to work after a fault.
fn recovery_time(fault: &RecordedFault, faults: &[RecordedFault]) -> SignedDuration {
    if faults.iter().any(|kill| disturbs_start_after(kill, fault)) {
        return DISTURBED_START;
    }
    match fault.kind {
        FaultKind::Kill => START,
        FaultKind::KillServer => SERVER_START,
        _ => SignedDuration::ZERO,
    }
}

/// Whether a fault occurred while a killed controller started again.
fn disturbs_start_after(kill: &RecordedFault, fault: &RecordedFault) -> bool {
    let start = TimeSpan { from: kill.span.to, to: kill.span.to + START };
    let is_same_controller = kill.controller.is_some_and(|number| fault.affects(number));
    kill.kind == FaultKind::Kill
        && is_same_controller
        && kill.span != fault.span
        && start.overlaps(fault.span)
}

#[cfg(test)]
mod tests;
