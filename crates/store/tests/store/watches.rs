//! Tests of watches and of the change history.

use std::thread;

use punctual_store::{Error, Op, Options, Precondition, Store};

use crate::{in_memory, model::drain, with_options};

fn put(store: &Store, key: &str) {
    store.write_blocking(Op::put(key, "x", Precondition::Any)).unwrap();
}

fn with_small_history() -> Store {
    with_options(Options { history_changes_max: 10, ..Options::default() })
}

#[test]
fn a_watch_returns_the_changes_of_its_prefix_after_its_revision() {
    let store = in_memory();
    for key in ["/a/1", "/b/1", "/a/2", "/b/2", "/a/1"] {
        put(&store, key);
    }
    let revisions = |prefix: &str, from| -> Vec<u64> {
        drain(&store, prefix, from).iter().map(|change| change.revision).collect()
    };
    assert_eq!(revisions("/a/", 0), [1, 3, 5]);
    assert_eq!(revisions("/a/", 1), [3, 5]);
    assert_eq!(revisions("", 3), [4, 5]);
    assert_eq!(revisions("/a/", 5), [0; 0]);
}

#[test]
fn progress_includes_other_changes_but_not_unreturned_ones() {
    let store = in_memory();
    let mut watch = store.watch("/a/", 0).unwrap();
    put(&store, "/b/1");
    assert_eq!(watch.progress().unwrap(), 1);
    put(&store, "/a/1");
    put(&store, "/b/1");
    assert_eq!(watch.progress().unwrap(), 1);
    assert_eq!(watch.try_next().unwrap().unwrap().revision, 2);
    assert_eq!(watch.progress().unwrap(), 3);
}

#[test]
fn compacted_and_future_revisions_are_rejected() {
    let store = with_small_history();
    for _ in 0..25 {
        put(&store, "/a");
    }
    let error = store.watch("/a", 14).err().unwrap();
    assert!(matches!(error, Error::Compacted { requested: 14, compacted: 15 }), "{error}");
    assert_eq!(drain(&store, "/a", 15).len(), 10);
    let error = store.watch("/a", 26).err().unwrap();
    assert!(matches!(error, Error::FutureRevision { requested: 26, revision: 25 }), "{error}");
}

#[test]
fn the_history_is_bounded_in_bytes() {
    let store = with_options(Options { history_bytes_max: 100_000, ..Options::default() });
    for _ in 0..50 {
        store.write_blocking(Op::put("/a", vec![0; 10_000], Precondition::Any)).unwrap();
    }
    // Each change has its value and the previous one.
    let Err(Error::Compacted { compacted, .. }) = store.watch("/a", 0) else { panic!() };
    assert_eq!(drain(&store, "/a", compacted).len(), 4);
}

#[test]
fn a_slow_watch_ends_and_others_continue() {
    let store = with_small_history();
    let mut slow = store.watch("/a", 0).unwrap();
    let mut quick = store.watch("/a", 0).unwrap();
    for revision in 1..=30 {
        put(&store, "/a");
        assert_eq!(quick.next_blocking().unwrap().unwrap().revision, revision);
    }
    assert!(matches!(slow.next_blocking(), Err(Error::Compacted { requested: 0, compacted: 20 })));
}

#[test]
fn compact_removes_the_changes_up_to_its_revision() {
    let store = in_memory();
    for _ in 0..9 {
        put(&store, "/a");
    }
    store.compact_blocking(6).unwrap();
    assert!(store.watch("/a", 5).is_err());
    assert_eq!(drain(&store, "/a", 6).len(), 3);
    store.compact_blocking(100).unwrap();
    assert_eq!((drain(&store, "", 9).len(), store.revision()), (0, 9));
    put(&store, "/a");
    assert_eq!(drain(&store, "", 9).len(), 1);
}

#[test]
fn a_watch_returns_all_changes_before_it_ends_with_the_store() {
    let store = in_memory();
    let mut watch = store.watch("/a", 0).unwrap();
    put(&store, "/a");
    store.close_blocking().unwrap();
    assert_eq!(watch.next_blocking().unwrap().unwrap().revision, 1);
    assert_eq!(watch.next_blocking().unwrap(), None);
}

#[test]
fn a_thousand_watches_return_every_change_once_and_in_order() {
    const CHANGES: u64 = 300;
    const THREADS: u64 = 4;
    let store = in_memory();
    let readers: Vec<_> = (0..THREADS)
        .map(|_| {
            let mut watches: Vec<_> = (0..250).map(|_| store.watch("/a/", 0).unwrap()).collect();
            thread::spawn(move || {
                for revision in 1..=CHANGES {
                    for watch in &mut watches {
                        assert_eq!(watch.next_blocking().unwrap().unwrap().revision, revision);
                    }
                }
            })
        })
        .collect();
    for at in 0..CHANGES {
        put(&store, &format!("/a/{at}"));
    }
    for reader in readers {
        reader.join().unwrap();
    }
    println!("{} watches returned {CHANGES} changes each", THREADS * 250);
}

#[test]
fn a_change_that_a_watch_returned_is_in_the_next_snapshot() {
    let store = in_memory();
    let mut watch = store.watch("", 0).unwrap();
    let reader = thread::spawn({
        let store = store.clone();
        move || {
            while let Some(change) = watch.next_blocking().unwrap() {
                assert!(store.revision() >= change.revision);
            }
        }
    });
    for _ in 0..500 {
        put(&store, "/a");
    }
    store.close_blocking().unwrap();
    reader.join().unwrap();
}
