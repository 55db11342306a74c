//! The store in a file: restarts, a second process, files that are not ours.

use std::{fs, path::Path, process::Command};

use punctual_store::{Condition, Error, Op, Options, Store};

use crate::model::drain;

fn open(path: &Path) -> Result<Store, Error> {
    Store::open(path, Options::default())
}

fn put(store: &Store, key: &str) -> u64 {
    store.write_blocking(Op::put(key, "x", Condition::Any)).unwrap().revision
}

#[test]
fn a_restart_finds_everything_and_goes_on_counting() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    let store = open(&path).unwrap();
    (0..10).for_each(|at| assert_eq!(put(&store, &format!("/{at}")), at + 1));
    store.write_blocking(Op::delete("/3", Condition::Present)).unwrap();
    drop(store);
    let store = open(&path).unwrap();
    assert_eq!((store.revision(), store.snapshot().len()), (11, 9));
    assert_eq!(drain(&store, "/", 4).len(), 7);
    assert_eq!(put(&store, "/3"), 12);
    assert_eq!(store.get("/3").unwrap().created, 12);
}

#[test]
fn a_revision_is_not_given_twice_even_if_nothing_is_left() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    let store = open(&path).unwrap();
    put(&store, "/a");
    store.write_blocking(Op::delete("/a", Condition::Any)).unwrap();
    store.compact_blocking(2).unwrap();
    drop(store);
    let store = open(&path).unwrap();
    assert_eq!((store.revision(), store.snapshot().len()), (2, 0));
    assert!(store.watch("", 1).is_err());
    assert_eq!(put(&store, "/a"), 3);
}

#[test]
fn dropping_the_last_handle_closes_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    for revision in 1..=5 {
        let store = open(&path).unwrap();
        let clone = store.clone();
        drop(store);
        assert_eq!(put(&clone, "/a"), revision);
    }
}

#[test]
fn a_second_process_is_told_who_has_the_store() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    let _store = open(&path).unwrap();
    let this = std::env::current_exe().unwrap();
    let output = Command::new(this)
        .args(["--exact", "files::the_second_process", "--ignored", "--nocapture"])
        .env("PUNCTUAL_STORE_SECOND", &path)
        .output()
        .unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    let expected = format!("{} is in use by process {};", path.display(), std::process::id());
    assert!(said.contains(&expected), "{said}");
}

#[test]
#[ignore = "the other half of a_second_process_is_told_who_has_the_store"]
#[expect(clippy::disallowed_methods, reason = "how the first process talks to this one")]
fn the_second_process() {
    let path = std::env::var("PUNCTUAL_STORE_SECOND").unwrap();
    println!("{}", open(Path::new(&path)).err().unwrap());
}

#[test]
fn a_second_store_in_this_process_is_refused_too() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    let store = open(&path).unwrap();
    assert!(matches!(open(&path), Err(Error::Locked { .. })));
    store.close_blocking().unwrap();
    assert!(open(&path).is_ok());
}

#[test]
fn what_a_crash_left_while_the_file_was_made_is_no_obstacle() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    fs::write(folder.path().join("store.new"), [0; 100_000]).unwrap();
    fs::write(folder.path().join("store.lock"), "no number").unwrap();
    assert_eq!(put(&open(&path).unwrap(), "/a"), 1);
}

#[test]
fn files_that_are_not_ours_are_refused_and_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    for (name, content) in
        [("text", b"hello".repeat(2000)), ("zeros", vec![0; 9000]), ("empty", vec![])]
    {
        let path = folder.path().join(name);
        fs::write(&path, &content).unwrap();
        let error = open(&path).err().unwrap();
        assert!(matches!(error, Error::Damaged { .. }), "{error:?}");
        assert!(error.to_string().contains(name), "{error}");
        assert_eq!(fs::read(&path).unwrap(), content);
    }
}

#[test]
fn a_truncated_file_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    let store = open(&path).unwrap();
    (0..100).for_each(|at| assert_eq!(put(&store, &format!("/{at}")), at + 1));
    drop(store);
    let content = fs::read(&path).unwrap();
    fs::write(&path, &content[..content.len() / 4]).unwrap();
    let error = open(&path).err().unwrap();
    assert!(matches!(error, Error::Damaged { .. }), "{error:?}");
}

#[test]
fn a_missing_folder_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let error = open(&folder.path().join("nowhere/store")).err().unwrap();
    assert!(error.to_string().contains("nowhere/store"), "{error}");
}
