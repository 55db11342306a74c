use super::*;

fn check(ops: Vec<Op>, complaint: &str) {
    let limits = Limits { key_bytes_max: 4, value_bytes_max: 2, ops_max: 2 };
    let said = Transaction::from(ops).fits(&limits).map_err(|error| error.to_string());
    match complaint {
        "" => assert_eq!(said, Ok(())),
        _ => assert!(said.clone().unwrap_err().contains(complaint), "{said:?}"),
    }
}

#[test]
fn a_transaction_is_checked_before_it_is_queued() {
    check(vec![Op::create("/a", "xx"), Op::check("/b", Condition::Present)], "");
    check(vec![], "");
    check(vec![Op::create("", "x")], "keys have 1 to 4");
    check(vec![Op::create("/long", "x")], "a key of 5 bytes");
    check(vec![Op::create("/a", "xxx")], "3 bytes for /a, at most 2");
    check(vec![Op::create("/a", "x"), Op::delete("/a", Condition::Any)], "/a occurs twice");
    check(vec![Op::check("/a", Condition::Any); 3], "3 operations");
}

#[test]
fn a_condition_compares_with_what_is_there() {
    let entry = Entry { value: "x".into(), created: 3, modified: 5 };
    let there = |condition: Condition| condition.holds(Some(&entry));
    let gone = |condition: Condition| condition.holds(None);
    assert!(there(Condition::Any) && gone(Condition::Any));
    assert!(!there(Condition::Absent) && gone(Condition::Absent));
    assert!(there(Condition::Present) && !gone(Condition::Present));
    assert!(there(Condition::At(5)) && !there(Condition::At(3)) && !gone(Condition::At(5)));
}

#[test]
fn a_conflict_says_what_is_there() {
    let current = Some(Entry { value: "x".into(), created: 3, modified: 5 });
    let key: Arc<str> = "/a".into();
    let said = |wanted, current| Conflict { key: key.clone(), wanted, current }.to_string();
    assert_eq!(said(Condition::At(4), current.clone()), "/a was changed at 5, not at 4");
    assert_eq!(said(Condition::Absent, current), "/a exists since 3");
    assert_eq!(said(Condition::Present, None), "/a does not exist");
}
