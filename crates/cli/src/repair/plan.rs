//! What `punctual repair` changes, computed from the objects and the current time.

use anyhow::bail;
use jiff::Timestamp;
use punctual_api::cronjob::EffectiveSchedule;
use punctual_api::well_known::annotations;
use punctual_api::{CronJob, Job, Time};
use punctual_engine::cronjob::{JobView, ZoneGateRecord};
use serde_json::{Map, Value, json};

/// The changes to a CronJob and its Jobs.
#[derive(Debug)]
pub(super) struct RepairPlan {
    uid: String,
    now: Time,
    /// The times of the status to set to the current time, by field.
    status: Vec<(&'static str, Time)>,
    /// The annotations to replace, by key.
    annotations: Map<String, Value>,
    /// The finished Jobs that lose their slot.
    pub(super) jobs: Vec<FutureJob>,
}

/// A finished Job whose slot lies in the future.
#[derive(Debug)]
pub(super) struct FutureJob {
    pub(super) name: String,
    uid: String,
    slot: Timestamp,
}

impl FutureJob {
    /// The merge patch that removes the slot. A Job without one is not recorded.
    pub(super) fn patch(&self) -> Value {
        let slot = Map::from_iter([(annotations::SCHEDULED_TIMESTAMP.to_owned(), Value::Null)]);
        json!({"metadata": {"uid": self.uid, "annotations": slot}})
    }
}

impl RepairPlan {
    /// Computes the changes. Fails if they are not safe or not enough.
    pub(super) fn new(
        cron_job: &CronJob,
        jobs: &[Job],
        now: Timestamp,
    ) -> anyhow::Result<RepairPlan> {
        let metadata = &cron_job.metadata;
        let name = cron_job.key();
        let created_at = metadata.creation_timestamp.map(Time::timestamp);
        if let Some(created_at) = created_at.filter(|created_at| *created_at > now) {
            bail!(
                "{name} was created at {created_at}, which is in the future, so no slot up to then \
                 starts; delete and create it again, or wait"
            );
        }
        let jobs = future_jobs(cron_job, jobs, now)?;
        let now = Time::new(now);
        let status = [
            ("lastScheduleTime", cron_job.status.last_schedule_time),
            ("lastMissedTime", cron_job.status.last_missed_time),
        ];
        let status = status.into_iter().filter_map(|(field, time)| Some((field, time?)));
        Ok(RepairPlan {
            uid: metadata.uid.clone(),
            now,
            status: status.filter(|(_, time)| *time > now).collect(),
            annotations: future_annotations(cron_job, now),
            jobs,
        })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.status.is_empty() && self.annotations.is_empty() && self.jobs.is_empty()
    }

    /// Describes the changes, one per line.
    pub(super) fn describe(&self, is_dry_run: bool) -> String {
        if self.is_empty() {
            return "nothing to repair: no recorded time is in the future\n".to_owned();
        }
        let mut text = String::new();
        for FutureJob { name, slot, .. } in &self.jobs {
            text += &format!("Job {name}: remove its slot {slot}\n");
        }
        for (key, value) in &self.annotations {
            text += &format!("annotation {key}: set to {value}\n");
        }
        for (field, time) in &self.status {
            text += &format!("status.{field}: {time} -> {}\n", self.now);
        }
        if is_dry_run {
            text += "dry run: nothing was changed\n";
        }
        text
    }

    /// The merge patch of the annotations, if any change.
    pub(super) fn annotation_patch(&self) -> Option<Value> {
        let patch = json!({"metadata": {"uid": self.uid, "annotations": self.annotations}});
        (!self.annotations.is_empty()).then_some(patch)
    }

    /// The merge patch of the status.
    pub(super) fn status_patch(&self) -> Value {
        let times = self.status.iter().map(|(field, _)| ((*field).to_owned(), json!(self.now)));
        json!({"metadata": {"uid": self.uid}, "status": Map::from_iter(times)})
    }
}

/// Returns the finished Jobs of the CronJob whose slot lies in the future. Fails if one is running.
fn future_jobs(cron_job: &CronJob, jobs: &[Job], now: Timestamp) -> anyhow::Result<Vec<FutureJob>> {
    let views = jobs.iter().map(JobView::from_job);
    let mut found = Vec::new();
    for job in views.filter(|job| job.controller_uid == cron_job.metadata.uid) {
        let Some(slot) = job.slot.filter(|slot| *slot > now) else { continue };
        if job.result.is_none() {
            bail!(
                "the Job {} of the slot {slot}, which is in the future, is running; wait until it ends, \
                 or delete it",
                job.name
            );
        }
        found.push(FutureJob { name: job.name, uid: job.uid, slot });
    }
    Ok(found)
}

/// Returns the annotations of the controller whose time lies in the future, with the current time.
fn future_annotations(cron_job: &CronJob, now: Time) -> Map<String, Value> {
    let since = now.timestamp();
    let mut changed = Map::new();
    let mut set = |key: &str, value: String| {
        changed.insert(key.to_owned(), Value::String(value));
    };
    if let Some(schedule) = EffectiveSchedule::from_cron_job(cron_job)
        && schedule.since > since
    {
        let current = EffectiveSchedule { since, ..schedule };
        set(EffectiveSchedule::ANNOTATION, current.to_annotation());
    }
    let gate = cron_job.metadata.annotation(ZoneGateRecord::ANNOTATION);
    if let Some(record) = gate.and_then(ZoneGateRecord::parse)
        && record.since > since
    {
        let current = ZoneGateRecord { since, ..record };
        set(ZoneGateRecord::ANNOTATION, current.to_annotation());
    }
    let missed = cron_job.metadata.annotation(annotations::MISSED);
    if let Some((latest, count)) = missed.and_then(|text| text.split_once(' '))
        && latest.parse::<Timestamp>().is_ok_and(|latest| latest > since)
    {
        set(annotations::MISSED, format!("{now} {count}"));
    }
    // Without its slot, the number of skipped slots does not depend on the last slot, which is set back.
    let skipped = cron_job.metadata.annotation(annotations::SKIPPED).unwrap_or_default();
    if let [count, slot, _] = skipped.split(' ').collect::<Vec<_>>().as_slice()
        && slot.parse::<Timestamp>().is_ok_and(|slot| slot > since)
    {
        set(annotations::SKIPPED, (*count).to_owned());
    }
    changed
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: &str = "2026-03-01T10:00:00Z";
    const FUTURE: &str = "2037-01-01T00:00:00Z";

    fn cron_job(annotations: Value, status: Value) -> CronJob {
        serde_json::from_value(json!({
            "metadata": {"name": "a", "namespace": "n", "uid": "u", "annotations": annotations,
                "creationTimestamp": "2026-01-01T00:00:00Z"},
            "status": status,
        }))
        .unwrap()
    }

    fn job(slot: &str, is_finished: bool) -> Job {
        let conditions =
            if is_finished { json!([{"type": "Complete", "status": "True"}]) } else { json!([]) };
        serde_json::from_value(json!({
            "metadata": {"name": "a-1", "uid": "j",
                "annotations": {"batch.kubernetes.io/cronjob-scheduled-timestamp": slot},
                "ownerReferences": [{"uid": "u", "controller": true}]},
            "status": {"conditions": conditions},
        }))
        .unwrap()
    }

    fn plan(cron_job: &CronJob, jobs: &[Job]) -> anyhow::Result<RepairPlan> {
        RepairPlan::new(cron_job, jobs, NOW.parse().unwrap())
    }

    #[test]
    fn times_in_the_future_are_set_to_the_current_time() {
        let status = json!({"lastScheduleTime": FUTURE, "lastMissedTime": "2026-02-01T00:00:00Z"});
        let annotations = json!({
            "punctual.dev/schedule-since": "2037-01-01T00:00:00Z 0 * * * *",
            "punctual.dev/time-zone-gate": "2026-02-01T00:00:00Z off",
            "punctual.dev/missed": "2037-01-01T00:00:00Z 3",
            "punctual.dev/skipped": "7 2037-01-01T00:00:00Z 4",
        });
        let plan =
            plan(&cron_job(annotations, status), &[job(FUTURE, true), job(NOW, false)]).unwrap();
        assert_eq!(
            plan.status_patch(),
            json!({"metadata": {"uid": "u"}, "status": {"lastScheduleTime": NOW}})
        );
        let annotations = json!({
            "punctual.dev/missed": "2026-03-01T10:00:00Z 3",
            "punctual.dev/schedule-since": "2026-03-01T10:00:00Z 0 * * * *",
            "punctual.dev/skipped": "7",
        });
        let want = json!({"metadata": {"uid": "u", "annotations": annotations}});
        assert_eq!(plan.annotation_patch(), Some(want));
        let [job] = plan.jobs.as_slice() else { panic!("{plan:?}") };
        let slot = json!({"batch.kubernetes.io/cronjob-scheduled-timestamp": null});
        assert_eq!(job.patch(), json!({"metadata": {"uid": "j", "annotations": slot}}));
        assert!(plan.describe(true).ends_with("dry run: nothing was changed\n"));
    }

    #[test]
    fn a_healthy_cron_job_needs_no_repair() {
        let status = json!({"lastScheduleTime": "2026-03-01T09:00:00Z"});
        let plan =
            plan(&cron_job(json!({}), status), &[job("2026-03-01T09:00:00Z", false)]).unwrap();
        assert!(plan.is_empty());
        assert!(plan.describe(false).starts_with("nothing to repair"));
    }

    #[test]
    fn a_running_job_of_a_future_slot_must_end_first() {
        let status = json!({"lastScheduleTime": FUTURE});
        let error = plan(&cron_job(json!({}), status), &[job(FUTURE, false)]).unwrap_err();
        assert!(error.to_string().contains("is running; wait until it ends"), "{error}");
    }

    #[test]
    fn a_cron_job_from_the_future_cannot_be_repaired() {
        let mut cron_job = cron_job(json!({}), json!({}));
        cron_job.metadata.creation_timestamp = Some(FUTURE.parse().map(Time::new).unwrap());
        let error = plan(&cron_job, &[]).unwrap_err();
        assert!(error.to_string().contains("delete and create it again"), "{error}");
    }
}
