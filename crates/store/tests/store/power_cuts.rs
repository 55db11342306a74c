//! Power cuts: the journal of one run is cut at every disk operation, and an arbitrary part of the
//! unsynced operations survives. All acknowledged writes must survive, and transactions stay atomic.

use punctual_store::{Op, Options, Precondition, RedbLog, Store, Transaction};
use punctual_testing::TestRng;

use crate::{
    disk::{DiskOp, PersistedDisk, Survival, TestDisk},
    model::{Model, ops, random_archive_ops, random_steps},
};

const TRANSACTIONS: u64 = 100;
/// The number of transactions between two compactions.
const COMPACT_EVERY: usize = 30;
/// The number of random survivals for each cut.
const RANDOM_SURVIVALS: u64 = 4;
pub(crate) const OPTIONS: Options = Options {
    queue_max: 64,
    history_changes_max: 20,
    history_bytes_max: 1 << 20,
    limits: punctual_store::TransactionLimits {
        key_bytes_max: 100,
        value_bytes_max: 1 << 20,
        ops_max: 10,
    },
};

/// Returns the disk image of a new store.
pub(crate) fn empty_image() -> Vec<u8> {
    let disk = TestDisk::default();
    open(disk.clone()).close_blocking().unwrap();
    disk.lock().image.clone()
}

pub(crate) fn open(disk: TestDisk) -> Store {
    Store::start(Box::new(RedbLog::with_backend(disk).unwrap()), OPTIONS).unwrap()
}

/// A run, with the length of the journal when each transaction was acknowledged.
struct RecordedRun {
    start: Vec<u8>,
    journal: Vec<DiskOp>,
    /// The states after 0, 1, 2 and more transactions.
    models: Vec<Model>,
    acknowledged_at: Vec<usize>,
}

fn run(seed: u64, in_flight: usize) -> RecordedRun {
    let rng = TestRng::new(seed);
    let start = empty_image();
    let disk = TestDisk::from_image(start.clone());
    let store = open(disk.clone());
    let mut models = vec![Model::default()];
    let mut acknowledged_at = vec![];
    let mut pending_writes = Vec::new();
    for _ in 0..TRANSACTIONS {
        let mut model = models.last().unwrap().clone();
        let steps = random_steps(&rng, 6000);
        let archive_ops = random_archive_ops(&rng);
        let transaction = Transaction::from(ops(&steps, &model));
        let transaction = transaction.with_archive(archive_ops.clone());
        pending_writes.push(store.submit(transaction).unwrap());
        assert!(model.apply(&steps));
        model.apply_archive(&archive_ops);
        models.push(model);
        if pending_writes.len() == in_flight {
            for pending in pending_writes.drain(..) {
                pending.wait().unwrap();
                acknowledged_at.push(disk.lock().journal.len());
            }
        }
        if models.len() % COMPACT_EVERY == 0 {
            store.compact_blocking(store.revision() - 5).unwrap();
        }
    }
    store.close_blocking().unwrap();
    acknowledged_at.resize(TRANSACTIONS as usize, disk.lock().journal.len());
    let journal = disk.lock().journal.clone();
    RecordedRun { start, journal, models, acknowledged_at }
}

/// Opens a disk image and returns how many transactions it has. At least `acknowledged` must have
/// survived.
pub(crate) fn check_recovery(image: Vec<u8>, models: &[Model], acknowledged: usize) -> usize {
    let store = open(TestDisk::from_image(image));
    let candidates = models.iter().enumerate().skip(acknowledged);
    let found = candidates.filter(|(_, model)| model.matches(&store)).map(|(at, _)| at).next();
    let found = found.unwrap_or_else(|| {
        panic!("{acknowledged} acknowledged, but the store is at revision {}", store.revision())
    });
    models[found].assert_history_matches(&store);
    let next = store.write_blocking(Op::put("/next", "x", Precondition::Any)).unwrap();
    assert_eq!(next.revision, models[found].revision + 1);
    found
}

fn cut_at_every_operation(seed: u64, in_flight: usize) {
    let RecordedRun { start, journal, models, acknowledged_at } = run(seed, in_flight);
    let mut persisted = PersistedDisk::from_image(start);
    let mut cuts = 0;
    let mut recoveries = 0;
    let mut unacknowledged = 0;
    for at in 0..=journal.len() {
        let acknowledged = acknowledged_at.iter().filter(|length| **length <= at).count();
        let rng = TestRng::new(seed ^ at as u64);
        let random_count = if persisted.has_unsynced() { RANDOM_SURVIVALS } else { 0 };
        let survivals = [Survival::Nothing, Survival::Everything].into_iter();
        for survival in survivals.chain((0..random_count).map(|_| Survival::Random)) {
            let image = persisted.after_power_cut(survival, &rng);
            let found = check_recovery(image, &models, acknowledged);
            unacknowledged += usize::from(found > acknowledged);
            recoveries += 1;
        }
        cuts += 1;
        if let Some(op) = journal.get(at) {
            persisted.replay(op);
        }
    }
    println!(
        "power cuts: {cuts} cuts in a run of {TRANSACTIONS} transactions, {in_flight} in flight; \
         {recoveries} recoveries, no acknowledged write lost, {unacknowledged} kept an \
         unacknowledged write"
    );
}

#[test]
fn acknowledged_writes_survive_a_power_cut_at_every_disk_operation() {
    cut_at_every_operation(1, 1);
}

#[test]
fn group_commits_survive_a_power_cut_at_every_disk_operation() {
    cut_at_every_operation(2, 10);
}

#[test]
#[should_panic(expected = "100 acknowledged, but the store is at revision 0")]
fn the_check_detects_a_disk_that_never_syncs() {
    let RecordedRun { start, journal, models, acknowledged_at } = run(4, 1);
    let mut persisted = PersistedDisk::from_image(start);
    for op in journal.iter().filter(|op| !matches!(op, DiskOp::Sync)) {
        persisted.replay(op);
    }
    let image = persisted.after_power_cut(Survival::Nothing, &TestRng::new(4));
    check_recovery(image, &models, acknowledged_at.len());
}
