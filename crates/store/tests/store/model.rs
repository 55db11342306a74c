//! What the store should be, in the simplest words: an ordered map and a list of changes.

use std::{collections::BTreeMap, sync::Arc};

use punctual_store::{Change, Condition, Entry, Error, Op, Store};

use crate::dice::Dice;

/// One operation, before it is known what the key holds.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    pub(crate) key: u8,
    pub(crate) wish: Wish,
    /// None deletes.
    pub(crate) value: Option<Vec<u8>>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Wish {
    Any,
    Absent,
    Present,
    /// The revision that the key really has.
    Right,
    Wrong,
}

#[derive(Clone, Default)]
pub(crate) struct Model {
    pub(crate) revision: u64,
    pub(crate) entries: BTreeMap<String, Entry>,
    pub(crate) log: Vec<Change>,
}

impl Step {
    pub(crate) fn name(&self) -> String {
        format!(
            "/registry/{}/{}",
            if self.key.is_multiple_of(2) { "even" } else { "odd" },
            self.key
        )
    }

    fn condition(&self, model: &Model) -> Condition {
        let modified = model.entries.get(&self.name()).map_or(7, |entry| entry.modified);
        match self.wish {
            Wish::Any => Condition::Any,
            Wish::Absent => Condition::Absent,
            Wish::Present => Condition::Present,
            Wish::Right => Condition::At(modified),
            Wish::Wrong => Condition::At(modified + 1),
        }
    }

    pub(crate) fn op(&self, model: &Model) -> Op {
        let condition = self.condition(model);
        match &self.value {
            Some(value) => Op::put(self.name(), value.clone(), condition),
            None => Op::delete(self.name(), condition),
        }
    }
}

impl Model {
    fn allows(&self, step: &Step) -> bool {
        let exists = self.entries.contains_key(&step.name());
        match step.wish {
            Wish::Any => true,
            Wish::Absent => !exists,
            Wish::Present | Wish::Right => exists,
            Wish::Wrong => false,
        }
    }

    /// Whether the transaction happens.
    pub(crate) fn apply(&mut self, steps: &[Step]) -> bool {
        let allowed = steps.iter().all(|step| self.allows(step));
        if allowed {
            steps.iter().for_each(|step| self.perform(step));
        }
        allowed
    }

    fn perform(&mut self, step: &Step) {
        let key = step.name();
        let previous = self.entries.remove(&key);
        if previous.is_none() && step.value.is_none() {
            return;
        }
        self.revision += 1;
        let revision = self.revision;
        let created = previous.as_ref().map_or(revision, |entry| entry.created);
        let current = step.value.clone().map(|value| Entry {
            value: value.into(),
            created,
            modified: revision,
        });
        if let Some(entry) = &current {
            self.entries.insert(key.clone(), entry.clone());
        }
        self.log.push(Change { key: key.into(), revision, current, previous });
    }

    /// Whether the store shows exactly this.
    pub(crate) fn is_shown_by(&self, store: &Store) -> bool {
        let snapshot = store.snapshot();
        snapshot.revision() == self.revision
            && snapshot.len() == self.entries.len()
            && snapshot
                .prefix("")
                .zip(&self.entries)
                .all(|((key, entry), (name, expected))| **key == **name && entry == expected)
    }

    /// The changes that the store still knows are the newest of the log, all of them.
    pub(crate) fn assert_watched(&self, store: &Store) {
        let from = match store.watch("", 0) {
            Ok(_) => 0,
            Err(Error::Compacted { compacted, .. }) => compacted,
            Err(error) => panic!("{error}"),
        };
        let seen = drain(store, "", from);
        let expected = self.log.iter().filter(|change| change.revision > from);
        assert!(seen.iter().map(|change| &**change).eq(expected), "{seen:?}");
    }
}

/// All changes that are there already.
pub(crate) fn drain(store: &Store, prefix: &str, from: u64) -> Vec<Arc<Change>> {
    let mut watch = store.watch(prefix, from).unwrap();
    std::iter::from_fn(|| watch.try_next().unwrap()).collect()
}

/// A transaction of one to four operations on a handful of keys, most of which are allowed.
pub(crate) fn random_steps(dice: &mut Dice, value_bytes_max: u64) -> Vec<Step> {
    let mut keys: Vec<u8> = (0..12).collect();
    let count = 1 + dice.below(4);
    (0..count)
        .map(|_| {
            let key = keys.swap_remove(dice.below(keys.len() as u64) as usize);
            let bytes = dice.below(value_bytes_max) as usize;
            let value = (!dice.once_in(4)).then(|| vec![dice.roll() as u8; bytes]);
            Step { key, wish: Wish::Any, value }
        })
        .collect()
}

pub(crate) fn ops(steps: &[Step], model: &Model) -> Vec<Op> {
    steps.iter().map(|step| step.op(model)).collect()
}
