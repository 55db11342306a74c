//! The committer in front of a log that waits, counts and fails as told.

use std::{
    io,
    path::Path,
    sync::{
        Arc, Mutex,
        mpsc::{Receiver, Sender, channel},
    },
};

use punctual_store::{Batch, Condition, Error, Loaded, Log, Op, Options, RedbLog, Store};

use crate::disk::Disk;

/// What the log does with the next commit.
enum Word {
    Succeed,
    Fail,
    Panic,
}

/// A log without a disk: each commit is announced, and waits for a word.
struct Gate {
    begun: Sender<()>,
    words: Receiver<Word>,
    /// How many changes each commit had.
    sizes: Arc<Mutex<Vec<usize>>>,
}

impl Log for Gate {
    fn path(&self) -> &Path {
        Path::new("the gate")
    }

    fn load(&mut self) -> Result<Loaded, Error> {
        Ok(Loaded::default())
    }

    fn commit(&mut self, batch: &Batch<'_>) -> Result<(), Error> {
        self.begun.send(()).unwrap();
        self.sizes.lock().unwrap().push(batch.changes.len());
        let source = io::ErrorKind::StorageFull.into();
        match self.words.recv().unwrap() {
            Word::Succeed => Ok(()),
            Word::Fail => Err(Error::DiskFull { path: self.path().into(), source }),
            Word::Panic => panic!("told to"),
        }
    }

    fn shrink(&mut self) -> Result<(), Error> {
        Ok(())
    }
}

struct Keeper {
    store: Store,
    begun: Receiver<()>,
    words: Sender<Word>,
    sizes: Arc<Mutex<Vec<usize>>>,
}

fn keeper(waiting_max: usize) -> Keeper {
    let ((begun_tx, begun), (words, words_rx)) = (channel(), channel());
    let sizes = Arc::new(Mutex::new(Vec::new()));
    let gate = Gate { begun: begun_tx, words: words_rx, sizes: sizes.clone() };
    let store =
        Store::start(Box::new(gate), Options { waiting_max, ..Options::default() }).unwrap();
    Keeper { store, begun, words, sizes }
}

fn create(at: usize) -> Op {
    Op::create(format!("/{at}"), "x")
}

#[test]
fn what_waits_during_a_commit_goes_into_the_next_one_together() {
    let Keeper { store, begun, words, sizes } = keeper(100);
    let mut pending = vec![store.submit(create(0)).unwrap()];
    begun.recv().unwrap();
    pending.extend((1..100).map(|at| store.submit(create(at)).unwrap()));
    words.send(Word::Succeed).unwrap();
    words.send(Word::Succeed).unwrap();
    let revisions: Vec<u64> = pending.into_iter().map(|p| p.wait().unwrap().revision).collect();
    assert!(revisions.into_iter().eq(1..=100));
    assert_eq!(*sizes.lock().unwrap(), [1, 99]);
}

#[test]
fn a_full_queue_says_so() {
    let Keeper { store, begun, words, .. } = keeper(2);
    let first = store.submit(create(0)).unwrap();
    begun.recv().unwrap();
    let waiting = [store.submit(create(1)).unwrap(), store.submit(create(2)).unwrap()];
    assert!(matches!(store.submit(create(3)), Err(Error::Busy)));
    words.send(Word::Succeed).unwrap();
    words.send(Word::Succeed).unwrap();
    assert!(first.wait().is_ok());
    waiting.into_iter().for_each(|pending| assert!(pending.wait().is_ok()));
}

#[test]
fn nothing_is_seen_before_it_is_durable() {
    let Keeper { store, begun, words, .. } = keeper(10);
    let mut watch = store.watch("", 0).unwrap();
    let pending = store.submit(create(0)).unwrap();
    begun.recv().unwrap();
    assert_eq!((store.get("/0"), store.revision(), watch.try_next().unwrap()), (None, 0, None));
    words.send(Word::Succeed).unwrap();
    pending.wait().unwrap();
    assert!(store.get("/0").is_some() && watch.try_next().unwrap().is_some());
}

#[test]
fn a_conflict_with_a_write_of_the_same_batch_waits_for_its_commit() {
    let Keeper { store, begun, words, .. } = keeper(10);
    let first = store.submit(create(0)).unwrap();
    begun.recv().unwrap();
    let pair = [store.submit(create(1)).unwrap(), store.submit(create(1)).unwrap()];
    words.send(Word::Succeed).unwrap();
    words.send(Word::Fail).unwrap();
    assert!(first.wait().is_ok());
    // A conflict would tell of a value that nobody may ever see.
    pair.into_iter()
        .for_each(|pending| assert!(matches!(pending.wait(), Err(Error::CommitFailed(_)))));
}

fn refuses_after(word: Word, reason: &str) {
    let Keeper { store, words, begun: _begun, .. } = keeper(10);
    words.send(Word::Succeed).unwrap();
    store.write_blocking(create(0)).unwrap();
    words.send(word).unwrap();
    let failed = store.write_blocking(create(1)).unwrap_err();
    assert!(matches!(failed, Error::CommitFailed(_)), "{failed}");
    let refused = store.write_blocking(create(2)).unwrap_err();
    let Error::Stopped(why) = &refused else { panic!("{refused}") };
    assert!(why.to_string().contains(reason), "{why}");
    assert!(matches!(store.compact_blocking(1), Err(Error::Stopped(_))));
    assert_eq!((store.revision(), store.snapshot().len()), (1, 1));
    assert!(matches!(store.close_blocking(), Err(Error::Stopped(_))));
}

#[test]
fn after_a_failed_commit_writes_are_refused_and_reads_go_on() {
    refuses_after(Word::Fail, "no space left for the gate");
}

#[test]
fn after_a_panic_in_the_log_writes_are_refused_and_reads_go_on() {
    refuses_after(Word::Panic, "the database under the store panicked");
}

#[test]
fn the_log_keeps_no_more_than_the_state_and_the_ring_need() {
    let disk = Disk::default();
    let options = Options { ring_changes_max: 10, ..Options::default() };
    let store = Store::start(Box::new(RedbLog::over(disk.clone()).unwrap()), options).unwrap();
    for at in 0..300 {
        let key = format!("/{}", at % 5);
        store.write_blocking(Op::put(key.clone(), "x", Condition::Any)).unwrap();
        if at % 7 == 0 {
            store.write_blocking(Op::delete(key, Condition::Any)).unwrap();
        }
    }
    store.close_blocking().unwrap();
    let loaded = RedbLog::over(disk).unwrap().load().unwrap();
    let (kept, keys) = (loaded.rows.len(), store.snapshot().len());
    assert_eq!(loaded.revision - loaded.compacted, 10);
    assert!(kept <= keys + 20, "{kept} rows for {keys} keys");
}
