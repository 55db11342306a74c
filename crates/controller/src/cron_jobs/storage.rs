//! What a server keeps of a CronJob, and how the rest is kept all the same.
//!
//! The status of a `batch/v1` CronJob on a cluster has three fields: what runs, the last slot and the last
//! success. Of what we would write besides, one thing must not be forgotten: which slots are given up. A
//! miss that is forgotten is told and counted again, and a slot whose name somebody else holds is tried for
//! ever. It goes into an annotation, together with the number of misses, and comes out of it into the
//! status before anybody looks. What else we would write can be seen in events and metrics.
//!
//! The annotation is written before the status. Whoever dies in between has given the slots up and not
//! recorded the run that was started after them, which is then found by its name.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use punctual_api::cronjob::CronJobStatus;
use punctual_api::well_known::annotations::MISSED;
use punctual_api::{CronJob, CronJobKind, Time};
use punctual_engine::cronjob::{ScheduleSince, Settled};

/// How CronJobs of a kind are kept.
#[derive(Clone, Copy, Debug)]
pub(super) struct Storage {
    pub(super) flavor: CronJobKind,
    /// Whether the server drops what Kubernetes does not know.
    pub(super) is_pruned: bool,
}

impl Storage {
    /// A CronJob as it is cached. Who manages which field is the server's business: an update without it
    /// leaves it as it is. Lists of Kubernetes' own kinds do not say of their items what they are.
    pub(super) fn read(self, mut cron_job: CronJob) -> Arc<CronJob> {
        cron_job.metadata.managed_fields = None;
        cron_job.api_version = self.flavor.api_version().to_owned();
        cron_job.kind = self.flavor.kind().to_owned();
        if let Some(missed) = Missed::remembered(&cron_job).filter(|_| self.is_pruned) {
            missed.write(&mut cron_job.status);
        }
        Arc::new(cron_job)
    }

    /// What there is to write into the annotations.
    pub(super) fn annotations(
        self,
        seen: &CronJob,
        settled: &Settled,
    ) -> BTreeMap<&'static str, String> {
        let since = settled.schedule_to_record.as_ref();
        let since = since.map(|since| (ScheduleSince::ANNOTATION, since.to_annotation()));
        let status = settled.status.as_ref().filter(|_| self.is_pruned);
        let missed = status.and_then(Missed::of);
        let is_news = |missed: &Missed| Some(missed) != Missed::of(&seen.status).as_ref();
        let missed = missed.filter(is_news).map(|missed| (MISSED, missed.to_annotation()));
        since.into_iter().chain(missed).collect()
    }

    /// What there is to write into the status.
    pub(super) fn status(self, seen: &CronJob, settled: &Settled) -> Option<CronJobStatus> {
        let status = settled.status.clone()?;
        if !self.is_pruned {
            return Some(status);
        }
        let status = kubernetes_own(status);
        (status != kubernetes_own(seen.status.clone())).then_some(status)
    }
}

/// The part of a status that Kubernetes knows. Fields of a later version are left as they are.
fn kubernetes_own(status: CronJobStatus) -> CronJobStatus {
    let CronJobStatus { active, last_schedule_time, last_successful_time, extra, .. } = status;
    CronJobStatus {
        active,
        last_schedule_time,
        last_successful_time,
        extra,
        ..CronJobStatus::default()
    }
}

/// The slots that are given up: how many, and the latest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Missed {
    latest: Timestamp,
    runs: i64,
}

impl Missed {
    fn of(status: &CronJobStatus) -> Option<Missed> {
        let latest = status.last_missed_time?.timestamp();
        Some(Missed { latest, runs: status.missed_runs })
    }

    /// What a CronJob remembers. What cannot be read remembers nothing.
    fn remembered(cron_job: &CronJob) -> Option<Missed> {
        let (latest, runs) = cron_job.metadata.annotation(MISSED)?.split_once(' ')?;
        Some(Missed { latest: latest.parse().ok()?, runs: runs.parse().ok()? })
    }

    /// The value of the annotation: `2026-01-31T08:00:00Z 3`.
    fn to_annotation(self) -> String {
        format!("{} {}", Time::new(self.latest), self.runs)
    }

    /// Every miss is a failed run, too.
    fn write(self, status: &mut CronJobStatus) {
        let runs = self.runs.max(0);
        status.last_missed_time = Some(Time::new(self.latest));
        (status.missed_runs, status.failed_runs) = (runs, runs);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    const CLUSTERS: Storage = Storage { flavor: CronJobKind::BatchV1, is_pruned: true };
    const OURS: Storage = Storage { flavor: CronJobKind::BatchV1, is_pruned: false };

    fn cron_job(annotations: Value, status: Value) -> CronJob {
        let metadata = json!({"name": "a", "annotations": annotations, "managedFields": []});
        serde_json::from_str(&json!({"metadata": metadata, "status": status}).to_string()).unwrap()
    }

    fn settled(status: Value) -> Settled {
        Settled {
            status: Some(serde_json::from_value(status).unwrap()),
            events: Vec::new(),
            jobs_to_clean_up: Vec::new(),
            finalizers_to_remove: Vec::new(),
            schedule_to_record: None,
            wake_at: None,
            needs_retry: false,
        }
    }

    fn changes(storage: Storage, seen: CronJob, status: Value) -> Value {
        let (seen, settled) = (storage.read(seen), settled(status));
        let status = storage.status(&seen, &settled);
        json!([storage.annotations(&seen, &settled), status])
    }

    #[test]
    fn a_miss_goes_into_the_annotation_and_comes_out_of_it() {
        let status = json!({"lastMissedTime": "2026-01-31T08:00:00Z", "missedRuns": 3, "failedRuns": 5,
            "nextScheduleTime": "2026-01-31T09:00:00Z", "conditions": [{"type": "Settled"}]});
        let written = json!({"punctual.dev/missed": "2026-01-31T08:00:00Z 3"});
        assert_eq!(
            changes(CLUSTERS, cron_job(json!({}), json!({})), status.clone()),
            json!([written.clone(), null])
        );
        let again = CLUSTERS.read(cron_job(written.clone(), json!({})));
        assert_eq!((again.status.missed_runs, again.status.failed_runs), (3, 3));
        assert_eq!(again.status.last_missed_time.unwrap().to_string(), "2026-01-31T08:00:00Z");
        assert_eq!(again.kind, "CronJob");
        assert!(again.metadata.managed_fields.is_none());
        let rest = changes(CLUSTERS, cron_job(written, json!({})), status);
        assert_eq!(rest, json!([{}, null]), "once it is written there is nothing to write");
    }

    #[test]
    fn what_kubernetes_knows_is_written_and_nothing_else() {
        let status = json!({"lastScheduleTime": "2026-01-31T08:00:00Z", "successfulRuns": 1});
        let seen = cron_job(json!({}), json!({"future": 1}));
        let want = json!({"lastScheduleTime": "2026-01-31T08:00:00Z"});
        assert_eq!(changes(CLUSTERS, seen, status), json!([{}, want]));
    }

    #[test]
    fn a_server_of_ours_keeps_everything_and_needs_no_annotation() {
        let status = json!({"lastMissedTime": "2026-01-31T08:00:00Z", "missedRuns": 3});
        let seen = cron_job(json!({"punctual.dev/missed": "2025-01-01T00:00:00Z 9"}), json!({}));
        assert_eq!(OURS.read(seen.clone()).status.missed_runs, 0);
        assert_eq!(changes(OURS, seen, status.clone()), json!([{}, status]));
    }

    #[test]
    fn an_annotation_that_somebody_has_spoilt_remembers_nothing() {
        for text in ["", "x", "2026-01-31T08:00:00Z", "yesterday 3", "2026-01-31T08:00:00Z many"] {
            let seen = CLUSTERS.read(cron_job(json!({"punctual.dev/missed": text}), json!({})));
            assert_eq!(seen.status, CronJobStatus::default(), "{text}");
        }
        let negative = json!({"punctual.dev/missed": "2026-01-31T08:00:00Z -3"});
        assert_eq!(CLUSTERS.read(cron_job(negative, json!({}))).status.failed_runs, 0);
    }
}
