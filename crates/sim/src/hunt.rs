//! Deliberate bugs, and how many worlds it takes to find each.

use std::sync::atomic::{AtomicUsize, Ordering};
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
/// each.
pub fn hunt(bugs: &[Bug], seeds: u64, threads: usize, tell: impl Fn(&Hunted) + Sync) {
    let next = AtomicUsize::new(0);
    let work = || {
        while let Some(bug) = bugs.get(next.fetch_add(1, Ordering::Relaxed)) {
            tell(&one(*bug, seeds));
        }
    };
    thread::scope(|scope| {
        (0..threads.max(1)).for_each(|_| drop(scope.spawn(work)));
    });
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
