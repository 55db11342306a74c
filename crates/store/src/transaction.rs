//! What writers ask for: operations with conditions, done all together or not at all.
//!
//! No key may occur twice in a transaction, so its conditions are all about one state and their
//! order does not matter.

use std::{collections::HashSet, fmt, sync::Arc};

use bytes::Bytes;

use crate::{
    Error,
    change::{Change, Entry},
};

/// What must hold of a key before it is changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Condition {
    /// Nothing in particular.
    Any,
    /// The key does not exist.
    Absent,
    /// The key exists.
    Present,
    /// The key exists and was last written by this revision.
    At(u64),
}

impl Condition {
    pub(crate) fn holds(self, current: Option<&Entry>) -> bool {
        match self {
            Self::Any => true,
            Self::Absent => current.is_none(),
            Self::Present => current.is_some(),
            Self::At(revision) => current.is_some_and(|entry| entry.modified == revision),
        }
    }
}

/// What to do with a key.
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
    pub(crate) condition: Condition,
    pub(crate) action: Action,
}

impl Op {
    /// Write the key if the condition holds.
    pub fn put(key: impl Into<Arc<str>>, value: impl Into<Bytes>, condition: Condition) -> Self {
        Self { key: key.into(), condition, action: Action::Put(value.into()) }
    }

    /// Write a key that must not exist.
    pub fn create(key: impl Into<Arc<str>>, value: impl Into<Bytes>) -> Self {
        Self::put(key, value, Condition::Absent)
    }

    /// Write a key that was last written by this revision.
    pub fn update(key: impl Into<Arc<str>>, value: impl Into<Bytes>, revision: u64) -> Self {
        Self::put(key, value, Condition::At(revision))
    }

    /// Remove the key if the condition holds. Removing what is not there changes nothing.
    pub fn delete(key: impl Into<Arc<str>>, condition: Condition) -> Self {
        Self { key: key.into(), condition, action: Action::Delete }
    }

    /// Change nothing, but only let the transaction happen if the condition holds.
    pub fn check(key: impl Into<Arc<str>>, condition: Condition) -> Self {
        Self { key: key.into(), condition, action: Action::Check }
    }

    pub(crate) fn value_bytes(&self) -> usize {
        match &self.action {
            Action::Put(value) => value.len(),
            Action::Check | Action::Delete => 0,
        }
    }
}

/// Operations that happen all together or not at all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Transaction {
    pub(crate) ops: Vec<Op>,
}

impl From<Op> for Transaction {
    fn from(op: Op) -> Self {
        Self { ops: vec![op] }
    }
}

impl From<Vec<Op>> for Transaction {
    fn from(ops: Vec<Op>) -> Self {
        Self { ops }
    }
}

/// How large a transaction may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The longest key, in bytes.
    pub key_bytes_max: usize,
    /// The longest value, in bytes.
    pub value_bytes_max: usize,
    /// The most operations of one transaction.
    pub ops_max: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { key_bytes_max: 1024, value_bytes_max: 4 << 20, ops_max: 256 }
    }
}

impl Transaction {
    /// What it weighs in a batch.
    pub(crate) fn bytes(&self) -> usize {
        self.ops.iter().map(|op| op.key.len() + op.value_bytes()).sum()
    }

    pub(crate) fn fits(&self, limits: &Limits) -> Result<(), Error> {
        let count = self.ops.len();
        if count > limits.ops_max {
            let most = limits.ops_max;
            return Err(Error::Invalid(format!("{count} operations, at most {most} are taken")));
        }
        let mut seen = HashSet::with_capacity(count);
        for op in &self.ops {
            op.fits(limits)?;
            if !seen.insert(&op.key) {
                return Err(Error::Invalid(format!("the key {} occurs twice", op.key)));
            }
        }
        Ok(())
    }
}

impl Op {
    fn fits(&self, limits: &Limits) -> Result<(), Error> {
        let (key, most) = (self.key.len(), limits.key_bytes_max);
        if key == 0 || key > most {
            return Err(Error::Invalid(format!("a key of {key} bytes, keys have 1 to {most}")));
        }
        let (value, most) = (self.value_bytes(), limits.value_bytes_max);
        if value > most {
            let key = &self.key;
            return Err(Error::Invalid(format!("{value} bytes for {key}, at most {most}")));
        }
        Ok(())
    }
}

/// A transaction that is on the disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Committed {
    /// The revision of the store right after the transaction.
    pub revision: u64,
    /// The change of each operation, in their order; none where there was nothing to change.
    pub changes: Vec<Option<Arc<Change>>>,
}

/// The condition that did not hold, and what is there instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// The key of the operation.
    pub key: Arc<str>,
    /// What the operation asked for.
    pub wanted: Condition,
    /// What is there.
    pub current: Option<Entry>,
}

impl fmt::Display for Conflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let key = &self.key;
        match (self.wanted, &self.current) {
            (Condition::At(revision), Some(current)) => {
                write!(f, "{key} was changed at {}, not at {revision}", current.modified)
            }
            (_, Some(current)) => write!(f, "{key} exists since {}", current.created),
            (_, None) => write!(f, "{key} does not exist"),
        }
    }
}

#[cfg(test)]
mod tests;
