//! The annotation `punctual.dev/time-zone-gate`, which records since when a CronJob's time zone is read
//! or ignored.
//!
//! Switching the feature gate `TimeZone` moves the slots like an edit of the time zone, so it must not
//! start a slot that has passed either. The annotation `punctual.dev/schedule-since` cannot record it,
//! because the server derives that one from the spec.

use jiff::Timestamp;
use punctual_api::well_known::annotations;
use punctual_api::{CronJob, Time};

use super::FeatureGates;

/// Whether the time zone of a CronJob is ignored, and since when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ZoneGateRecord {
    /// The time since which this is so.
    pub since: Timestamp,
    /// Whether the time zone is ignored.
    pub is_ignored: bool,
}

impl ZoneGateRecord {
    /// The annotation key.
    pub const ANNOTATION: &str = annotations::TIME_ZONE_GATE;

    /// Returns the annotation value, such as `2026-01-31T08:00:00Z off`.
    pub fn to_annotation(self) -> String {
        format!("{} {}", Time::new(self.since), if self.is_ignored { "off" } else { "on" })
    }

    /// Parses the annotation value. Returns `None` for a malformed value.
    pub fn parse(text: &str) -> Option<ZoneGateRecord> {
        let (since, state) = text.split_once(' ')?;
        let is_ignored = match state {
            "off" => true,
            "on" => false,
            _ => return None,
        };
        Some(ZoneGateRecord { since: since.parse().ok()?, is_ignored })
    }

    /// Returns the record that applies at `now`, and whether it must be written. Without a record the
    /// time zone was always read.
    pub(super) fn update(
        cron_job: &CronJob,
        gates: &FeatureGates,
        now: Timestamp,
    ) -> ZoneGateUpdate {
        let annotation = cron_job.metadata.annotation(Self::ANNOTATION);
        let recorded = annotation.and_then(ZoneGateRecord::parse);
        let is_ignored = gates.ignores_zone(cron_job);
        if recorded.is_some_and(|record| record.is_ignored) == is_ignored {
            return ZoneGateUpdate { current: recorded, to_record: None };
        }
        let record = ZoneGateRecord { since: now, is_ignored };
        ZoneGateUpdate { current: Some(record), to_record: Some(record) }
    }
}

/// The record of the gate that applies, and the one to write.
pub(super) struct ZoneGateUpdate {
    pub(super) current: Option<ZoneGateRecord>,
    pub(super) to_record: Option<ZoneGateRecord>,
}
