//! Tests of recovery: inconsistent rows are rejected.

use super::*;
use crate::change::StoreEntry;

const BOUNDS: HistoryBounds = HistoryBounds { changes_max: 10, bytes_max: 1000 };

fn row(revision: u64, key: &str, created: Option<u64>) -> LogRow {
    let entry = |created| StoreEntry { value: "x".into(), created, modified: revision };
    LogRow { revision, key: key.into(), current: created.map(entry) }
}

fn check(rows: Vec<LogRow>, compacted: u64, revision: u64, message: &str) {
    let result = recover(LogContents { revision, compacted, rows }, BOUNDS);
    let error = result.err().map(|error| error.to_string()).unwrap_or_default();
    assert!(error.contains(message) && error.is_empty() == message.is_empty(), "{error}");
}

#[test]
fn consistent_rows_are_accepted() {
    check(vec![], 0, 0, "");
    check(vec![], 9, 9, "");
    check(vec![row(1, "/a", Some(1)), row(2, "/a", None), row(3, "/a", Some(3))], 0, 3, "");
    check(vec![row(4, "/a", Some(2)), row(9, "/a", Some(2))], 8, 9, "");
}

#[test]
fn inconsistent_rows_are_rejected() {
    check(vec![row(1, "/a", Some(1)), row(3, "/b", Some(3))], 0, 3, "revision 2 is missing");
    check(vec![row(1, "/a", Some(1))], 0, 2, "it ends at revision 1, not at 2");
    check(vec![row(2, "/a", Some(2)), row(1, "/b", Some(1))], 2, 2, "revision 1 follows 2");
    check(vec![row(1, "/a", None)], 0, 1, "revision 1 does not fit the previous value of /a");
    check(vec![row(2, "/a", Some(1))], 1, 2, "does not fit the previous value of /a");
    check(
        vec![row(1, "/a", Some(1)), row(2, "/a", Some(2))],
        0,
        2,
        "does not fit the previous value",
    );
}
