//! Failing calls: in a short run the n-th call to the disk fails, for every n, once or from then
//! on. No write is acknowledged that is not there later, and none is taken after a failed commit.

use std::io::ErrorKind;

use punctual_store::{Error, RedbLog, Store};

use crate::{
    dice::Dice,
    disk::{Disk, Failing, Platter, Survival},
    model::{Model, ops, random_steps},
    power::{OPTIONS, open, prepared, survived},
};

const TRANSACTIONS: usize = 12;
/// The transaction that is followed by a compaction.
const COMPACTED: usize = 7;

/// What the writer saw.
struct Seen {
    models: Vec<Model>,
    acknowledged: usize,
    stopped: usize,
}

/// Writes until the end, whatever the answers are. After the first failure nothing may succeed.
fn write_on(store: &Store) -> Seen {
    let mut dice = Dice(3);
    let mut models = vec![Model::default()];
    let (mut acknowledged, mut failed, mut stopped) = (0, 0, 0);
    for at in 0..TRANSACTIONS {
        let mut model = models.last().unwrap().clone();
        let steps = random_steps(&mut dice, 6000);
        let result = store.write_blocking(ops(&steps, &model));
        model.apply(&steps);
        models.push(model);
        match result {
            Ok(_) => acknowledged += 1,
            Err(Error::CommitFailed(_)) => {
                assert_eq!(at, acknowledged, "only the first");
                failed = 1;
            }
            Err(Error::Stopped(_)) => stopped += 1,
            Err(error) => panic!("{error}"),
        }
        if at == COMPACTED {
            assert_eq!(store.compact_blocking(3).is_err(), store.failure().is_some());
        }
        assert!(models[acknowledged].is_shown_by(store), "reads show what is acknowledged");
    }
    assert_eq!(acknowledged + failed + stopped, TRANSACTIONS);
    assert_eq!(store.failure().is_some(), acknowledged < TRANSACTIONS);
    Seen { models, acknowledged, stopped }
}

#[derive(Default)]
struct Counts {
    runs: u64,
    refused_starts: u64,
    failed_commits: u64,
    stopped_writes: usize,
    recoveries: u64,
}

fn run_failing(start: &[u8], failing: Failing, counts: &mut Counts) {
    let disk = Disk::holding(start.to_vec());
    disk.fail(failing);
    counts.runs += 1;
    let started = RedbLog::over(disk.clone()).and_then(|log| Store::start(Box::new(log), OPTIONS));
    let seen = match started {
        Ok(store) => {
            let seen = write_on(&store);
            let closed = store.close_blocking();
            assert_eq!(closed.is_err(), seen.acknowledged < TRANSACTIONS);
            seen
        }
        Err(error) => {
            assert_clear(&error, failing.kind);
            counts.refused_starts += 1;
            Seen { models: vec![Model::default()], acknowledged: 0, stopped: 0 }
        }
    };
    counts.failed_commits += u64::from(seen.stopped > 0);
    counts.stopped_writes += seen.stopped;
    recover(start, &disk, &seen, counts);
}

fn recover(start: &[u8], disk: &Disk, seen: &Seen, counts: &mut Counts) {
    let inner = disk.lock();
    let mut platter = Platter::holding(start.to_vec());
    inner.journal.iter().for_each(|deed| platter.perform(deed));
    let mut dice = Dice(inner.journal.len() as u64);
    let survivals = [Survival::Nothing, Survival::Everything, Survival::Chance];
    let images = survivals.map(|survival| platter.after_power_cut(survival, &mut dice));
    // The process may also end without the machine: then everything that was written is seen.
    for image in images.into_iter().chain([inner.image.clone()]) {
        survived(image, &seen.models, seen.acknowledged);
        counts.recoveries += 1;
    }
}

fn assert_clear(error: &Error, kind: ErrorKind) {
    match kind {
        ErrorKind::StorageFull => assert!(matches!(error, Error::DiskFull { .. }), "{error}"),
        ErrorKind::ReadOnlyFilesystem => {
            assert!(matches!(error, Error::ReadOnly { .. }), "{error}")
        }
        _ => assert!(matches!(error, Error::Io { .. }), "{error}"),
    }
}

#[test]
fn a_failing_call_never_costs_an_acknowledged_write() {
    let start = prepared();
    let disk = Disk::holding(start.clone());
    let store = open(disk.clone());
    assert_eq!(write_on(&store).acknowledged, TRANSACTIONS);
    store.close_blocking().unwrap();
    let calls = disk.calls();
    let mut counts = Counts::default();
    for kind in [ErrorKind::StorageFull, ErrorKind::Other, ErrorKind::ReadOnlyFilesystem] {
        for forever in [false, true] {
            for at in 0..calls {
                run_failing(&start, Failing { at, forever, kind }, &mut counts);
            }
        }
    }
    let Counts { runs, refused_starts, failed_commits, stopped_writes, recoveries } = counts;
    println!(
        "failing calls: every one of {calls} calls, once and for ever, 3 errors: {runs} runs, \
         {refused_starts} refused starts, {failed_commits} failed commits, {stopped_writes} later \
         writes refused, {recoveries} recoveries, nothing acknowledged lost"
    );
    assert!(failed_commits > 100);
}
