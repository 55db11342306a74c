//! The content of a Lease, and the Lease as last observed.

use std::time::Duration;

use jiff::Timestamp;

use crate::MonotonicTime;

/// The duration of a released Lease, for candidates that wait even for a Lease without a holder.
const RELEASED_SECONDS: i32 = 1;

/// The resource version of a Lease. It is only compared for equality.
pub type ResourceVersion = String;

/// The spec of a Lease. Absent fields are empty, 0 or None.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LeaseRecord {
    /// `holderIdentity`; empty if the Lease was released.
    pub holder: String,
    /// `leaseDurationSeconds`: the duration that the holder was configured with.
    pub lease_seconds: i32,
    /// `acquireTime` on the holder's wall clock. Only for display.
    pub acquire_time: Option<Timestamp>,
    /// `renewTime` on the holder's wall clock. Only for display.
    pub renew_time: Option<Timestamp>,
    /// `leaseTransitions`: the number of changes of the holder.
    pub transitions: i32,
}

impl LeaseRecord {
    /// Returns the record with which `holder` renews or takes the Lease.
    pub(crate) fn claim(
        old: Option<&Self>,
        holder: &str,
        lease_seconds: i32,
        wall: Timestamp,
    ) -> Self {
        let renewed = old.filter(|old| old.holder == holder);
        let is_takeover = old.is_some() && renewed.is_none();
        Self {
            holder: holder.into(),
            lease_seconds,
            acquire_time: renewed.and_then(|old| old.acquire_time).or(Some(wall)),
            renew_time: Some(wall),
            transitions: old
                .map_or(0, |old| old.transitions)
                .saturating_add(i32::from(is_takeover)),
        }
    }

    /// Returns the record without a holder. It keeps the transitions for the next holder.
    pub(crate) fn release(old: Option<&Self>, wall: Timestamp) -> Self {
        Self {
            holder: String::new(),
            lease_seconds: RELEASED_SECONDS,
            acquire_time: Some(wall),
            renew_time: Some(wall),
            transitions: old.map_or(0, |old| old.transitions),
        }
    }
}

/// The Lease as last observed.
#[derive(Clone, Debug)]
pub(crate) struct ObservedLease {
    pub(crate) record: LeaseRecord,
    pub(crate) version: ResourceVersion,
    /// The time of the first observation of this version.
    observed_at: MonotonicTime,
}

impl ObservedLease {
    pub(crate) fn new(record: LeaseRecord, version: ResourceVersion, now: MonotonicTime) -> Self {
        Self { record, version, observed_at: now }
    }

    /// Updates the observation. Any change restarts the duration of the Lease, because a holder whose
    /// wall clock does not advance renews with an equal record.
    pub(crate) fn update(
        self,
        record: LeaseRecord,
        version: ResourceVersion,
        now: MonotonicTime,
    ) -> Self {
        let is_same = self.record == record && self.version == version;
        let observed_at = if is_same { self.observed_at } else { now };
        Self { record, version, observed_at }
    }

    /// Returns the time at which the holder has lost the Lease, unless it changes before.
    ///
    /// The duration in the record applies, because the holder may have another configuration than we.
    /// `fallback` applies to a record without a duration.
    pub(crate) fn expires_at(&self, fallback: Duration) -> MonotonicTime {
        let recorded = u64::try_from(self.record.lease_seconds).ok().filter(|secs| *secs > 0);
        let duration = recorded.map_or(fallback, Duration::from_secs);
        self.observed_at.saturating_add(duration)
    }
}
