//! A simple model of the store, with which the property tests compare it: an ordered map and a list
//! of changes.

use std::{collections::BTreeMap, ops::Bound, sync::Arc};

use punctual_store::{ArchiveOp, Change, Error, Op, Precondition, Store, StoreEntry};
use punctual_testing::TestRng;

/// One operation, independent of the current value of its key.
#[derive(Clone, Debug)]
pub(crate) struct ModelOp {
    pub(crate) key: u8,
    pub(crate) condition: StepCondition,
    /// The value to write; `None` deletes the key.
    pub(crate) value: Option<Vec<u8>>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum StepCondition {
    Any,
    Absent,
    Present,
    /// The current revision of the key.
    Right,
    Wrong,
}

#[derive(Clone, Default)]
pub(crate) struct Model {
    pub(crate) revision: u64,
    pub(crate) entries: BTreeMap<String, StoreEntry>,
    pub(crate) log: Vec<Change>,
    pub(crate) archive: BTreeMap<Vec<u8>, Vec<u8>>,
}

impl ModelOp {
    pub(crate) fn name(&self) -> String {
        format!("/{}/{}", if self.key.is_multiple_of(2) { "even" } else { "odd" }, self.key)
    }

    fn precondition(&self, model: &Model) -> Precondition {
        let modified = model.entries.get(&self.name()).map_or(7, |entry| entry.modified);
        match self.condition {
            StepCondition::Any => Precondition::Any,
            StepCondition::Absent => Precondition::Absent,
            StepCondition::Present => Precondition::Present,
            StepCondition::Right => Precondition::At(modified),
            StepCondition::Wrong => Precondition::At(modified + 1),
        }
    }

    pub(crate) fn op(&self, model: &Model) -> Op {
        let precondition = self.precondition(model);
        match &self.value {
            Some(value) => Op::put(self.name(), value.clone(), precondition),
            None => Op::delete(self.name(), precondition),
        }
    }
}

impl Model {
    fn allows(&self, step: &ModelOp) -> bool {
        let exists = self.entries.contains_key(&step.name());
        match step.condition {
            StepCondition::Any => true,
            StepCondition::Absent => !exists,
            StepCondition::Present | StepCondition::Right => exists,
            StepCondition::Wrong => false,
        }
    }

    /// Applies a transaction. Returns whether all its preconditions are met.
    pub(crate) fn apply(&mut self, steps: &[ModelOp]) -> bool {
        let allowed = steps.iter().all(|step| self.allows(step));
        if allowed {
            for step in steps {
                self.apply_op(step);
            }
        }
        allowed
    }

    fn apply_op(&mut self, step: &ModelOp) {
        let key = step.name();
        let previous = self.entries.remove(&key);
        if previous.is_none() && step.value.is_none() {
            return;
        }
        self.revision += 1;
        let revision = self.revision;
        let created = previous.as_ref().map_or(revision, |entry| entry.created);
        let current = step.value.clone().map(|value| StoreEntry {
            value: value.into(),
            created,
            modified: revision,
        });
        if let Some(entry) = &current {
            self.entries.insert(key.clone(), entry.clone());
        }
        let archive_ops = Arc::default();
        self.log.push(Change { key: key.into(), revision, current, previous, archive_ops });
    }

    pub(crate) fn apply_archive(&mut self, ops: &[ArchiveOp]) {
        for op in ops {
            match &op.value {
                Some(value) => self.archive.insert(op.key.to_vec(), value.to_vec()),
                None => self.archive.remove(&*op.key),
            };
        }
    }

    /// Whether the store has exactly this state.
    pub(crate) fn matches(&self, store: &Store) -> bool {
        let snapshot = store.snapshot();
        // After a failed commit the archive cannot be read until the store is opened again.
        (store.failure().is_some() || read_archive(store) == self.archive)
            && snapshot.revision() == self.revision
            && snapshot.len() == self.entries.len()
            && ["even", "odd"].iter().all(|segment| {
                let prefix = format!("/{segment}/");
                let count = self.entries.keys().filter(|key| key.starts_with(&prefix)).count();
                snapshot.segment_len(segment) == count
            })
            && snapshot
                .prefix("")
                .zip(&self.entries)
                .all(|((key, entry), (name, expected))| **key == **name && entry == expected)
    }

    /// Checks that the change history of the store has the newest changes of the model without a gap.
    pub(crate) fn assert_history_matches(&self, store: &Store) {
        let from = match store.watch("", 0) {
            Ok(_) => 0,
            Err(Error::Compacted { compacted, .. }) => compacted,
            Err(error) => panic!("{error}"),
        };
        let changes = drain(store, "", from);
        let expected = self.log.iter().filter(|change| change.revision > from);
        assert!(changes.iter().map(|change| &**change).eq(expected), "{changes:?}");
    }
}

/// Returns the pairs of the archive, read from both ends.
pub(crate) fn read_archive(store: &Store) -> BTreeMap<Vec<u8>, Vec<u8>> {
    let reader = store.archive().read().unwrap();
    let range = || reader.range(Bound::Unbounded, Bound::Unbounded).unwrap();
    let pairs: BTreeMap<_, _> = range().map(|pair| pair.unwrap()).collect();
    assert!(range().rev().map(|pair| pair.unwrap()).eq(pairs.clone().into_iter().rev()));
    pairs
}

/// Returns up to three operations on twenty keys of the archive.
pub(crate) fn random_archive_ops(rng: &TestRng) -> Vec<ArchiveOp> {
    let op = |_| {
        let key = format!("archived/{}", rng.below(20));
        if rng.once_in(4) {
            return ArchiveOp::delete(key);
        }
        ArchiveOp::put(key, vec![rng.next_u64() as u8; rng.below(900) as usize])
    };
    (0..rng.below(4)).map(op).collect()
}

/// Returns all changes after a revision that are available now.
pub(crate) fn drain(store: &Store, prefix: &str, from: u64) -> Vec<Arc<Change>> {
    let mut watch = store.watch(prefix, from).unwrap();
    std::iter::from_fn(|| watch.try_next().unwrap()).collect()
}

/// Returns a transaction of one to four operations on twelve keys.
pub(crate) fn random_steps(rng: &TestRng, value_bytes_max: u64) -> Vec<ModelOp> {
    let mut keys: Vec<u8> = (0..12).collect();
    let count = 1 + rng.below(4);
    (0..count)
        .map(|_| {
            let key = keys.swap_remove(rng.below(keys.len() as u64) as usize);
            let bytes = rng.below(value_bytes_max) as usize;
            let value = (!rng.once_in(4)).then(|| vec![rng.next_u64() as u8; bytes]);
            ModelOp { key, condition: StepCondition::Any, value }
        })
        .collect()
}

pub(crate) fn ops(steps: &[ModelOp], model: &Model) -> Vec<Op> {
    steps.iter().map(|step| step.op(model)).collect()
}
