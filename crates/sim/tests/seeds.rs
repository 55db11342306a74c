//! A few worlds in every test run. Ten thousand are lived through by `.ci/run`.

#![allow(clippy::expect_used, clippy::unwrap_used, reason = "a test fails by panicking")]

use punctual_sim::{Play, attempt, digest, draw, shrink, timeline};

#[test]
fn the_same_seed_is_the_same_world() {
    for seed in 0..6 {
        let scenario = draw(seed);
        assert_eq!(scenario, draw(seed));
        let (first, second) = (attempt(&scenario), attempt(&scenario));
        assert_eq!(digest(&first.history), digest(&second.history), "seed {seed}");
        assert!(!timeline(&scenario, &first.history).is_empty());
    }
}

#[test]
fn nothing_goes_wrong_in_a_few_worlds() {
    for seed in 100..108 {
        let violations = attempt(&draw(seed)).verdict.violations;
        assert!(violations.is_empty(), "seed {seed}: {violations:?}");
    }
}

#[test]
fn a_controller_that_is_stopped_and_started_runs_each_slot_once() {
    for play in [Play::Restarts, Play::PastDeadline] {
        let trial = attempt(&play.scenario(1));
        let violations = &trial.verdict.violations;
        assert!(violations.is_empty(), "{play:?}: {violations:?}");
        assert!(trial.verdict.runs > 300, "{play:?}: {} runs", trial.verdict.runs);
    }
}

#[test]
fn a_world_is_cut_down_to_what_matters() {
    let scenario = (0..).map(draw).find(|drawn| drawn.troubles.len() > 2).unwrap();
    let wanted = scenario.troubles.last().unwrap().clone();
    let small = shrink(&scenario, |smaller| smaller.troubles.contains(&wanted));
    assert_eq!(small.troubles, [wanted]);
    assert_eq!(small.deeds.len(), 1);
}
