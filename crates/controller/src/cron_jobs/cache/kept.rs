//! A CronJob as it is kept between two looks at it: its text, which takes less than half of the memory, and
//! what has to be at hand. It is read when it is looked at, which takes some microseconds.

use std::sync::Arc;

use punctual_api::CronJob;
use punctual_engine::cronjob::{ScheduleError, Timetable};
use punctual_schedule::Zone;

use super::Entry;

/// What is kept of one CronJob.
pub(super) struct Kept {
    pub(super) uid: String,
    pub(super) resource_version: String,
    pub(super) generation: i64,
    text: Box<str>,
    timetable: Arc<Result<Timetable, ScheduleError>>,
}

impl Kept {
    pub(super) fn new(cron_job: &CronJob, zone: &Zone) -> Kept {
        Kept::with(cron_job, Arc::new(Timetable::from_cron_job(cron_job, zone)))
    }

    /// A newer version of the same CronJob. Mostly its schedule is what it was.
    pub(super) fn renewed(self: &Arc<Kept>, cron_job: &CronJob, zone: &Zone) -> Kept {
        let what = |cron_job: &CronJob| {
            let spec = &cron_job.spec;
            (spec.schedule.clone(), spec.time_zone.clone(), cron_job.jitter_percent())
        };
        match self.entry() {
            Some(known) if what(&known.cron_job) == what(cron_job) => {
                Kept::with(cron_job, known.timetable)
            }
            _ => Kept::new(cron_job, zone),
        }
    }

    fn with(cron_job: &CronJob, timetable: Arc<Result<Timetable, ScheduleError>>) -> Kept {
        let meta = &cron_job.metadata;
        Kept {
            uid: meta.uid.clone(),
            resource_version: meta.resource_version.clone(),
            generation: meta.generation,
            // What was read from a text can be written as one.
            text: serde_json::to_string(cron_job).unwrap_or_default().into(),
            timetable,
        }
    }

    /// The CronJob again.
    pub(super) fn entry(self: &Arc<Kept>) -> Option<Entry> {
        let cron_job = Arc::new(serde_json::from_str(&self.text).ok()?);
        Some(Entry { cron_job, timetable: self.timetable.clone(), kept: self.clone() })
    }

    pub(super) fn timetable(&self) -> Arc<Result<Timetable, ScheduleError>> {
        self.timetable.clone()
    }
}

#[cfg(test)]
mod tests {
    use punctual_schedule::Zones;
    use serde_json::json;

    use super::*;

    fn cron_job(schedule: &str, version: &str) -> CronJob {
        let text = json!({
            "apiVersion": "batch/v1", "kind": "CronJob",
            "metadata": {"name": "a", "uid": "u", "resourceVersion": version, "generation": 3,
                "annotations": {"a": "b"}, "finalizers": ["f"]},
            "spec": {"schedule": schedule, "future": 1, "jobTemplate": {"spec": {"x": [1, 2]}}},
            "status": {"lastScheduleTime": "2026-01-31T08:00:00Z", "missedRuns": 7,
                "active": [{"name": "a-1"}]},
        });
        serde_json::from_value(text).unwrap()
    }

    #[test]
    fn what_is_kept_comes_back_whole() {
        let zone = Zones::bundled().utc();
        let cron_job = cron_job("0 8 * * *", "9");
        let kept = Arc::new(Kept::new(&cron_job, &zone));
        let again = kept.entry().unwrap().cron_job;
        assert_eq!(
            serde_json::to_string(&*again).unwrap(),
            serde_json::to_string(&cron_job).unwrap()
        );
        assert_eq!((kept.uid.as_str(), kept.resource_version.as_str()), ("u", "9"));
        assert_eq!(kept.generation, 3);
    }

    #[test]
    fn the_timetable_is_made_anew_only_for_another_schedule() {
        let zone = Zones::bundled().utc();
        let kept = Arc::new(Kept::new(&cron_job("0 8 * * *", "9"), &zone));
        let same = kept.renewed(&cron_job("0 8 * * *", "10"), &zone);
        assert!(Arc::ptr_eq(&kept.timetable, &same.timetable));
        let other = kept.renewed(&cron_job("0 9 * * *", "11"), &zone);
        assert!(!Arc::ptr_eq(&kept.timetable, &other.timetable));
    }
}
