//! Tests of the benchmark's targets.

use super::*;

fn target(status: TargetStatus, counts_instructions: bool) -> BenchTarget {
    BenchTarget { what: String::new(), measured: String::new(), status, counts_instructions }
}

fn check(pairs: &[(f64, f64)], status: TargetStatus, measured: &str) {
    let pair =
        |&(ours, theirs): &(f64, f64)| PeerComparison { what: "a peer".into(), ours, theirs };
    assert_eq!(evaluate(pairs.iter().map(pair).collect()), (status, String::from(measured)));
}

#[test]
fn the_target_needs_fewer_instructions_in_every_cell() {
    let closest = "all 2 cells, closest: 5 against 6 of a peer";
    check(&[(1.0, 9.0), (5.0, 6.0)], TargetStatus::Met, closest);
    let lost = "not in 1 of 2 cells: 6 against 6 of a peer";
    check(&[(1.0, 9.0), (6.0, 6.0)], TargetStatus::Missed, lost);
    check(&[], TargetStatus::NotMeasured, "not every cell was counted");
}

#[test]
fn only_exact_targets_fail_the_benchmark() {
    assert!(any_missed(
        &[target(TargetStatus::Met, true), target(TargetStatus::Missed, true)],
        true
    ));
    assert!(!any_missed(
        &[target(TargetStatus::Met, true), target(TargetStatus::Missed, false)],
        true
    ));
}

#[test]
fn an_unmeasured_target_fails_the_benchmark_only_with_valgrind() {
    assert!(any_missed(&[target(TargetStatus::NotMeasured, true)], true));
    assert!(!any_missed(&[target(TargetStatus::NotMeasured, true)], false));
}

#[test]
fn a_geomean_needs_all_values() {
    assert_eq!(geomean([Some(2.0), Some(8.0)].into_iter()).map(f64::round), Some(4.0));
    assert_eq!(geomean([Some(2.0), None].into_iter()), None);
    assert_eq!(geomean([].into_iter()), None);
}
