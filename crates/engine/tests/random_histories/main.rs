//! Random histories of a CronJob, checked by an independent checker.
//!
//! Time passes and jumps, users edit and suspend the CronJob, Jobs finish and are deleted, the
//! controller crashes after any effect, and responses are lost. The checker sees only the state of the
//! server, and verifies what must and must not have happened.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

mod checker;
mod controller;
mod history;
mod ledger_checker;
mod server;

use std::sync::atomic::{AtomicU64, Ordering};

/// The number of histories. The environment variable `HISTORIES` overrides it.
#[expect(clippy::disallowed_methods, reason = "only this test reads the variable")]
fn history_count() -> u64 {
    std::env::var("HISTORIES").ok().and_then(|text| text.parse().ok()).unwrap_or(100_000)
}

#[test]
fn every_history_satisfies_the_checker() {
    let slots = AtomicU64::new(0);
    let faults = AtomicU64::new(0);
    let next_seed = AtomicU64::new(0);
    let count = history_count();
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let seed = next_seed.fetch_add(1, Ordering::Relaxed);
                    if seed >= count {
                        break;
                    }
                    let stats = history::run_history(seed);
                    slots.fetch_add(stats.started, Ordering::Relaxed);
                    faults.fetch_add(stats.faults, Ordering::Relaxed);
                }
            });
        }
    });
    let slots = slots.into_inner();
    let faults = faults.into_inner();
    println!("{count} histories, {slots} slots started, {faults} crashes and lost responses");
    assert!(slots > count && faults > count, "the histories have too few slots or faults");
}
