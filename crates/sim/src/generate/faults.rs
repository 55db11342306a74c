//! Generates the faults of a scenario: which kind, when and for how long.

use punctual_testing::scenario::{
    CallFault, ClockOwner, CrashPoint, Fault, FaultWindow, ProcessId, UserAction,
};

use super::{MINUTE, SECOND, ScenarioGenerator};

impl ScenarioGenerator {
    pub(super) fn faults(&self, actions: &[UserAction]) -> Vec<FaultWindow> {
        let count = self.random.pick(&[0, 1, 1, 2, 2, 3, 4, 6]).unwrap_or(1);
        let mut windows: Vec<FaultWindow> = (0..count).map(|_| self.window(actions)).collect();
        let additional: Vec<FaultWindow> =
            windows.iter().filter_map(|window| self.additional_fault(window)).collect();
        windows.extend(additional);
        windows.extend(self.outage_faults());
        windows.sort_by_key(|window| window.from);
        windows
    }

    /// Hours without any controller.
    fn outage_faults(&self) -> Vec<FaultWindow> {
        let Some(duration) = self.outage else { return Vec::new() };
        let kill = |number| FaultWindow {
            from: self.length - duration,
            to: self.length,
            fault: Fault::Kill(ProcessId::Controller(number), 0, CrashPoint::Before),
        };
        (0..self.controllers).map(kill).collect()
    }

    fn window(&self, actions: &[UserAction]) -> FaultWindow {
        let fault = self.fault();
        let from = self.window_start(&fault, actions);
        let duration = match &fault {
            // Some last longer than the interval between two slots.
            Fault::Kill(..) | Fault::CrashServer(..) | Fault::Stop(_) | Fault::DiskFull
                if self.random.percent(40) =>
            {
                self.random.between(MINUTE, 3 * MINUTE)
            }
            Fault::Kill(..) | Fault::CrashServer(..) | Fault::Stop(_) => {
                self.random.between(1, 60 * SECOND)
            }
            Fault::Pause(_) | Fault::DiskFull => self.random.between(SECOND, 90 * SECOND),
            Fault::StepClock(..) => 1,
            _ => self.random.between(SECOND, 4 * MINUTE),
        };
        FaultWindow { from, to: (from + duration).min(self.length), fault }
    }

    /// Faults of the server often start with an action of a user, whose write must not be lost.
    fn window_start(&self, fault: &Fault, actions: &[UserAction]) -> i64 {
        let is_of_server = matches!(fault, Fault::CrashServer(..) | Fault::DiskFull);
        match self.random.pick(actions) {
            Some(action) if is_of_server && self.random.percent(40) => action.at,
            _ => self.moment(),
        }
    }

    /// A second fault that makes another one worse, half of the time.
    fn additional_fault(&self, window: &FaultWindow) -> Option<FaultWindow> {
        let random = &self.random;
        let fault = match window.fault {
            // A watch that is closed while the history is discarded must list again.
            Fault::Compact => {
                Fault::CloseWatches(self.process(), random.between(SECOND, 10 * SECOND))
            }
            // A process that must retry reads a cache that is behind.
            Fault::DelayWatches(process, _) => Fault::RejectStatus(process),
            _ => return None,
        };
        let to = random.between(window.from + 1, window.to);
        random.percent(50).then_some(FaultWindow { from: window.from, to, fault })
    }

    fn process(&self) -> ProcessId {
        if !self.random.percent(75) {
            return ProcessId::JobsAndPods;
        }
        let number = self.random.below(self.controllers as u64);
        ProcessId::Controller(usize::try_from(number).unwrap_or_default())
    }

    fn fault(&self) -> Fault {
        let random = &self.random;
        let process = self.process();
        let crash_points = [CrashPoint::Before, CrashPoint::After, CrashPoint::AfterCreate];
        let crash_point = random.pick(&crash_points).unwrap_or(CrashPoint::After);
        let count = if crash_point == CrashPoint::AfterCreate { 2 } else { 12 };
        match random.below(24) {
            0..4 => Fault::Kill(process, to_u32(random.between(0, count)), crash_point),
            4 => Fault::Pause(process),
            5 => Fault::Stop(process),
            6 => Fault::Disconnect(process),
            7..11 => Fault::FailCalls(process, self.call_fault(), to_u32(random.between(20, 600))),
            11 => Fault::DelayCalls(process, random.between(10, 20 * SECOND)),
            12..14 => Fault::BatchWatches(process, random.between(SECOND, 3 * MINUTE)),
            14 => Fault::CloseWatches(process, random.between(100, 5 * SECOND)),
            15 => Fault::Compact,
            16..18 => Fault::CrashServer(to_u32(random.between(0, count)), crash_point),
            18 => Fault::DiskFull,
            19 => Fault::RejectStatus(process),
            20..23 => Fault::DelayWatches(process, random.between(5 * SECOND, 3 * MINUTE)),
            _ => self.clock_fault(process),
        }
    }

    fn call_fault(&self) -> CallFault {
        let faults = [
            CallFault::RequestLost,
            CallFault::ResponseLost,
            CallFault::ResponseHangs,
            CallFault::Duplicated,
            CallFault::Delayed,
            CallFault::Rejected(409),
            CallFault::Rejected(429),
            CallFault::Rejected(500),
            CallFault::Rejected(503),
            CallFault::DoneAnd500,
        ];
        self.random.pick(&faults).unwrap_or(CallFault::RequestLost)
    }

    fn clock_fault(&self, process: ProcessId) -> Fault {
        let random = &self.random;
        let owner =
            if random.percent(70) { ClockOwner::Process(process) } else { ClockOwner::Server };
        match random.below(4) {
            0 => Fault::DriftClock(owner, random.between(-500, 500)),
            1 => Fault::StepClock(owner, random.between(-2 * SECOND, 2 * SECOND)),
            2 => Fault::StepClock(owner, random.between(-5 * MINUTE, 5 * MINUTE)),
            _ => Fault::StepClock(owner, random.between(-120 * MINUTE, 120 * MINUTE)),
        }
    }
}

fn to_u32(number: i64) -> u32 {
    u32::try_from(number).unwrap_or_default()
}
