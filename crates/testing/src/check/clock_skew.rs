//! Computes how wrong the clocks of a simulation may be at each time, from the faults of its
//! scenario.

use crate::scenario::{ClockOwner, Fault, FaultWindow, Millis, ProcessId, Scenario};

/// The range of a clock's offset from the true time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Skew {
    pub(super) low: Millis,
    pub(super) high: Millis,
}

impl Skew {
    /// The range that covers both.
    fn union(self, other: Skew) -> Skew {
        Skew { low: self.low.min(other.low), high: self.high.max(other.high) }
    }

    /// The sum of two offsets.
    fn plus(self, other: Skew) -> Skew {
        Skew { low: self.low + other.low, high: self.high + other.high }
    }

    /// How much the clock may be behind.
    pub(super) fn behind(self) -> Millis {
        (-self.low).max(0)
    }

    /// How much the clock may be ahead.
    pub(super) fn ahead(self) -> Millis {
        self.high.max(0)
    }

    pub(super) fn size(self) -> Millis {
        self.behind().max(self.ahead())
    }
}

/// The faults of all clocks.
#[derive(Debug)]
pub(super) struct ClockSkews {
    controllers: usize,
    faults: Vec<(ClockOwner, FaultWindow)>,
}

impl ClockSkews {
    pub(super) fn from_scenario(scenario: &Scenario) -> ClockSkews {
        let clock_fault = |window: &FaultWindow| match window.fault {
            Fault::StepClock(owner, _) | Fault::DriftClock(owner, _) => {
                Some((owner, window.clone()))
            }
            _ => None,
        };
        let faults = scenario.faults.iter().filter_map(clock_fault).collect();
        ClockSkews { controllers: scenario.controllers, faults }
    }

    /// Whether any clock was wrong before this time. Times that were stored then stay wrong.
    pub(super) fn were_wrong_before(&self, at: Millis) -> bool {
        self.faults.iter().any(|(_, window)| window.from <= at)
    }

    /// The skew of all CronJob controllers between two times.
    pub(super) fn controllers(&self, from: Millis, to: Millis) -> Skew {
        let owners = (0..self.controllers).map(|n| ClockOwner::Process(ProcessId::Controller(n)));
        owners.map(|owner| self.between(owner, from, to)).reduce(Skew::union).unwrap_or_default()
    }

    /// The skew of all processes between two times.
    pub(super) fn all(&self, from: Millis, to: Millis) -> Skew {
        let jobs = self.between(ClockOwner::Process(ProcessId::JobsAndPods), from, to);
        self.controllers(from, to).union(self.server(from, to)).union(jobs)
    }

    /// The skew of the server between two times.
    pub(super) fn server(&self, from: Millis, to: Millis) -> Skew {
        self.between(ClockOwner::Server, from, to)
    }

    fn between(&self, owner: ClockOwner, from: Millis, to: Millis) -> Skew {
        if self.faults.is_empty() {
            return Skew::default();
        }
        let changes = self.faults.iter().flat_map(|(_, w)| [w.from, w.to, w.to + 1]);
        let within = changes.filter(|at| (from..=to).contains(at));
        let times = within.chain([from, to]);
        times.map(|at| self.at(owner, at)).reduce(Skew::union).unwrap_or_default()
    }

    fn at(&self, owner: ClockOwner, at: Millis) -> Skew {
        let faults = self.faults.iter().filter(|(of, _)| *of == owner);
        faults.map(|(_, window)| skew_of(window, at)).fold(Skew::default(), Skew::plus)
    }
}

/// The skew that one fault causes. It leaves open when in its window a step occurs and whether a drift
/// is corrected at its end.
fn skew_of(window: &FaultWindow, at: Millis) -> Skew {
    let by = match window.fault {
        _ if at < window.from => 0,
        Fault::StepClock(_, by) if at > window.to => return Skew { low: by, high: by },
        Fault::StepClock(_, by) => by,
        Fault::DriftClock(_, millionths) => {
            (at.min(window.to) - window.from) * millionths / 1_000_000
        }
        _ => 0,
    };
    Skew { low: by.min(0), high: by.max(0) }
}
