//! The clocks of processes: the true time plus the errors that the scenario injects.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use punctual_controller::Clock;
use punctual_server::ServerEnv;
use punctual_testing::scenario::{ClockOwner, Fault, FaultWindow, Millis, ProcessId};

use crate::environment::SimulationEnv;

/// The longest sleep between two clock reads.
const SLEEP_MAX: Millis = 3_600_000;

/// The clock of one process. While the process is paused, its clock shows the start of the pause: a
/// paused program cannot read the time.
pub(crate) struct SimulatedClock {
    env: Arc<SimulationEnv>,
    faults: Vec<ClockFault>,
}

/// An error of a clock and when it occurs.
#[derive(Clone, Copy, Debug)]
struct ClockFault {
    from: Millis,
    to: Millis,
    kind: ClockFaultKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ClockFaultKind {
    Paused,
    /// The clock jumped by this many milliseconds.
    Stepped(Millis),
    /// The clock is too fast by this many parts per million.
    Drifting(i64),
}

impl SimulatedClock {
    pub(crate) fn new(env: Arc<SimulationEnv>, owner: ClockOwner) -> Arc<SimulatedClock> {
        let windows = env.scenario.faults.iter();
        let faults = windows.filter_map(|window| ClockFault::new(window, owner)).collect();
        Arc::new(SimulatedClock { env, faults })
    }

    /// The clock of the machine on which a process runs. It does not stop while the process is paused.
    pub(crate) fn for_machine(env: Arc<SimulationEnv>, process: ProcessId) -> SimulatedClock {
        let windows = env.scenario.faults.iter();
        let faults =
            windows.filter_map(|window| ClockFault::new(window, ClockOwner::Process(process)));
        let faults = faults.filter(|fault| fault.kind != ClockFaultKind::Paused).collect();
        SimulatedClock { env, faults }
    }

    /// The true time as the process sees it: the start of the pause while it is paused.
    fn observed_now(&self) -> Millis {
        let now = self.env.now();
        self.env.count_clock_read(now);
        let pauses = self.faults.iter().filter(|fault| fault.kind == ClockFaultKind::Paused);
        let current = pauses.filter(|fault| fault.from <= now && now < fault.to);
        current.map(|fault| fault.from).min().unwrap_or(now)
    }

    /// The sum of all drifts up to a time.
    fn drift(&self, now: Millis) -> Millis {
        let drifts = self.faults.iter().map(|fault| match fault.kind {
            ClockFaultKind::Drifting(millionths) => {
                (now.clamp(fault.from, fault.to) - fault.from) * millionths / 1_000_000
            }
            _ => 0,
        });
        drifts.sum()
    }

    /// The sum of all steps up to a time.
    fn steps(&self, now: Millis) -> Millis {
        let steps = self.faults.iter().map(|fault| match fault.kind {
            ClockFaultKind::Stepped(by) if fault.from <= now => by,
            _ => 0,
        });
        steps.sum()
    }

    fn is_paused(&self) -> bool {
        self.observed_now() != self.env.now()
    }

    /// How long until the next fault starts or ends.
    fn until_next_change(&self) -> Duration {
        let now = self.env.now();
        let changes = self.faults.iter().flat_map(|fault| [fault.from, fault.to]);
        let next = changes.filter(|at| *at > now).map(|at| at - now).min();
        Duration::from_millis(next.unwrap_or(SLEEP_MAX).min(SLEEP_MAX).unsigned_abs())
    }
}

impl ClockFault {
    /// None if the fault does not affect this clock.
    fn new(window: &FaultWindow, owner: ClockOwner) -> Option<ClockFault> {
        let kind = match window.fault {
            Fault::Pause(process) if owner == ClockOwner::Process(process) => {
                ClockFaultKind::Paused
            }
            Fault::StepClock(of, by) if of == owner => ClockFaultKind::Stepped(by),
            Fault::DriftClock(of, millionths) if of == owner => {
                ClockFaultKind::Drifting(millionths)
            }
            _ => return None,
        };
        Some(ClockFault { from: window.from, to: window.to, kind })
    }
}

impl Clock for SimulatedClock {
    fn now(&self) -> Timestamp {
        let now = self.observed_now();
        self.env.scenario.at(now + self.drift(now) + self.steps(now))
    }

    fn monotonic(&self) -> Duration {
        let now = self.observed_now();
        Duration::from_millis((now + self.drift(now)).unsigned_abs())
    }

    fn delay_until_monotonic(&self, at: Duration) -> Duration {
        let longest = self.until_next_change();
        if self.is_paused() {
            return longest;
        }
        at.saturating_sub(self.monotonic()).min(longest)
    }

    fn delay_until(&self, at: Option<Timestamp>) -> Duration {
        let longest = self.until_next_change();
        let Some(at) = at else { return longest };
        if self.is_paused() {
            return longest;
        }
        let duration = at.duration_since(Clock::now(self));
        Duration::try_from(duration).unwrap_or_default().min(longest)
    }
}

impl ServerEnv for SimulatedClock {
    fn now(&self) -> Timestamp {
        Clock::now(self)
    }

    fn fill_random(&self, bytes: &mut [u8]) {
        for chunk in bytes.chunks_mut(8) {
            let random = self.env.random.next_u64().to_le_bytes();
            for (byte, random) in chunk.iter_mut().zip(random) {
                *byte = random;
            }
        }
    }
}

/// The end of the pause of a process, if it is paused at this time.
pub(crate) fn paused_until(env: &SimulationEnv, process: ProcessId, at: Millis) -> Option<Millis> {
    let pauses = env.faults_at(at).filter(|window| window.fault == Fault::Pause(process));
    pauses.map(|window| window.to).max()
}
