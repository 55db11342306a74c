//! A batch while it is put together: transactions are tried one after another on a copy of the
//! state, which becomes the state when the batch is on the disk.

use std::sync::Arc;

use crate::{
    Error,
    change::{Change, Entry},
    state::State,
    transaction::{Action, Committed, Conflict, Op, Transaction},
};

pub(crate) struct Draft {
    pub(crate) state: State,
    pub(crate) changes: Vec<Arc<Change>>,
}

impl Draft {
    pub(crate) fn on(state: &State) -> Self {
        Self { state: state.clone(), changes: Vec::new() }
    }

    /// Adds the transaction, or says which condition does not hold and adds nothing.
    pub(crate) fn apply(&mut self, transaction: Transaction) -> Result<Committed, Error> {
        if let Some(conflict) = transaction.ops.iter().find_map(|op| self.conflict(op)) {
            return Err(Error::Conflict(Box::new(conflict)));
        }
        let changes = transaction.ops.into_iter().map(|op| self.perform(op)).collect();
        Ok(Committed { revision: self.state.revision, changes })
    }

    fn conflict(&self, op: &Op) -> Option<Conflict> {
        let current = self.state.get(&op.key);
        let fails = !op.condition.holds(current);
        fails.then(|| Conflict {
            key: op.key.clone(),
            wanted: op.condition,
            current: current.cloned(),
        })
    }

    fn perform(&mut self, op: Op) -> Option<Arc<Change>> {
        let previous = self.state.get(&op.key).cloned();
        let revision = self.state.revision + 1;
        let current = match op.action {
            Action::Check => return None,
            Action::Delete if previous.is_none() => return None,
            Action::Delete => None,
            Action::Put(value) => {
                let created = previous.as_ref().map_or(revision, |entry| entry.created);
                Some(Entry { value, created, modified: revision })
            }
        };
        let change = Arc::new(Change { key: op.key, revision, current, previous });
        self.state.apply(&change);
        self.changes.push(change.clone());
        Some(change)
    }
}
