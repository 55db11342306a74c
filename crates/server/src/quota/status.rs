//! Keeps `status.hard` and `status.used` of all quotas up to date.
//!
//! One task watches the store. Without quotas it waits for the first one. Otherwise it writes the
//! statuses that changed, at most once in [`UPDATE_INTERVAL`].

use std::collections::BTreeSet;
use std::sync::Weak;
use std::time::Duration;

use jiff::Timestamp;
use punctual_api::core_v1::{ResourceQuota, ResourceQuotaStatus};
use punctual_api::quota::CountedObjects;
use punctual_api::{Quantity, Status};
use punctual_store::{Error, Store, Watch};
use serde_json::Value;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::read_quotas;
use super::usage::UsageCounts;
use crate::registry::{
    CollectionRef, ObjectRef, ObjectUpdate, Registry, WriteContext, resource_prefix, store_error,
};
use crate::resource::{RESOURCE_QUOTAS, ServedResource, Subresource};
use crate::server::ServerState;

/// The minimum time between two updates, so that a burst of creates does not cause a write for each.
const UPDATE_INTERVAL: Duration = Duration::from_millis(250);

/// The delay after a failed update.
const RETRY_DELAY: Duration = Duration::from_secs(5);

/// Updates the statuses of quotas until `shutdown` is cancelled or the server is dropped. It holds
/// only a weak reference, so that the server can be dropped and its store closed.
pub(crate) async fn update_quota_statuses(server: Weak<ServerState>, shutdown: CancellationToken) {
    tokio::select! {
        biased;
        () = shutdown.cancelled() => {}
        () = run(&server) => {}
    }
}

async fn run(server: &Weak<ServerState>) {
    while let Some(state) = server.upgrade() {
        let next_update = Instant::now() + UPDATE_INTERVAL;
        let updated = update_all(&state.registry).await;
        drop(state);
        match updated {
            Ok(mut changes) => match changes.wait().await {
                // The task fell behind the store's history, so it reads everything again.
                Ok(true) | Err(Error::Compacted { .. }) => {}
                Ok(false) | Err(_) => return,
            },
            Err(error) => {
                tracing::error!(%error, "could not update the status of a ResourceQuota; retrying");
                tokio::time::sleep(RETRY_DELAY).await;
            }
        }
        tokio::time::sleep_until(next_update).await;
    }
}

/// Writes the statuses that are out of date. Returns a watch of the changes that may affect them.
async fn update_all(registry: &Registry) -> Result<QuotaChanges, Status> {
    let store = &registry.store;
    let snapshot = store.snapshot();
    let quotas = read_quotas(&snapshot, &resource_prefix(&RESOURCE_QUOTAS));
    let namespaces = quotas.iter().map(|quota| quota.metadata.namespace.clone()).collect();
    let changes = QuotaChanges::after(store, snapshot.revision(), namespaces)?;
    let outdated: Vec<(ResourceQuota, ResourceQuotaStatus)> = if quotas.is_empty() {
        Vec::new()
    } else {
        registry.usage.read(store, |counts| {
            let with_status = quotas.into_iter().map(|quota| {
                let status = status_of(&quota, counts);
                (quota, status)
            });
            with_status.filter(|(quota, status)| quota.status != *status).collect()
        })
    };
    for (quota, status) in outdated {
        write_status(registry, &quota, &status).await?;
    }
    Ok(changes)
}

/// Returns the enforced limits of a quota and the number of objects that count towards each.
fn status_of(quota: &ResourceQuota, counts: &UsageCounts) -> ResourceQuotaStatus {
    let mut status = ResourceQuotaStatus::default();
    for (key, hard) in &quota.spec.hard {
        if let Some(counted) = CountedObjects::parse(key) {
            let used = counts.used(counted, &quota.metadata.namespace);
            status.hard.insert(key.clone(), *hard);
            status.used.insert(key.clone(), Quantity::from(used));
        }
    }
    status
}

async fn write_status(
    registry: &Registry,
    quota: &ResourceQuota,
    status: &ResourceQuotaStatus,
) -> Result<(), Status> {
    let served = ServedResource {
        resource: &RESOURCE_QUOTAS,
        group_version: RESOURCE_QUOTAS.storage_version(),
    };
    let namespace = quota.metadata.namespace.clone();
    let object = ObjectRef {
        collection: CollectionRef { served, namespace },
        name: quota.metadata.name.clone(),
        subresource: Some(Subresource::Status),
    };
    let status = serde_json::to_value(status).unwrap_or_default();
    let context = WriteContext { manager: "punctual".to_owned(), is_dry_run: false };
    match registry.update(&object, &StatusUpdate(status), &context).await {
        // The quota was deleted meanwhile.
        Err(error) if error.code == 404 => Ok(()),
        result => result.map(drop),
    }
}

/// An update that replaces the status.
struct StatusUpdate(Value);

impl ObjectUpdate for StatusUpdate {
    fn apply(&self, old: Option<&Value>, _: Timestamp) -> Result<(Value, Vec<String>), Status> {
        let mut object = old.cloned().unwrap_or_default();
        if let Value::Object(fields) = &mut object {
            fields.insert("status".to_owned(), self.0.clone());
        }
        Ok((object, Vec::new()))
    }
}

/// The changes that may affect the status of a quota.
struct QuotaChanges {
    watch: Watch,
    /// The namespaces that have a quota.
    namespaces: BTreeSet<String>,
}

impl QuotaChanges {
    fn after(
        store: &Store,
        revision: u64,
        namespaces: BTreeSet<String>,
    ) -> Result<QuotaChanges, Status> {
        let quotas = resource_prefix(&RESOURCE_QUOTAS);
        let prefix = if namespaces.is_empty() { &quotas } else { "/" };
        let watch = store.watch(prefix, revision).map_err(|error| store_error(&error))?;
        Ok(QuotaChanges { watch, namespaces })
    }

    /// Waits for the next change. Returns false when the store is closed.
    async fn wait(&mut self) -> Result<bool, Error> {
        while let Some(change) = self.watch.next().await? {
            let mut segments = change.key.split('/').skip(1);
            let resource = segments.next().unwrap_or_default();
            let namespace = segments.next().unwrap_or_default();
            if resource == RESOURCE_QUOTAS.plural || self.namespaces.contains(namespace) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
