//! An archive in memory, for stores and logs without a file.

use std::sync::Arc;

use arc_swap::ArcSwap;
use bytes::Bytes;
use imbl::OrdMap;

use super::ArchiveOp;

pub(super) type ArchiveMap = OrdMap<Bytes, Bytes>;

/// An archive in memory. Clones share it. A log that is not in a file can keep one and return it as its
/// [`Archive`](super::Archive), so that the archive outlives the store.
#[derive(Clone, Default)]
pub struct MemoryArchive {
    pairs: Arc<ArcSwap<ArchiveMap>>,
}

impl MemoryArchive {
    /// Applies the operations of a commit. Only one thread may call it at a time.
    pub fn apply(&self, ops: &[ArchiveOp]) {
        if ops.is_empty() {
            return;
        }
        let mut pairs = self.pairs.load().as_ref().clone();
        for op in ops {
            match &op.value {
                Some(value) => pairs.insert(op.key.clone(), value.clone()),
                None => pairs.remove(&op.key),
            };
        }
        self.pairs.store(Arc::new(pairs));
    }

    pub(super) fn snapshot(&self) -> ArchiveMap {
        self.pairs.load().as_ref().clone()
    }
}
