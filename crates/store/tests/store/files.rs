//! Tests of the store in a file: restarts, a second process, and files of other programs.

use std::{fs, path::Path, process::Command};

use punctual_store::{Error, Op, Options, Precondition, Store};

use crate::model::drain;

fn open(path: &Path) -> Result<Store, Error> {
    Store::open(path, Options::default())
}

fn put(store: &Store, key: &str) -> u64 {
    store.write_blocking(Op::put(key, "x", Precondition::Any)).unwrap().revision
}

#[test]
fn a_restart_restores_all_keys_and_continues_the_revisions() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    let store = open(&path).unwrap();
    for at in 0..10 {
        assert_eq!(put(&store, &format!("/{at}")), at + 1);
    }
    store.write_blocking(Op::delete("/3", Precondition::Present)).unwrap();
    drop(store);
    let store = open(&path).unwrap();
    assert_eq!((store.revision(), store.snapshot().len()), (11, 9));
    assert_eq!(drain(&store, "/", 4).len(), 7);
    assert_eq!(put(&store, "/3"), 12);
    assert_eq!(store.get("/3").unwrap().created, 12);
}

#[test]
fn a_revision_is_never_assigned_twice_even_in_an_empty_store() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    let store = open(&path).unwrap();
    put(&store, "/a");
    store.write_blocking(Op::delete("/a", Precondition::Any)).unwrap();
    store.compact_blocking(2).unwrap();
    drop(store);
    let store = open(&path).unwrap();
    assert_eq!((store.revision(), store.snapshot().len()), (2, 0));
    assert!(store.watch("", 1).is_err());
    assert_eq!(put(&store, "/a"), 3);
}

#[test]
fn dropping_the_last_handle_closes_the_file() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    for revision in 1..=5 {
        let store = open(&path).unwrap();
        let clone = store.clone();
        drop(store);
        assert_eq!(put(&clone, "/a"), revision);
    }
}

#[test]
fn the_error_of_a_second_process_names_the_first() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    let _store = open(&path).unwrap();
    let this = std::env::current_exe().unwrap();
    let output = Command::new(this)
        .args(["--exact", "files::second_process", "--ignored", "--nocapture"])
        .env("PUNCTUAL_STORE_SECOND", &path)
        .output()
        .unwrap();
    let stdout = String::from_utf8(output.stdout).unwrap();
    let expected = format!("{} is in use by process {};", path.display(), std::process::id());
    assert!(stdout.contains(&expected), "{stdout}");
}

#[test]
#[ignore = "a child process of the_error_of_a_second_process_names_the_first"]
#[expect(clippy::disallowed_methods, reason = "the first process passes the path in a variable")]
fn second_process() {
    let path = std::env::var("PUNCTUAL_STORE_SECOND").unwrap();
    println!("{}", open(Path::new(&path)).err().unwrap());
}

#[test]
fn a_second_store_in_the_same_process_is_rejected() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    let store = open(&path).unwrap();
    assert!(matches!(open(&path), Err(Error::Locked { .. })));
    store.close_blocking().unwrap();
    assert!(open(&path).is_ok());
}

#[test]
fn leftover_files_of_an_interrupted_create_are_ignored() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    fs::write(directory.path().join("store.new"), [0; 100_000]).unwrap();
    fs::write(directory.path().join("store.lock"), "not a process ID").unwrap();
    assert_eq!(put(&open(&path).unwrap(), "/a"), 1);
}

#[test]
fn files_of_other_programs_are_rejected_and_not_modified() {
    let directory = tempfile::tempdir().unwrap();
    for (name, content) in
        [("text", b"hello".repeat(2000)), ("zeros", vec![0; 9000]), ("empty", vec![])]
    {
        let path = directory.path().join(name);
        fs::write(&path, &content).unwrap();
        let error = open(&path).err().unwrap();
        assert!(matches!(error, Error::Corrupted { .. }), "{error:?}");
        assert!(error.to_string().contains(name), "{error}");
        assert_eq!(fs::read(&path).unwrap(), content);
    }
}

#[test]
fn a_truncated_file_is_rejected() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    let store = open(&path).unwrap();
    for at in 0..100 {
        assert_eq!(put(&store, &format!("/{at}")), at + 1);
    }
    drop(store);
    let content = fs::read(&path).unwrap();
    fs::write(&path, &content[..content.len() / 4]).unwrap();
    let error = open(&path).err().unwrap();
    assert!(matches!(error, Error::Corrupted { .. }), "{error:?}");
}

#[test]
fn the_error_names_a_missing_directory() {
    let directory = tempfile::tempdir().unwrap();
    let error = open(&directory.path().join("nowhere/store")).err().unwrap();
    assert!(error.to_string().contains("nowhere/store"), "{error}");
}

#[test]
fn writes_stop_when_the_directory_is_deleted_or_replaced() {
    for is_replaced in [false, true] {
        let home = tempfile::tempdir().unwrap();
        let directory = home.path().join("data");
        fs::create_dir(&directory).unwrap();
        let path = directory.join("store");
        let store = open(&path).unwrap();
        put(&store, "/a");
        store.check_location().unwrap();
        fs::rename(&directory, home.path().join("moved")).unwrap();
        if is_replaced {
            fs::create_dir(&directory).unwrap();
            drop(open(&path).unwrap());
        }
        assert!(matches!(store.check_location(), Err(Error::Replaced { .. })));
        let error = store.write_blocking(Op::put("/b", "x", Precondition::Any)).err().unwrap();
        let Error::CommitFailed(cause) = &error else { panic!("{error}") };
        assert!(cause.to_string().contains("deleted or replaced"), "{cause}");
        assert!(store.failure().is_some() && store.get("/a").is_some());
    }
}

#[test]
fn only_the_owner_can_open_the_files() {
    use std::os::unix::fs::PermissionsExt as _;
    let directory = tempfile::tempdir().unwrap();
    let store = open(&directory.path().join("store")).unwrap();
    for entry in fs::read_dir(directory.path()).unwrap() {
        let entry = entry.unwrap();
        let mode = entry.metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{:?}", entry.path());
    }
    drop(store);
}

#[test]
fn a_link_in_place_of_the_temporary_file_is_not_followed() {
    let directory = tempfile::tempdir().unwrap();
    let target = directory.path().join("target");
    fs::write(&target, "important").unwrap();
    std::os::unix::fs::symlink(&target, directory.path().join("store.new")).unwrap();
    put(&open(&directory.path().join("store")).unwrap(), "/a");
    assert_eq!(fs::read(&target).unwrap(), b"important");
}
