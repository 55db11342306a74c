//! Checks whether a new object fits into the quotas of its namespace.

use std::sync::Arc;

use punctual_api::core_v1::ResourceQuota;
use punctual_api::quota::CountedObjects;
use punctual_api::{Quantity, Status};
use punctual_store::{Change, CommitCondition};

use super::usage::{ObjectCount, UsageCounts};
use super::{counted_prefix, quota_prefix, read_quotas};
use crate::registry::{CollectionRef, Registry};

/// A limit of a quota that applies to a new object.
#[derive(Clone, Debug)]
struct Limit {
    /// The key in the quota, such as `count/jobs.batch`.
    key: String,
    counted: CountedObjects,
    hard: Quantity,
    used: i64,
}

impl Limit {
    /// Whether one more object would exceed the limit, after `difference` other objects.
    fn is_exceeded_after(&self, difference: i64) -> bool {
        self.used + difference + 1 > self.hard.value()
    }
}

impl Registry {
    /// Checks that a new object fits into all quotas of its namespace. Returns a condition that fails the
    /// commit if the quotas change or the object does not fit any more.
    pub(crate) fn check_quotas(
        &self,
        collection: &CollectionRef,
        name: &str,
    ) -> Result<Option<CommitCondition>, Status> {
        let namespace = &collection.namespace;
        let prefix = quota_prefix(namespace);
        if namespace.is_empty() || self.store.snapshot().prefix(&prefix).next().is_none() {
            return Ok(None);
        }
        self.usage.read(&self.store, |counts| {
            // Quotas are read after the counts, so the condition sees every later change of both.
            let quotas = read_quotas(&self.store.snapshot(), &prefix);
            let mut limits = Vec::new();
            for quota in &quotas {
                let of_quota = limits_on(collection, quota, counts);
                reject_if_exceeded(collection, name, quota, &of_quota)?;
                limits.extend(of_quota);
            }
            Ok((!limits.is_empty()).then(|| {
                let collection = collection.prefix();
                CommitCondition::new(counts.revision, move |changes| {
                    is_met(&limits, &collection, &prefix, changes)
                })
            }))
        })
    }
}

/// Returns the limits of a quota on a collection, ordered by key.
fn limits_on(
    collection: &CollectionRef,
    quota: &ResourceQuota,
    counts: &UsageCounts,
) -> Vec<Limit> {
    let namespace = &collection.namespace;
    let limit = |(key, hard): (&String, &Quantity)| {
        let counted = CountedObjects::parse(key)?;
        let is_counted = counted_prefix(counted, namespace) == collection.prefix();
        let used = counts.used(counted, namespace);
        is_counted.then(|| Limit { key: key.clone(), counted, hard: *hard, used })
    };
    quota.spec.hard.iter().filter_map(limit).collect()
}

/// Returns kube-apiserver's error if a quota has no room for another object.
fn reject_if_exceeded(
    collection: &CollectionRef,
    name: &str,
    quota: &ResourceQuota,
    limits: &[Limit],
) -> Result<(), Status> {
    let exceeded: Vec<&Limit> = limits.iter().filter(|limit| limit.is_exceeded_after(0)).collect();
    if exceeded.is_empty() {
        return Ok(());
    }
    let list = |value: &dyn Fn(&Limit) -> String| {
        let pairs = exceeded.iter().map(|limit| format!("{}={}", limit.key, value(limit)));
        pairs.collect::<Vec<_>>().join(",")
    };
    let why = format!(
        "exceeded quota: {}, requested: {}, used: {}, limited: {}",
        quota.metadata.name,
        list(&|_| "1".to_owned()),
        list(&|limit| limit.used.to_string()),
        list(&|limit| limit.hard.to_string()),
    );
    Err(Status::forbidden(collection.served.group_resource(), name, &why))
}

/// Whether an object still fits into the limits after the changes since they were computed.
fn is_met(
    limits: &[Limit],
    collection_prefix: &str,
    quota_prefix: &str,
    changes: &[Arc<Change>],
) -> bool {
    let mut difference = ObjectCount::default();
    for change in changes {
        if change.key.starts_with(quota_prefix) {
            return false;
        }
        if change.key.starts_with(collection_prefix) {
            difference.add(ObjectCount::difference(change));
        }
    }
    !limits.iter().any(|limit| limit.is_exceeded_after(difference.used(limit.counted)))
}
