//! The binary form of an archived record, without its slot, which is in the key.
//!
//! A byte has the version of the form, one the decision and result, one the reason, two the present
//! fields. The version of the object and the fields follow. Numbers are varints, and times are seconds
//! after the slot.

use punctual_api::Time;
use punctual_api::slot_record::{SlotJob, SlotRecord, reason};

use super::identity::{RecordPosition, is_slot_job};
use super::keys::RecordClass;
use super::owner::Owner;

const VERSION: u8 = 1;

/// The reasons with a number, which is their place. Append only.
const REASONS: [&str; 10] = [
    reason::SCHEDULED,
    reason::CAUGHT_UP,
    reason::REQUESTED,
    reason::SUPERSEDED,
    reason::CONCURRENCY_FORBIDDEN,
    reason::SUSPENDED,
    reason::DEADLINE_EXCEEDED,
    reason::CREATE_REJECTED,
    reason::NAME_TAKEN,
    reason::CATCH_UP_LIMIT_EXCEEDED,
];
/// The number of a reason that is written as text.
const OTHER_REASON: u8 = u8::MAX;

/// A field that may be absent, as a bit.
mod field {
    pub(super) const THROUGH: u16 = 1;
    pub(super) const COUNT: u16 = 1 << 1;
    pub(super) const MESSAGE: u16 = 1 << 2;
    pub(super) const JOB: u16 = 1 << 3;
    /// The Job does not have the name of the slot's Job.
    pub(super) const JOB_NAME: u16 = 1 << 4;
    /// The UID of the Job is text.
    pub(super) const JOB_UID_TEXT: u16 = 1 << 5;
    pub(super) const REQUEST: u16 = 1 << 6;
    pub(super) const EFFECTIVE: u16 = 1 << 7;
    pub(super) const CREATED: u16 = 1 << 8;
    pub(super) const STARTED: u16 = 1 << 9;
    pub(super) const COMPLETED: u16 = 1 << 10;
    pub(super) const FAILURE: u16 = 1 << 11;
    pub(super) const ATTEMPTS: u16 = 1 << 12;
}

/// A record and the version of its object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ArchivedRecord {
    pub(super) record: SlotRecord,
    pub(super) revision: u64,
}

/// Encodes a record.
pub(super) fn encode(
    owner: &Owner,
    position: &RecordPosition,
    archived: &ArchivedRecord,
) -> Vec<u8> {
    let record = &archived.record;
    let fields = present_fields(owner, position, record);
    let known = REASONS.iter().position(|known| *known == record.reason);
    let reason = known.and_then(|index| u8::try_from(index).ok()).unwrap_or(OTHER_REASON);
    let mut out = RecordWriter { bytes: Vec::with_capacity(48), slot: position.slot() };
    out.bytes.extend_from_slice(&[VERSION, RecordClass::new(record).0, reason]);
    out.bytes.extend_from_slice(&fields.to_le_bytes());
    out.number(archived.revision);
    if reason == OTHER_REASON {
        out.text(&record.reason);
    }
    out.time(record.through);
    if let Some(count) = record.count {
        out.signed(count);
    }
    if fields & field::MESSAGE != 0 {
        out.text(&record.message);
    }
    if let Some(job) = &record.job {
        out.job(job, fields);
    }
    if fields & field::REQUEST != 0 {
        out.text(&record.request);
    }
    out.time(record.effective_time);
    out.time(record.created_time);
    out.time(record.start_time);
    out.time(record.completion_time);
    if fields & field::FAILURE != 0 {
        out.text(&record.failure_reason);
    }
    if let Some(attempts) = record.attempts {
        out.signed(attempts.into());
    }
    out.bytes
}

fn present_fields(owner: &Owner, position: &RecordPosition, record: &SlotRecord) -> u16 {
    let job_name = record.job.as_ref().map(|job| job.name.as_str());
    let job_uid = record.job.as_ref().map(|job| job.uid.as_str());
    let is_slot_job = |name: &str| is_slot_job(&owner.name, position.slot(), name);
    let present = [
        (record.through.is_some(), field::THROUGH),
        (record.count.is_some(), field::COUNT),
        (!record.message.is_empty(), field::MESSAGE),
        (record.job.is_some(), field::JOB),
        (job_name.is_some_and(|name| !is_slot_job(name)), field::JOB_NAME),
        (job_uid.is_some_and(|uid| parse_uid(uid).is_none()), field::JOB_UID_TEXT),
        (!record.request.is_empty(), field::REQUEST),
        (record.effective_time.is_some(), field::EFFECTIVE),
        (record.created_time.is_some(), field::CREATED),
        (record.start_time.is_some(), field::STARTED),
        (record.completion_time.is_some(), field::COMPLETED),
        (!record.failure_reason.is_empty(), field::FAILURE),
        (record.attempts.is_some(), field::ATTEMPTS),
    ];
    present.iter().filter(|(is_present, _)| *is_present).fold(0, |all, (_, bit)| all | bit)
}

/// Decodes a record; `None` if the bytes are not a record of a version that this program knows.
pub(super) fn decode(
    owner: &Owner,
    position: &RecordPosition,
    bytes: &[u8],
) -> Option<ArchivedRecord> {
    let ([version, class, reason, low, high], rest) = bytes.split_first_chunk::<5>()?;
    if *version != VERSION {
        return None;
    }
    let fields = u16::from_le_bytes([*low, *high]);
    let has = |bit: u16| fields & bit != 0;
    let mut input = RecordReader { bytes: rest, slot: position.slot() };
    let (decision, result) = RecordClass(*class).parts()?;
    let revision = input.number()?;
    let reason = match *reason {
        OTHER_REASON => input.text()?,
        known => (*REASONS.get(usize::from(known))?).to_owned(),
    };
    let record = SlotRecord {
        slot: input.time_at(0),
        decision,
        result,
        reason,
        through: input.optional(has(field::THROUGH), RecordReader::time)?,
        count: input.optional(has(field::COUNT), RecordReader::signed)?,
        message: input.optional(has(field::MESSAGE), RecordReader::text)?.unwrap_or_default(),
        job: input.optional(has(field::JOB), |input| input.job(owner, fields))?,
        request: input.optional(has(field::REQUEST), RecordReader::text)?.unwrap_or_default(),
        effective_time: input.optional(has(field::EFFECTIVE), RecordReader::time)?,
        created_time: input.optional(has(field::CREATED), RecordReader::time)?,
        start_time: input.optional(has(field::STARTED), RecordReader::time)?,
        completion_time: input.optional(has(field::COMPLETED), RecordReader::time)?,
        failure_reason: input
            .optional(has(field::FAILURE), RecordReader::text)?
            .unwrap_or_default(),
        attempts: input.optional(has(field::ATTEMPTS), |input| input.signed()?.try_into().ok())?,
    };
    Some(ArchivedRecord { record, revision })
}

struct RecordWriter {
    bytes: Vec<u8>,
    slot: i64,
}

impl RecordWriter {
    fn number(&mut self, mut number: u64) {
        while number > 0x7f {
            let [low, ..] = number.to_le_bytes();
            self.bytes.push(low | 0x80);
            number >>= 7;
        }
        self.bytes.push(u8::try_from(number).unwrap_or_default());
    }

    /// Writes a number so that small ones of either sign are short.
    fn signed(&mut self, number: i64) {
        self.number((number.cast_unsigned() << 1) ^ (number >> 63).cast_unsigned());
    }

    fn text(&mut self, text: &str) {
        self.number(text.len() as u64);
        self.bytes.extend_from_slice(text.as_bytes());
    }

    fn time(&mut self, time: Option<Time>) {
        if let Some(time) = time {
            self.signed(time.timestamp().as_second() - self.slot);
        }
    }

    fn job(&mut self, job: &SlotJob, fields: u16) {
        if fields & field::JOB_NAME != 0 {
            self.text(&job.name);
        }
        match parse_uid(&job.uid) {
            Some(uid) => self.bytes.extend_from_slice(&uid.to_be_bytes()),
            None => self.text(&job.uid),
        }
    }
}

struct RecordReader<'a> {
    bytes: &'a [u8],
    slot: i64,
}

impl<'a> RecordReader<'a> {
    /// Reads a field if it is present. The outer `None` means that it is malformed.
    fn optional<T>(
        &mut self,
        is_present: bool,
        read: impl FnOnce(&mut Self) -> Option<T>,
    ) -> Option<Option<T>> {
        if is_present { read(self).map(Some) } else { Some(None) }
    }

    fn number(&mut self) -> Option<u64> {
        let mut number = 0_u64;
        for shift in (0..64).step_by(7) {
            let (byte, rest) = self.bytes.split_first()?;
            self.bytes = rest;
            number |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(number);
            }
        }
        None
    }

    fn signed(&mut self) -> Option<i64> {
        let number = self.number()?;
        Some((number >> 1).cast_signed() ^ -(number & 1).cast_signed())
    }

    fn text(&mut self) -> Option<String> {
        let len = usize::try_from(self.number()?).ok()?;
        let (text, rest) = self.bytes.split_at_checked(len)?;
        self.bytes = rest;
        String::from_utf8(text.to_vec()).ok()
    }

    fn time(&mut self) -> Option<Time> {
        let seconds = self.signed()?;
        self.time_at(seconds)
    }

    /// Returns the time some seconds after the slot.
    fn time_at(&self, seconds: i64) -> Option<Time> {
        let at = self.slot.checked_add(seconds)?;
        jiff::Timestamp::from_second(at).ok().map(Time::new)
    }

    fn job(&mut self, owner: &Owner, fields: u16) -> Option<SlotJob> {
        let name = if fields & field::JOB_NAME != 0 {
            self.text()?
        } else {
            let slot = jiff::Timestamp::from_second(self.slot).ok()?;
            punctual_api::names::job_name(&owner.name, slot)
        };
        if fields & field::JOB_UID_TEXT != 0 {
            return Some(SlotJob { name, uid: self.text()? });
        }
        let (uid, rest) = self.bytes.split_first_chunk::<16>()?;
        self.bytes = rest;
        Some(SlotJob { name, uid: crate::env::format_uid(u128::from_be_bytes(*uid)) })
    }
}

/// Returns the number of a UID in the usual form.
fn parse_uid(uid: &str) -> Option<u128> {
    let digits: String = uid.split('-').collect();
    let number = u128::from_str_radix(&digits, 16).ok()?;
    (crate::env::format_uid(number) == uid).then_some(number)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use punctual_api::slot_record::{RunResult, SlotDecision};

    use super::*;

    fn owner() -> Owner {
        Owner { name: "backup".to_owned(), uid: "u".to_owned(), ..Owner::default() }
    }

    fn time() -> impl Strategy<Value = Option<Time>> {
        // The times of clients are any that the API accepts.
        let seconds = prop_oneof![-377_705_023_201..=253_402_207_200_i64, 0..4_000_000_000_i64];
        let time = seconds.prop_filter_map("out of range", |seconds| {
            jiff::Timestamp::from_second(seconds).ok().map(Time::new)
        });
        proptest::option::of(time)
    }

    fn job() -> impl Strategy<Value = Option<SlotJob>> {
        let uid = prop_oneof![
            Just("0b4e7a0e-5a8c-4a52-9f0f-3a2f7b7ffa11".to_owned()),
            Just("0B4E7A0E-5A8C-4A52-9F0F-3A2F7B7FFA11".to_owned()),
            ".{0,40}",
        ];
        let name = prop_oneof![Just("backup-28411516".to_owned()), ".{0,40}"];
        proptest::option::of((name, uid).prop_map(|(name, uid)| SlotJob { name, uid }))
    }

    prop_compose! {
        fn record()(
            slot in 0..253_402_207_200_i64,
            times in [time(), time(), time(), time(), time()],
            texts in [".{0,30}", ".{0,30}", ".{0,30}"],
            reason in prop_oneof![proptest::sample::select(&REASONS[..]).prop_map(str::to_owned), ".{0,20}"],
            decision in proptest::sample::select(&SlotDecision::ALL[..]),
            result in proptest::option::of(proptest::sample::select(&RunResult::ALL[..])),
            count in proptest::option::of(any::<i64>()),
            attempts in proptest::option::of(any::<i32>()),
            job in job(),
        ) -> SlotRecord {
            let [through, effective_time, created_time, start_time, completion_time] = times;
            let [message, request, failure_reason] = texts;
            let slot = jiff::Timestamp::from_second(slot).ok().map(Time::new);
            SlotRecord {
                slot, through, count, decision, reason, message, job, request, effective_time,
                created_time, start_time, completion_time, result, failure_reason, attempts,
            }
        }
    }

    proptest! {
        #[test]
        fn a_record_is_decoded_as_it_was_encoded(record in record(), revision: u64) {
            let position = RecordPosition::new(&owner(), &record).unwrap();
            let archived = ArchivedRecord { record, revision };
            let bytes = encode(&owner(), &position, &archived);
            prop_assert_eq!(decode(&owner(), &position, &bytes), Some(archived));
            for end in 0..bytes.len() {
                // A part may be a valid record, but never a reason to panic.
                decode(&owner(), &position, &bytes[..end]);
            }
        }

        #[test]
        fn any_bytes_are_decoded_or_rejected(bytes: Vec<u8>) {
            let slot = jiff::Timestamp::from_second(60).ok().map(Time::new);
            let record = SlotRecord { slot, ..SlotRecord::default() };
            let position = RecordPosition::new(&owner(), &record).unwrap();
            decode(&owner(), &position, &bytes);
            decode(&owner(), &position, &[&[VERSION, 0, 0, 255, 31][..], &bytes].concat());
        }
    }

    #[test]
    fn a_usual_record_is_short() {
        let at = |second: &str| format!("2024-01-08T05:16:{second}Z").parse().map(Time::new).ok();
        let uid = "0b4e7a0e-5a8c-4a52-9f0f-3a2f7b7ffa11".to_owned();
        let record = SlotRecord {
            slot: at("00"),
            reason: reason::SCHEDULED.to_owned(),
            job: Some(SlotJob { name: "backup-28411516".to_owned(), uid }),
            created_time: at("00"),
            start_time: at("01"),
            completion_time: at("31"),
            result: Some(RunResult::Succeeded),
            attempts: Some(1),
            ..SlotRecord::default()
        };
        let position = RecordPosition::new(&owner(), &record).unwrap();
        let bytes = encode(&owner(), &position, &ArchivedRecord { record, revision: 1_000_000 });
        assert!(bytes.len() <= 29, "{} bytes", bytes.len());
    }
}
