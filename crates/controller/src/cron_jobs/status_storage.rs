//! How the status of a CronJob is stored on servers that drop unknown fields.
//!
//! On a cluster, the status of a `batch/v1` CronJob has three fields: the active Jobs, the last slot and the last
//! success. Of the other fields that we compute, the missed and the skipped slots must survive. A miss that is
//! forgotten would be reported and counted again, and a slot whose name is taken by a foreign Job would be tried
//! forever; a skipped slot that is forgotten would be in no account at all. So both are stored in annotations, and are
//! copied from there into the status when the object is read. The other fields appear in events and metrics only.
//!
//! The annotations are written before the status. After a crash in between, the misses are recorded and the run
//! that was started after them is found by its name. Skipped slots are counted again when that run is found, so their
//! annotation counts only once the status has recorded the run.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use punctual_api::cronjob::CronJobStatus;
use punctual_api::well_known::annotations::{MISSED, SKIPPED};
use punctual_api::{CronJob, CronJobKind, Time};
use punctual_engine::cronjob::{EffectiveSchedule, Settled, ZoneGateRecord};

/// How the server stores CronJobs of a kind.
#[derive(Clone, Copy, Debug)]
pub(super) struct StatusStorage {
    pub(super) kind: CronJobKind,
    /// Whether the server drops fields that Kubernetes does not define.
    pub(super) is_pruned: bool,
}

impl StatusStorage {
    /// Converts a CronJob from the server into the form that is cached. Managed fields are removed, because an
    /// update without them leaves them unchanged. Kind and version are set, because lists of built-in kinds
    /// omit them.
    pub(super) fn decode(self, mut cron_job: CronJob) -> Arc<CronJob> {
        cron_job.metadata.managed_fields = None;
        cron_job.api_version = self.kind.api_version().to_owned();
        cron_job.kind = self.kind.kind().to_owned();
        if self.is_pruned {
            if let Some(missed) = MissedRecord::from_annotation(&cron_job) {
                missed.write_to(&mut cron_job.status);
            }
            if let Some(skipped) = SkippedRecord::from_annotation(&cron_job) {
                cron_job.status.skipped_runs = skipped.count_for(&cron_job.status);
            }
        }
        Arc::new(cron_job)
    }

    /// The annotations to write, given the CronJob as it was read.
    pub(super) fn changed_annotations(
        self,
        current: &CronJob,
        settled: &Settled,
    ) -> BTreeMap<&'static str, String> {
        let mut annotations = BTreeMap::new();
        if let Some(since) = &settled.schedule_to_record {
            annotations.insert(EffectiveSchedule::ANNOTATION, since.to_annotation());
        }
        if let Some(record) = settled.zone_gate_to_record {
            annotations.insert(ZoneGateRecord::ANNOTATION, record.to_annotation());
        }
        if self.is_pruned
            && let Some(status) = &settled.status
        {
            if let Some(missed) = MissedRecord::from_status(status)
                && MissedRecord::from_status(&current.status) != Some(missed)
            {
                annotations.insert(MISSED, missed.to_annotation());
            }
            if let Some(skipped) = SkippedRecord::of_change(&current.status, status)
                && SkippedRecord::from_annotation(current) != Some(skipped)
            {
                annotations.insert(SKIPPED, skipped.to_annotation());
            }
        }
        annotations
    }

    /// The status to write, given the CronJob as it was read.
    pub(super) fn changed_status(
        self,
        current: &CronJob,
        settled: &Settled,
    ) -> Option<CronJobStatus> {
        let status = settled.status.clone()?;
        if !self.is_pruned {
            return Some(status);
        }
        let status = kubernetes_fields(status);
        (status != kubernetes_fields(current.status.clone())).then_some(status)
    }
}

/// The fields of a status that Kubernetes defines. Unknown fields of later versions are kept.
fn kubernetes_fields(status: CronJobStatus) -> CronJobStatus {
    let CronJobStatus { active, last_schedule_time, last_successful_time, extra, .. } = status;
    CronJobStatus {
        active,
        last_schedule_time,
        last_successful_time,
        extra,
        ..CronJobStatus::default()
    }
}

/// The latest missed slot and the number of missed slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct MissedRecord {
    latest: Timestamp,
    count: i64,
}

impl MissedRecord {
    fn from_status(status: &CronJobStatus) -> Option<MissedRecord> {
        let latest = status.last_missed_time?.timestamp();
        Some(MissedRecord { latest, count: status.missed_runs })
    }

    /// Reads the annotation of a CronJob. A malformed annotation counts as absent.
    fn from_annotation(cron_job: &CronJob) -> Option<MissedRecord> {
        let (latest, count) = cron_job.metadata.annotation(MISSED)?.split_once(' ')?;
        Some(MissedRecord { latest: latest.parse().ok()?, count: count.parse().ok()? })
    }

    /// The value of the annotation, such as `2026-01-31T08:00:00Z 3`.
    fn to_annotation(self) -> String {
        format!("{} {}", Time::new(self.latest), self.count)
    }

    /// Each missed run also counts as a failed run.
    fn write_to(self, status: &mut CronJobStatus) {
        let count = self.count.max(0);
        status.last_missed_time = Some(Time::new(self.latest));
        status.missed_runs = count;
        status.failed_runs = count;
    }
}

/// The number of skipped slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct SkippedRecord {
    count: i64,
    /// The run that superseded the latest of them; absent if no run did.
    superseded_by: Option<SupersedingRun>,
}

/// A run that started instead of earlier slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct SupersedingRun {
    slot: Timestamp,
    /// The number of skipped slots without those that this run superseded.
    count_before: i64,
}

impl SkippedRecord {
    /// Returns the record to write when a status changes; absent if the number stays the same.
    fn of_change(current: &CronJobStatus, changed: &CronJobStatus) -> Option<SkippedRecord> {
        if changed.skipped_runs == current.skipped_runs {
            return None;
        }
        let started =
            changed.last_schedule_time.filter(|last| Some(*last) > current.last_schedule_time);
        let superseded_by = started.map(|slot| SupersedingRun {
            slot: slot.timestamp(),
            count_before: current.skipped_runs,
        });
        Some(SkippedRecord { count: changed.skipped_runs, superseded_by })
    }

    /// Reads the annotation of a CronJob. A malformed annotation counts as absent.
    fn from_annotation(cron_job: &CronJob) -> Option<SkippedRecord> {
        let text = cron_job.metadata.annotation(SKIPPED)?;
        match text.split(' ').collect::<Vec<_>>().as_slice() {
            [count] => Some(SkippedRecord { count: count.parse().ok()?, superseded_by: None }),
            [count, slot, count_before] => {
                let slot = slot.parse().ok()?;
                let count_before = count_before.parse().ok()?;
                let superseded_by = Some(SupersedingRun { slot, count_before });
                Some(SkippedRecord { count: count.parse().ok()?, superseded_by })
            }
            _ => None,
        }
    }

    /// The value of the annotation, such as `3 2026-01-31T08:00:00Z 1`: three slots are skipped, and only one if the
    /// run of this slot is not recorded.
    fn to_annotation(self) -> String {
        match self.superseded_by {
            None => self.count.to_string(),
            Some(SupersedingRun { slot, count_before }) => {
                format!("{} {} {count_before}", self.count, Time::new(slot))
            }
        }
    }

    /// Returns the number of slots that were skipped up to the last slot of a status.
    fn count_for(self, status: &CronJobStatus) -> i64 {
        let last = status.last_schedule_time.map(Time::timestamp);
        let count = match self.superseded_by {
            Some(run) if last < Some(run.slot) => run.count_before,
            _ => self.count,
        };
        count.max(0)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    const PRUNED: StatusStorage = StatusStorage { kind: CronJobKind::BatchV1, is_pruned: true };
    const COMPLETE: StatusStorage = StatusStorage { kind: CronJobKind::BatchV1, is_pruned: false };

    fn cron_job(annotations: Value, status: Value) -> CronJob {
        let metadata = json!({"name": "a", "annotations": annotations, "managedFields": []});
        serde_json::from_str(&json!({"metadata": metadata, "status": status}).to_string()).unwrap()
    }

    fn settled(status: Value) -> Settled {
        Settled { status: Some(serde_json::from_value(status).unwrap()), ..Settled::default() }
    }

    fn changes(storage: StatusStorage, current: CronJob, status: Value) -> Value {
        let current = storage.decode(current);
        let settled = settled(status);
        let status = storage.changed_status(&current, &settled);
        json!([storage.changed_annotations(&current, &settled), status])
    }

    #[test]
    fn a_missed_slot_is_stored_in_the_annotation_and_restored_from_it() {
        let status = json!({"lastMissedTime": "2026-01-31T08:00:00Z", "missedRuns": 3, "failedRuns": 5,
            "nextScheduleTime": "2026-01-31T09:00:00Z", "conditions": [{"type": "Settled"}]});
        let written = json!({"punctual.dev/missed": "2026-01-31T08:00:00Z 3"});
        assert_eq!(
            changes(PRUNED, cron_job(json!({}), json!({})), status.clone()),
            json!([written.clone(), null])
        );
        let restored = PRUNED.decode(cron_job(written.clone(), json!({})));
        assert_eq!((restored.status.missed_runs, restored.status.failed_runs), (3, 3));
        assert_eq!(restored.status.last_missed_time.unwrap().to_string(), "2026-01-31T08:00:00Z");
        assert_eq!(restored.kind, "CronJob");
        assert!(restored.metadata.managed_fields.is_none());
        let unchanged = changes(PRUNED, cron_job(written, json!({})), status);
        assert_eq!(unchanged, json!([{}, null]), "a recorded miss is not written again");
    }

    #[test]
    fn skipped_slots_are_stored_in_the_annotation_and_restored_from_it() {
        let before = json!({"lastScheduleTime": "2026-01-31T05:00:00Z"});
        let after = json!({"lastScheduleTime": "2026-01-31T08:00:00Z"});
        let status = json!({"lastScheduleTime": "2026-01-31T08:00:00Z", "skippedRuns": 3});
        let written = json!({"punctual.dev/skipped": "3 2026-01-31T08:00:00Z 1"});
        let current = cron_job(json!({"punctual.dev/skipped": "1"}), before.clone());
        assert_eq!(
            changes(PRUNED, current, status.clone()),
            json!([written.clone(), after.clone()])
        );
        let crashed = cron_job(written.clone(), before);
        assert_eq!(
            PRUNED.decode(crashed.clone()).status.skipped_runs,
            1,
            "slots that are counted with the status are not counted before it is written"
        );
        let again = changes(PRUNED, crashed, status.clone());
        assert_eq!(again, json!([{}, after.clone()]), "the same annotation is not written again");
        let recorded = cron_job(written, after);
        assert_eq!(PRUNED.decode(recorded.clone()).status.skipped_runs, 3);
        assert_eq!(changes(PRUNED, recorded, status), json!([{}, null]));
    }

    #[test]
    fn slots_that_no_run_superseded_are_counted_at_once() {
        let last = json!({"lastScheduleTime": "2026-01-31T08:00:00Z"});
        let status = json!({"lastScheduleTime": "2026-01-31T08:00:00Z", "skippedRuns": 5});
        let annotation = json!({"punctual.dev/skipped": "3 2026-01-31T08:00:00Z 1"});
        let written = json!({"punctual.dev/skipped": "5"});
        assert_eq!(
            changes(PRUNED, cron_job(annotation, last.clone()), status),
            json!([written.clone(), null])
        );
        assert_eq!(PRUNED.decode(cron_job(written, last)).status.skipped_runs, 5);
    }

    #[test]
    fn a_pruned_status_has_only_the_fields_of_kubernetes() {
        let status = json!({"lastScheduleTime": "2026-01-31T08:00:00Z", "successfulRuns": 1});
        let current = cron_job(json!({}), json!({"future": 1}));
        let want = json!({"lastScheduleTime": "2026-01-31T08:00:00Z"});
        assert_eq!(changes(PRUNED, current, status), json!([{}, want]));
    }

    #[test]
    fn a_complete_status_needs_no_annotation() {
        let status =
            json!({"lastMissedTime": "2026-01-31T08:00:00Z", "missedRuns": 3, "skippedRuns": 1});
        let annotations =
            json!({"punctual.dev/missed": "2025-01-01T00:00:00Z 9", "punctual.dev/skipped": "9"});
        let current = cron_job(annotations, json!({}));
        assert_eq!(COMPLETE.decode(current.clone()).status, CronJobStatus::default());
        assert_eq!(changes(COMPLETE, current, status.clone()), json!([{}, status]));
    }

    #[test]
    fn a_malformed_annotation_is_ignored() {
        for text in ["", "x", "2026-01-31T08:00:00Z", "yesterday 3", "2026-01-31T08:00:00Z many"] {
            let current = PRUNED.decode(cron_job(json!({"punctual.dev/missed": text}), json!({})));
            assert_eq!(current.status, CronJobStatus::default(), "{text}");
        }
        for text in ["", "x", "3 2026-01-31T08:00:00Z", "3 soon 1", "3 2026-01-31T08:00:00Z x"] {
            let current = PRUNED.decode(cron_job(json!({"punctual.dev/skipped": text}), json!({})));
            assert_eq!(current.status, CronJobStatus::default(), "{text}");
        }
        let negative = json!({"punctual.dev/skipped": "-3"});
        assert_eq!(PRUNED.decode(cron_job(negative, json!({}))).status.skipped_runs, 0);
        let negative = json!({"punctual.dev/missed": "2026-01-31T08:00:00Z -3"});
        assert_eq!(PRUNED.decode(cron_job(negative, json!({}))).status.failed_runs, 0);
    }
}
