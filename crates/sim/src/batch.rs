//! Runs the simulations of many seeds on several threads, and counts the failed ones.

use std::ops::Range;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use punctual_testing::check::Violation;

use crate::generate::generate;
use crate::run::run_scenario;

/// Stops after this many failed simulations.
const FAILED_MAX: usize = 20;
/// How often progress is reported.
const PROGRESS_EVERY: u64 = 500;

/// Totals over many simulations.
#[derive(Debug, Default)]
pub struct BatchResult {
    /// The number of simulations.
    pub simulations: u64,
    /// Virtual time.
    pub millis: u64,
    /// Slots that the checker checked.
    pub slots: u64,
    /// Jobs that were created for slots.
    pub runs: u64,
    /// Slot records that the checker checked.
    pub slot_records: u64,
    /// Changes that the disk stored.
    pub writes: u64,
    /// Faults that were injected.
    pub faults: u64,
    /// The seeds of simulations with violations.
    pub failed: Vec<(u64, Vec<Violation>)>,
}

/// Runs the simulations of these seeds. Calls `progress` with the number of finished ones from time to
/// time.
pub fn run_batch(seeds: Range<u64>, threads: usize, progress: impl Fn(u64) + Sync) -> BatchResult {
    let next = AtomicU64::new(seeds.start);
    let total = Mutex::new(BatchResult::default());
    let work = || {
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= seeds.end {
                return;
            }
            let result = run_seed(seed);
            let mut total = total.lock().unwrap_or_else(PoisonError::into_inner);
            total.add(result);
            if total.simulations.is_multiple_of(PROGRESS_EVERY) {
                progress(total.simulations);
            }
            if total.failed.len() >= FAILED_MAX {
                return;
            }
        }
    };
    thread::scope(|scope| {
        for _ in 0..threads.max(1) {
            scope.spawn(work);
        }
    });
    let mut total = total.into_inner().unwrap_or_else(PoisonError::into_inner);
    total.failed.sort_by_key(|(seed, _)| *seed);
    total
}

fn run_seed(seed: u64) -> BatchResult {
    let scenario = generate(seed);
    let run = run_scenario(&scenario);
    let mut result = BatchResult {
        simulations: 1,
        millis: scenario.end().unsigned_abs(),
        slots: run.report.runs + run.report.not_run,
        runs: run.report.runs,
        slot_records: run.report.slot_records,
        writes: run.writes(),
        faults: scenario.faults.len() as u64,
        failed: Vec::new(),
    };
    if !run.report.violations.is_empty() {
        result.failed.push((seed, run.report.violations));
    }
    result
}

impl BatchResult {
    fn add(&mut self, other: BatchResult) {
        self.simulations += other.simulations;
        self.millis += other.millis;
        self.slots += other.slots;
        self.runs += other.runs;
        self.slot_records += other.slot_records;
        self.writes += other.writes;
        self.faults += other.faults;
        self.failed.extend(other.failed);
    }
}
