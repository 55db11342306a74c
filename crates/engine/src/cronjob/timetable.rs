//! A CronJob's schedule with its time zone and jitter.
//!
//! Jitter delays each slot by a fixed offset that depends only on the CronJob and the slot. So a
//! restart changes nothing, and many CronJobs with one schedule are spread out. The offset is a
//! fraction of the gap before or after the slot, whichever is smaller: with the gap before the slot
//! alone, the first slot of `0,1 0 * * *` could take effect after the second and never run.

use jiff::{SignedDuration, Timestamp};
use punctual_api::CronJob;
use punctual_api::names::{FNV_OFFSET, fnv1a};
use punctual_schedule::{Schedule, ScheduleKind, Zone};

use super::{FeatureGates, reasons, schedule_error::ScheduleError};
use crate::PendingEvent;

/// A CronJob's schedule with its time zone and jitter.
#[derive(Clone, Debug)]
pub struct Timetable {
    schedule: Schedule,
    zone: Zone,
    jitter_percent: i64,
    /// The hash of the CronJob's UID, the initial value for the hash of a slot.
    seed: u64,
}

impl Timetable {
    /// Parses the schedule of a CronJob. `default_zone` applies to CronJobs without a time zone, `gates`
    /// say which of its fields are read.
    pub fn from_cron_job(
        cron_job: &CronJob,
        default_zone: &Zone,
        gates: &FeatureGates,
    ) -> Result<Timetable, ScheduleError> {
        let spec = &cron_job.spec;
        // Like Kubernetes, a zone in the schedule overrides `spec.timeZone`.
        let has_zone_prefix = spec.schedule.contains("TZ");
        let zone = match gates.zone_name(cron_job) {
            Some(name) if !has_zone_prefix => load_zone(name, default_zone)?,
            _ => default_zone.clone(),
        };
        let schedule = Schedule::parse(&spec.schedule, &zone).map_err(|error| {
            ScheduleError::UnparseableSchedule {
                schedule: spec.schedule.clone(),
                error: error.to_string(),
            }
        })?;
        if schedule.is_never() {
            return Err(ScheduleError::InvalidSchedule { schedule: spec.schedule.clone() });
        }
        let jitter_percent = i64::from(gates.jitter_percent(cron_job));
        let seed = fnv1a(FNV_OFFSET, cron_job.metadata.uid.as_bytes());
        Ok(Timetable { schedule, zone, jitter_percent, seed })
    }

    /// The schedule without jitter.
    pub fn schedule(&self) -> &Schedule {
        &self.schedule
    }

    /// The time zone of the schedule.
    pub fn zone(&self) -> &Zone {
        &self.zone
    }

    /// Returns the effective time of a slot: the slot plus jitter. The Job starts no earlier.
    pub fn effective_time(&self, slot: Timestamp) -> Timestamp {
        if self.jitter_percent == 0 || self.is_single() {
            return slot;
        }
        let before =
            self.schedule.before(slot).next().map(|previous| slot.duration_since(previous));
        let after = self.schedule.next_after(slot).map(|next| next.duration_since(slot));
        let Some(gap) = before.into_iter().chain(after).min() else { return slot };
        let offset_max = gap.as_millis_f64() * self.jitter_percent as f64 / 100.0;
        let offset = offset_max * self.jitter_fraction(slot);
        slot.checked_add(SignedDuration::from_millis(offset as i64)).unwrap_or(slot)
    }

    /// Returns the latest slot whose effective time is at or before `now`. An offset is smaller than
    /// the gap to the next slot, so this is the latest slot or the one before it.
    pub(crate) fn latest_effective_slot(&self, now: Timestamp) -> Option<Timestamp> {
        let slot = self.schedule.latest_at_or_before(now)?;
        if self.effective_time(slot) <= now {
            Some(slot)
        } else {
            self.schedule.before(slot).next()
        }
    }

    /// Returns the first effective time after `now`. Slots of an interval are counted from `now`.
    pub fn next_effective_time(&self, now: Timestamp) -> Option<Timestamp> {
        // The effective time of a slot that has passed can still be in the future.
        let passed = match self.interval() {
            Some(_) => None,
            None => self.schedule.latest_at_or_before(now),
        };
        let slots = passed.into_iter().chain(self.schedule.next_after(now));
        slots.map(|slot| self.effective_time(slot)).find(|time| *time > now)
    }

    /// Whether the schedule has only one slot.
    pub(crate) fn is_single(&self) -> bool {
        matches!(self.schedule.kind(), ScheduleKind::At(_))
    }

    /// Returns the length of the interval, if the schedule is one (`@every`).
    pub(crate) fn interval(&self) -> Option<SignedDuration> {
        match self.schedule.kind() {
            ScheduleKind::Every(length) => Some(length),
            _ => None,
        }
    }

    /// Returns Kubernetes' warning about a time zone inside the schedule.
    pub(crate) fn unsupported_zone_event(&self) -> Option<PendingEvent> {
        let text = self.schedule.text();
        text.contains("TZ").then(|| {
            PendingEvent::warning(
                reasons::UNSUPPORTED_SCHEDULE,
                format!(
                    "CRON_TZ or TZ used in schedule {text:?} is not officially supported, see \
                     https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more \
                     details"
                ),
            )
        })
    }

    /// Returns a number in [0, 1) that is always the same for this CronJob and slot.
    fn jitter_fraction(&self, slot: Timestamp) -> f64 {
        let hash = fnv1a(self.seed, &slot.as_second().to_le_bytes());
        // FNV mixes its high bits poorly, so fold them and multiply once more.
        let mixed = (hash ^ (hash >> 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (mixed >> 11) as f64 / (1_u64 << 53) as f64
    }
}

fn load_zone(name: &str, default_zone: &Zone) -> Result<Zone, ScheduleError> {
    default_zone.zones().get(name).map_err(|error| ScheduleError::UnknownTimeZone {
        zone: name.into(),
        error: error.to_string(),
    })
}
