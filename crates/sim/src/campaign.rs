//! Many worlds, on all cores.

use std::ops::Range;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use crate::check::Violation;
use crate::draw::draw;
use crate::trial::attempt;

/// Nobody reads more than that.
const FAULTY_MAX: usize = 20;

/// What came of many worlds.
#[derive(Debug, Default)]
pub struct Campaign {
    /// How many worlds were lived through.
    pub worlds: u64,
    /// Virtual time.
    pub millis: u64,
    /// Schedule times that were judged.
    pub slots: u64,
    /// Jobs that were created for slots.
    pub runs: u64,
    /// Calls of users, controllers and the node that changed something.
    pub writes: u64,
    /// Troubles.
    pub troubles: u64,
    /// Worlds in which something went wrong, by their seeds.
    pub faulty: Vec<(u64, Vec<Violation>)>,
}

/// Lives through the worlds of these seeds. `tell` is told how many there were, now and then.
pub fn campaign(seeds: Range<u64>, threads: usize, tell: impl Fn(u64) + Sync) -> Campaign {
    let next = AtomicU64::new(seeds.start);
    let result = Mutex::new(Campaign::default());
    let work = || {
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= seeds.end {
                return;
            }
            let mut result_now = one(seed);
            let mut result = result.lock().unwrap_or_else(PoisonError::into_inner);
            result.add(&mut result_now);
            if result.worlds.is_multiple_of(500) {
                tell(result.worlds);
            }
            if result.faulty.len() >= FAULTY_MAX {
                return;
            }
        }
    };
    thread::scope(|scope| {
        (0..threads.max(1)).for_each(|_| drop(scope.spawn(work)));
    });
    let mut result = result.into_inner().unwrap_or_else(PoisonError::into_inner);
    result.faulty.sort_by_key(|(seed, _)| *seed);
    result
}

fn one(seed: u64) -> Campaign {
    let scenario = draw(seed);
    let trial = attempt(&scenario);
    let mut campaign = Campaign {
        worlds: 1,
        millis: scenario.end().unsigned_abs(),
        slots: trial.verdict.runs + trial.verdict.unrun,
        runs: trial.verdict.runs,
        writes: trial.writes(),
        troubles: scenario.troubles.len() as u64,
        faulty: Vec::new(),
    };
    if !trial.verdict.violations.is_empty() {
        campaign.faulty.push((seed, trial.verdict.violations));
    }
    campaign
}

impl Campaign {
    fn add(&mut self, other: &mut Campaign) {
        self.worlds += other.worlds;
        self.millis += other.millis;
        self.slots += other.slots;
        self.runs += other.runs;
        self.writes += other.writes;
        self.troubles += other.troubles;
        self.faulty.append(&mut other.faulty);
    }
}
