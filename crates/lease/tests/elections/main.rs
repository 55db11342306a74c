//! Random elections: two or three candidates whose clocks agree on nothing, answers that are lost,
//! writes that arrive long after they were given up, processes that stop, die, give back and start.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

#[path = "../../../schedule/tests/oracle/dice.rs"]
mod dice;
mod server;
mod world;

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use dice::Dice;
use punctual_lease::Config;
use world::{Counts, Faults, Instant, SECOND, World};

const ELECTIONS: u64 = 100_000;

/// Where a deadline is three quarters of the duration, clocks may differ by a third; these differ
/// by up to 27 %.
const ROUGH: Faults =
    Faults { loss: 12, pause: 25, end: 60, rate_ppm: 120_000, latency: SECOND / 5 };
const CALM: Faults = Faults { loss: 0, pause: 0, end: 0, rate_ppm: 500, latency: SECOND / 20 };

fn config() -> Config {
    let [lease_duration, renew_deadline, retry_period] = [4, 3, 1].map(Duration::from_secs);
    Config { lease_duration, renew_deadline, retry_period }
}

/// Lives through an election; true if there were never two leaders.
fn has_one_leader(seed: u64, faults: Faults) -> (bool, Counts) {
    let mut world = World::new(seed, config(), faults);
    let mut is_sane = true;
    while world.now < 40 * SECOND && is_sane {
        world.step();
        is_sane = world.leaders().len() <= 1;
    }
    (is_sane, world.counts)
}

/// Runs each seed on one of two threads.
fn for_each_seed(count: u64, each: impl Fn(u64) + Sync) {
    let next = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    match next.fetch_add(1, Ordering::Relaxed) {
                        seed if seed < count => each(seed),
                        _ => break,
                    }
                }
            });
        }
    });
}

#[test]
fn there_are_never_two_leaders() {
    let total = Mutex::new(Counts::default());
    for_each_seed(ELECTIONS, |seed| {
        let (is_sane, counts) = has_one_leader(seed, ROUGH);
        assert!(is_sane, "two leaders with seed {seed}");
        let mut total = total.lock().unwrap();
        *total = total.plus(counts);
    });
    let counts = total.into_inner().unwrap();
    println!("{ELECTIONS} elections, never two leaders: {counts:?}");
    let Counts { terms, conflicts, deaths, releases, .. } = counts;
    for count in [terms, conflicts, deaths + releases] {
        assert!(count > ELECTIONS, "too quiet to show anything: {counts:?}");
    }
}

/// The checker can see two leaders: clocks that differ more than was promised make some.
#[test]
fn clocks_beyond_the_promise_do_make_two_leaders() {
    let wild = Faults { rate_ppm: 400_000, ..ROUGH };
    let broken = (0..2000).filter(|seed| !has_one_leader(*seed, wild).0).count();
    println!("{broken} of 2000 elections with wild clocks had two leaders");
    assert!(broken > 10);
}

/// Waits for a leader until then, and says who and when.
fn elected(world: &mut World, until: Instant) -> Option<(usize, Instant)> {
    while world.now <= until {
        if let Some(who) = world.leaders().first() {
            return Some((*who, world.now));
        }
        world.step();
    }
    None
}

/// Nothing that happened leaves a candidate stuck: once the stops, cuts and restarts are over (8 s
/// each at most), there is a leader.
#[test]
fn after_any_storm_somebody_leads() {
    for_each_seed(20_000, |seed| {
        let mut world = World::new(seed, config(), ROUGH);
        while world.now < 20 * SECOND {
            world.step();
        }
        world.calm(CALM);
        while world.now < 45 * SECOND {
            world.step();
        }
        assert_eq!(world.leaders().len(), 1, "leaders with seed {seed}");
    });
}

#[test]
fn a_dead_leader_is_followed_within_the_lease_and_two_retries() {
    let longest = AtomicU64::new(0);
    for_each_seed(20_000, |seed| {
        let mut world = World::new(seed, config(), CALM);
        let (first, _) = elected(&mut world, SECOND).expect("a first leader within a second");
        let dies_at = SECOND + Dice(!seed).below(20 * SECOND);
        while world.now < dies_at {
            world.step();
            let leads = world.now < SECOND || world.leaders() == [first];
            assert!(leads, "leadership changed in calm weather, seed {seed}");
        }
        world.kill(first);
        let died_at = world.now;
        let bound = died_at + (4 + 2) * SECOND;
        let (_, at) = elected(&mut world, bound).unwrap_or_else(|| panic!("none, seed {seed}"));
        longest.fetch_max(at - died_at, Ordering::Relaxed);
    });
    let longest = longest.into_inner() as f64 / SECOND as f64;
    println!(
        "20000 deaths: the successor came after at most {longest:.3} s (lease 4 s, retry 1 s)"
    );
}
