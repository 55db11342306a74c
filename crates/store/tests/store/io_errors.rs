//! Disk errors: in a short run the n-th call to the disk fails, for every n, once or from then on. No
//! acknowledged write is lost, and no write is accepted after a failed commit.

use std::io::ErrorKind;

use punctual_store::{Error, RedbLog, Store};
use punctual_testing::TestRng;

use crate::{
    disk::{InjectedError, PersistedDisk, Survival, TestDisk},
    model::{Model, ops, random_steps},
    power_cuts::{OPTIONS, check_recovery, empty_image, open},
};

const TRANSACTIONS: usize = 12;
/// The transaction that is followed by a compaction.
const COMPACT_AFTER: usize = 7;

/// The results of the writes.
struct WriteSummary {
    models: Vec<Model>,
    acknowledged: usize,
    stopped: usize,
}

/// Executes all transactions. After the first failure none may succeed.
fn write_all(store: &Store) -> WriteSummary {
    let rng = TestRng::new(3);
    let mut models = vec![Model::default()];
    let mut acknowledged = 0;
    let mut failed = 0;
    let mut stopped = 0;
    for at in 0..TRANSACTIONS {
        let mut model = models.last().unwrap().clone();
        let steps = random_steps(&rng, 6000);
        let result = store.write_blocking(ops(&steps, &model));
        model.apply(&steps);
        models.push(model);
        match result {
            Ok(_) => acknowledged += 1,
            Err(Error::CommitFailed(_)) => {
                assert_eq!(at, acknowledged, "only the first failing write has an unknown result");
                failed = 1;
            }
            Err(Error::WritesStopped(_)) => stopped += 1,
            Err(error) => panic!("{error}"),
        }
        if at == COMPACT_AFTER {
            assert_eq!(store.compact_blocking(3).is_err(), store.failure().is_some());
        }
        assert!(models[acknowledged].matches(store), "reads return acknowledged writes");
    }
    assert_eq!(acknowledged + failed + stopped, TRANSACTIONS);
    assert_eq!(store.failure().is_some(), acknowledged < TRANSACTIONS);
    WriteSummary { models, acknowledged, stopped }
}

#[derive(Default)]
struct Counts {
    runs: u64,
    failed_starts: u64,
    failed_commits: u64,
    stopped_writes: usize,
    recoveries: u64,
}

fn run_with_error(start: &[u8], injected: InjectedError, counts: &mut Counts) {
    let disk = TestDisk::from_image(start.to_vec());
    disk.inject(injected);
    counts.runs += 1;
    let started =
        RedbLog::with_backend(disk.clone()).and_then(|log| Store::start(Box::new(log), OPTIONS));
    let summary = match started {
        Ok(store) => {
            let summary = write_all(&store);
            let closed = store.close_blocking();
            assert_eq!(closed.is_err(), summary.acknowledged < TRANSACTIONS);
            summary
        }
        Err(error) => {
            assert_error_kind(&error, injected.kind);
            counts.failed_starts += 1;
            WriteSummary { models: vec![Model::default()], acknowledged: 0, stopped: 0 }
        }
    };
    counts.failed_commits += u64::from(summary.stopped > 0);
    counts.stopped_writes += summary.stopped;
    check_recoveries(start, &disk, &summary, counts);
}

fn check_recoveries(start: &[u8], disk: &TestDisk, summary: &WriteSummary, counts: &mut Counts) {
    let inner = disk.lock();
    let mut persisted = PersistedDisk::from_image(start.to_vec());
    for op in &inner.journal {
        persisted.replay(op);
    }
    let rng = TestRng::new(inner.journal.len() as u64);
    let survivals = [Survival::Nothing, Survival::Everything, Survival::Random];
    let images = survivals.map(|survival| persisted.after_power_cut(survival, &rng));
    // If only the process ends, the file has everything that was written.
    for image in images.into_iter().chain([inner.image.clone()]) {
        check_recovery(image, &summary.models, summary.acknowledged);
        counts.recoveries += 1;
    }
}

fn assert_error_kind(error: &Error, kind: ErrorKind) {
    match kind {
        ErrorKind::StorageFull => assert!(matches!(error, Error::DiskFull { .. }), "{error}"),
        ErrorKind::ReadOnlyFilesystem => {
            assert!(matches!(error, Error::ReadOnly { .. }), "{error}")
        }
        _ => assert!(matches!(error, Error::Io { .. }), "{error}"),
    }
}

#[test]
fn a_disk_error_never_loses_an_acknowledged_write() {
    let start = empty_image();
    let disk = TestDisk::from_image(start.clone());
    let store = open(disk.clone());
    assert_eq!(write_all(&store).acknowledged, TRANSACTIONS);
    store.close_blocking().unwrap();
    let calls = disk.calls();
    let mut counts = Counts::default();
    for kind in [ErrorKind::StorageFull, ErrorKind::Other, ErrorKind::ReadOnlyFilesystem] {
        for is_permanent in [false, true] {
            for at in 0..calls {
                run_with_error(&start, InjectedError { at, is_permanent, kind }, &mut counts);
            }
        }
    }
    let Counts { runs, failed_starts, failed_commits, stopped_writes, recoveries } = counts;
    println!(
        "disk errors: each of {calls} calls, once and permanently, 3 errors: {runs} runs, \
         {failed_starts} failed starts, {failed_commits} failed commits, {stopped_writes} later \
         writes rejected, {recoveries} recoveries, no acknowledged write lost"
    );
    assert!(failed_commits > 100);
}
