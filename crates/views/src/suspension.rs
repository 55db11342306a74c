//! How a CronJob is suspended, whether it can be resumed automatically, and what a resume would start.

use jiff::Timestamp;
use punctual_api::cronjob::EffectiveSchedule;
use punctual_api::well_known::annotations;
use punctual_api::{CronJob, CronJobKind};
use punctual_engine::cronjob::StartDecision;
use serde::Serialize;

use crate::snapshot::CronJobSnapshot;

/// The annotations of a suspended CronJob.
pub mod annotation {
    /// When the controller resumes the CronJob, in RFC 3339 and UTC.
    pub const SUSPENDED_UNTIL: &str = "punctual.dev/suspended-until";
    /// Why the CronJob is suspended.
    pub const SUSPENDED_REASON: &str = "punctual.dev/suspended-reason";
    /// Who suspended the CronJob.
    pub const SUSPENDED_BY: &str = "punctual.dev/suspended-by";
    /// All of them.
    pub const ALL: [&str; 3] = [SUSPENDED_UNTIL, SUSPENDED_REASON, SUSPENDED_BY];
}

/// How a CronJob is suspended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Suspension {
    /// Since when, as far as the controller has seen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
    /// When it is resumed automatically.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
    /// Why.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// By which user.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub by: String,
}

impl Suspension {
    /// Reads the suspension of a CronJob; `None` if it is not suspended.
    pub fn from_cron_job(cron_job: &CronJob) -> Option<Suspension> {
        if !cron_job.is_suspended() {
            return None;
        }
        let text = |key| cron_job.metadata.annotation(key).unwrap_or_default().to_owned();
        Some(Suspension {
            since: cron_job.status.suspended_since.map(|since| since.timestamp()),
            until: text(annotation::SUSPENDED_UNTIL).parse().ok(),
            reason: text(annotation::SUSPENDED_REASON),
            by: text(annotation::SUSPENDED_BY),
        })
    }
}

/// Whether a controller resumes a CronJob at the time in its annotation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UntilSupport {
    /// Our controller reconciles the CronJob.
    Supported,
    /// It cannot be told yet: the CronJob is too new.
    Unknown,
    /// Another controller reconciles the CronJob, and would leave it suspended for ever.
    Unsupported,
}

/// How long our controller may take to mark a new CronJob with its schedule.
const MARK_DELAY: jiff::SignedDuration = jiff::SignedDuration::from_mins(2);

/// Decides whether our controller reconciles a CronJob, so that it is resumed automatically.
///
/// - `punctual up` (`is_own_server`) reconciles every kind.
/// - Only our controller reconciles ScheduledJobs.
/// - Our controller marks each CronJob that it reconciles with the annotation `punctual.dev/schedule-since`. One
///   without it belongs to another controller, unless it was created a moment ago. A mark that is left from an
///   earlier use of our controller cannot be told from a current one.
pub fn until_support(cron_job: &CronJob, is_own_server: bool, now: Timestamp) -> UntilSupport {
    let is_scheduled_job = cron_job.cron_job_kind() == Some(CronJobKind::ScheduledJob);
    if is_own_server || is_scheduled_job || EffectiveSchedule::from_cron_job(cron_job).is_some() {
        return UntilSupport::Supported;
    }
    let created = cron_job.metadata.creation_timestamp.map(|time| time.timestamp());
    match created {
        Some(created) if now.duration_since(created) < MARK_DELAY => UntilSupport::Unknown,
        _ => UntilSupport::Unsupported,
    }
}

/// What a resume at this moment would do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ResumePreview {
    /// The slot that would start at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub starts_at_once: Option<Timestamp>,
    /// The slot that would start once the active run ends.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub starts_after_active_run: Option<Timestamp>,
    /// How many slots are pending, including the one that starts.
    pub pending: u64,
    /// How many slots would be recorded as missed.
    pub missed: u64,
    /// When the next run starts after that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<Timestamp>,
}

impl ResumePreview {
    /// Asks the engine what it would do if the CronJob were not suspended.
    pub fn new(snapshot: &CronJobSnapshot, now: Timestamp) -> ResumePreview {
        ResumePreview::of_edit(snapshot, snapshot.cron_job.clone(), now)
    }

    /// Like [`ResumePreview::new`], with this value of the annotation `punctual.dev/resume-missed`; `None` removes it.
    pub fn with_missed(
        snapshot: &CronJobSnapshot,
        missed: Option<&str>,
        now: Timestamp,
    ) -> ResumePreview {
        let mut cron_job = snapshot.cron_job.clone();
        let map = &mut cron_job.metadata.annotations;
        map.remove(annotations::RESUME_MISSED);
        if let Some(missed) = missed {
            map.insert(annotations::RESUME_MISSED.to_owned(), missed.to_owned());
        }
        ResumePreview::of_edit(snapshot, cron_job, now)
    }

    fn of_edit(snapshot: &CronJobSnapshot, mut cron_job: CronJob, now: Timestamp) -> ResumePreview {
        cron_job.spec.suspend = Some(false);
        let resumed = snapshot.with_edit(cron_job);
        let next = resumed.next_start(now);
        let Some(plan) = resumed.decide(now) else {
            return ResumePreview { next, ..ResumePreview::default() };
        };
        let missed = plan.missed_slots.iter().map(|missed| missed.count).sum();
        let preview =
            ResumePreview { pending: plan.pending_slots, missed, next, ..ResumePreview::default() };
        match plan.start_decision {
            StartDecision::Due { slot } | StartDecision::Postponed { slot } => {
                ResumePreview { starts_at_once: Some(slot), ..preview }
            }
            StartDecision::Blocked { slot } | StartDecision::WaitingForPods { slot, .. } => {
                ResumePreview { starts_after_active_run: Some(slot), ..preview }
            }
            _ => preview,
        }
    }
}
