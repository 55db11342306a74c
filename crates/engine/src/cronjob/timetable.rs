//! A CronJob's schedule with its zone and jitter: nominal slots and when they take effect.
//!
//! Jitter moves a slot to a fixed place of its own between itself and the next one, so a restart
//! changes nothing, and many CronJobs with one schedule spread out. The offset is the jitter's share
//! of the gap before the slot or behind it, whichever is smaller: with the gap before alone, the
//! first slot of `0,1 0 * * *` could be overtaken by the second and never run.

use jiff::{SignedDuration, Timestamp};
use punctual_api::CronJob;
use punctual_schedule::{Schedule, ScheduleKind, Zone};

use super::reasons::{self, Trouble};
use crate::Note;

/// When a CronJob runs.
#[derive(Clone, Debug)]
pub struct Timetable {
    schedule: Schedule,
    /// The zone in which times are told.
    zone: Zone,
    jitter_percent: i64,
    /// What the hash of a slot begins with.
    seed: u64,
}

impl Timetable {
    /// The timetable of a CronJob. `default_zone` is the zone of those that name none.
    pub fn of(cron_job: &CronJob, default_zone: &Zone) -> Result<Timetable, Trouble> {
        let spec = &cron_job.spec;
        // Kubernetes reads a schedule that has a zone of its own as it is.
        let prefixed = spec.schedule.contains("TZ");
        let zone = match &spec.time_zone {
            Some(name) if !prefixed => named_zone(name, default_zone)?,
            _ => default_zone.clone(),
        };
        let schedule = Schedule::parse(&spec.schedule, &zone).map_err(|error| {
            Trouble::UnparseableSchedule {
                schedule: spec.schedule.clone(),
                error: error.to_string(),
            }
        })?;
        if schedule.is_never() {
            return Err(Trouble::InvalidSchedule { schedule: spec.schedule.clone() });
        }
        let jitter_percent = i64::from(cron_job.jitter_percent());
        let seed = fnv(0xcbf2_9ce4_8422_2325, cron_job.metadata.uid.as_bytes());
        Ok(Timetable { schedule, zone, jitter_percent, seed })
    }

    /// The schedule.
    pub fn schedule(&self) -> &Schedule {
        &self.schedule
    }

    /// The zone in which times are told.
    pub fn zone(&self) -> &Zone {
        &self.zone
    }

    /// When a slot takes effect: nothing starts before.
    pub fn effective(&self, slot: Timestamp) -> Timestamp {
        if self.jitter_percent == 0 || self.is_single() {
            return slot;
        }
        let before =
            self.schedule.before(slot).next().map(|previous| slot.duration_since(previous));
        let behind = self.schedule.next_after(slot).map(|next| next.duration_since(slot));
        let Some(gap) = before.into_iter().chain(behind).min() else { return slot };
        let share = gap.as_millis_f64() * self.jitter_percent as f64 / 100.0 * self.fraction(slot);
        slot.checked_add(SignedDuration::from_millis(share as i64)).unwrap_or(slot)
    }

    /// The last slot that has taken effect. Offsets stay within the gap to the next slot, so it is
    /// the last nominal one or the one before.
    pub(crate) fn latest_effective(&self, now: Timestamp) -> Option<Timestamp> {
        let slot = self.schedule.latest_at_or_before(now)?;
        if self.effective(slot) <= now { Some(slot) } else { self.schedule.before(slot).next() }
    }

    /// When the next slot takes effect; a slot can be past and not yet in effect. An interval counts from
    /// now.
    pub fn next_effective(&self, now: Timestamp) -> Option<Timestamp> {
        let passed = self.schedule.latest_at_or_before(now).filter(|_| self.interval().is_none());
        let slots = passed.into_iter().chain(self.schedule.next_after(now));
        slots.map(|slot| self.effective(slot)).find(|at| *at > now)
    }

    /// Whether there is only one slot.
    pub(crate) fn is_single(&self) -> bool {
        matches!(self.schedule.kind(), ScheduleKind::At(_))
    }

    /// The distance of an interval.
    pub(crate) fn interval(&self) -> Option<SignedDuration> {
        match self.schedule.kind() {
            ScheduleKind::Every(distance) => Some(distance),
            _ => None,
        }
    }

    /// A warning that the zone is in the wrong place.
    pub(crate) fn unsupported_zone_note(&self) -> Option<Note> {
        let text = self.schedule.text();
        text.contains("TZ").then(|| {
            Note::warning(
                reasons::UNSUPPORTED_SCHEDULE,
                format!(
                    "CRON_TZ or TZ used in schedule {text:?} is not officially supported, see \
                     https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more \
                     details"
                ),
            )
        })
    }

    /// A number in [0, 1) that is always the same for this CronJob and slot.
    fn fraction(&self, slot: Timestamp) -> f64 {
        let hash = fnv(self.seed, &slot.as_second().to_le_bytes());
        // FNV leaves its high bits poorly mixed; fold and multiply once more.
        let mixed = (hash ^ (hash >> 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (mixed >> 11) as f64 / (1_u64 << 53) as f64
    }
}

fn named_zone(name: &str, default_zone: &Zone) -> Result<Zone, Trouble> {
    default_zone
        .zones()
        .get(name)
        .map_err(|error| Trouble::UnknownTimeZone { zone: name.into(), error: error.to_string() })
}

/// The FNV-1a hash: the same on every machine and in every version, unlike the standard library's.
fn fnv(seed: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(seed, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3))
}
