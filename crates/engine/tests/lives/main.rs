//! Random lives of a CronJob: time passes and jumps, users edit and suspend, Jobs end and vanish,
//! the controller dies after any effect and answers get lost. An independent checker watches the
//! server and says what must and must not have happened.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

mod checker;
mod controller;
#[path = "../../../schedule/tests/oracle/dice.rs"]
mod dice;
mod life;
mod server;

use std::sync::atomic::{AtomicU64, Ordering};

/// How many lives are lived; `LIVES` in the environment asks for another number.
#[expect(clippy::disallowed_methods, reason = "a knob of this test alone")]
fn lives() -> u64 {
    std::env::var("LIVES").ok().and_then(|text| text.parse().ok()).unwrap_or(100_000)
}

#[test]
fn no_life_breaks_a_promise() {
    let (slots, crashes) = (AtomicU64::new(0), AtomicU64::new(0));
    let next = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= lives() {
                        break;
                    }
                    let lived = life::live(seed);
                    slots.fetch_add(lived.started, Ordering::Relaxed);
                    crashes.fetch_add(lived.crashes, Ordering::Relaxed);
                }
            });
        }
    });
    let (slots, crashes) = (slots.into_inner(), crashes.into_inner());
    println!("{} lives, {slots} slots started, {crashes} crashes and lost answers", lives());
    assert!(slots > lives() && crashes > lives(), "the lives are too quiet to show anything");
}
