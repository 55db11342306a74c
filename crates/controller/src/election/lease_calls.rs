//! The Lease on the server: read, created, replaced.

use punctual_api::lease::{Lease, LeaseSpec};
use punctual_api::{MicroTime, ObjectMeta};
use punctual_lease::{Read, Record, Version, Written};

use super::Election;
use crate::calls::{Calls, Refused};
use crate::tools::Tools;

pub(super) const API_VERSION: &str = "coordination.k8s.io/v1";
pub(super) const KIND: &str = "Lease";

/// Where the Leases of a namespace are.
fn leases_path(namespace: &str) -> String {
    format!("/apis/{API_VERSION}/namespaces/{namespace}/leases")
}

/// Where a Lease is.
pub(super) fn lease_path(namespace: &str, name: &str) -> String {
    format!("{}/{name}", leases_path(namespace))
}

/// The calls about one Lease. They are what the fence hangs on, so none stands before them.
pub(super) struct LeaseCalls {
    calls: Calls,
    namespace: String,
    name: String,
    /// The Lease as it was last seen, with whatever others have put into it.
    seen: Lease,
}

impl LeaseCalls {
    pub(super) fn new(tools: &Tools, election: &Election) -> LeaseCalls {
        let calls = Calls::new(tools.client.clone(), tools.metrics.clone());
        LeaseCalls {
            calls: calls.within(election.config.request_timeout()),
            namespace: election.namespace.clone(),
            name: election.name.clone(),
            seen: Lease::default(),
        }
    }

    /// Reads the Lease.
    pub(super) async fn read(&mut self) -> Read {
        match self.calls.find(&lease_path(&self.namespace, &self.name)).await {
            Ok(None) => Read::Absent,
            Ok(Some(lease)) => match self.keep(lease) {
                Some(version) => Read::Present(record(&self.seen.spec), version),
                None => Read::Failed,
            },
            Err(refused) => {
                self.warn("read", &refused);
                Read::Failed
            }
        }
    }

    /// Creates the Lease.
    pub(super) async fn create(&mut self, record: &Record) -> Written {
        let metadata = ObjectMeta {
            namespace: self.namespace.clone(),
            name: self.name.clone(),
            ..ObjectMeta::default()
        };
        let (api_version, kind) = (API_VERSION.to_owned(), KIND.to_owned());
        let spec = written(LeaseSpec::default(), record);
        let lease = Lease { api_version, kind, metadata, spec, ..Lease::default() };
        let Ok(text) = serde_json::to_string(&lease) else { return Written::Unknown };
        let answer = self.calls.create(&leases_path(&self.namespace), text).await;
        self.take_answer(answer)
    }

    /// Replaces the Lease if it still has this version.
    pub(super) async fn update(&mut self, record: &Record, version: Version) -> Written {
        let mut lease = self.seen.clone();
        lease.metadata.resource_version = version;
        lease.spec = written(lease.spec, record);
        let Ok(text) = serde_json::to_string(&lease) else { return Written::Unknown };
        let answer = self.calls.replace(&lease_path(&self.namespace, &self.name), text).await;
        self.take_answer(answer)
    }

    fn take_answer(&mut self, answer: Result<Lease, Refused>) -> Written {
        match answer {
            Ok(lease) => self.keep(lease).map_or(Written::Unknown, Written::Done),
            // Somebody was faster, or has deleted it.
            Err(refused) if refused.is_outdated() => Written::Conflict,
            Err(refused) => {
                self.warn("written", &refused);
                Written::Unknown
            }
        }
    }

    /// Remembers the Lease, and gives its version. One without a version would be written over
    /// without a condition.
    fn keep(&mut self, mut lease: Lease) -> Option<Version> {
        let version = Some(lease.metadata.resource_version.clone()).filter(|v| !v.is_empty())?;
        // An update without it leaves it as it is.
        lease.metadata.managed_fields = None;
        self.seen = lease;
        Some(version)
    }

    fn warn(&self, verb: &str, refused: &Refused) {
        let LeaseCalls { namespace, name, .. } = self;
        tracing::warn!(namespace, name, why = refused.message(), "the Lease could not be {verb}");
    }
}

/// What stands in a Lease.
fn record(spec: &LeaseSpec) -> Record {
    Record {
        holder: spec.holder_identity.clone().unwrap_or_default(),
        lease_seconds: spec.lease_duration_seconds.unwrap_or_default(),
        acquire_time: spec.acquire_time.map(MicroTime::timestamp),
        renew_time: spec.renew_time.map(MicroTime::timestamp),
        transitions: spec.lease_transitions.unwrap_or_default(),
    }
}

/// A Lease with something else in it; fields that are not ours stay as they are.
fn written(spec: LeaseSpec, record: &Record) -> LeaseSpec {
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
    fn what_others_have_put_into_a_lease_stays() {
        let spec = json!({"holderIdentity": "a", "leaseDurationSeconds": 15, "strategy": "x",
            "acquireTime": "2026-01-31T08:00:00.000001Z", "renewTime": "2026-01-31T08:00:02.000000Z",
            "leaseTransitions": 7});
        let read: LeaseSpec = serde_json::from_value(spec.clone()).unwrap();
        let seen = record(&read);
        assert_eq!((&*seen.holder, seen.lease_seconds, seen.transitions), ("a", 15, 7));
        let back: Value = serde_json::to_value(written(read, &seen)).unwrap();
        assert_eq!(back, spec);
    }

    #[test]
    fn a_lease_that_is_given_back_has_no_holder() {
        let held = LeaseSpec { holder_identity: Some("a".to_owned()), ..LeaseSpec::default() };
        let spec = written(held, &Record { lease_seconds: 1, ..Record::default() });
        assert_eq!(spec.holder_identity, None);
        assert_eq!(record(&spec).holder, "");
        assert_eq!(record(&LeaseSpec::default()), Record::default());
    }
}
