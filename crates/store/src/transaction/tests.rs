//! Tests of transactions: limits, preconditions and conflicts.

use super::*;

fn check(ops: Vec<Op>, message: &str) {
    let limits = TransactionLimits { key_bytes_max: 4, value_bytes_max: 2, ops_max: 2 };
    let result = Transaction::from(ops).check_limits(&limits).map_err(|error| error.to_string());
    match message {
        "" => assert_eq!(result, Ok(())),
        _ => assert!(result.clone().unwrap_err().contains(message), "{result:?}"),
    }
}

#[test]
fn check_limits_rejects_invalid_transactions() {
    check(vec![Op::create("/a", "xx"), Op::check("/b", Precondition::Present)], "");
    check(vec![], "");
    check(vec![Op::create("", "x")], "1 to 4 are allowed");
    check(vec![Op::create("/long", "x")], "a key has 5 bytes");
    check(vec![Op::create("/a", "xxx")], "the value of /a has 3 bytes, at most 2");
    check(vec![Op::create("/a", "x"), Op::delete("/a", Precondition::Any)], "/a occurs twice");
    check(vec![Op::check("/a", Precondition::Any); 3], "3 operations");
}

#[test]
fn a_precondition_compares_with_the_current_value() {
    let entry = StoreEntry { value: "x".into(), created: 3, modified: 5 };
    let present = |precondition: Precondition| precondition.is_met(Some(&entry));
    let absent = |precondition: Precondition| precondition.is_met(None);
    assert!(present(Precondition::Any) && absent(Precondition::Any));
    assert!(!present(Precondition::Absent) && absent(Precondition::Absent));
    assert!(present(Precondition::Present) && !absent(Precondition::Present));
    assert!(
        present(Precondition::At(5))
            && !present(Precondition::At(3))
            && !absent(Precondition::At(5))
    );
}

#[test]
fn a_conflict_names_the_current_revision() {
    let current = Some(StoreEntry { value: "x".into(), created: 3, modified: 5 });
    let key: Arc<str> = "/a".into();
    let text =
        |precondition, current| Conflict { key: key.clone(), precondition, current }.to_string();
    assert_eq!(
        text(Precondition::At(4), current.clone()),
        "/a was changed at revision 5, not at 4"
    );
    assert_eq!(text(Precondition::Absent, current), "/a exists since revision 3");
    assert_eq!(text(Precondition::Present, None), "/a does not exist");
}
