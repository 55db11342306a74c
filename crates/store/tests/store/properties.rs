//! Random transactions, compactions and restarts, compared with the model.

use proptest::{collection::vec, option, prelude::*};

use punctual_store::{Error, Options, RedbLog, Snapshot, Store};

use crate::{
    disk::TestDisk,
    model::{Model, ModelOp, StepCondition, drain, ops},
};

#[derive(Clone, Debug)]
enum StoreAction {
    Write(Vec<ModelOp>),
    Restart,
    Compact(u64),
}

fn condition() -> impl Strategy<Value = StepCondition> {
    prop_oneof![
        5 => Just(StepCondition::Any),
        1 => Just(StepCondition::Absent),
        1 => Just(StepCondition::Present),
        2 => Just(StepCondition::Right),
        1 => Just(StepCondition::Wrong),
    ]
}

fn step() -> impl Strategy<Value = ModelOp> {
    (0..8_u8, condition(), option::weighted(0.7, vec(any::<u8>(), 0..40)))
        .prop_map(|(key, condition, value)| ModelOp { key, condition, value })
}

fn action() -> impl Strategy<Value = StoreAction> {
    prop_oneof![
        20 => vec(step(), 0..4).prop_map(|mut steps| {
            steps.sort_by_key(|step| step.key);
            steps.dedup_by_key(|step| step.key);
            StoreAction::Write(steps)
        }),
        1 => Just(StoreAction::Restart),
        1 => (0..40_u64).prop_map(StoreAction::Compact),
    ]
}

fn start(disk: &TestDisk) -> Store {
    let options = Options { history_changes_max: 12, ..Options::default() };
    Store::start(Box::new(RedbLog::with_backend(disk.clone()).unwrap()), options).unwrap()
}

fn write(store: &Store, model: &mut Model, steps: &[ModelOp]) {
    let ops = ops(steps, model);
    let before = model.clone();
    let is_allowed = model.apply(steps);
    match store.write_blocking(ops) {
        Ok(committed) => {
            assert!(is_allowed);
            assert_eq!(committed.revision, model.revision);
            assert_eq!(committed.changes.len(), steps.len());
            let changes = committed.changes.into_iter().flatten();
            let expected = &model.log[before.log.len()..];
            assert!(changes.eq(expected.iter().cloned().map(Into::into)));
        }
        Err(error) => {
            assert!(!is_allowed);
            let conflict = error.conflict().unwrap();
            assert_eq!(conflict.current.as_ref(), before.entries.get(&*conflict.key));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(150) })]

    #[test]
    fn the_store_behaves_as_its_model(actions in vec(action(), 1..60)) {
        let disk = TestDisk::default();
        let mut model = Model::default();
        let mut store = start(&disk);
        let snapshots: Vec<_> = actions.iter().map(|action| {
            match action {
                StoreAction::Write(steps) => write(&store, &mut model, steps),
                StoreAction::Compact(through) => store.compact_blocking(*through).unwrap(),
                StoreAction::Restart => {
                    store.close_blocking().unwrap();
                    store = start(&disk);
                }
            }
            assert!(model.matches(&store));
            (store.snapshot(), model.entries.clone())
        }).collect();
        model.assert_history_matches(&store);
        for (snapshot, entries) in snapshots {
            let contents = |snapshot: &Snapshot| -> Vec<_> {
                snapshot.prefix("").map(|(key, entry)| (key.to_string(), entry.clone())).collect()
            };
            let entries: Vec<_> = entries.into_iter().collect();
            assert_eq!(contents(&snapshot), entries);
            match store.snapshot_at(snapshot.revision()) {
                Ok(rebuilt) => {
                    assert_eq!(rebuilt.revision(), snapshot.revision());
                    assert_eq!(contents(&rebuilt), entries);
                }
                Err(Error::Compacted { compacted, .. }) => assert!(snapshot.revision() < compacted),
                Err(error) => panic!("{error}"),
            }
        }
        assert!(matches!(store.snapshot_at(model.revision + 1), Err(Error::FutureRevision { .. })));
    }

    #[test]
    fn a_watch_returns_all_changes_under_its_prefix(transactions in vec(vec(step(), 1..2), 1..100), odd in any::<bool>()) {
        let disk = TestDisk::default();
        let mut model = Model::default();
        let store = start(&disk);
        let prefix = if odd { "/odd/" } else { "/" };
        let mut watch = store.watch(prefix, 0).unwrap();
        let mut changes = Vec::new();
        for steps in &transactions {
            write(&store, &mut model, steps);
            changes.extend(std::iter::from_fn(|| watch.try_next().unwrap()));
            assert_eq!(watch.progress().unwrap(), model.revision);
        }
        let expected = model.log.iter().filter(|change| change.key.starts_with(prefix));
        assert!(changes.iter().map(|change| &**change).eq(expected));
        for from in 0..=model.revision {
            match store.watch("", from) {
                Ok(_) => assert_eq!(drain(&store, "", from).len() as u64, model.revision - from),
                Err(Error::Compacted { compacted, .. }) => assert!(from < compacted),
                Err(error) => panic!("{error}"),
            }
        }
    }
}
