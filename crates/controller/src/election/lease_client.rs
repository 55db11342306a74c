//! Reads, creates and updates the Lease of an election.

use std::sync::Arc;

use punctual_api::lease::{Lease, LeaseSpec};
use punctual_api::{MicroTime, ObjectMeta};
use punctual_client::resources::LEASES;
use punctual_client::{ApiClient, ApiError, Clock};
use punctual_lease::{LeaseReadResult, LeaseRecord, LeaseWriteResult, ResourceVersion};

use super::Election;
use super::lease_access::LeaseAccess;
use crate::context::Context;

/// Calls for one Lease. No fence guards them, because they decide whether the fence is open.
pub(super) struct LeaseClient {
    api: ApiClient,
    clock: Arc<dyn Clock>,
    access: LeaseAccess,
    namespace: String,
    name: String,
    /// The Lease as last read or written, including fields that other programs set.
    current: Lease,
}

impl LeaseClient {
    pub(super) fn new(context: &Context, election: &Election) -> LeaseClient {
        let api = ApiClient::new(context.client.clone(), Arc::new(context.metrics.clone()));
        LeaseClient {
            api: api.with_call_timeout(election.config.request_timeout()),
            clock: context.clock.clone(),
            access: election.access.clone(),
            namespace: election.namespace.clone(),
            name: election.name.clone(),
            current: Lease::default(),
        }
    }

    /// Reads the Lease.
    pub(super) async fn read(&mut self) -> LeaseReadResult {
        let found = self.api.find(&self.path()).await;
        self.access.on_read(found.as_ref().err(), self.clock.monotonic());
        match found {
            Ok(None) => LeaseReadResult::Absent,
            Ok(Some(lease)) => match self.store(lease) {
                Some(version) => LeaseReadResult::Present(record(&self.current.spec), version),
                None => LeaseReadResult::Failed,
            },
            Err(error) => {
                self.warn("read", &error);
                LeaseReadResult::Failed
            }
        }
    }

    /// Creates the Lease.
    pub(super) async fn create(&mut self, record: &LeaseRecord) -> LeaseWriteResult {
        let metadata = ObjectMeta {
            namespace: self.namespace.clone(),
            name: self.name.clone(),
            ..ObjectMeta::default()
        };
        let lease = Lease {
            api_version: LEASES.api_version(),
            kind: LEASES.kind.to_owned(),
            metadata,
            spec: with_record(LeaseSpec::default(), record),
            ..Lease::default()
        };
        let Ok(text) = serde_json::to_string(&lease) else { return LeaseWriteResult::Unknown };
        let response = self.api.create(&LEASES.collection_path(&self.namespace), text).await;
        self.handle_response(response)
    }

    /// Replaces the Lease if it still has this version.
    pub(super) async fn update(
        &mut self,
        record: &LeaseRecord,
        version: ResourceVersion,
    ) -> LeaseWriteResult {
        let mut lease = self.current.clone();
        lease.metadata.resource_version = version;
        lease.spec = with_record(lease.spec, record);
        let Ok(text) = serde_json::to_string(&lease) else { return LeaseWriteResult::Unknown };
        let response = self.api.replace(&self.path(), text).await;
        self.handle_response(response)
    }

    fn path(&self) -> String {
        LEASES.object_path(&self.namespace, &self.name)
    }

    fn handle_response(&mut self, response: Result<Lease, ApiError>) -> LeaseWriteResult {
        let failure = response.as_ref().err().filter(|error| !error.is_stale());
        self.access.on_write(failure, self.clock.monotonic());
        match response {
            Ok(lease) => {
                self.store(lease).map_or(LeaseWriteResult::Unknown, LeaseWriteResult::Done)
            }
            // Another process wrote or deleted the Lease first.
            Err(error) if error.is_stale() => LeaseWriteResult::Conflict,
            Err(error) => {
                self.warn("write", &error);
                LeaseWriteResult::Unknown
            }
        }
    }

    /// Stores the Lease and returns its version. Returns `None` for a Lease without a version, because an
    /// update without one is unconditional.
    fn store(&mut self, mut lease: Lease) -> Option<ResourceVersion> {
        let version = Some(lease.metadata.resource_version.clone()).filter(|v| !v.is_empty())?;
        // An update without managed fields leaves them unchanged.
        lease.metadata.managed_fields = None;
        self.current = lease;
        Some(version)
    }

    fn warn(&self, verb: &str, error: &ApiError) {
        let LeaseClient { namespace, name: lease, .. } = self;
        tracing::warn!(
            namespace,
            lease,
            error = error.message(),
            "could not {verb} the Lease; retrying; leadership will be lost if this continues"
        );
    }
}

/// The election record that a Lease holds.
fn record(spec: &LeaseSpec) -> LeaseRecord {
    LeaseRecord {
        holder: spec.holder_identity.clone().unwrap_or_default(),
        lease_seconds: spec.lease_duration_seconds.unwrap_or_default(),
        acquire_time: spec.acquire_time.map(MicroTime::timestamp),
        renew_time: spec.renew_time.map(MicroTime::timestamp),
        transitions: spec.lease_transitions.unwrap_or_default(),
    }
}

/// Puts a record into a Lease. Fields that do not belong to the record stay unchanged.
fn with_record(spec: LeaseSpec, record: &LeaseRecord) -> LeaseSpec {
    LeaseSpec {
        holder_identity: Some(record.holder.clone()).filter(|holder| !holder.is_empty()),
        lease_duration_seconds: Some(record.lease_seconds),
        acquire_time: record.acquire_time.map(MicroTime::new),
        renew_time: record.renew_time.map(MicroTime::new),
        lease_transitions: Some(record.transitions),
        ..spec
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn fields_that_other_programs_set_are_kept() {
        let spec = json!({"holderIdentity": "a", "leaseDurationSeconds": 15, "strategy": "x",
            "acquireTime": "2026-01-31T08:00:00.000001Z", "renewTime": "2026-01-31T08:00:02.000000Z",
            "leaseTransitions": 7});
        let read: LeaseSpec = serde_json::from_value(spec.clone()).unwrap();
        let seen = record(&read);
        assert_eq!((&*seen.holder, seen.lease_seconds, seen.transitions), ("a", 15, 7));
        let back: Value = serde_json::to_value(with_record(read, &seen)).unwrap();
        assert_eq!(back, spec);
    }

    #[test]
    fn a_released_lease_has_no_holder() {
        let held = LeaseSpec { holder_identity: Some("a".to_owned()), ..LeaseSpec::default() };
        let spec = with_record(held, &LeaseRecord { lease_seconds: 1, ..LeaseRecord::default() });
        assert_eq!(spec.holder_identity, None);
        assert_eq!(record(&spec).holder, "");
        assert_eq!(record(&LeaseSpec::default()), LeaseRecord::default());
    }
}
