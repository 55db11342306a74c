//! Builds a batch: applies transactions one after another to a copy of the state. The copy becomes
//! the published state after the batch is on disk.

use std::sync::Arc;

use crate::{
    Error,
    archive::ArchiveOp,
    change::{Change, StoreEntry},
    state::State,
    transaction::{Action, Committed, Conflict, Op, Transaction},
};

/// A batch of transactions, and the state after it.
pub(crate) struct BatchBuilder {
    pub(crate) state: State,
    pub(crate) changes: Vec<Arc<Change>>,
    /// The archive operations of all transactions, in their order.
    pub(crate) archive_ops: Vec<ArchiveOp>,
}

impl BatchBuilder {
    pub(crate) fn new(state: &State) -> Self {
        Self { state: state.clone(), changes: Vec::new(), archive_ops: Vec::new() }
    }

    /// Adds a transaction. If a precondition fails, returns the conflict and adds nothing.
    pub(crate) fn apply(&mut self, transaction: Transaction) -> Result<Committed, Error> {
        if let Some(conflict) = transaction.ops.iter().find_map(|op| self.find_conflict(op)) {
            return Err(Error::Conflict(Box::new(conflict)));
        }
        self.archive_ops.extend_from_slice(&transaction.archive_ops);
        let mut archive_ops: Arc<[ArchiveOp]> = transaction.archive_ops.into();
        let changes =
            transaction.ops.into_iter().map(|op| self.apply_op(op, &mut archive_ops)).collect();
        Ok(Committed { revision: self.state.revision, changes })
    }

    fn find_conflict(&self, op: &Op) -> Option<Conflict> {
        let current = self.state.get(&op.key);
        if op.precondition.is_met(current) {
            return None;
        }
        Some(Conflict {
            key: op.key.clone(),
            precondition: op.precondition,
            current: current.cloned(),
        })
    }

    /// Applies an operation. Its change takes the archive operations.
    fn apply_op(&mut self, op: Op, archive_ops: &mut Arc<[ArchiveOp]>) -> Option<Arc<Change>> {
        let previous = self.state.get(&op.key).cloned();
        let revision = self.state.revision + 1;
        let current = match op.action {
            Action::Check => return None,
            Action::Delete if previous.is_none() => return None,
            Action::Delete => None,
            Action::Put(value) => {
                let created = previous.as_ref().map_or(revision, |entry| entry.created);
                Some(StoreEntry { value, created, modified: revision })
            }
        };
        let archive_ops = std::mem::take(archive_ops);
        let change = Arc::new(Change { key: op.key, revision, current, previous, archive_ops });
        self.state.apply(&change);
        self.changes.push(change.clone());
        Some(change)
    }
}
