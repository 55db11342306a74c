//! Parses the slot that a user names: an instant, a civil time, a time of day, or the name of a Job.

use jiff::civil::{DateTime, Time as CivilTime};
use jiff::tz::AmbiguousOffset;
use jiff::{SignedDuration, Timestamp};

use crate::dst;
use crate::ledger::instant;
use crate::snapshot::CronJobSnapshot;

/// How many slots are searched for a time of day: every minute of two weeks.
const SEARCHED_MAX: usize = 20_160;

/// The slot that a user named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChosenSlot {
    /// An instant, which need not be a slot of the schedule.
    At(Timestamp),
    /// A civil time that does not exist, because the clocks were set forward over it.
    Skipped(DateTime),
}

/// A text that names no slot.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SlotChoiceError {
    /// The text has none of the forms.
    #[error(
        "{0:?} is not a slot; write an instant such as 2026-01-31T08:00:00Z, a local time such as \
         2026-01-31T08:00, a time of day such as 08:00, or the name of a Job"
    )]
    Unparseable(String),
    /// The time of day is not in the schedule.
    #[error(
        "no slot of the last two weeks was at {time} in {zone}; name the day too, as in 2026-01-31T{time}"
    )]
    NoSuchTimeOfDay {
        /// The time of day.
        time: String,
        /// The zone of the schedule.
        zone: String,
    },
}

/// Finds the slot that a text names. Civil times are in the zone of the schedule. Of a civil time that occurs
/// twice, the first is meant.
pub fn choose_slot(
    snapshot: &CronJobSnapshot,
    text: &str,
    now: Timestamp,
) -> Result<ChosenSlot, SlotChoiceError> {
    if let Ok(instant) = text.parse::<Timestamp>() {
        return Ok(ChosenSlot::At(instant));
    }
    if let Ok(civil) = text.parse::<DateTime>() {
        return Ok(choose_civil(snapshot, civil));
    }
    if let Some(slot) = slot_of_job(snapshot, text) {
        return Ok(ChosenSlot::At(slot));
    }
    match text.parse::<CivilTime>() {
        Ok(time) if text.contains(':') => choose_time_of_day(snapshot, time, now),
        _ => Err(SlotChoiceError::Unparseable(text.to_owned())),
    }
}

fn choose_civil(snapshot: &CronJobSnapshot, civil: DateTime) -> ChosenSlot {
    let zone = snapshot.zone();
    if dst::gap_at(zone, civil).is_some() {
        return ChosenSlot::Skipped(civil);
    }
    let ambiguous = zone.time_zone().to_ambiguous_timestamp(civil);
    let offset = match ambiguous.offset() {
        AmbiguousOffset::Unambiguous { offset } => offset,
        AmbiguousOffset::Fold { before, .. } | AmbiguousOffset::Gap { before, .. } => before,
    };
    match offset.to_timestamp(civil) {
        Ok(instant) => ChosenSlot::At(instant),
        Err(_) => ChosenSlot::Skipped(civil),
    }
}

fn choose_time_of_day(
    snapshot: &CronJobSnapshot,
    time: CivilTime,
    now: Timestamp,
) -> Result<ChosenSlot, SlotChoiceError> {
    let zone = snapshot.zone();
    let is_wanted = |slot: &Timestamp| zone.at(*slot).time() == time;
    let recorded = snapshot.ledger.records().iter().filter_map(|record| instant(record.slot));
    let recorded = recorded.filter(is_wanted).max();
    let schedule = snapshot.timetable().ok().map(|timetable| timetable.schedule());
    let earliest = now.checked_sub(SignedDuration::from_hours(24 * 14)).unwrap_or(Timestamp::MIN);
    let scheduled = schedule.and_then(|schedule| {
        let mut passed = schedule.before(now).take(SEARCHED_MAX);
        passed.by_ref().take_while(|slot| *slot >= earliest).find(is_wanted)
    });
    recorded.max(scheduled).map(ChosenSlot::At).ok_or_else(|| SlotChoiceError::NoSuchTimeOfDay {
        time: time.strftime("%H:%M").to_string(),
        zone: zone.name().to_owned(),
    })
}

/// Returns the slot of a Job: from its record, from the Job, or from its name, which ends with the minutes or
/// seconds of the slot since 1970.
fn slot_of_job(snapshot: &CronJobSnapshot, name: &str) -> Option<Timestamp> {
    let recorded = snapshot.ledger.record_of_job(name).and_then(|record| instant(record.slot));
    let job = snapshot.jobs.iter().find(|job| job.name == name).and_then(|job| job.slot);
    recorded.or(job).or_else(|| {
        let (cron_job, number) = name.rsplit_once('-')?;
        let number: i64 = number.parse().ok()?;
        if cron_job != snapshot.cron_job.metadata.name {
            return None;
        }
        // Minutes have eight digits until 2160, seconds have ten since 2001.
        let seconds = if number < 1_000_000_000 { number.checked_mul(60)? } else { number };
        Timestamp::from_second(seconds).ok()
    })
}
