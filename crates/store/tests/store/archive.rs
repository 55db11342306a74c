//! Tests of the archive: it is committed with its transaction, survives restarts, backups and repairs, and
//! is read without waiting for writers.

use std::{
    collections::BTreeMap,
    fs,
    ops::{Bound, Range},
};

use punctual_store::{
    ArchiveOp, BackupChunks, Error, InMemoryLog, Op, Options, Precondition, Salvage, Store,
    Transaction, damaged_path, read_backup, read_store, restore_backup, salvage_store,
};
use punctual_testing::TestRng;

use crate::model::read_archive;

type Pairs = BTreeMap<Vec<u8>, Vec<u8>>;

fn put(key: &str, value: &str) -> ArchiveOp {
    ArchiveOp::put(key.to_owned(), value.to_owned())
}

fn transaction(key: &str, archive_ops: Vec<ArchiveOp>) -> Transaction {
    Transaction::from(Op::put(key, "x", Precondition::Any)).with_archive(archive_ops)
}

/// Returns a store with many archived values, of which some were deleted and replaced.
fn write_sample(path: &std::path::Path) -> Store {
    let store = Store::open(path, Options::default()).unwrap();
    let rng = TestRng::new(3);
    for step in 0..60_u64 {
        let op = |_| {
            let key = format!("{:05}", rng.below(4000));
            if step > 20 && rng.once_in(6) {
                return ArchiveOp::delete(key);
            }
            let value: Vec<u8> = (0..20 + rng.below(90)).map(|_| rng.next_u64() as u8).collect();
            ArchiveOp::put(key, value)
        };
        let ops = (0..120).map(op).collect();
        store.write_blocking(transaction(&format!("/{}", step % 9), ops)).unwrap();
    }
    store
}

#[test]
fn archive_operations_are_committed_with_their_transaction_or_not_at_all() {
    for is_file in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let store = if is_file {
            Store::open(folder.path().join("store"), Options::default()).unwrap()
        } else {
            Store::start(Box::new(InMemoryLog), Options::default()).unwrap()
        };
        assert_eq!(store.archive().is_file(), is_file);
        assert_eq!(read_archive(&store), Pairs::new());
        store.write_blocking(transaction("/a", vec![put("k", "1"), put("l", "2")])).unwrap();
        let conflicting = Op::create("/a", "y");
        let conflicting = Transaction::from(conflicting).with_archive(vec![put("k", "lost")]);
        assert!(store.write_blocking(conflicting).is_err());
        // A transaction on the archive alone gets no revision.
        let alone = vec![ArchiveOp::delete("l"), ArchiveOp::delete("unknown"), put("m", "")];
        let committed = store.write_blocking(Transaction::default().with_archive(alone)).unwrap();
        assert_eq!((committed.revision, store.revision()), (1, 1));
        let expected: Pairs = [("k", "1"), ("m", "")].map(|(k, v)| (k.into(), v.into())).into();
        assert_eq!(read_archive(&store), expected);
        assert_eq!(store.archive().read().unwrap().get(b"k").unwrap(), Some(b"1".to_vec()));
        assert_eq!(store.archive().read().unwrap().get(b"l").unwrap(), None);
    }
}

#[test]
fn ranges_are_read_from_both_ends() {
    let folder = tempfile::tempdir().unwrap();
    let stores = [
        Store::open(folder.path().join("store"), Options::default()).unwrap(),
        Store::start(Box::new(InMemoryLog), Options::default()).unwrap(),
    ];
    for store in stores {
        let ops = ["a", "b", "ba", "c"].map(|key| put(key, "v")).to_vec();
        store.write_blocking(Transaction::default().with_archive(ops)).unwrap();
        let reader = store.archive().read().unwrap();
        let keys = |start: Bound<&str>, end: Bound<&str>| {
            let range = reader.range(start.map(str::as_bytes), end.map(str::as_bytes)).unwrap();
            let keys: Vec<_> =
                range.map(|pair| String::from_utf8(pair.unwrap().0).unwrap()).collect();
            keys.join(",")
        };
        assert_eq!(keys(Bound::Included("b"), Bound::Excluded("c")), "b,ba");
        assert_eq!(keys(Bound::Excluded("b"), Bound::Unbounded), "ba,c");
        assert_eq!(keys(Bound::Unbounded, Bound::Included("b")), "a,b");
        // A range whose start is after its end is empty.
        assert_eq!(keys(Bound::Included("c"), Bound::Excluded("b")), "");
        assert_eq!(keys(Bound::Excluded("b"), Bound::Excluded("b")), "");
        let mut range = reader.range(Bound::Unbounded, Bound::Unbounded).unwrap();
        assert_eq!(range.next_back().unwrap().unwrap().0, b"c");
        assert_eq!(range.next().unwrap().unwrap().0, b"a");
        assert_eq!(range.count(), 2);
    }
}

#[test]
fn a_reader_sees_one_commit_and_does_not_block_writers() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path().join("store"), Options::default()).unwrap();
    store.write_blocking(transaction("/a", vec![put("k", "1")])).unwrap();
    let reader = store.archive().read().unwrap();
    let mut open = reader.range(Bound::Unbounded, Bound::Unbounded).unwrap();
    store.write_blocking(transaction("/a", vec![put("k", "2"), put("l", "3")])).unwrap();
    store.compact_blocking(store.revision()).unwrap();
    assert_eq!(reader.get(b"k").unwrap(), Some(b"1".to_vec()));
    assert_eq!(open.next().unwrap().unwrap().1, b"1");
    assert!(open.next().is_none());
    drop(open);
    drop(reader);
    store.compact_blocking(store.revision()).unwrap();
    assert_eq!(store.archive().read().unwrap().get(b"k").unwrap(), Some(b"2".to_vec()));
    // Closing the store closes the file, although readers share it.
    store.close_blocking().unwrap();
    assert!(matches!(store.archive().read(), Err(Error::Closed)));
    assert!(Store::open(folder.path().join("store"), Options::default()).is_ok());
}

#[test]
fn changes_have_the_archive_operations_of_their_transaction() {
    let store = Store::start(Box::new(InMemoryLog), Options::default()).unwrap();
    let ops = vec![put("k", "1"), ArchiveOp::delete("l")];
    let two = vec![
        Op::check("/absent", Precondition::Absent),
        Op::create("/a", "x"),
        Op::create("/b", "x"),
    ];
    store.write_blocking(Transaction::from(two).with_archive(ops.clone())).unwrap();
    let (changes, _) = store.changes_since(0).unwrap();
    assert_eq!(*changes[0].archive_ops, *ops);
    assert!(changes[1].archive_ops.is_empty());
}

#[test]
fn operations_beyond_the_limits_are_rejected() {
    let store = Store::start(Box::new(InMemoryLog), Options::default()).unwrap();
    let large = vec![ArchiveOp::put("k", vec![0; 1 << 20])];
    let error = store.write_blocking(transaction("/a", large)).unwrap_err();
    assert!(matches!(error, Error::InvalidTransaction(_)), "{error}");
}

#[test]
fn a_file_without_an_archive_opens_and_gets_one_with_the_first_operation() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    let store = Store::open(&path, Options::default()).unwrap();
    store.write_blocking(Op::create("/a", "x")).unwrap();
    store.close_blocking().unwrap();
    let salvage = Salvage::read_file(&path).unwrap();
    assert!(salvage.archive.is_empty() && salvage.damage.is_none());
    let store = Store::open(&path, Options::default()).unwrap();
    let plain: Vec<u8> = store.backup().flatten().collect();
    assert!(plain.starts_with(b"punctual-backup 1\n"), "earlier programs can read it");
    store.write_blocking(transaction("/b", vec![put("k", "1")])).unwrap();
    store.close_blocking().unwrap();
    let store = Store::open(&path, Options::default()).unwrap();
    assert_eq!(read_archive(&store).len(), 1);
}

#[test]
fn backups_and_restored_stores_have_the_archive() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    let store = write_sample(&path);
    let expected = read_archive(&store);
    assert!(expected.len() > 1500, "{}", expected.len());
    let live: Vec<u8> = store.backup().flatten().collect();
    store.close_blocking().unwrap();
    let salvage = read_store(&path).unwrap();
    assert!(salvage.damage.is_none());
    let chunks = BackupChunks::new(salvage.snapshot(), None);
    let offline: Vec<u8> = chunks.with_archive_contents(salvage.archive).flatten().collect();
    assert!(live == offline);
    let backup = read_backup(live.as_slice()).unwrap();
    let restored = folder.path().join("restored");
    restore_backup(&restored, &backup).unwrap();
    assert_eq!(read_archive(&Store::open(&restored, Options::default()).unwrap()), expected);
    for at in (0..live.len()).step_by(991) {
        assert!(read_backup(&live[..at]).is_err(), "cut at {at}");
        let mut damaged = live.clone();
        damaged[at] ^= 4;
        assert!(read_backup(damaged.as_slice()).is_err(), "damaged at {at}");
    }
}

fn to_map(salvage: &Salvage) -> Pairs {
    salvage.archive.iter().map(|(key, value)| (key.to_vec(), value.to_vec())).collect()
}

/// Damages a part of the pages in which archived values are. Returns the damaged bytes.
fn damage(image: &mut [u8], rng: &TestRng) -> Range<usize> {
    const PAGE_BYTES: usize = 4096;
    let used = loop {
        let page = rng.below((image.len() / PAGE_BYTES) as u64) as usize * PAGE_BYTES;
        if page > 0 && image[page..page + 64].iter().any(|byte| *byte != 0) {
            break page;
        }
    };
    let range = match rng.below(3) {
        0 => {
            let at = used + rng.below(PAGE_BYTES as u64) as usize;
            at..at + 1
        }
        1 => used..used + 8,
        _ => used..used + PAGE_BYTES,
    };
    for byte in &mut image[range.clone()] {
        *byte ^= 0x55;
    }
    range
}

#[test]
fn every_undamaged_value_of_a_damaged_archive_is_salvaged_and_no_value_is_wrong() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    let store = write_sample(&path);
    let expected = read_archive(&store);
    let entries = store.snapshot();
    store.close_blocking().unwrap();
    let image = fs::read(&path).unwrap();
    let rng = TestRng::new(5);
    let mut reported = 0;
    for round in 0..120 {
        let mut damaged = image.clone();
        let range = damage(&mut damaged, &rng);
        let salvage = Salvage::read(&damaged);
        let found = to_map(&salvage);
        let is_index_damaged = salvage.damage.is_archive_index_damaged;
        let lost: Vec<_> = expected.keys().filter(|key| !found.contains_key(*key)).collect();
        // One damage touches one page, which has less than this number of values.
        assert!(lost.len() < 200, "round {round}, {range:?}: {} lost", lost.len());
        assert!(lost.len() as u64 <= salvage.damage.archive_lost || is_index_damaged);
        for (key, value) in &found {
            let is_current = expected.get(key) == Some(value);
            assert!(is_current || is_index_damaged, "round {round}, {range:?}: {key:?} is wrong");
        }
        if salvage.damage.is_none() {
            assert!(found == expected && salvage.entries.len() == entries.len());
            continue;
        }
        reported += 1;
        // The store is refused or opens with what is salvaged.
        fs::write(&path, &damaged).unwrap();
        if !salvage.damage.is_confined() {
            salvage_store(&path).unwrap();
        }
        let store = Store::open(&path, Options::default()).unwrap();
        let is_kept = damaged_path(&path).exists();
        // Without a lost value, the file may be replaced by one with the same contents.
        let wanted = if is_kept { &found } else { &expected };
        assert!(read_archive(&store) == *wanted, "round {round}, {range:?}");
        store.close_blocking().unwrap();
        if is_kept {
            fs::remove_file(damaged_path(&path)).unwrap();
        }
        assert!(read_store(&path).unwrap().damage.is_none());
    }
    assert!(reported > 20, "{reported} damages were reported");
}

#[test]
fn arbitrary_bytes_have_no_archive() {
    for bytes in [&[][..], &[1; 10_000], &[2; 10_000], b"redb\x1A\x0A\xA9\x0D\x0A"] {
        assert!(Salvage::read(bytes).archive.is_empty());
    }
}
