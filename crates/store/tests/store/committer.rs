//! Tests of the committer with a log that blocks, counts commits and fails on command.

use std::{
    io,
    path::Path,
    sync::{
        Arc, Mutex,
        mpsc::{Receiver, Sender, channel},
    },
};

use punctual_store::{
    CommitBatch, Error, Log, LogContents, Op, Options, Precondition, RedbLog, Store,
};

use crate::disk::TestDisk;

/// The result of the next commit.
enum CommitCommand {
    Succeed,
    Fail,
    Panic,
}

/// A log without a disk: each commit is announced and waits for a command.
struct GatedLog {
    started: Sender<()>,
    commands: Receiver<CommitCommand>,
    /// The number of changes of each commit.
    sizes: Arc<Mutex<Vec<usize>>>,
}

impl Log for GatedLog {
    fn path(&self) -> &Path {
        Path::new("the gated log")
    }

    fn load(&mut self) -> Result<LogContents, Error> {
        Ok(LogContents::default())
    }

    fn commit(&mut self, batch: &CommitBatch<'_>) -> Result<(), Error> {
        self.started.send(()).unwrap();
        self.sizes.lock().unwrap().push(batch.changes.len());
        let source = io::ErrorKind::StorageFull.into();
        match self.commands.recv().unwrap() {
            CommitCommand::Succeed => Ok(()),
            CommitCommand::Fail => Err(Error::DiskFull { path: self.path().into(), source }),
            CommitCommand::Panic => panic!("injected panic"),
        }
    }

    fn shrink(&mut self) -> Result<(), Error> {
        Ok(())
    }
}

struct GatedStore {
    store: Store,
    started: Receiver<()>,
    commands: Sender<CommitCommand>,
    sizes: Arc<Mutex<Vec<usize>>>,
}

fn gated_store(queue_max: usize) -> GatedStore {
    let (started_sender, started) = channel();
    let (commands, command_receiver) = channel();
    let sizes = Arc::new(Mutex::new(Vec::new()));
    let log =
        GatedLog { started: started_sender, commands: command_receiver, sizes: sizes.clone() };
    let store = Store::start(Box::new(log), Options { queue_max, ..Options::default() }).unwrap();
    GatedStore { store, started, commands, sizes }
}

fn create(at: usize) -> Op {
    Op::create(format!("/{at}"), "x")
}

#[test]
fn writes_during_a_commit_form_the_next_group() {
    let GatedStore { store, started, commands, sizes } = gated_store(100);
    let mut pending = vec![store.submit(create(0)).unwrap()];
    started.recv().unwrap();
    pending.extend((1..100).map(|at| store.submit(create(at)).unwrap()));
    commands.send(CommitCommand::Succeed).unwrap();
    commands.send(CommitCommand::Succeed).unwrap();
    let revisions: Vec<u64> = pending.into_iter().map(|p| p.wait().unwrap().revision).collect();
    assert!(revisions.into_iter().eq(1..=100));
    assert_eq!(*sizes.lock().unwrap(), [1, 99]);
}

#[test]
fn submit_fails_when_the_queue_is_full() {
    let GatedStore { store, started, commands, .. } = gated_store(2);
    let first = store.submit(create(0)).unwrap();
    started.recv().unwrap();
    let queued = [store.submit(create(1)).unwrap(), store.submit(create(2)).unwrap()];
    assert!(matches!(store.submit(create(3)), Err(Error::QueueFull)));
    commands.send(CommitCommand::Succeed).unwrap();
    commands.send(CommitCommand::Succeed).unwrap();
    assert!(first.wait().is_ok());
    for pending in queued {
        assert!(pending.wait().is_ok());
    }
}

#[test]
fn readers_see_a_write_only_after_its_commit() {
    let GatedStore { store, started, commands, .. } = gated_store(10);
    let mut watch = store.watch("", 0).unwrap();
    let pending = store.submit(create(0)).unwrap();
    started.recv().unwrap();
    assert_eq!((store.get("/0"), store.revision(), watch.try_next().unwrap()), (None, 0, None));
    commands.send(CommitCommand::Succeed).unwrap();
    pending.wait().unwrap();
    assert!(store.get("/0").is_some() && watch.try_next().unwrap().is_some());
}

#[test]
fn a_conflict_with_a_write_of_the_same_batch_waits_for_its_commit() {
    let GatedStore { store, started, commands, .. } = gated_store(10);
    let first = store.submit(create(0)).unwrap();
    started.recv().unwrap();
    let pair = [store.submit(create(1)).unwrap(), store.submit(create(1)).unwrap()];
    commands.send(CommitCommand::Succeed).unwrap();
    commands.send(CommitCommand::Fail).unwrap();
    assert!(first.wait().is_ok());
    // A conflict would contain a value that may never be committed.
    for pending in pair {
        assert!(matches!(pending.wait(), Err(Error::CommitFailed(_))));
    }
}

fn check_writes_stop_after(command: CommitCommand, reason: &str) {
    let GatedStore { store, commands, started: _started, .. } = gated_store(10);
    commands.send(CommitCommand::Succeed).unwrap();
    store.write_blocking(create(0)).unwrap();
    commands.send(command).unwrap();
    let failed = store.write_blocking(create(1)).unwrap_err();
    assert!(matches!(failed, Error::CommitFailed(_)), "{failed}");
    let rejected = store.write_blocking(create(2)).unwrap_err();
    let Error::WritesStopped(cause) = &rejected else { panic!("{rejected}") };
    assert!(cause.to_string().contains(reason), "{cause}");
    assert!(matches!(store.compact_blocking(1), Err(Error::WritesStopped(_))));
    assert_eq!((store.revision(), store.snapshot().len()), (1, 1));
    assert!(matches!(store.close_blocking(), Err(Error::WritesStopped(_))));
}

#[test]
fn after_a_failed_commit_writes_are_rejected_and_reads_continue() {
    check_writes_stop_after(CommitCommand::Fail, "no space left for the gated log");
}

#[test]
fn after_a_panic_in_the_log_writes_are_rejected_and_reads_continue() {
    check_writes_stop_after(CommitCommand::Panic, "the database under the store panicked");
}

#[test]
fn the_log_has_only_rows_that_the_state_and_the_history_need() {
    let disk = TestDisk::default();
    let options = Options { history_changes_max: 10, ..Options::default() };
    let store =
        Store::start(Box::new(RedbLog::with_backend(disk.clone()).unwrap()), options).unwrap();
    for at in 0..300 {
        let key = format!("/{}", at % 5);
        store.write_blocking(Op::put(key.clone(), "x", Precondition::Any)).unwrap();
        if at % 7 == 0 {
            store.write_blocking(Op::delete(key, Precondition::Any)).unwrap();
        }
    }
    store.close_blocking().unwrap();
    let loaded = RedbLog::with_backend(disk).unwrap().load().unwrap();
    let rows = loaded.rows.len();
    let keys = store.snapshot().len();
    assert_eq!(loaded.revision - loaded.compacted, 10);
    assert!(rows <= keys + 20, "{rows} rows for {keys} keys");
}
