//! What stands in a Lease, and what one candidate has seen of it.

use std::time::Duration;

use jiff::Timestamp;

use crate::Mono;

/// A released Lease lasts so long, for those who wait even for a Lease without a holder.
const RELEASED_SECONDS: i32 = 1;

/// The resource version of a Lease, to be compared for equality and nothing else.
pub type Version = String;

/// The spec of a Lease. Absent fields are empty, 0 or none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Record {
    /// `holderIdentity`; empty if the Lease was released.
    pub holder: String,
    /// `leaseDurationSeconds`: the holder's own promise.
    pub lease_seconds: i32,
    /// `acquireTime`, on the holder's wall clock: for people to read.
    pub acquire_time: Option<Timestamp>,
    /// `renewTime`, on the holder's wall clock: for people to read.
    pub renew_time: Option<Timestamp>,
    /// `leaseTransitions`: how often the Lease changed hands.
    pub transitions: i32,
}

impl Record {
    /// The Lease in somebody's name: renewed if it is so already, else taken.
    pub(crate) fn claimed(
        old: Option<&Self>,
        holder: &str,
        lease_seconds: i32,
        wall: Timestamp,
    ) -> Self {
        let renewed = old.filter(|old| old.holder == holder);
        let taken = i32::from(old.is_some() && renewed.is_none());
        Self {
            holder: holder.into(),
            lease_seconds,
            acquire_time: renewed.and_then(|old| old.acquire_time).or(Some(wall)),
            renew_time: Some(wall),
            transitions: old.map_or(0, |old| old.transitions).saturating_add(taken),
        }
    }

    /// The Lease in nobody's name. The count stays, so that the next holder goes on from it.
    pub(crate) fn released(old: Option<&Self>, wall: Timestamp) -> Self {
        Self {
            holder: String::new(),
            lease_seconds: RELEASED_SECONDS,
            acquire_time: Some(wall),
            renew_time: Some(wall),
            transitions: old.map_or(0, |old| old.transitions),
        }
    }
}

/// A Lease as it was last seen.
#[derive(Clone, Debug)]
pub(crate) struct View {
    pub(crate) record: Record,
    pub(crate) version: Version,
    /// When it was first seen as it is now.
    seen_at: Mono,
}

impl View {
    pub(crate) fn new(record: Record, version: Version, now: Mono) -> Self {
        Self { record, version, seen_at: now }
    }

    /// The Lease as it is seen now. The clock of its life starts anew with any change at all: a
    /// holder whose wall clock stands still renews with an equal record.
    pub(crate) fn refreshed(self, record: Record, version: Version, now: Mono) -> Self {
        let is_same = self.record == record && self.version == version;
        let seen_at = if is_same { self.seen_at } else { now };
        Self { record, version, seen_at }
    }

    /// When its holder has lost it, if nobody sees it change before.
    ///
    /// It is the duration in the record that counts, not our own: the holder may be configured
    /// otherwise. Ours is for a record that has none.
    pub(crate) fn expires_at(&self, fallback: Duration) -> Mono {
        let promised = u64::try_from(self.record.lease_seconds).ok().filter(|secs| *secs > 0);
        let lasts_for = promised.map_or(fallback, Duration::from_secs);
        self.seen_at.saturating_add(lasts_for)
    }
}
