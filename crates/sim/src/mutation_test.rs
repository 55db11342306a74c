//! Searches for the first simulation in which the checker finds each deliberate bug.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use punctual_mutations::{Mutation, arm, catalogue};
use punctual_testing::check::Violation;

use crate::generate::generate;
use crate::run::run_scenario;

/// The result for one bug.
#[derive(Clone, Debug)]
pub struct MutationResult {
    /// The bug.
    pub mutation: &'static Mutation,
    /// The first seed with a violation and the first violation there; none if no seed has one.
    pub found: Option<(u64, Violation)>,
}

/// Runs the simulations of the seeds below `seeds` with each of these bugs, given by their indices in
/// the catalogue, until one has a violation. Calls `report` for each bug in the given order, as soon as
/// all results before it are known.
pub fn test_mutations(
    indices: &[usize],
    seeds: u64,
    threads: usize,
    report: impl FnMut(&MutationResult) + Send,
) {
    let next = AtomicUsize::new(0);
    let results = Mutex::new(OrderedReport { next: 0, waiting: BTreeMap::new(), report });
    let work = || {
        loop {
            let position = next.fetch_add(1, Ordering::Relaxed);
            let Some(index) = indices.get(position) else { return };
            let Some(result) = test_mutation(*index, seeds) else { return };
            results.lock().unwrap_or_else(PoisonError::into_inner).add(position, result);
        }
    };
    thread::scope(|scope| {
        for _ in 0..threads.max(1) {
            scope.spawn(work);
        }
    });
}

/// Reports results in order although they arrive in any order.
struct OrderedReport<F> {
    next: usize,
    waiting: BTreeMap<usize, MutationResult>,
    report: F,
}

impl<F: FnMut(&MutationResult)> OrderedReport<F> {
    fn add(&mut self, position: usize, result: MutationResult) {
        self.waiting.insert(position, result);
        while let Some(result) = self.waiting.remove(&self.next) {
            (self.report)(&result);
            self.next += 1;
        }
    }
}

/// None if there is no bug with this index.
fn test_mutation(index: usize, seeds: u64) -> Option<MutationResult> {
    let mutation = catalogue().get(index)?;
    arm(Some(index));
    let first_violation = |seed: u64| {
        let violation = run_scenario(&generate(seed)).report.violations.into_iter().next()?;
        Some((seed, violation))
    };
    let found = (0..seeds).find_map(first_violation);
    arm(None);
    Some(MutationResult { mutation, found })
}
