//! The kinds of faults that the cluster test injects, and the records of injected ones.

use std::{fmt, time::Duration};

use punctual_testing::TestRng;

use super::controller_processes::NAMES;
use crate::timing::{TimeSpan, random_millis, time_of_day};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum FaultKind {
    /// The controller is killed with SIGKILL and restarted.
    Kill,
    /// The controller is suspended with SIGSTOP and resumed.
    Pause,
    /// The controller is disconnected from the server.
    Disconnect,
    /// Requests and responses are delayed.
    Delay,
    /// Requests reach the server and responses are lost.
    LoseResponses,
    /// kube-apiserver is killed and restarted.
    KillServer,
}

/// A fault to be injected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PlannedFault {
    pub(super) kind: FaultKind,
    pub(super) duration: Duration,
}

/// A fault that was injected.
#[derive(Clone, Debug)]
pub(super) struct RecordedFault {
    pub(super) kind: FaultKind,
    /// The number of the controller; `None` for a fault of the server.
    pub(super) controller: Option<usize>,
    pub(super) was_leader: bool,
    pub(super) span: TimeSpan,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FaultTarget {
    Leader,
    Standby,
    /// The leader and, this many milliseconds later, the standby.
    Both(u64),
    Server,
}

impl FaultTarget {
    /// Chooses a target, mostly the leader.
    pub(super) fn generate(rng: &TestRng) -> FaultTarget {
        match rng.below(100) {
            0..2 => FaultTarget::Server,
            2..14 => FaultTarget::Standby,
            14..34 => FaultTarget::Both(rng.below(4_000)),
            _ => FaultTarget::Leader,
        }
    }
}

impl PlannedFault {
    /// Generates a fault of a controller.
    pub(super) fn generate(rng: &TestRng) -> PlannedFault {
        let (kind, millis) = match rng.below(100) {
            // A process supervisor may restart a killed controller at once or after a while.
            0..15 => (FaultKind::Kill, 0..=200),
            15..28 => (FaultKind::Kill, 1_000..=8_000),
            28..50 => (FaultKind::Pause, 500..=12_000),
            50..72 => (FaultKind::Disconnect, 500..=10_000),
            72..85 => (FaultKind::Delay, 1_000..=8_000),
            _ => (FaultKind::LoseResponses, 500..=6_000),
        };
        PlannedFault { kind, duration: random_millis(rng, millis) }
    }
}

impl FaultKind {
    pub(super) const ALL: [FaultKind; 6] = [
        FaultKind::Kill,
        FaultKind::Pause,
        FaultKind::Disconnect,
        FaultKind::Delay,
        FaultKind::LoseResponses,
        FaultKind::KillServer,
    ];

    /// A description for people.
    pub(super) fn description(self) -> &'static str {
        match self {
            FaultKind::Kill => "killed",
            FaultKind::Pause => "paused",
            FaultKind::Disconnect => "disconnected",
            FaultKind::Delay => "delayed",
            FaultKind::LoseResponses => "responses lost",
            FaultKind::KillServer => "kube-apiserver killed",
        }
    }
}

impl RecordedFault {
    /// Whether it disturbs a controller. A fault of the server disturbs all of them.
    pub(super) fn affects(&self, controller: usize) -> bool {
        self.controller.is_none_or(|number| number == controller)
    }

    /// Whether the controller may renew the Lease during the fault although it cannot work.
    pub(super) fn may_keep_lease(&self) -> bool {
        matches!(self.kind, FaultKind::Delay | FaultKind::LoseResponses)
    }
}

impl fmt::Display for RecordedFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.controller.and_then(|number| NAMES.get(number)).unwrap_or(&"server");
        let role = if self.was_leader { " (leader)" } else { "" };
        write!(
            f,
            "{name}{role}: {} at {} for {:.1} s",
            self.kind.description(),
            time_of_day(self.span.from),
            self.span.seconds()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_faults_and_targets_are_generated() {
        let rng = TestRng::new(1);
        let faults: Vec<PlannedFault> = (0..1_000).map(|_| PlannedFault::generate(&rng)).collect();
        for kind in FaultKind::ALL.into_iter().filter(|kind| *kind != FaultKind::KillServer) {
            assert!(faults.iter().filter(|fault| fault.kind == kind).count() > 50, "{kind:?}");
        }
        let pauses = faults.iter().filter(|fault| fault.kind == FaultKind::Pause);
        let longest = pauses.map(|fault| fault.duration).max();
        assert!(longest > Some(Duration::from_secs(10)), "no pause is longer than a Lease");
        let targets: Vec<FaultTarget> = (0..1_000).map(|_| FaultTarget::generate(&rng)).collect();
        for target in [FaultTarget::Leader, FaultTarget::Standby, FaultTarget::Server] {
            assert!(targets.contains(&target), "{target:?}");
        }
    }
}
