use super::*;
use crate::change::Entry;

const BOUNDS: RingBounds = RingBounds { changes_max: 10, bytes_max: 1000 };

fn row(revision: u64, key: &str, created: Option<u64>) -> Row {
    let entry = |created| Entry { value: "x".into(), created, modified: revision };
    Row { revision, key: key.into(), current: created.map(entry) }
}

fn check(rows: Vec<Row>, compacted: u64, revision: u64, complaint: &str) {
    let said = recover(Loaded { revision, compacted, rows }, BOUNDS).err().unwrap_or_default();
    assert!(said.contains(complaint) && said.is_empty() == complaint.is_empty(), "{said}");
}

#[test]
fn rows_that_fit_are_taken() {
    check(vec![], 0, 0, "");
    check(vec![], 9, 9, "");
    check(vec![row(1, "/a", Some(1)), row(2, "/a", None), row(3, "/a", Some(3))], 0, 3, "");
    check(vec![row(4, "/a", Some(2)), row(9, "/a", Some(2))], 8, 9, "");
}

#[test]
fn rows_that_do_not_fit_are_refused() {
    check(vec![row(1, "/a", Some(1)), row(3, "/b", Some(3))], 0, 3, "revision 2 is missing");
    check(vec![row(1, "/a", Some(1))], 0, 2, "it ends at 1, not at 2");
    check(vec![row(2, "/a", Some(2)), row(1, "/b", Some(1))], 2, 2, "revision 1 follows 2");
    check(vec![row(1, "/a", None)], 0, 1, "changes /a as it never was");
    check(vec![row(2, "/a", Some(1))], 1, 2, "changes /a as it never was");
    check(vec![row(1, "/a", Some(1)), row(2, "/a", Some(2))], 0, 2, "as it never was");
}
