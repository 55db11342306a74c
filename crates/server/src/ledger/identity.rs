//! What identifies a record: its slot, its CronJob, and for runs besides the schedule a hash of the
//! request or Job. It does not depend on whether the record is in a status or archived.

use punctual_api::Time;
use punctual_api::names::job_name;
use punctual_api::slot_record::SlotRecord;
use ring::digest::{SHA256, digest};

use super::owner::Owner;

pub(super) const OWNER_BYTES: usize = 7;
pub(super) const SLOT_BYTES: usize = 5;
const VARIANT_BYTES: usize = 8;
/// The last second of the year 9999. Later slots, and those before 1970, are rejected.
const SLOT_MAX: i64 = 253_402_300_799;

/// Identifies a CronJob in keys: a part of the hash of its UID, which is never used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct OwnerId([u8; OWNER_BYTES]);

impl OwnerId {
    /// Returns the ID of the CronJob with a UID.
    pub(super) fn from_uid(uid: &str) -> OwnerId {
        OwnerId(hash(&[uid]))
    }

    pub(super) fn from_bytes(bytes: &[u8]) -> Option<OwnerId> {
        bytes.try_into().ok().map(OwnerId)
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

/// The identity of a record. Lists begin with the greatest one, which has the newest slot.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct RecordPosition {
    slot: i64,
    owner: OwnerId,
    /// What distinguishes the record from that of the schedule.
    variant: Option<[u8; VARIANT_BYTES]>,
}

impl RecordPosition {
    /// Returns the identity of a record; `None` if its slot is missing or out of range.
    pub(super) fn new(owner: &Owner, record: &SlotRecord) -> Option<RecordPosition> {
        let slot = slot_seconds(record.slot?)?;
        let is_regular_job = |name: &str| is_slot_job(&owner.name, slot, name);
        let job = record.job.as_ref().map_or("", |job| job.name.as_str());
        let is_regular = record.request.is_empty() && (job.is_empty() || is_regular_job(job));
        let variant = (!is_regular).then(|| hash(&[&record.request, job]));
        Some(RecordPosition { slot, owner: owner.id(), variant })
    }

    /// Returns the slot in seconds.
    pub(super) fn slot(&self) -> i64 {
        self.slot
    }

    pub(super) fn owner(&self) -> OwnerId {
        self.owner
    }

    /// Encodes the position. The order of the bytes is that of positions.
    pub(super) fn encode(&self) -> Vec<u8> {
        [&encode_slot(self.slot), self.owner.as_bytes(), self.variant()].concat()
    }

    pub(super) fn decode(bytes: &[u8]) -> Option<RecordPosition> {
        let (slot, rest) = bytes.split_first_chunk::<SLOT_BYTES>()?;
        let (owner, variant) = rest.split_first_chunk::<OWNER_BYTES>()?;
        let variant = match variant {
            [] => None,
            bytes => Some(bytes.try_into().ok()?),
        };
        Some(RecordPosition { slot: decode_slot(*slot)?, owner: OwnerId(*owner), variant })
    }

    /// Returns the bytes of the variant; none for a record of the schedule.
    pub(super) fn variant(&self) -> &[u8] {
        self.variant.as_ref().map_or(&[], |variant| variant)
    }

    /// Returns the name of the record: the name of the slot's Job with a short suffix, which
    /// distinguishes CronJobs that had the same name one after the other.
    pub(super) fn name(&self, owner: &Owner) -> String {
        let [a, b, c, d, e] = hash(&[&owner.uid, &self.hash_text()]);
        let slot = self.slot_time().unwrap_or_default();
        format!("{}-{a:02x}{b:02x}{c:02x}{d:02x}{e:02x}", job_name(&owner.name, slot))
    }

    /// Returns the UID of the record.
    pub(super) fn uid(&self, owner: &Owner) -> String {
        let bytes: [u8; 16] = hash(&[&owner.uid, &self.hash_text(), "uid"]);
        crate::env::format_uid(u128::from_be_bytes(bytes))
    }

    fn hash_text(&self) -> String {
        format!("{} {:?}", self.slot, self.variant)
    }

    fn slot_time(&self) -> Option<jiff::Timestamp> {
        jiff::Timestamp::from_second(self.slot).ok()
    }
}

/// Returns a slot in seconds; `None` if it is out of range.
pub(super) fn slot_seconds(slot: Time) -> Option<i64> {
    Some(slot.timestamp().as_second()).filter(|seconds| (0..=SLOT_MAX).contains(seconds))
}

/// Whether a Job has the name of the slot's Job.
pub(super) fn is_slot_job(cron_job: &str, slot: i64, name: &str) -> bool {
    jiff::Timestamp::from_second(slot).is_ok_and(|slot| job_name(cron_job, slot) == name)
}

/// Returns the CronJob's name and the possible slots of a record with this name.
pub(super) fn parse_name(name: &str) -> Option<(&str, [i64; 2])> {
    let (job, _) = name.rsplit_once('-')?;
    let (cron_job, number) = job.rsplit_once('-')?;
    let number: i64 = number.parse().ok().filter(|number| (0..=SLOT_MAX).contains(number))?;
    Some((cron_job, [number * 60, number]))
}

/// Encodes a slot in range so that the order of the bytes is that of slots.
pub(super) fn encode_slot(slot: i64) -> [u8; SLOT_BYTES] {
    let [_, _, _, bytes @ ..] = slot.clamp(0, SLOT_MAX).to_be_bytes();
    bytes
}

fn decode_slot(bytes: [u8; SLOT_BYTES]) -> Option<i64> {
    let [a, b, c, d, e] = bytes;
    let slot = i64::from_be_bytes([0, 0, 0, a, b, c, d, e]);
    (slot <= SLOT_MAX).then_some(slot)
}

/// Returns the first bytes of the hash of some texts.
pub(super) fn hash<const N: usize>(texts: &[&str]) -> [u8; N] {
    let digest = digest(&SHA256, texts.join("\0").as_bytes());
    let mut bytes = [0; N];
    for (byte, hashed) in bytes.iter_mut().zip(digest.as_ref()) {
        *byte = *hashed;
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owner() -> Owner {
        Owner { name: "a-1".to_owned(), uid: "u".to_owned(), ..Owner::default() }
    }

    fn record(slot: &str, job: &str, request: &str) -> SlotRecord {
        let job = punctual_api::slot_record::SlotJob { name: job.to_owned(), uid: String::new() };
        SlotRecord {
            slot: Some(slot.parse().map(Time::new).unwrap()),
            job: Some(job).filter(|job| !job.name.is_empty()),
            request: request.to_owned(),
            ..SlotRecord::default()
        }
    }

    #[test]
    fn records_of_the_schedule_are_identified_by_their_slot() {
        let at = |job: &str, request: &str| {
            RecordPosition::new(&owner(), &record("2024-01-08T05:16:00Z", job, request)).unwrap()
        };
        assert_eq!(at("", ""), at("a-1-28411516", ""));
        assert_ne!(at("", ""), at("other", ""));
        assert_ne!(at("a-1-28411516", "request"), at("a-1-28411516", ""));
        assert_ne!(at("b", "request"), at("c", "request"));
        let later = record("2024-01-08T05:16:01Z", "", "");
        let later = RecordPosition::new(&owner(), &later).unwrap();
        for position in [at("", ""), at("b", "request"), later.clone()] {
            assert_eq!(RecordPosition::decode(&position.encode()), Some(position.clone()));
            assert!(position == later || position.encode() < later.encode() && position < later);
            let name = position.name(&owner());
            let (cron_job, slots) = parse_name(&name).unwrap();
            assert!(cron_job == "a-1" && slots.contains(&position.slot()), "{name}");
        }
    }

    #[test]
    fn absurd_slots_and_malformed_positions_are_rejected() {
        for slot in ["1969-12-31T23:59:59Z", "-000001-01-01T00:00:00Z"] {
            assert_eq!(RecordPosition::new(&owner(), &record(slot, "", "")), None, "{slot}");
        }
        assert!(RecordPosition::new(&owner(), &record("9999-12-30T22:00:00Z", "", "")).is_some());
        assert!(RecordPosition::new(&owner(), &SlotRecord::default()).is_none());
        for bytes in [&[][..], &[0; 11], &[0; 13], &[255; 12]] {
            assert_eq!(RecordPosition::decode(bytes), None);
        }
        for name in ["", "a", "a-b", "a-b-c", "a-99999999999999-x", "a--1-x-"] {
            assert_eq!(parse_name(name), None, "{name}");
        }
    }
}
