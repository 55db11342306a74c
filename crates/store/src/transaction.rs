//! Transactions: operations with preconditions that are applied atomically.
//!
//! A key may occur only once in a transaction. So all preconditions refer to the state before the
//! transaction, and the order of operations does not matter.

use std::{collections::HashSet, fmt, sync::Arc};

use bytes::Bytes;

use crate::{
    Error,
    archive::{self, ArchiveOp},
    change::{Change, StoreEntry},
    commit_condition::CommitCondition,
};

/// The precondition of an operation on a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precondition {
    /// Always met.
    Any,
    /// The key does not exist.
    Absent,
    /// The key exists.
    Present,
    /// The key exists and was last written by this revision.
    At(u64),
}

impl Precondition {
    pub(crate) fn is_met(self, current: Option<&StoreEntry>) -> bool {
        match self {
            Self::Any => true,
            Self::Absent => current.is_none(),
            Self::Present => current.is_some(),
            Self::At(revision) => current.is_some_and(|entry| entry.modified == revision),
        }
    }
}

/// The action of an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    Check,
    Put(Bytes),
    Delete,
}

/// One operation on one key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Op {
    pub(crate) key: Arc<str>,
    pub(crate) precondition: Precondition,
    pub(crate) action: Action,
}

impl Op {
    /// Writes the key if the precondition is met.
    pub fn put(
        key: impl Into<Arc<str>>,
        value: impl Into<Bytes>,
        precondition: Precondition,
    ) -> Self {
        Self { key: key.into(), precondition, action: Action::Put(value.into()) }
    }

    /// Writes a key that must not exist.
    pub fn create(key: impl Into<Arc<str>>, value: impl Into<Bytes>) -> Self {
        Self::put(key, value, Precondition::Absent)
    }

    /// Writes a key whose last change must have this revision.
    pub fn update(key: impl Into<Arc<str>>, value: impl Into<Bytes>, revision: u64) -> Self {
        Self::put(key, value, Precondition::At(revision))
    }

    /// Deletes the key if the precondition is met. Deleting a key that does not exist changes nothing.
    pub fn delete(key: impl Into<Arc<str>>, precondition: Precondition) -> Self {
        Self { key: key.into(), precondition, action: Action::Delete }
    }

    /// Changes nothing, but the transaction fails unless the precondition is met.
    pub fn check(key: impl Into<Arc<str>>, precondition: Precondition) -> Self {
        Self { key: key.into(), precondition, action: Action::Check }
    }

    pub(crate) fn value_bytes(&self) -> usize {
        match &self.action {
            Action::Put(value) => value.len(),
            Action::Check | Action::Delete => 0,
        }
    }
}

/// Operations that are applied atomically.
#[derive(Debug, Default)]
pub struct Transaction {
    pub(crate) ops: Vec<Op>,
    pub(crate) condition: Option<CommitCondition>,
    pub(crate) archive_ops: Vec<ArchiveOp>,
}

impl Transaction {
    /// The same operations, which are applied only if the condition is met. Otherwise the write fails with
    /// [`Error::ConditionFailed`].
    pub fn with_condition(self, condition: CommitCondition) -> Self {
        Self { condition: Some(condition), ..self }
    }

    /// The same operations together with these on the archive. Without other operations the transaction
    /// gets no revision.
    pub fn with_archive(self, archive_ops: Vec<ArchiveOp>) -> Self {
        Self { archive_ops, ..self }
    }
}

impl From<Op> for Transaction {
    fn from(op: Op) -> Self {
        Self::from(vec![op])
    }
}

impl From<Vec<Op>> for Transaction {
    fn from(ops: Vec<Op>) -> Self {
        Self { ops, condition: None, archive_ops: Vec::new() }
    }
}

/// The size limits of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransactionLimits {
    /// The maximum length of a key in bytes.
    pub key_bytes_max: usize,
    /// The maximum length of a value in bytes.
    pub value_bytes_max: usize,
    /// The maximum number of operations.
    pub ops_max: usize,
}

impl Default for TransactionLimits {
    fn default() -> Self {
        Self { key_bytes_max: 1024, value_bytes_max: 4 << 20, ops_max: 256 }
    }
}

impl Transaction {
    /// The bytes of all keys and values.
    pub(crate) fn bytes(&self) -> usize {
        let ops = self.ops.iter().map(|op| op.key.len() + op.value_bytes());
        ops.chain(self.archive_ops.iter().map(ArchiveOp::bytes)).sum()
    }

    pub(crate) fn check_limits(&self, limits: &TransactionLimits) -> Result<(), Error> {
        let count = self.ops.len();
        if count > limits.ops_max {
            let max = limits.ops_max;
            return Err(Error::InvalidTransaction(format!(
                "it has {count} operations, at most {max} are allowed"
            )));
        }
        archive::check_limits(&self.archive_ops)?;
        let mut keys = HashSet::with_capacity(count);
        for op in &self.ops {
            op.check_limits(limits)?;
            if !keys.insert(&op.key) {
                return Err(Error::InvalidTransaction(format!("the key {} occurs twice", op.key)));
            }
        }
        Ok(())
    }
}

impl Op {
    fn check_limits(&self, limits: &TransactionLimits) -> Result<(), Error> {
        let len = self.key.len();
        let max = limits.key_bytes_max;
        if len == 0 || len > max {
            let message = format!("a key has {len} bytes, 1 to {max} are allowed");
            return Err(Error::InvalidTransaction(message));
        }
        let len = self.value_bytes();
        let max = limits.value_bytes_max;
        if len > max {
            let key = &self.key;
            let message = format!("the value of {key} has {len} bytes, at most {max} are allowed");
            return Err(Error::InvalidTransaction(message));
        }
        Ok(())
    }
}

/// The result of a transaction that is on disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Committed {
    /// The revision of the store after the transaction.
    pub revision: u64,
    /// The change of each operation, in their order; `None` if the operation changed nothing.
    pub changes: Vec<Option<Arc<Change>>>,
}

/// A failed precondition and the current value of the key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// The key of the operation.
    pub key: Arc<str>,
    /// The precondition of the operation.
    pub precondition: Precondition,
    /// The current value.
    pub current: Option<StoreEntry>,
}

impl fmt::Display for Conflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let key = &self.key;
        match (self.precondition, &self.current) {
            (Precondition::At(revision), Some(current)) => {
                write!(f, "{key} was changed at revision {}, not at {revision}", current.modified)
            }
            (_, Some(current)) => write!(f, "{key} exists since revision {}", current.created),
            (_, None) => write!(f, "{key} does not exist"),
        }
    }
}

#[cfg(test)]
mod tests;
