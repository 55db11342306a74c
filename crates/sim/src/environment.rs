//! What all simulated parts share: the scenario, the true time, random numbers and the history.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use punctual_testing::TestRng;
use punctual_testing::history::{History, HistoryEvent, HistoryRecord};
use punctual_testing::scenario::{FaultWindow, Millis, Scenario};
use tokio::time::Instant;

/// More calls than this in one virtual second are an endless loop.
const CALLS_PER_SECOND_MAX: u32 = 60_000;
/// More clock reads than this in one virtual second are an endless loop.
const CLOCK_READS_MAX: u64 = 2_000_000;

/// What all simulated parts share.
pub(crate) struct SimulationEnv {
    pub(crate) scenario: Arc<Scenario>,
    pub(crate) random: TestRng,
    started: Instant,
    history: Mutex<History>,
    calls: Mutex<CallCount>,
    clock_reads: Mutex<ClockReadCount>,
}

/// The number of calls in one virtual second.
#[derive(Default)]
struct CallCount {
    second: Millis,
    in_second: u32,
}

/// The number of clock reads.
#[derive(Default)]
struct ClockReadCount {
    total: u64,
    second: Millis,
    in_second: u64,
}

impl SimulationEnv {
    /// Must be called inside the simulation's runtime, whose paused clock is the true time.
    pub(crate) fn new(scenario: Arc<Scenario>) -> Arc<SimulationEnv> {
        let random = TestRng::new(scenario.seed);
        Arc::new(SimulationEnv {
            scenario,
            random,
            started: Instant::now(),
            history: Mutex::default(),
            calls: Mutex::default(),
            clock_reads: Mutex::default(),
        })
    }

    /// The true time.
    pub(crate) fn now(&self) -> Millis {
        Millis::try_from(self.started.elapsed().as_millis()).unwrap_or(Millis::MAX)
    }

    /// Counts a call and returns whether there were too many in this second, which means that some
    /// process is in an endless loop. Reports that once, as a panic.
    pub(crate) fn has_too_many_calls(&self) -> bool {
        let second = self.now() / 1000;
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        if calls.in_second == CALLS_PER_SECOND_MAX {
            return true;
        }
        if calls.second == second {
            calls.in_second += 1;
        } else {
            *calls = CallCount { second, in_second: 1 };
        }
        if calls.in_second == CALLS_PER_SECOND_MAX {
            tokio::spawn(async move {
                panic!("hot loop: {CALLS_PER_SECOND_MAX} calls in second {second}")
            });
        }
        calls.in_second == CALLS_PER_SECOND_MAX
    }

    /// Counts a clock read. Panics if there were too many in this second: in an endless loop without
    /// calls virtual time would never advance.
    pub(crate) fn count_clock_read(&self, now: Millis) {
        let mut reads = self.clock_reads.lock().unwrap_or_else(PoisonError::into_inner);
        reads.total += 1;
        let second = now / 1000;
        if reads.second == second {
            reads.in_second += 1;
        } else {
            reads.second = second;
            reads.in_second = 1;
        }
        let in_second = reads.in_second;
        drop(reads);
        assert!(
            in_second < CLOCK_READS_MAX,
            "hot loop: {CLOCK_READS_MAX} clock reads in second {second}"
        );
    }

    /// The number of clock reads so far.
    pub(crate) fn clock_reads(&self) -> u64 {
        self.clock_reads.lock().unwrap_or_else(PoisonError::into_inner).total
    }

    pub(crate) async fn sleep_until(&self, at: Millis) {
        let at = u64::try_from(at).unwrap_or_default();
        tokio::time::sleep_until(self.started + Duration::from_millis(at)).await;
    }

    pub(crate) fn record(&self, event: HistoryEvent) {
        let at = self.now();
        let record = HistoryRecord { at, event };
        self.history.lock().unwrap_or_else(PoisonError::into_inner).push(record);
    }

    pub(crate) fn take_history(&self) -> History {
        std::mem::take(&mut self.history.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The faults at a time.
    pub(crate) fn faults_at(&self, at: Millis) -> impl Iterator<Item = &FaultWindow> {
        self.scenario.faults.iter().filter(move |window| window.contains(at))
    }
}
