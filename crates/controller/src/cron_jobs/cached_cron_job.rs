//! A CronJob as it is cached between reconciles.
//!
//! The cache holds the JSON text, which needs less than half the memory of the parsed object, and the
//! fields that are needed without parsing. A reconcile parses the text, which takes some microseconds.

use std::sync::Arc;

use jiff::Timestamp;
use punctual_api::{CronJob, Time};
use punctual_engine::cronjob::{ScheduleError, Timetable};

use super::options::CronJobOptions;

/// The cached form of a CronJob.
pub(super) struct CachedCronJob {
    pub(super) uid: String,
    pub(super) resource_version: String,
    pub(super) generation: i64,
    pub(super) created_at: Option<Timestamp>,
    /// Whether it is neither suspended nor being deleted.
    pub(super) can_start: bool,
    text: Box<str>,
    timetable: Arc<Result<Timetable, ScheduleError>>,
}

/// A CronJob parsed from its cached form.
#[derive(Clone)]
pub(super) struct ParsedCronJob {
    pub(super) cron_job: Arc<CronJob>,
    pub(super) timetable: Arc<Result<Timetable, ScheduleError>>,
    /// The form that it was parsed from.
    pub(super) cached: Arc<CachedCronJob>,
}

/// The cached form of a CronJob could not be parsed.
#[derive(Debug, thiserror::Error)]
#[error(
    "the cached CronJob with UID {uid} and resourceVersion {resource_version} cannot be parsed"
)]
pub(super) struct CachedFormError {
    uid: String,
    resource_version: String,
    source: serde_json::Error,
}

impl CachedCronJob {
    pub(super) fn new(cron_job: &CronJob, options: &CronJobOptions) -> CachedCronJob {
        let timetable = Timetable::from_cron_job(cron_job, &options.default_zone, &options.gates);
        CachedCronJob::with_timetable(cron_job, Arc::new(timetable))
    }

    /// The cached form of a newer version of the same CronJob. Reuses the timetable if the schedule is unchanged.
    pub(super) fn updated(
        self: &Arc<CachedCronJob>,
        cron_job: &CronJob,
        options: &CronJobOptions,
    ) -> CachedCronJob {
        match self.parse() {
            Ok(old) if has_same_timetable(&old.cron_job, cron_job) => {
                CachedCronJob::with_timetable(cron_job, old.timetable)
            }
            _ => CachedCronJob::new(cron_job, options),
        }
    }

    fn with_timetable(
        cron_job: &CronJob,
        timetable: Arc<Result<Timetable, ScheduleError>>,
    ) -> CachedCronJob {
        let metadata = &cron_job.metadata;
        CachedCronJob {
            uid: metadata.uid.clone(),
            resource_version: metadata.resource_version.clone(),
            generation: metadata.generation,
            created_at: metadata.creation_timestamp.map(Time::timestamp),
            can_start: metadata.deletion_timestamp.is_none() && !cron_job.is_suspended(),
            // An empty text makes `parse` fail, so that the error is reported.
            text: serde_json::to_string(cron_job).unwrap_or_default().into(),
            timetable,
        }
    }

    /// Parses the cached text.
    pub(super) fn parse(self: &Arc<CachedCronJob>) -> Result<ParsedCronJob, CachedFormError> {
        let cron_job = serde_json::from_str(&self.text).map_err(|source| CachedFormError {
            uid: self.uid.clone(),
            resource_version: self.resource_version.clone(),
            source,
        })?;
        Ok(ParsedCronJob {
            cron_job: Arc::new(cron_job),
            timetable: self.timetable.clone(),
            cached: self.clone(),
        })
    }

    pub(super) fn timetable_ref(&self) -> Result<&Timetable, &ScheduleError> {
        self.timetable.as_ref().as_ref()
    }

    pub(super) fn timetable(&self) -> Arc<Result<Timetable, ScheduleError>> {
        self.timetable.clone()
    }
}

/// Whether both versions of a CronJob have the same slots and effective times.
fn has_same_timetable(old: &CronJob, new: &CronJob) -> bool {
    old.spec.schedule == new.spec.schedule
        && old.spec.time_zone == new.spec.time_zone
        && old.jitter_percent() == new.jitter_percent()
}

#[cfg(test)]
mod tests {
    use punctual_engine::cronjob::FeatureGates;
    use punctual_schedule::Zones;
    use serde_json::json;

    use super::super::options::ClusterOptions;
    use super::*;

    fn options() -> CronJobOptions {
        CronJobOptions {
            kinds: Vec::new(),
            default_zone: Zones::bundled().utc(),
            gates: FeatureGates::default(),
            run_requests: false,
            workers: 1,
            cluster: ClusterOptions::default(),
        }
    }

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
    fn the_cached_form_preserves_every_field() {
        let options = options();
        let cron_job = cron_job("0 8 * * *", "9");
        let cached = Arc::new(CachedCronJob::new(&cron_job, &options));
        let parsed = cached.parse().unwrap().cron_job;
        assert_eq!(
            serde_json::to_string(&*parsed).unwrap(),
            serde_json::to_string(&cron_job).unwrap()
        );
        assert_eq!((cached.uid.as_str(), cached.resource_version.as_str()), ("u", "9"));
        assert_eq!(cached.generation, 3);
    }

    #[test]
    fn the_timetable_is_rebuilt_only_if_the_schedule_changes() {
        let options = options();
        let cached = Arc::new(CachedCronJob::new(&cron_job("0 8 * * *", "9"), &options));
        let same = cached.updated(&cron_job("0 8 * * *", "10"), &options);
        assert!(Arc::ptr_eq(&cached.timetable, &same.timetable));
        let other = cached.updated(&cron_job("0 9 * * *", "11"), &options);
        assert!(!Arc::ptr_eq(&cached.timetable, &other.timetable));
    }

    #[test]
    fn a_damaged_text_is_an_error_that_names_the_object() {
        let options = options();
        let mut cached = CachedCronJob::new(&cron_job("0 8 * * *", "9"), &options);
        cached.text = "{".into();
        let error = Arc::new(cached).parse().err().unwrap();
        assert_eq!(
            error.to_string(),
            "the cached CronJob with UID u and resourceVersion 9 cannot be parsed"
        );
    }
}
