//! Deliberate bugs, and how many worlds it takes to find each.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use punctual_bugs::{Bug, arm};

use crate::check::Violation;
use crate::draw::draw;
use crate::trial::attempt;

/// What came of the hunt for one bug.
#[derive(Clone, Debug)]
pub struct Hunted {
    /// The bug.
    pub bug: Bug,
    /// The first world in which something was wrong, and what was wrong first; none if nothing was
    /// found.
    pub found: Option<(u64, Violation)>,
}

/// Hunts for these bugs, each in the worlds of the seeds below `seeds`. `tell` is told what came of
/// each, in their order, as soon as that is known of all before it.
pub fn hunt(bugs: &[Bug], seeds: u64, threads: usize, tell: impl FnMut(&Hunted) + Send) {
    let next = AtomicUsize::new(0);
    let told = Mutex::new(InOrder { next: 0, waiting: BTreeMap::new(), tell });
    let work = || {
        loop {
            let place = next.fetch_add(1, Ordering::Relaxed);
            let Some(bug) = bugs.get(place) else { return };
            let hunted = one(*bug, seeds);
            told.lock().unwrap_or_else(PoisonError::into_inner).take(place, hunted);
        }
    };
    thread::scope(|scope| {
        (0..threads.max(1)).for_each(|_| drop(scope.spawn(work)));
    });
}

/// Tells in order what comes in any.
struct InOrder<T> {
    next: usize,
    waiting: BTreeMap<usize, Hunted>,
    tell: T,
}

impl<T: FnMut(&Hunted)> InOrder<T> {
    fn take(&mut self, place: usize, hunted: Hunted) {
        self.waiting.insert(place, hunted);
        while let Some(hunted) = self.waiting.remove(&self.next) {
            (self.tell)(&hunted);
            self.next += 1;
        }
    }
}

fn one(bug: Bug, seeds: u64) -> Hunted {
    arm(Some(bug));
    let wrong = |seed: u64| {
        let violation = attempt(&draw(seed)).verdict.violations.into_iter().next()?;
        Some((seed, violation))
    };
    let found = (0..seeds).find_map(wrong);
    arm(None);
    Hunted { bug, found }
}
