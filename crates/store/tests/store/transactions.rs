//! Tests of transactions, conflicts and snapshots.

use std::thread;

use punctual_store::{
    ChangeKind, CommitCondition, Error, Op, Options, Precondition, Store, Transaction,
    TransactionLimits,
};

use crate::{in_memory, with_options};

fn put(store: &Store, key: &str) -> u64 {
    store.write_blocking(Op::put(key, key.to_owned(), Precondition::Any)).unwrap().revision
}

#[test]
fn every_change_gets_the_next_revision() {
    let store = in_memory();
    assert_eq!((put(&store, "/a"), put(&store, "/b"), put(&store, "/a")), (1, 2, 3));
    let entry = store.get("/a").unwrap();
    assert_eq!((entry.created, entry.modified, &*entry.value), (1, 3, b"/a".as_slice()));
    let deleted = store.write_blocking(Op::delete("/a", Precondition::At(3))).unwrap();
    assert_eq!(deleted.revision, 4);
    assert_eq!(deleted.changes[0].as_ref().unwrap().kind(), ChangeKind::Deleted);
    assert_eq!(store.get("/a"), None);
    put(&store, "/a");
    assert_eq!(store.get("/a").unwrap().created, 5);
}

#[test]
fn a_conflict_has_the_current_value_and_changes_nothing() {
    let store = in_memory();
    put(&store, "/a");
    let both = vec![Op::create("/b", "new"), Op::update("/a", "new", 9)];
    let error = store.write_blocking(both).unwrap_err();
    let conflict = error.conflict().unwrap();
    assert_eq!((&*conflict.key, conflict.precondition), ("/a", Precondition::At(9)));
    assert_eq!(conflict.current.as_ref().unwrap().modified, 1);
    assert_eq!(error.to_string(), "/a was changed at revision 1, not at 9");
    assert_eq!((store.get("/b"), store.revision()), (None, 1));
}

#[test]
fn a_check_and_a_delete_of_a_missing_key_get_no_revision() {
    let store = in_memory();
    put(&store, "/a");
    let ops = vec![Op::check("/a", Precondition::Present), Op::delete("/b", Precondition::Any)];
    let committed = store.write_blocking(ops).unwrap();
    assert_eq!((committed.revision, committed.changes), (1, vec![None, None]));
}

#[test]
fn a_transaction_beyond_the_limits_is_rejected() {
    let limits = TransactionLimits { value_bytes_max: 3, ..TransactionLimits::default() };
    let store = with_options(Options { limits, ..Options::default() });
    let error = store.write_blocking(Op::create("/a", "long")).unwrap_err();
    assert!(matches!(error, Error::InvalidTransaction(_)), "{error}");
    assert!(store.submit(Op::create("/a", "ok")).unwrap().wait().is_ok());
}

#[test]
fn one_of_many_updates_of_the_same_revision_succeeds() {
    let store = in_memory();
    put(&store, "/a");
    for round in 1..=20 {
        let writers: Vec<_> = (0..8)
            .map(|_| {
                let store = store.clone();
                thread::spawn(move || store.write_blocking(Op::update("/a", "x", round)).is_ok())
            })
            .collect();
        let results = writers.into_iter().map(|writer| writer.join().unwrap());
        assert_eq!(results.filter(|is_ok| *is_ok).count(), 1);
    }
    assert_eq!(store.revision(), 21);
}

/// Creates a key unless there are `max` keys. Returns whether it was created.
fn create_below(store: &Store, key: &str, max: usize) -> bool {
    loop {
        let snapshot = store.snapshot();
        let count = snapshot.len();
        if count >= max {
            return false;
        }
        let condition = CommitCondition::new(snapshot.revision(), move |changes| {
            let created = changes.iter().filter(|change| change.kind() == ChangeKind::Created);
            count + created.count() < max
        });
        let create = Transaction::from(Op::create(key, "x")).with_condition(condition);
        match store.write_blocking(create) {
            Ok(_) => return true,
            Err(error) => assert!(matches!(error, Error::ConditionFailed), "{error}"),
        }
    }
}

#[test]
fn a_guard_sees_all_changes_since_its_revision_also_those_of_the_same_batch() {
    const MAX: usize = 50;
    let store = in_memory();
    let writers: Vec<_> = (0..16)
        .map(|writer| {
            let store = store.clone();
            let keys = move || (0..10).map(move |at| format!("/{writer}/{at}"));
            thread::spawn(move || keys().filter(|key| create_below(&store, key, MAX)).count())
        })
        .collect();
    let created: usize = writers.into_iter().map(|writer| writer.join().unwrap()).sum();
    assert_eq!((created, store.snapshot().len()), (MAX, MAX));
}

#[test]
fn a_failed_guard_changes_nothing_and_a_compacted_revision_fails_every_guard() {
    let store = in_memory();
    put(&store, "/a");
    let create = |since: u64, is_met: bool| {
        let condition = CommitCondition::new(since, move |_| is_met);
        store.write_blocking(Transaction::from(Op::create("/b", "x")).with_condition(condition))
    };
    assert!(matches!(create(1, false), Err(Error::ConditionFailed)));
    assert_eq!((store.get("/b"), store.revision()), (None, 1));
    store.compact_blocking(1).unwrap();
    assert!(matches!(create(0, true), Err(Error::ConditionFailed)));
    assert!(create(1, true).is_ok());
}

#[test]
fn the_changes_since_a_revision_end_with_the_newest_one() {
    let store = in_memory();
    put(&store, "/a");
    put(&store, "/b");
    let (changes, revision) = store.changes_since(1).unwrap();
    assert_eq!(changes.iter().map(|change| &*change.key).collect::<Vec<_>>(), ["/b"]);
    assert_eq!((revision, store.changes_since(2).unwrap().0.len()), (2, 0));
}

#[test]
fn a_snapshot_does_not_change() {
    let store = in_memory();
    put(&store, "/a");
    let before = store.snapshot();
    put(&store, "/b");
    store.write_blocking(Op::delete("/a", Precondition::Any)).unwrap();
    assert_eq!((before.revision(), before.len(), before.get("/b")), (1, 1, None));
    assert!(before.get("/a").is_some() && !before.is_empty());
    assert_eq!(store.snapshot().revision(), 3);
}

#[test]
fn pages_of_a_prefix_have_no_gap_and_no_overlap() {
    let store = in_memory();
    for key in ["/a/1", "/b", "/b/1", "/b/2", "/b/3", "/b/4", "/b0", "/c"] {
        put(&store, key);
    }
    let snapshot = store.snapshot();
    let page = |after: &str| -> Vec<String> {
        snapshot.prefix_after("/b/", after).take(3).map(|(key, _)| key.to_string()).collect()
    };
    assert_eq!(page(""), ["/b/1", "/b/2", "/b/3"]);
    assert_eq!(page("/b/3"), ["/b/4"]);
    assert_eq!(page("/b/25"), ["/b/3", "/b/4"]);
    assert_eq!(page("/z"), [""; 0]);
    assert_eq!(snapshot.prefix("/b").count(), 6);
    assert_eq!(snapshot.prefix("").count(), 8);
}

#[test]
fn close_commits_queued_writes_and_rejects_new_ones() {
    let store = in_memory();
    let queued: Vec<_> =
        (0..200).map(|at| store.submit(Op::create(format!("/{at}"), "x")).unwrap()).collect();
    store.close_blocking().unwrap();
    assert!(queued.into_iter().all(|pending| pending.wait().is_ok()));
    assert!(matches!(store.write_blocking(Op::create("/a", "x")), Err(Error::Closed)));
    assert!(matches!(store.submit(Op::create("/a", "x")), Err(Error::Closed)));
    assert_eq!(store.snapshot().len(), 200);
    assert!(store.close_blocking().is_ok());
}
