//! Random transactions against the model, with restarts in between.

use proptest::{collection::vec, option, prelude::*};

use punctual_store::{Error, Options, RedbLog, Snapshot, Store};

use crate::{
    disk::Disk,
    model::{Model, Step, Wish, drain, ops},
};

#[derive(Clone, Debug)]
enum Act {
    Write(Vec<Step>),
    Restart,
    Compact(u64),
}

fn wish() -> impl Strategy<Value = Wish> {
    prop_oneof![
        5 => Just(Wish::Any),
        1 => Just(Wish::Absent),
        1 => Just(Wish::Present),
        2 => Just(Wish::Right),
        1 => Just(Wish::Wrong),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    (0..8_u8, wish(), option::weighted(0.7, vec(any::<u8>(), 0..40)))
        .prop_map(|(key, wish, value)| Step { key, wish, value })
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        20 => vec(step(), 0..4).prop_map(|mut steps| {
            steps.sort_by_key(|step| step.key);
            steps.dedup_by_key(|step| step.key);
            Act::Write(steps)
        }),
        1 => Just(Act::Restart),
        1 => (0..40_u64).prop_map(Act::Compact),
    ]
}

fn start(disk: &Disk) -> Store {
    let options = Options { ring_changes_max: 12, ..Options::default() };
    Store::start(Box::new(RedbLog::over(disk.clone()).unwrap()), options).unwrap()
}

fn write(store: &Store, model: &mut Model, steps: &[Step]) {
    let ops = ops(steps, model);
    let before = model.clone();
    let allowed = model.apply(steps);
    match store.write_blocking(ops) {
        Ok(committed) => {
            assert!(allowed);
            assert_eq!(committed.revision, model.revision);
            assert_eq!(committed.changes.len(), steps.len());
            let changes = committed.changes.into_iter().flatten();
            let news = &model.log[before.log.len()..];
            assert!(changes.eq(news.iter().cloned().map(Into::into)));
        }
        Err(error) => {
            assert!(!allowed);
            let conflict = error.conflict().unwrap();
            assert_eq!(conflict.current.as_ref(), before.entries.get(&*conflict.key));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(150) })]

    #[test]
    fn the_store_is_its_model(acts in vec(act(), 1..60)) {
        let (disk, mut model) = (Disk::default(), Model::default());
        let mut store = start(&disk);
        let snapshots: Vec<_> = acts.iter().map(|act| {
            match act {
                Act::Write(steps) => write(&store, &mut model, steps),
                Act::Compact(through) => store.compact_blocking(*through).unwrap(),
                Act::Restart => {
                    store.close_blocking().unwrap();
                    store = start(&disk);
                }
            }
            assert!(model.is_shown_by(&store));
            (store.snapshot(), model.entries.clone())
        }).collect();
        model.assert_watched(&store);
        for (snapshot, entries) in snapshots {
            let shown = |snapshot: &Snapshot| -> Vec<_> {
                snapshot.prefix("").map(|(key, entry)| (key.to_string(), entry.clone())).collect()
            };
            let entries: Vec<_> = entries.into_iter().collect();
            assert_eq!(shown(&snapshot), entries);
            match store.snapshot_at(snapshot.revision()) {
                Ok(rebuilt) => {
                    assert_eq!(rebuilt.revision(), snapshot.revision());
                    assert_eq!(shown(&rebuilt), entries);
                }
                Err(Error::Compacted { compacted, .. }) => assert!(snapshot.revision() < compacted),
                Err(error) => panic!("{error}"),
            }
        }
        assert!(matches!(store.snapshot_at(model.revision + 1), Err(Error::Future { .. })));
    }

    #[test]
    fn a_watch_that_keeps_up_sees_the_log(acts in vec(vec(step(), 1..2), 1..100), odd in any::<bool>()) {
        let (disk, mut model) = (Disk::default(), Model::default());
        let store = start(&disk);
        let prefix = if odd { "/registry/odd/" } else { "/registry/" };
        let mut watch = store.watch(prefix, 0).unwrap();
        let mut seen = Vec::new();
        for steps in &acts {
            write(&store, &mut model, steps);
            seen.extend(std::iter::from_fn(|| watch.try_next().unwrap()));
            assert_eq!(watch.progress().unwrap(), model.revision);
        }
        let expected = model.log.iter().filter(|change| change.key.starts_with(prefix));
        assert!(seen.iter().map(|change| &**change).eq(expected));
        for from in 0..=model.revision {
            match store.watch("", from) {
                Ok(_) => assert_eq!(drain(&store, "", from).len() as u64, model.revision - from),
                Err(Error::Compacted { compacted, .. }) => assert!(from < compacted),
                Err(error) => panic!("{error}"),
            }
        }
    }
}
