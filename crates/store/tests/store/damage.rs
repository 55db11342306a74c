//! Tests of damaged files: whatever is damaged, every undamaged value is salvaged, and no value is
//! wrong. A store whose values alone are damaged opens without them.
//!
//! `PUNCTUAL_STORE_DAMAGES` sets the number of random damages.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    ops::Range,
    sync::Arc,
};

use punctual_store::{
    BackupChunks, Error, Op, Options, Precondition, Salvage, Store, StoreEntry, damaged_path,
    read_backup, read_store, restore_backup, salvage_store,
};
use punctual_testing::TestRng;

const DAMAGES: u64 = 30;
const PAGE_BYTES: usize = 4096;
/// The values are small enough for pages of this size.
const LARGEST_PAGE_BYTES: usize = 4 * PAGE_BYTES;
const OPTIONS: Options = Options {
    queue_max: 64,
    history_changes_max: 200,
    history_bytes_max: 1 << 20,
    limits: punctual_store::TransactionLimits {
        key_bytes_max: 100,
        value_bytes_max: 1 << 20,
        ops_max: 10,
    },
};

type Entries = BTreeMap<Arc<str>, StoreEntry>;

/// A file and what it contains.
struct Sample {
    image: Vec<u8>,
    entries: Entries,
    revision: u64,
    /// The entries before the last commit of a file that was not closed.
    before: Option<Entries>,
    /// The keys that existed once.
    deleted: Vec<String>,
}

fn random_value(rng: &TestRng) -> Vec<u8> {
    let len = if rng.once_in(8) { rng.below(9000) } else { rng.below(700) };
    (0..len + 20).map(|_| u8::try_from(rng.below(256)).unwrap()).collect()
}

/// Writes a store in which values were updated and deleted.
fn write_sample(seed: u64, is_closed: bool) -> Sample {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    let store = Store::open(&path, OPTIONS).unwrap();
    let rng = TestRng::new(seed);
    let mut deleted = Vec::new();
    for step in 0..250_u64 {
        let keys: BTreeSet<_> = (0..6).map(|_| format!("/objects/{}", rng.below(900))).collect();
        let is_delete = step > 50 && rng.once_in(5);
        let op = |key: &String| {
            if is_delete {
                return Op::delete(key.as_str(), Precondition::Any);
            }
            Op::put(key.as_str(), random_value(&rng), Precondition::Any)
        };
        let ops: Vec<_> = keys.iter().map(op).collect();
        store.write_blocking(ops).unwrap();
        if is_delete {
            deleted.extend(keys);
        }
    }
    let before = collect(&store);
    store.write_blocking(Op::put("/objects/last", random_value(&rng), Precondition::Any)).unwrap();
    let entries = collect(&store);
    let revision = store.revision();
    if is_closed {
        store.close_blocking().unwrap();
    }
    let image = fs::read(&path).unwrap();
    let before = (!is_closed).then_some(before);
    Sample { image, entries, revision, before, deleted }
}

fn collect(store: &Store) -> Entries {
    let snapshot = store.snapshot();
    snapshot.prefix("").map(|(key, entry)| (key.clone(), entry.clone())).collect()
}

fn to_map(salvage: &Salvage) -> Entries {
    salvage.entries.iter().cloned().collect()
}

#[test]
fn an_undamaged_file_is_read_completely() {
    for is_closed in [true, false] {
        let sample = write_sample(1, is_closed);
        let salvage = Salvage::read(&sample.image);
        assert!(salvage.damage.is_none(), "{:?}", salvage.damage);
        assert_eq!(salvage.revision, sample.revision);
        assert!(to_map(&salvage) == sample.entries);
    }
}

/// Returns the ranges that a random damage overwrites.
fn damage(image: &mut [u8], rng: &TestRng) -> Range<usize> {
    let used = loop {
        let at = rng.below(image.len() as u64) as usize;
        let page = at / PAGE_BYTES * PAGE_BYTES;
        if image[page..image.len().min(page + PAGE_BYTES)].iter().any(|byte| *byte != 0) {
            break at;
        }
    };
    let page = used / PAGE_BYTES * PAGE_BYTES;
    let range = match rng.below(4) {
        0 => used..used + 1,
        1 => used..image.len().min(used + 1 + rng.below(600) as usize),
        // The first bytes of a page are its index.
        2 => page..page + 1 + rng.below(64) as usize,
        _ => page..page + PAGE_BYTES,
    };
    let is_zeroed = rng.once_in(2);
    for byte in &mut image[range.clone()] {
        let flipped = *byte ^ (1 << rng.below(8));
        *byte = if is_zeroed && range.len() > 1 { 0 } else { flipped };
    }
    range
}

/// Whether the damage may touch the page of a value.
fn is_touched(image: &[u8], value: &[u8], damages: &[Range<usize>]) -> bool {
    damages.iter().any(|range| {
        let start = range.start.saturating_sub(LARGEST_PAGE_BYTES);
        let end = image.len().min(range.end + LARGEST_PAGE_BYTES);
        image[start..end].windows(value.len()).any(|window| window == value)
            || image[range.start.saturating_sub(value.len())..range.start]
                .windows(8)
                .any(|window| value.windows(8).any(|part| part == window))
    })
}

#[derive(Default, Debug)]
struct Totals {
    harmless: u64,
    rolled_back: u64,
    confined: u64,
    index_damaged: u64,
    lost_keys: usize,
    unproven: usize,
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a variable sets the number of damages")]
fn every_undamaged_value_is_salvaged() {
    let count = std::env::var("PUNCTUAL_STORE_DAMAGES").ok().and_then(|text| text.parse().ok());
    let count: u64 = count.unwrap_or(DAMAGES);
    let samples = [write_sample(2, true), write_sample(3, true), write_sample(4, false)];
    let rng = TestRng::new(9);
    let mut totals = Totals::default();
    for at in 0..count {
        let sample = &samples[(at % 3) as usize];
        let mut image = sample.image.clone();
        let damages: Vec<_> = (0..1 + rng.below(3)).map(|_| damage(&mut image, &rng)).collect();
        check_salvage(sample, &image, &damages, &mut totals);
    }
    println!("{count} damages: {totals:?}");
}

fn check_salvage(sample: &Sample, image: &[u8], damages: &[Range<usize>], totals: &mut Totals) {
    let salvage = Salvage::read(image);
    let found = to_map(&salvage);
    let damage = &salvage.damage;
    // Damage to the last commit of a file that was not closed looks like an interrupted commit.
    if damage.is_none() && sample.before.as_ref() == Some(&found) {
        totals.rolled_back += 1;
        return;
    }
    for (key, entry) in &sample.entries {
        let is_found = found.get(key) == Some(entry);
        assert!(
            is_found || is_touched(&sample.image, &entry.value, damages),
            "{key} is lost, damages {damages:?}: {damage:?}"
        );
    }
    for (key, entry) in &found {
        let is_current = sample.entries.get(key) == Some(entry);
        let is_reported = damage.unproven.contains(key) || damage.may_have_earlier_values;
        assert!(is_current || is_reported, "{key} is wrong, damages {damages:?}: {damage:?}");
        assert!(
            sample.entries.contains_key(key) || sample.deleted.iter().any(|name| **name == **key),
            "{key} never existed"
        );
    }
    totals.harmless += u64::from(found == sample.entries);
    totals.confined += u64::from(damage.is_confined());
    totals.index_damaged += u64::from(damage.is_index_damaged);
    totals.lost_keys += sample.entries.keys().filter(|key| !found.contains_key(*key)).count();
    totals.unproven += damage.unproven.len();
}

/// Damages one byte of the value of a key in every copy.
fn damage_value(image: &mut [u8], entry: &StoreEntry) {
    let value = &*entry.value;
    let starts: Vec<_> =
        (0..image.len() - value.len()).filter(|at| image[*at..].starts_with(value)).collect();
    assert!(!starts.is_empty());
    for start in starts {
        image[start + value.len() / 2] ^= 1;
    }
}

#[test]
fn a_store_opens_without_a_damaged_value_and_reports_its_key() {
    let sample = write_sample(5, true);
    for (key, entry) in sample.entries.iter().step_by(150) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("store");
        let mut image = sample.image.clone();
        damage_value(&mut image, entry);
        fs::write(&path, &image).unwrap();
        let store = Store::open(&path, OPTIONS).unwrap();
        let lost: Vec<_> = store.damage().lost.iter().filter_map(|row| row.key.clone()).collect();
        assert!(lost.contains(key), "{:?}", store.damage());
        let snapshot = store.snapshot();
        let expected = sample.entries.iter().filter(|(other, _)| *other != key);
        assert!(snapshot.prefix("").eq(expected), "all other values are served");
        let kept = Salvage::read_file(&damaged_path(&path)).unwrap();
        assert_eq!(&kept.damage, store.damage(), "the damaged file is kept");
        let revision = store.write_blocking(Op::put("/new", "x", Precondition::Any)).unwrap();
        assert_eq!(revision.revision, sample.revision + 1);
        store.close_blocking().unwrap();
        assert!(Store::open(&path, OPTIONS).unwrap().damage().is_none());
    }
}

#[test]
fn a_store_with_a_damaged_index_is_refused_and_can_be_salvaged() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    let sample = write_sample(6, true);
    let mut image = sample.image.clone();
    image[..PAGE_BYTES].fill(0);
    fs::write(&path, &image).unwrap();
    let error = Store::open(&path, OPTIONS).err().unwrap();
    assert!(matches!(error, Error::Corrupted { .. }), "{error}");
    assert!(fs::read(&path).unwrap() == image, "a refused file is not modified");
    assert!(!salvage_store(&path).unwrap().damage.is_none());
    assert!(fs::read(damaged_path(&path)).unwrap() == image, "the damaged file is kept");
    assert!(read_store(&path).unwrap().damage.is_none());
    let store = Store::open(&path, OPTIONS).unwrap();
    for (key, entry) in &sample.entries {
        assert_eq!(store.get(key).as_ref(), Some(entry), "{key}");
    }
    assert!(matches!(salvage_store(&path), Err(Error::Locked { .. })));
}

#[test]
fn a_backup_is_one_revision_and_a_restored_store_has_later_revisions() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path().join("store"), OPTIONS).unwrap();
    let rng = TestRng::new(11);
    for at in 0..500 {
        let value = random_value(&rng);
        store.write_blocking(Op::put(format!("/{at}"), value, Precondition::Any)).unwrap();
    }
    let snapshot = store.snapshot();
    let mut chunks = BackupChunks::new(snapshot.clone(), None);
    let mut bytes = chunks.next().unwrap().to_vec();
    // Changes during the backup are not in it.
    store.write_blocking(Op::delete("/499", Precondition::Present)).unwrap();
    store.write_blocking(Op::put("/later", "x", Precondition::Any)).unwrap();
    bytes.extend(chunks.flatten());
    let backup = read_backup(bytes.as_slice()).unwrap();
    assert_eq!(backup.revision, snapshot.revision());
    let path = directory.path().join("restored");
    restore_backup(&path, &backup).unwrap();
    let restored = Store::open(&path, OPTIONS).unwrap();
    assert!(restored.snapshot().prefix("").eq(snapshot.prefix("")));
    assert!(restored.revision() > store.revision());
    assert!(restored.watch("", store.revision()).is_err(), "clients list again");
    assert!(restore_backup(&path, &backup).is_err(), "nothing is overwritten");
    for at in (0..bytes.len()).step_by(997) {
        assert!(read_backup(&bytes[..at]).is_err(), "cut at {at}");
        let mut damaged = bytes.clone();
        damaged[at] ^= 4;
        assert!(read_backup(damaged.as_slice()).is_err(), "damaged at {at}");
    }
}
