use super::*;

fn minute(number: i64) -> Timestamp {
    Timestamp::from_second(number * 60).unwrap()
}

fn span() -> Span {
    Span { first: minute(1), last: minute(2), end: minute(3) }
}

/// `b1` begins the run of minute 1, `e1` ends it; a letter behind it is another Pod's.
fn diary(policy: Policy, words: &str) -> Diary {
    let entry = |word: &str| Entry {
        mark: if word.starts_with('b') { Mark::Begin } else { Mark::End },
        slot: minute(word[1..2].parse().unwrap()),
        pod: word[1..].to_owned(),
    };
    let entries = words.split_whitespace().map(entry).collect();
    Diary { name: "a".into(), policy, entries }
}

fn found(policy: Policy, words: &str) -> (usize, usize, usize, usize) {
    let findings = check(&[diary(policy, words)], span());
    let Findings { duplicates, losses, overlaps, faults, .. } = findings;
    (duplicates, losses, overlaps, faults.len())
}

#[test]
fn every_slot_once_is_no_fault() {
    assert_eq!(found(Policy::Allow, "b1 e1 b2 e2"), (0, 0, 0, 0));
    let findings = check(&[diary(Policy::Allow, "b1 b2 e2 e1")], span());
    assert_eq!((findings.slots, findings.runs), (2, 2));
}

#[test]
fn slots_around_those_that_count_may_be_run_once() {
    assert_eq!(found(Policy::Allow, "b0 e0 b1 e1 b2 e2 b3 e3"), (0, 0, 0, 0));
    assert_eq!(found(Policy::Allow, "b0 e0 b0x e0x b1 e1 b2 e2"), (1, 0, 0, 1));
}

#[test]
fn a_slot_that_is_missing_is_lost_under_allow_alone() {
    assert_eq!(found(Policy::Allow, "b1 e1"), (0, 1, 0, 1));
    assert_eq!(found(Policy::Forbid, "b1 e1"), (0, 0, 0, 0));
}

#[test]
fn a_run_that_did_not_end_is_lost() {
    assert_eq!(found(Policy::Allow, "b1 e1 b2"), (0, 1, 0, 1));
    assert_eq!(found(Policy::Forbid, "b1 e1 e2"), (0, 1, 0, 1));
}

#[test]
fn a_slot_that_is_run_twice_is_a_duplicate() {
    assert_eq!(found(Policy::Allow, "b1 b1x e1 e1x b2 e2"), (1, 0, 0, 1));
}

#[test]
fn runs_may_overlap_under_allow_but_not_under_forbid() {
    assert_eq!(found(Policy::Allow, "b1 b2 e1 e2"), (0, 0, 0, 0));
    assert_eq!(found(Policy::Forbid, "b1 b2 e1 e2"), (0, 0, 1, 1));
    assert_eq!(found(Policy::Forbid, "b1 e1 b2 e2"), (0, 0, 0, 0));
}

#[test]
fn a_slot_that_is_none_is_a_fault() {
    assert_eq!(found(Policy::Forbid, "b9 e9"), (0, 0, 0, 1));
}
