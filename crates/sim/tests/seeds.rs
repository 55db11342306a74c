//! A few simulations in every test run. `.ci/run` runs ten thousand.

#![allow(clippy::expect_used, clippy::unwrap_used, reason = "a test fails by panicking")]

use punctual_sim::{Preset, digest, generate, run_scenario, shrink, timeline};

#[test]
fn the_same_seed_gives_the_same_history() {
    for seed in 0..6 {
        let scenario = generate(seed);
        assert_eq!(scenario, generate(seed));
        let first = run_scenario(&scenario);
        let second = run_scenario(&scenario);
        assert_eq!(digest(&first.history), digest(&second.history), "seed {seed}");
        assert!(!timeline(&scenario, &first.history).is_empty());
    }
}

#[test]
fn a_few_simulations_have_no_violations() {
    for seed in 100..108 {
        let violations = run_scenario(&generate(seed)).report.violations;
        assert!(violations.is_empty(), "seed {seed}: {violations:?}");
    }
}

#[test]
fn a_restarted_controller_runs_each_slot_once() {
    for preset in [Preset::Restarts, Preset::PastDeadline] {
        let run = run_scenario(&preset.scenario(1));
        let violations = &run.report.violations;
        assert!(violations.is_empty(), "{preset:?}: {violations:?}");
        assert!(run.report.runs > 300, "{preset:?}: {} runs", run.report.runs);
    }
}

#[test]
fn shrinking_keeps_only_what_is_needed() {
    let scenario = (0..).map(generate).find(|generated| generated.faults.len() > 2).unwrap();
    let wanted = scenario.faults.last().unwrap().clone();
    let small = shrink(&scenario, |smaller| smaller.faults.contains(&wanted));
    assert_eq!(small.faults, [wanted]);
    assert_eq!(small.actions.len(), 1);
}

/// A CronJob under Replace and a ScheduledJob of the same name were due at the same slot. The CronJob deleted its
/// running Job, but the ScheduledJob had taken the name of the next one, so nothing took its place.
#[test]
fn nothing_is_deleted_for_a_slot_whose_name_another_kind_has_taken() {
    let violations = run_scenario(&generate(7_771_790)).report.violations;
    assert!(violations.is_empty(), "{violations:?}");
}
