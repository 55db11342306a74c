//! Computes when the system is undisturbed, and how stale the objects that a process acts upon may
//! be.

use super::cron_job_history::OPEN_END;
use crate::scenario::{Fault, FaultWindow, Millis, Scenario};

/// In a calm period everything that is due must be done within this time.
pub(super) const REACTION_MAX: Millis = 5_000;
/// A period is calm this long after the last fault: a Lease has expired, watches are reconnected and
/// failed calls are retried.
pub(super) const RECOVERY: Millis = 30_000;
/// The longest time that a call is in flight: callers time out after 30 seconds.
pub(super) const IN_FLIGHT_MAX: Millis = 35_000;

/// The faults of a simulation and the calm periods between them.
#[derive(Debug)]
pub(super) struct CalmPeriods {
    stale_windows: Vec<StaleWindow>,
    /// Periods without faults.
    pub(super) calm: Vec<(Millis, Millis)>,
    /// Periods without faults except that status writes may be rejected. Slots must start in them
    /// however often a status write fails.
    pub(super) startable: Vec<(Millis, Millis)>,
}

/// A fault during which a process may not see or write something.
#[derive(Debug)]
struct StaleWindow {
    from: Millis,
    to: Millis,
    /// How much older than the start of the fault the visible objects may be.
    staleness: Millis,
}

impl CalmPeriods {
    pub(super) fn from_scenario(scenario: &Scenario, end: Millis) -> CalmPeriods {
        let stale_windows = scenario.faults.iter().filter_map(|window| {
            let staleness = staleness_of(&window.fault)?;
            Some(StaleWindow { from: window.from, to: window.to, staleness })
        });
        let is_status_fault =
            |window: &&FaultWindow| matches!(window.fault, Fault::RejectStatus(_));
        let others = scenario.faults.iter().filter(|window| !is_status_fault(window));
        CalmPeriods {
            stale_windows: stale_windows.collect(),
            calm: periods_between(scenario.faults.iter(), end),
            startable: periods_between(others, end),
        }
    }

    /// Whether there is no fault between two times.
    pub(super) fn is_calm(&self, from: Millis, to: Millis) -> bool {
        self.calm.iter().any(|calm| calm.0 <= from && to <= calm.1)
    }

    /// When something that is due from this time on must be done; [`OPEN_END`] if no calm period is long
    /// enough.
    pub(super) fn reaction_deadline(&self, due: Millis) -> Millis {
        let deadlines = self.calm.iter().filter_map(|(from, to)| {
            let deadline = due.max(*from) + REACTION_MAX;
            (deadline <= *to).then_some(deadline)
        });
        deadlines.min().unwrap_or(OPEN_END)
    }

    /// How stale the objects that a process acts upon at this time may be. In a calm period this is the
    /// time in which a change reaches every process. During faults it reaches back to the start of the
    /// faults, because no process need have seen a change since then.
    pub(super) fn staleness(&self, at: Millis) -> Millis {
        if self.is_calm(at - REACTION_MAX, at) {
            return REACTION_MAX;
        }
        let mut since = at - IN_FLIGHT_MAX;
        loop {
            let overlapping = self
                .stale_windows
                .iter()
                .filter(|window| window.from <= at && window.to + RECOVERY >= since);
            let earliest =
                overlapping.map(|window| window.from - IN_FLIGHT_MAX - window.staleness).min();
            match earliest {
                Some(earlier) if earlier < since => since = earlier,
                _ => return at - since,
            }
        }
    }
}

/// How much older than the start of a fault the visible objects may be; none if the fault affects
/// neither reads nor writes. A delayed call affects up to four delays in sequence.
fn staleness_of(fault: &Fault) -> Option<Millis> {
    match fault {
        Fault::StepClock(..) | Fault::DriftClock(..) | Fault::Compact => None,
        Fault::BatchWatches(_, delay) | Fault::DelayWatches(_, delay) => Some(*delay),
        Fault::DelayCalls(_, delay) => Some(4 * delay),
        _ => Some(0),
    }
}

/// The periods between these faults, each starting [`RECOVERY`] after a fault. A drifting clock stops no
/// process from working, and `clock_skew` allows for what it shows.
fn periods_between<'a>(
    windows: impl Iterator<Item = &'a FaultWindow>,
    end: Millis,
) -> Vec<(Millis, Millis)> {
    let windows = windows.filter(|window| !matches!(window.fault, Fault::DriftClock(..)));
    let mut faults: Vec<(Millis, Millis)> =
        windows.map(|window| (window.from, window.to.max(window.from))).collect();
    // At the start no controller leads.
    faults.push((0, 0));
    faults.sort_unstable();
    let mut periods = Vec::new();
    let mut from = 0;
    for (starts, ends) in faults {
        if starts > from {
            periods.push((from, starts));
        }
        from = from.max(ends + RECOVERY);
    }
    if end > from {
        periods.push((from, end));
    }
    periods
}
