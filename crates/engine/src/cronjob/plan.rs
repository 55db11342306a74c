//! The plan: what is to be done about a CronJob, and what came of it.

use jiff::Timestamp;
use punctual_api::cronjob::CronJobStatus;

use super::{
    Observed, ScheduleSince,
    reasons::{self, Trouble},
    since::schedule_since,
    standing::Standing,
    view::JobView,
};
use crate::Note;

/// The answer of [`decide`](super::decide).
#[derive(Clone, Debug)]
pub enum Decision {
    /// The cache is not enough: read these Jobs live, by name, and ask again.
    Read(Vec<String>),
    /// This is to be done.
    Act(Box<Plan>),
}

/// What is to be done, in this order: the deletes, the create; then
/// [`settle`](super::settle) says what to write, and what may go once that is written.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Running Jobs that make room. The create comes only after all of them.
    pub deletes: Vec<JobKey>,
    /// The Job to create.
    pub create: Option<CreateJob>,
    /// The status, but for what the effects will change.
    pub status: CronJobStatus,
    /// The status as it was seen.
    pub status_seen: CronJobStatus,
    /// What to tell, but for what the effects will add.
    pub notes: Vec<Note>,
    /// Finished Jobs beyond the history limits. They may go once the status is written.
    pub clean_up: Vec<JobKey>,
    /// Jobs to let go, by removing our finalizer, once the status is written.
    pub release: Vec<JobKey>,
    /// No slot up to this moment counts: the schedule was another one then.
    pub schedule_since: Option<Timestamp>,
    /// The schedule that is in effect from now on, if that is not yet remembered.
    pub remember: Option<ScheduleSince>,
    /// When to look again, if nothing happens before.
    pub wake_at: Option<Timestamp>,
    /// The reason for all this, in one word.
    pub verdict: Verdict,
    /// How many slots wait to be started, the one that is started among them.
    pub unmet: u64,
    /// What the conditions will say if all goes well.
    pub standing: Standing,
    /// Whose plan it is.
    pub owner: Owner,
}

/// The CronJob that a plan is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    /// Its namespace.
    pub namespace: String,
    /// Its identity.
    pub uid: String,
}

impl Plan {
    pub(crate) fn new(seen: &Observed<'_>, now: Timestamp) -> Plan {
        let status = seen.cron_job.status.clone();
        let (schedule_since, remember) = schedule_since(seen.cron_job, now);
        Plan {
            deletes: Vec::new(),
            create: None,
            status_seen: status.clone(),
            status,
            notes: Vec::new(),
            clean_up: Vec::new(),
            release: Vec::new(),
            schedule_since,
            remember,
            wake_at: None,
            verdict: Verdict::NotDue,
            unmet: 0,
            standing: Standing::default(),
            owner: Owner {
                namespace: seen.cron_job.metadata.namespace.clone(),
                uid: seen.cron_job.metadata.uid.clone(),
            },
        }
    }
}

/// Why something was started, or was not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The CronJob is going away.
    Deleted,
    /// The CronJob is suspended.
    Suspended,
    /// The CronJob has no slots.
    Trouble(Trouble),
    /// No slot waits.
    NotDue,
    /// A slot waits, but a run goes on.
    Blocked {
        /// The slot.
        slot: Timestamp,
    },
    /// A slot waits, but a run that it will replace has to be recorded first.
    Postponed {
        /// The slot.
        slot: Timestamp,
    },
    /// A slot is to be started.
    Due {
        /// The slot.
        slot: Timestamp,
    },
    /// The slot's Job is there already and only has to be recorded.
    Adopted {
        /// The slot.
        slot: Timestamp,
    },
}

/// A Job to delete (in the background) or to let go, only if it still has this UID.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobKey {
    /// Its name.
    pub name: String,
    /// Its identity.
    pub uid: String,
    /// Where there is one, only if it is still as it was seen: a run that has ended since then is to be
    /// counted, not deleted.
    pub version: Option<String>,
}

impl JobKey {
    /// What to tell when it is gone.
    pub fn deleted_note(&self) -> Note {
        Note::normal(reasons::SUCCESSFUL_DELETE, format!("Deleted job {}", self.name))
    }

    /// What to tell when it could not be deleted.
    pub fn failed_note(&self, error: &str) -> Note {
        Note::warning(reasons::FAILED_DELETE, format!("Deleted job: {error}"))
    }
}

/// A Job to create. [`job_for_slot`](super::job_for_slot) makes its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CreateJob {
    /// Its name, a function of the slot.
    pub name: String,
    /// The slot it fulfils.
    pub slot: Timestamp,
}

/// What came of an effect of the plan.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// Of a delete: by name, gone or the error.
    Deleted(String, Result<(), String>),
    /// Of the create.
    Created(Attempt),
}

/// What came of a create.
#[derive(Clone, Debug)]
pub enum Attempt {
    /// The Job is there, and new.
    Done {
        /// Its identity.
        uid: String,
        /// Its version.
        resource_version: String,
    },
    /// A Job of that name was there before; this is what a live read found.
    Exists(JobView),
    /// It was refused, or nobody knows.
    Failed(Refusal),
}

/// Why a create failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The server's words.
    pub message: String,
    /// The namespace is going away, so nobody needs to be told.
    pub namespace_terminating: bool,
}

/// What to write and do after the effects.
#[derive(Clone, Debug)]
pub struct Settled {
    /// The status to write, if it changed.
    pub status: Option<CronJobStatus>,
    /// What to tell.
    pub notes: Vec<Note>,
    /// Jobs to delete once the status is written.
    pub clean_up: Vec<JobKey>,
    /// Jobs to let go once the status is written.
    pub release: Vec<JobKey>,
    /// The schedule to remember.
    pub remember: Option<ScheduleSince>,
    /// When to look again, if nothing happens before.
    pub wake_at: Option<Timestamp>,
    /// Something failed: look again soon, with growing distance.
    pub retry: bool,
}
