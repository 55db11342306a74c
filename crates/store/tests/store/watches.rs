//! Following the changes.

use std::thread;

use punctual_store::{Condition, Error, Op, Options, Store};

use crate::{in_memory, model::drain, with};

fn put(store: &Store, key: &str) {
    store.write_blocking(Op::put(key, "x", Condition::Any)).unwrap();
}

fn small_ring() -> Store {
    with(Options { ring_changes_max: 10, ..Options::default() })
}

#[test]
fn a_watch_sees_the_changes_of_its_prefix_after_its_revision() {
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
fn progress_moves_on_with_changes_elsewhere_but_not_past_what_waits() {
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
fn a_forgotten_revision_is_refused_and_so_is_one_that_is_yet_to_come() {
    let store = small_ring();
    (0..25).for_each(|_| put(&store, "/a"));
    let refused = store.watch("/a", 14).err().unwrap();
    assert!(matches!(refused, Error::Compacted { requested: 14, compacted: 15 }), "{refused}");
    assert_eq!(drain(&store, "/a", 15).len(), 10);
    let refused = store.watch("/a", 26).err().unwrap();
    assert!(matches!(refused, Error::Future { requested: 26, revision: 25 }), "{refused}");
}

#[test]
fn the_ring_is_bounded_in_bytes_too() {
    let store = with(Options { ring_bytes_max: 100_000, ..Options::default() });
    for _ in 0..50 {
        store.write_blocking(Op::put("/a", vec![0; 10_000], Condition::Any)).unwrap();
    }
    // Each change holds a value and the one before it.
    let Err(Error::Compacted { compacted, .. }) = store.watch("/a", 0) else { panic!() };
    assert_eq!(drain(&store, "/a", compacted).len(), 4);
}

#[test]
fn a_slow_reader_is_dropped_and_others_are_not() {
    let store = small_ring();
    let (mut slow, mut quick) = (store.watch("/a", 0).unwrap(), store.watch("/a", 0).unwrap());
    for revision in 1..=30 {
        put(&store, "/a");
        assert_eq!(quick.next_blocking().unwrap().unwrap().revision, revision);
    }
    assert!(matches!(slow.next_blocking(), Err(Error::Compacted { requested: 0, compacted: 20 })));
}

#[test]
fn a_compaction_forgets_up_to_its_revision() {
    let store = in_memory();
    (0..9).for_each(|_| put(&store, "/a"));
    store.compact_blocking(6).unwrap();
    assert!(store.watch("/a", 5).is_err());
    assert_eq!(drain(&store, "/a", 6).len(), 3);
    store.compact_blocking(100).unwrap();
    assert_eq!((drain(&store, "", 9).len(), store.revision()), (0, 9));
    put(&store, "/a");
    assert_eq!(drain(&store, "", 9).len(), 1);
}

#[test]
fn watches_end_when_the_store_is_closed_but_only_after_the_last_change() {
    let store = in_memory();
    let mut watch = store.watch("/a", 0).unwrap();
    put(&store, "/a");
    store.close_blocking().unwrap();
    assert_eq!(watch.next_blocking().unwrap().unwrap().revision, 1);
    assert_eq!(watch.next_blocking().unwrap(), None);
}

#[test]
fn a_thousand_watches_under_load_see_every_change_once_and_in_order() {
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
    (0..CHANGES).for_each(|at| put(&store, &format!("/a/{at}")));
    readers.into_iter().for_each(|reader| reader.join().unwrap());
    println!("{} watches saw {CHANGES} changes each", THREADS * 250);
}

#[test]
fn whoever_saw_a_change_finds_it_in_a_snapshot() {
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
    (0..500).for_each(|_| put(&store, "/a"));
    store.close_blocking().unwrap();
    reader.join().unwrap();
}
