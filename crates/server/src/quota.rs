//! ResourceQuotas: limits on the number of objects in a namespace.
//!
//! `admission` checks a create against the quotas of its namespace. The check is part of the commit,
//! so concurrent creates never exceed a limit. `usage` counts the objects, and `status` keeps the
//! statuses of the quotas up to date.

mod admission;
mod status;
mod usage;

use punctual_api::core_v1::ResourceQuota;
use punctual_api::quota::CountedObjects;
use punctual_store::Snapshot;

pub(crate) use self::status::update_quota_statuses;
pub(crate) use self::usage::UsageTracker;
use crate::registry::resource_prefix;
use crate::resource::RESOURCE_QUOTAS;

/// Returns the common prefix of the store keys of the quotas of a namespace.
fn quota_prefix(namespace: &str) -> String {
    format!("{}{namespace}/", resource_prefix(&RESOURCE_QUOTAS))
}

/// Returns the common prefix of the store keys of the objects that a quota counts in a namespace.
fn counted_prefix(counted: CountedObjects, namespace: &str) -> String {
    format!("/{}/{namespace}/", counted.resource)
}

/// Returns the quotas with a key prefix, ordered by namespace and name. Skips objects that cannot be
/// decoded.
fn read_quotas(snapshot: &Snapshot, prefix: &str) -> Vec<ResourceQuota> {
    let entries = snapshot.prefix(prefix);
    entries.filter_map(|(_, entry)| serde_json::from_slice(&entry.value).ok()).collect()
}

#[cfg(test)]
mod tests {
    use punctual_api::quota::COUNTED_RESOURCES;

    use crate::registry::resource_prefix;
    use crate::resource::{EVENT_RESOURCE, RESOURCES, Resource};

    #[test]
    fn every_namespaced_resource_except_events_is_counted() {
        let is_stored = |it: &&&Resource| it.is_namespaced && !it.is_read_only;
        let counted = RESOURCES.iter().filter(is_stored).filter(|it| **it != &EVENT_RESOURCE);
        let mut prefixes: Vec<String> = counted.map(|it| resource_prefix(it)).collect();
        prefixes.sort();
        assert_eq!(prefixes, COUNTED_RESOURCES.map(|name| format!("/{name}/")));
    }
}
