//! Random elections: two or three candidates with different clocks, lost responses, writes that arrive
//! long after their timeout, and processes that pause, crash, release the Lease and restart.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

mod server;
mod simulation;

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use punctual_lease::ElectionConfig;
use punctual_testing::TestRng;
use simulation::{ElectionFaults, ElectionSimulation, EventCounts, SECOND, TrueTime};

const ELECTIONS: u64 = 100_000;

/// The deadline is three quarters of the duration, so the rates of clocks may differ by a third. These
/// differ by up to 27 %.
const ROUGH: ElectionFaults =
    ElectionFaults { loss: 12, pause: 25, disruption: 60, rate_ppm: 120_000, latency: SECOND / 5 };
const CALM: ElectionFaults =
    ElectionFaults { loss: 0, pause: 0, disruption: 0, rate_ppm: 500, latency: SECOND / 20 };

fn config() -> ElectionConfig {
    let [lease_duration, renew_deadline, retry_period] = [4, 3, 1].map(Duration::from_secs);
    ElectionConfig { lease_duration, renew_deadline, retry_period }
}

/// Simulates an election. Returns false if there were two leaders at any time.
fn has_one_leader(seed: u64, faults: ElectionFaults) -> (bool, EventCounts) {
    let mut simulation = ElectionSimulation::new(seed, config(), faults);
    let mut has_one = true;
    while simulation.now < 40 * SECOND && has_one {
        simulation.step();
        has_one = simulation.leaders().len() <= 1;
    }
    (has_one, simulation.counts)
}

/// Runs a check for each seed on two threads.
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
    let total = Mutex::new(EventCounts::default());
    for_each_seed(ELECTIONS, |seed| {
        let (has_one, counts) = has_one_leader(seed, ROUGH);
        assert!(has_one, "two leaders with seed {seed}");
        let mut total = total.lock().unwrap();
        *total = total.add(counts);
    });
    let counts = total.into_inner().unwrap();
    println!("{ELECTIONS} elections, never two leaders: {counts:?}");
    let EventCounts { terms, conflicts, crashes, releases, .. } = counts;
    for count in [terms, conflicts, crashes + releases] {
        assert!(count > ELECTIONS, "too few events to prove anything: {counts:?}");
    }
}

/// Proves that the check can detect two leaders.
#[test]
fn clocks_that_differ_too_much_cause_two_leaders() {
    let faults = ElectionFaults { rate_ppm: 400_000, ..ROUGH };
    let broken = (0..2000).filter(|seed| !has_one_leader(*seed, faults).0).count();
    println!("{broken} of 2000 elections with excessive clock rates had two leaders");
    assert!(broken > 10);
}

/// Waits for a leader until a time. Returns the leader and the time of its election.
fn wait_for_leader(
    simulation: &mut ElectionSimulation,
    until: TrueTime,
) -> Option<(usize, TrueTime)> {
    while simulation.now <= until {
        if let Some(leader) = simulation.leaders().first() {
            return Some((*leader, simulation.now));
        }
        simulation.step();
    }
    None
}

/// Pauses, disconnections and restarts last at most 8 s each. After them there is a leader, so no fault
/// blocks a candidate permanently.
#[test]
fn a_leader_is_elected_after_all_faults() {
    for_each_seed(20_000, |seed| {
        let mut simulation = ElectionSimulation::new(seed, config(), ROUGH);
        while simulation.now < 20 * SECOND {
            simulation.step();
        }
        simulation.set_faults(CALM);
        while simulation.now < 45 * SECOND {
            simulation.step();
        }
        assert_eq!(simulation.leaders().len(), 1, "leaders with seed {seed}");
    });
}

#[test]
fn a_crashed_leader_is_replaced_within_the_lease_and_two_retries() {
    let longest = AtomicU64::new(0);
    for_each_seed(20_000, |seed| {
        let mut simulation = ElectionSimulation::new(seed, config(), CALM);
        let (first, _) =
            wait_for_leader(&mut simulation, SECOND).expect("a first leader within a second");
        let crash_at = SECOND + TestRng::new(!seed).below(20 * SECOND);
        while simulation.now < crash_at {
            simulation.step();
            let leads = simulation.now < SECOND || simulation.leaders() == [first];
            assert!(leads, "leadership changed without faults, seed {seed}");
        }
        simulation.crash(first);
        let crashed_at = simulation.now;
        let bound = crashed_at + (4 + 2) * SECOND;
        let (_, elected_at) = wait_for_leader(&mut simulation, bound)
            .unwrap_or_else(|| panic!("no leader, seed {seed}"));
        longest.fetch_max(elected_at - crashed_at, Ordering::Relaxed);
    });
    let longest = longest.into_inner() as f64 / SECOND as f64;
    println!("20000 crashes: a successor led after at most {longest:.3} s (lease 4 s, retry 1 s)");
}
