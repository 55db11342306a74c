//! Deletes archived records: those older than the maximum age, the oldest ones of a CronJob that has too
//! many, and all of deleted namespaces. CronJobs without records are forgotten.
//!
//! A check reads the oldest records of each kind, and those CronJobs whose number of records has grown, so
//! its cost depends on the new records and not on all. Records are deleted in small transactions.

use std::collections::BTreeSet;
use std::sync::{Arc, Weak};
use std::time::Duration;

use jiff::Timestamp;
use punctual_api::Status;
use punctual_store::{
    ArchiveOp, ArchiveReader, Change as StoreChange, CommitCondition, Error, Store, Transaction,
};
use tokio_util::sync::CancellationToken;

use super::encoding;
use super::identity::{OwnerId, RecordPosition};
use super::keys::{self, KeyRange, RecordClass};
use super::owner::Owner;
use super::scan::next_readable;
use super::{Ledger, LedgerLimits, archive_error, run_blocking};
use crate::registry::store_error;
use crate::server::ServerState;

/// The time between two checks.
const CHECK_INTERVAL: Duration = Duration::from_secs(60 * 60);
/// The number of records deleted in one transaction.
const BATCH_MAX: usize = 512;
/// How often the removal of a CronJob without records is tried while it gets new ones.
const ATTEMPTS_MAX: usize = 8;

/// Deletes old records until `shutdown` is cancelled or the server is dropped.
pub(crate) async fn prune(
    server: Weak<ServerState>,
    limits: LedgerLimits,
    shutdown: CancellationToken,
) {
    let pruning = async {
        loop {
            let Some(state) = server.upgrade() else { return };
            let pruner = Pruner {
                store: state.registry.store.clone(),
                ledger: state.registry.ledger.clone(),
                limits,
                now: state.registry.env.now(),
            };
            drop(state);
            let ledger = pruner.ledger.clone();
            if let Err(status) = pruner.run().await {
                ledger.forget_grown();
                tracing::warn!("old slot records were not deleted: {}", status.message);
            }
            drop(pruner);
            tokio::select! {
                biased;
                () = ledger.namespace_deleted.notified() => {}
                () = tokio::time::sleep(CHECK_INTERVAL) => {}
            }
        }
    };
    tokio::select! {
        biased;
        () = shutdown.cancelled() => {}
        () = pruning => {}
    }
}

/// One check.
struct Pruner {
    store: Store,
    ledger: Arc<Ledger>,
    limits: LedgerLimits,
    now: Timestamp,
}

impl Pruner {
    async fn run(&self) -> Result<(), Status> {
        self.delete_namespaces().await?;
        let grown = self.ledger.take_grown();
        let mut owners = self.delete_expired().await?;
        match grown {
            Some(grown) => owners.extend(grown),
            None => owners.extend(self.read(read_owner_ids).await?),
        }
        for owner in owners {
            self.limit_records(owner).await?;
            self.remove_if_empty(owner).await?;
        }
        Ok(())
    }

    /// Reads the archive on a thread that may block.
    async fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce(&ArchiveReader) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Status> {
        let archive = self.store.archive().clone();
        run_blocking(self.store.archive(), move || {
            let reader = archive.read().map_err(|error| archive_error(&error))?;
            read(&reader).map_err(|error| archive_error(&error))
        })
        .await
    }

    async fn write(&self, ops: Vec<ArchiveOp>) -> Result<(), Status> {
        let transaction = Transaction::default().with_archive(ops);
        self.store.write(transaction).await.map(drop).map_err(|error| store_error(&error))
    }

    /// Deletes the records of deleted namespaces.
    async fn delete_namespaces(&self) -> Result<(), Status> {
        for key in
            self.read(|reader| read_keys(reader, &keys::deleted_namespaces(), usize::MAX)).await?
        {
            let Some((namespace, revision)) = keys::parse_deleted_namespace(&key) else { continue };
            let names = keys::names_in(namespace);
            let owners = self.read(move |reader| read_deleted(reader, &names, revision)).await?;
            for owner in owners {
                self.keep_newest(owner, 0).await?;
                self.remove_if_empty(owner).await?;
            }
            self.write(vec![ArchiveOp::delete(key.clone())]).await?;
        }
        Ok(())
    }

    /// Deletes the records of old slots. Returns their owners.
    async fn delete_expired(&self) -> Result<BTreeSet<OwnerId>, Status> {
        let seconds = i64::try_from(self.limits.age_max.as_secs()).unwrap_or(i64::MAX);
        let oldest = self.now.as_second().saturating_sub(seconds);
        let mut owners = BTreeSet::new();
        loop {
            let expired = self.read(move |reader| read_expired(reader, oldest)).await?;
            if expired.is_empty() {
                return Ok(owners);
            }
            let mut ops = Vec::new();
            for (class_key, position) in expired {
                owners.insert(position.owner());
                ops.push(ArchiveOp::delete(keys::record(&position)));
                ops.push(ArchiveOp::delete(class_key));
            }
            self.write(ops).await?;
        }
    }

    async fn limit_records(&self, owner: OwnerId) -> Result<(), Status> {
        self.keep_newest(owner, self.limits.records_max).await
    }

    /// Deletes all but the newest records of an owner.
    async fn keep_newest(&self, owner: OwnerId, count: usize) -> Result<(), Status> {
        loop {
            let ops = self.read(move |reader| delete_excess(reader, owner, count)).await?;
            if ops.is_empty() {
                return Ok(());
            }
            self.write(ops).await?;
        }
    }

    /// Removes an owner without records, unless it gets one meanwhile.
    async fn remove_if_empty(&self, owner: OwnerId) -> Result<(), Status> {
        for _ in 0..ATTEMPTS_MAX {
            let since = self.store.revision();
            let Some(row) = self.read(move |reader| read_without_records(reader, owner)).await?
            else {
                return Ok(());
            };
            let owner_key = keys::owner(owner);
            let mut ops = vec![ArchiveOp::delete(owner_key.clone())];
            ops.extend(Owner::decode(&row).map(|owner| ArchiveOp::delete(keys::name(&owner))));
            let has_no_records = move |changes: &[Arc<StoreChange>]| {
                let mut ops = changes.iter().flat_map(|change| change.archive_ops.iter());
                !ops.any(|op| *op.key == *owner_key)
            };
            let condition = CommitCondition::new(since, has_no_records);
            let transaction = Transaction::default().with_archive(ops).with_condition(condition);
            match self.store.write(transaction).await {
                Err(Error::ConditionFailed) => {}
                written => return written.map(drop).map_err(|error| store_error(&error)),
            }
        }
        Ok(())
    }
}

/// Returns up to `max` keys of a range, oldest first.
fn read_keys(reader: &ArchiveReader, range: &KeyRange, max: usize) -> Result<Vec<Vec<u8>>, Error> {
    let (start, end) = range.bounds();
    let mut pairs = reader.range(start, end)?;
    let mut keys = Vec::new();
    while keys.len() < max
        && let Some((key, _)) = next_readable(&mut pairs)?
    {
        keys.push(key);
    }
    Ok(keys)
}

fn read_owner_ids(reader: &ArchiveReader) -> Result<BTreeSet<OwnerId>, Error> {
    let keys = read_keys(reader, &keys::owners(), usize::MAX)?;
    Ok(keys.iter().filter_map(|key| keys::owner_of(key)).collect())
}

/// Returns the owners in a namespace that were created before its deletion.
fn read_deleted(
    reader: &ArchiveReader,
    names: &KeyRange,
    revision: u64,
) -> Result<Vec<OwnerId>, Error> {
    let mut deleted = Vec::new();
    for key in read_keys(reader, names, usize::MAX)? {
        let Some(id) = keys::owner_of(&key) else { continue };
        let owner = reader.get(&keys::owner(id))?.and_then(|row| Owner::decode(&row));
        if owner.is_none_or(|owner| owner.created <= revision) {
            deleted.push(id);
        }
    }
    Ok(deleted)
}

/// Returns up to a batch of the records whose slot is before a time, with their keys of the classes.
fn read_expired(
    reader: &ArchiveReader,
    oldest: i64,
) -> Result<Vec<(Vec<u8>, RecordPosition)>, Error> {
    let mut expired = Vec::new();
    for range in super::query::class_ranges_before(reader, oldest)? {
        for key in read_keys(reader, &range, BATCH_MAX - expired.len())? {
            expired.extend(keys::class_position(&key).map(|position| (key, position)));
        }
    }
    Ok(expired)
}

/// Returns the operations that delete up to a batch of the oldest records above a number.
fn delete_excess(
    reader: &ArchiveReader,
    owner: OwnerId,
    count: usize,
) -> Result<Vec<ArchiveOp>, Error> {
    let range = keys::records_of(owner);
    let (start, end) = range.bounds();
    let mut newest = reader.range(start, end)?.rev();
    for _ in 0..count {
        if next_readable(&mut newest)?.is_none() {
            return Ok(Vec::new());
        }
    }
    let owner = reader.get(&keys::owner(owner))?.and_then(|row| Owner::decode(&row));
    let mut ops = Vec::new();
    while ops.len() < 2 * BATCH_MAX
        && let Some((key, value)) = next_readable(&mut newest)?
    {
        ops.extend(
            owner.as_ref().and_then(|owner| class_key(owner, &key, &value)).map(ArchiveOp::delete),
        );
        ops.push(ArchiveOp::delete(key));
    }
    Ok(ops)
}

/// Returns the key of the classes of a record.
fn class_key(owner: &Owner, key: &[u8], value: &[u8]) -> Option<Vec<u8>> {
    let position = keys::record_position(key)?;
    let archived = encoding::decode(owner, &position, value)?;
    Some(keys::class(&owner.namespace, RecordClass::new(&archived.record), &position))
}

/// Returns the row of an owner if it has no records.
fn read_without_records(reader: &ArchiveReader, owner: OwnerId) -> Result<Option<Vec<u8>>, Error> {
    let has_records = !read_keys(reader, &keys::records_of(owner), 1)?.is_empty();
    if has_records { Ok(None) } else { reader.get(&keys::owner(owner)) }
}
