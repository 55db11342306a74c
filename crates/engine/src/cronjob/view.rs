//! A Job as the CronJob controller sees it: a few hundred bytes, whatever its template.

use jiff::Timestamp;
use punctual_api::{
    Job,
    job::condition,
    names,
    well_known::{annotations, finalizers},
};

/// How a Job ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Ending {
    /// It is complete.
    Complete,
    /// It has failed.
    Failed,
}

impl Ending {
    /// The type of the Job's condition.
    pub fn as_str(self) -> &'static str {
        match self {
            Ending::Complete => condition::COMPLETE,
            Ending::Failed => condition::FAILED,
        }
    }
}

/// What matters of a Job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobView {
    /// Its name.
    pub name: String,
    /// Its identity.
    pub uid: String,
    /// The version that was seen.
    pub resource_version: String,
    /// The identity of its controller; empty if it has none.
    pub controller_uid: String,
    /// The slot it says it is for.
    pub slot: Option<Timestamp>,
    /// When it started to run Pods.
    pub started_at: Option<Timestamp>,
    /// When it was complete.
    pub completed_at: Option<Timestamp>,
    /// When it ended, either way.
    pub ended_at: Option<Timestamp>,
    /// How it ended.
    pub ending: Option<Ending>,
    /// Whether it was asked to go.
    pub is_deleting: bool,
    /// Whether it waits for us to let it go.
    pub is_held: bool,
}

impl JobView {
    /// The view of a Job.
    pub fn of(job: &Job) -> JobView {
        let end = job.status.conditions.iter().find_map(|found| {
            let ending = match found.condition_type.as_str() {
                condition::COMPLETE => Ending::Complete,
                condition::FAILED => Ending::Failed,
                _ => return None,
            };
            (found.status == "True").then_some((ending, found.last_transition_time))
        });
        let meta = &job.metadata;
        let slot = meta.annotation(annotations::SCHEDULED_TIMESTAMP);
        let completed_at = job.status.completion_time.map(|time| time.timestamp());
        JobView {
            name: meta.name.clone(),
            uid: meta.uid.clone(),
            resource_version: meta.resource_version.clone(),
            controller_uid: meta.controller().map(|owner| owner.uid.clone()).unwrap_or_default(),
            slot: slot.and_then(|text| text.parse().ok()),
            started_at: job.status.start_time.map(|time| time.timestamp()),
            completed_at,
            ended_at: completed_at.or(end.and_then(|(_, at)| at).map(|time| time.timestamp())),
            ending: end.map(|(ending, _)| ending),
            is_deleting: meta.deletion_timestamp.is_some(),
            is_held: meta.finalizers.iter().any(|name| name == finalizers::SLOT_RECORDED),
        }
    }

    /// The slot, if name and annotation agree that the Job was made for one of this CronJob's.
    pub(crate) fn slot_of(&self, cron_job: &str) -> Option<Timestamp> {
        self.slot.filter(|slot| is_named_after(&self.name, cron_job, *slot))
    }
}

/// Kubernetes names Jobs by the minute even if the slot is not on a whole one.
fn is_named_after(name: &str, cron_job: &str, slot: Timestamp) -> bool {
    let by_minute = || {
        let (stem, minutes) = name.rsplit_once('-')?;
        (stem == cron_job).then_some(minutes == slot.as_second().div_euclid(60).to_string())
    };
    name == names::job_name(cron_job, slot) || by_minute() == Some(true)
}
