//! How the status of a CronJob is stored on servers that drop unknown fields.
//!
//! On a cluster, the status of a `batch/v1` CronJob has three fields: the active Jobs, the last slot and the last
//! success. Of the other fields that we compute, only the missed slots must survive: a miss that is forgotten
//! would be reported and counted again, and a slot whose name is taken by a foreign Job would be tried
//! forever. So the latest missed slot and the number of misses are stored in an annotation, and are copied from there
//! into the status when the object is read. The other fields appear in events and metrics only.
//!
//! The annotation is written before the status. After a crash in between, the misses are recorded and the run
//! that was started after them is found by its name.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use punctual_api::cronjob::CronJobStatus;
use punctual_api::well_known::annotations::MISSED;
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
        if self.is_pruned
            && let Some(missed) = MissedRecord::from_annotation(&cron_job)
        {
            missed.write_to(&mut cron_job.status);
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
            && let Some(missed) = MissedRecord::from_status(status)
            && MissedRecord::from_status(&current.status) != Some(missed)
        {
            annotations.insert(MISSED, missed.to_annotation());
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
        Settled {
            status: Some(serde_json::from_value(status).unwrap()),
            events: Vec::new(),
            finished_runs: Vec::new(),
            missed_slots: Vec::new(),
            jobs_to_clean_up: Vec::new(),
            finalizers_to_remove: Vec::new(),
            jobs_to_give_up: Vec::new(),
            schedule_to_record: None,
            zone_gate_to_record: None,
            future_record: None,
            wake_at: None,
            needs_retry: false,
        }
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
    fn a_pruned_status_has_only_the_fields_of_kubernetes() {
        let status = json!({"lastScheduleTime": "2026-01-31T08:00:00Z", "successfulRuns": 1});
        let current = cron_job(json!({}), json!({"future": 1}));
        let want = json!({"lastScheduleTime": "2026-01-31T08:00:00Z"});
        assert_eq!(changes(PRUNED, current, status), json!([{}, want]));
    }

    #[test]
    fn a_complete_status_needs_no_annotation() {
        let status = json!({"lastMissedTime": "2026-01-31T08:00:00Z", "missedRuns": 3});
        let current = cron_job(json!({"punctual.dev/missed": "2025-01-01T00:00:00Z 9"}), json!({}));
        assert_eq!(COMPLETE.decode(current.clone()).status.missed_runs, 0);
        assert_eq!(changes(COMPLETE, current, status.clone()), json!([{}, status]));
    }

    #[test]
    fn a_malformed_annotation_is_ignored() {
        for text in ["", "x", "2026-01-31T08:00:00Z", "yesterday 3", "2026-01-31T08:00:00Z many"] {
            let current = PRUNED.decode(cron_job(json!({"punctual.dev/missed": text}), json!({})));
            assert_eq!(current.status, CronJobStatus::default(), "{text}");
        }
        let negative = json!({"punctual.dev/missed": "2026-01-31T08:00:00Z -3"});
        assert_eq!(PRUNED.decode(cron_job(negative, json!({}))).status.failed_runs, 0);
    }
}
