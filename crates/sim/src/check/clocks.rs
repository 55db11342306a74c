//! How wrong the clocks of a world may be.

use crate::scenario::{Fault, Millis, Process, Scenario, Trouble, Who};

/// How far clocks are ahead of the true one: at least, and at most.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Skew {
    pub(super) low: Millis,
    pub(super) high: Millis,
}

impl Skew {
    fn or(self, other: Skew) -> Skew {
        Skew { low: self.low.min(other.low), high: self.high.max(other.high) }
    }

    fn and(self, other: Skew) -> Skew {
        Skew { low: self.low + other.low, high: self.high + other.high }
    }

    /// How much too late a clock that is behind may show something.
    pub(super) fn behind(self) -> Millis {
        (-self.low).max(0)
    }

    /// How much too early a clock that is ahead may show something.
    pub(super) fn ahead(self) -> Millis {
        self.high.max(0)
    }

    pub(super) fn size(self) -> Millis {
        self.behind().max(self.ahead())
    }
}

/// What happens to the clocks.
#[derive(Debug)]
pub(super) struct Clocks {
    controllers: usize,
    faults: Vec<(Who, Trouble)>,
}

impl Clocks {
    pub(super) fn of(scenario: &Scenario) -> Clocks {
        let about = |trouble: &Trouble| match trouble.what {
            Fault::Step(who, _) | Fault::Drift(who, _) => Some((who, trouble.clone())),
            _ => None,
        };
        let faults = scenario.troubles.iter().filter_map(about).collect();
        Clocks { controllers: scenario.controllers, faults }
    }

    /// Whether some clock was wrong before an instant: what was written by it stays.
    pub(super) fn were_wrong_before(&self, at: Millis) -> bool {
        self.faults.iter().any(|(_, trouble)| trouble.from <= at)
    }

    /// Of all who decide what starts, between two instants.
    pub(super) fn controllers(&self, from: Millis, to: Millis) -> Skew {
        let all = (0..self.controllers).map(|n| Who::Process(Process::Controller(n)));
        all.map(|who| self.of_one(who, from, to)).reduce(Skew::or).unwrap_or_default()
    }

    /// Of all who decide or write down times.
    pub(super) fn all(&self, from: Millis, to: Millis) -> Skew {
        let jobs = self.of_one(Who::Process(Process::Jobs), from, to);
        self.controllers(from, to).or(self.server(from, to)).or(jobs)
    }

    /// Of the server.
    pub(super) fn server(&self, from: Millis, to: Millis) -> Skew {
        self.of_one(Who::Server, from, to)
    }

    fn of_one(&self, who: Who, from: Millis, to: Millis) -> Skew {
        if self.faults.is_empty() {
            return Skew::default();
        }
        let turns = self.faults.iter().flat_map(|(_, t)| [t.from, t.to, t.to + 1]);
        let inside = turns.filter(|at| (from..=to).contains(at));
        let at = inside.chain([from, to]);
        at.map(|at| self.at(who, at)).reduce(Skew::or).unwrap_or_default()
    }

    fn at(&self, who: Who, at: Millis) -> Skew {
        let own = self.faults.iter().filter(|(whose, _)| *whose == who);
        own.map(|(_, trouble)| share(trouble, at)).fold(Skew::default(), Skew::and)
    }
}

/// What one fault makes of a clock. Whether a drift is made good at its end, and when in its time a
/// step comes, is left open.
fn share(trouble: &Trouble, at: Millis) -> Skew {
    let by = match trouble.what {
        _ if at < trouble.from => 0,
        Fault::Step(_, by) if at > trouble.to => return Skew { low: by, high: by },
        Fault::Step(_, by) => by,
        Fault::Drift(_, millionths) => (at.min(trouble.to) - trouble.from) * millionths / 1_000_000,
        _ => 0,
    };
    Skew { low: by.min(0), high: by.max(0) }
}
