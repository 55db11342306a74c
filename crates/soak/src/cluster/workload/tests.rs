//! Tests of the generated objects and their slots.

use super::*;

#[test]
fn a_seed_determines_a_workload_with_all_policies_and_kinds() {
    let texts = |seed| -> Vec<String> {
        let specs = generate(48, &TestRng::new(seed));
        specs.iter().map(|spec| spec.manifest().to_string()).collect()
    };
    assert_eq!(texts(1), texts(1));
    assert_ne!(texts(1), texts(2));
    let text = texts(1).concat();
    for word in ["\"Allow\"", "\"Forbid\"", "\"Replace\"", "\"CatchUp\""] {
        assert!(text.contains(word), "{word}");
    }
    for word in ["\"ttlSecondsAfterFinished\":0", "batch/v1", "punctual.dev/v1"] {
        assert!(text.contains(word), "{word}");
    }
}

#[test]
fn at_most_one_slot_is_pending_where_only_the_latest_starts() {
    for spec in generate(600, &TestRng::new(3)) {
        let is_short = spec.deadline.is_some_and(|deadline| deadline < spec.period);
        assert!(is_short || spec.policy == ConcurrencyPolicy::CatchUp, "{spec:?}");
    }
}

#[test]
fn slots_are_whole_periods_after_the_creation() {
    let spec = WorkloadSpec::for_test(ConcurrencyPolicy::Allow, 5, Some(4));
    let at = |second| Timestamp::from_second(second).unwrap();
    let object = WorkloadObject { spec, uid: "u".into(), created: at(100) };
    assert_eq!(object.slots(at(110)).collect::<Vec<_>>(), [at(105), at(110)]);
    assert!(object.has_slot(at(105)) && !object.has_slot(at(106)));
    assert!(!object.has_slot(at(100)) && !object.has_slot(at(95)));
    assert_eq!(object.deadline(at(105)), Some(at(109)));
}
