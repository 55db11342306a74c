//! Explains why a slot did or did not run, and what to change.
//!
//! The explanation of a slot comes from its record. A slot without a record is explained from the state of the
//! CronJob: the engine says what the controller would do now.

mod from_record;
mod from_state;
mod present;

use jiff::Timestamp;
use punctual_api::slot_record::SlotRecord;
use serde::Serialize;

pub use self::present::{explain_latest_not_run, explain_now};
use crate::slot_choice::ChosenSlot;
use crate::snapshot::CronJobSnapshot;

/// Why a slot did or did not run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub enum Cause {
    /// The run succeeded.
    Succeeded,
    /// The run failed.
    Failed,
    /// The run is active.
    Running,
    /// The run started late.
    StartedLate,
    /// The run was asked for.
    Requested,
    /// A later slot deleted the run, because the policy is `Replace`.
    Replaced,
    /// The Job was deleted while it was active.
    Deleted,
    /// It is not known how the run ended.
    UnknownResult,
    /// The run ended, and its Job is deleted since.
    JobGone,
    /// A later slot started instead.
    Superseded,
    /// Another run was active, and the policy is `Forbid`.
    ConcurrencyForbidden,
    /// The CronJob is or was suspended.
    Suspended,
    /// The schedule was changed.
    ScheduleChanged,
    /// The starting deadline passed.
    DeadlineExceeded,
    /// The server rejected the Job, because a quota is used up.
    QuotaExceeded,
    /// The server rejected the Job, because the template is invalid.
    TemplateInvalid,
    /// The server rejected the Job for another reason.
    CreateRejected,
    /// Another Job has the name.
    NameTaken,
    /// More slots were pending than `CatchUp` runs.
    CatchUpLimitExceeded,
    /// The slot was not run for a reason that this version does not know.
    OtherReason,
    /// The time zone is unknown.
    UnknownTimeZone,
    /// The schedule is invalid.
    InvalidSchedule,
    /// A recorded time lies in the future, because a clock was wrong.
    ClockJump,
    /// The slot is due, and its controller did not act.
    ControllerDown,
    /// The civil time does not exist on that day.
    DstGap,
    /// The slot waits for its jitter.
    NotYetEffective,
    /// The slot waits for earlier ones, because the policy is `CatchUp`.
    CatchUpBehind,
    /// The slot waits until the active run ends.
    WaitingForActiveRun,
    /// The slot is due, and the Job cannot be created yet.
    CreatePending,
    /// The slot is due since a moment.
    Starting,
    /// The slot is in the future.
    NotYetDue,
    /// The schedule has no slot at that time.
    NeverDue,
    /// The slot precedes the CronJob.
    BeforeCreation,
    /// No record of the slot is kept.
    NoRecord,
    /// The only slot of the schedule has passed.
    Complete,
    /// The CronJob is being deleted.
    BeingDeleted,
    /// Every slot is missed, because the starting deadline is zero.
    NeverRuns,
}

/// Why a slot did or did not run, or why nothing runs now.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Explanation {
    /// The cause.
    pub cause: Cause,
    /// The answer in one sentence.
    pub answer: String,
    /// The slot that is explained.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slot: Option<Timestamp>,
    /// The slot with its jitter; absent if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effective_time: Option<Timestamp>,
    /// The record of the slot.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub record: Option<SlotRecord>,
    /// The rule and the inputs of the decision, one sentence each.
    pub details: Vec<String>,
    /// What to do or change. `{program}` stands for the name of the program until
    /// [`Explanation::with_program`] replaces it.
    pub remedies: Vec<String>,
}

impl Explanation {
    fn new(cause: Cause, answer: impl Into<String>) -> Explanation {
        Explanation {
            cause,
            answer: answer.into(),
            slot: None,
            effective_time: None,
            record: None,
            details: Vec::new(),
            remedies: Vec::new(),
        }
    }

    /// Names the program in the remedies, such as `punctual` or `kubectl punctual`.
    pub fn with_program(mut self, program: &str) -> Explanation {
        for remedy in &mut self.remedies {
            *remedy = remedy.replace("{program}", program);
        }
        self
    }

    fn detail(mut self, text: impl Into<String>) -> Explanation {
        self.details.push(text.into());
        self
    }

    fn remedy(mut self, text: impl Into<String>) -> Explanation {
        self.remedies.push(text.into());
        self
    }

    fn of_slot(mut self, snapshot: &CronJobSnapshot, slot: Timestamp) -> Explanation {
        let effective = snapshot.effective_time(slot);
        self.slot = Some(slot);
        self.effective_time = (effective != slot).then_some(effective);
        self
    }
}

/// Explains one slot.
pub fn explain_slot(
    snapshot: &CronJobSnapshot,
    chosen: &ChosenSlot,
    now: Timestamp,
) -> Explanation {
    let slot = match chosen {
        ChosenSlot::At(slot) => *slot,
        ChosenSlot::Skipped(civil) => return from_state::skipped_civil_time(snapshot, *civil),
    };
    match snapshot.ledger.record_of(slot) {
        Some(record) => from_record::explain(snapshot, slot, record),
        None => from_state::explain(snapshot, slot, now).of_slot(snapshot, slot),
    }
}
