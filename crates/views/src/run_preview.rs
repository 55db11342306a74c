//! What a RunRequest would run: asks the engine which slots it would choose.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::Timestamp;
use punctual_api::RunRequest;
use punctual_api::run_request::{RunRequestSpec, condition_reason};
use punctual_api::slot_record::{RunResult, SlotDecision, SlotRecord};
use punctual_engine::cronjob;
use punctual_schedule::ScheduleKind;
use serde::Serialize;

use crate::ledger::instant;
use crate::snapshot::CronJobSnapshot;

/// The most slots that are shown. The engine refuses requests with more.
const SLOTS_MAX: usize = 100_000;

/// What a RunRequest would run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunPreview {
    /// The slots that the request selects, oldest first.
    pub slots: Vec<SlotPreview>,
    /// Why the request would be refused, with the reason and the message of the condition.
    pub refusal: Option<RunRefusal>,
}

/// Why a RunRequest would be refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunRefusal {
    /// The reason of the condition `Accepted`.
    pub reason: String,
    /// The message of the condition.
    pub message: String,
}

/// What a RunRequest would do with a slot.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SlotPreview {
    /// The slot.
    pub slot: Timestamp,
    /// What is known about it.
    pub state: SlotState,
    /// Why it did not run, or why its run failed; may be empty.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// Whether it would run.
    pub would_run: bool,
}

/// What is known about a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum SlotState {
    /// A run succeeded.
    Succeeded,
    /// A run is active.
    Running,
    /// The newest run failed.
    Failed,
    /// The newest run was replaced or deleted, or its result is not known.
    Ended,
    /// It was skipped.
    Skipped,
    /// It was missed.
    Missed,
    /// It is not decided yet.
    Pending,
    /// There is no record of it.
    NoRecord,
}

impl SlotState {
    /// Returns the word for people.
    pub fn as_str(self) -> &'static str {
        match self {
            SlotState::Succeeded => "succeeded",
            SlotState::Running => "running",
            SlotState::Failed => "failed",
            SlotState::Ended => "ended",
            SlotState::Skipped => "skipped",
            SlotState::Missed => "missed",
            SlotState::Pending => "pending",
            SlotState::NoRecord => "unknown",
        }
    }
}

impl RunPreview {
    /// Returns how many slots would run.
    pub fn run_count(&self) -> usize {
        self.slots.iter().filter(|slot| slot.would_run).count()
    }
}

/// Returns what a RunRequest with `slots`, or with `from` and `to`, would run. The ledger of the snapshot must have the
/// records of these slots.
pub fn preview_runs(
    snapshot: &CronJobSnapshot,
    spec: &RunRequestSpec,
    now: Timestamp,
) -> RunPreview {
    let request = RunRequest { spec: spec.clone(), ..RunRequest::default() };
    let plan = snapshot.decide_with_requests(&[Arc::new(request)], now);
    let settled = plan.map(|plan| cronjob::settle(plan, &[], now)).unwrap_or_default();
    let Some(status) = settled.request_updates.into_iter().next().map(|update| update.status)
    else {
        return RunPreview { slots: Vec::new(), refusal: Some(undecided()) };
    };
    let refused = status.conditions.iter().find(|condition| condition.status == "False");
    if let Some(condition) = refused
        && status.accepted_time.is_none()
    {
        let refusal =
            RunRefusal { reason: condition.reason.clone(), message: condition.message.clone() };
        return RunPreview { slots: Vec::new(), refusal: Some(refusal) };
    }
    let chosen: BTreeSet<Timestamp> = status.slots.iter().collect();
    let mut shown = considered_slots(snapshot, spec, now);
    shown.extend(&chosen);
    let records = RecordIndex::new(snapshot);
    let preview = |slot: Timestamp| {
        let (state, reason) = records.state(slot);
        SlotPreview { slot, state, reason, would_run: chosen.contains(&slot) }
    };
    RunPreview { slots: shown.into_iter().map(preview).collect(), refusal: None }
}

/// The engine plans nothing for a CronJob that is being deleted.
fn undecided() -> RunRefusal {
    RunRefusal {
        reason: condition_reason::TARGET_DELETED.to_owned(),
        message: "the CronJob is being deleted".to_owned(),
    }
}

/// Returns the slots that the request names, up to now.
fn considered_slots(
    snapshot: &CronJobSnapshot,
    spec: &RunRequestSpec,
    now: Timestamp,
) -> BTreeSet<Timestamp> {
    let Some((from, to)) = spec.from.zip(spec.to) else {
        return spec.slots.iter().map(|slot| slot.timestamp()).collect();
    };
    let from = from.timestamp();
    let to = to.timestamp();
    let is_inside = |slot: &Timestamp| *slot >= from && *slot < to && *slot <= now;
    let recorded = snapshot.ledger.records().iter().filter(|record| record.is_scheduled());
    let mut slots: BTreeSet<Timestamp> =
        recorded.filter_map(|record| instant(record.slot)).filter(is_inside).collect();
    if let Ok(timetable) = snapshot.timetable()
        && !matches!(timetable.schedule().kind(), ScheduleKind::Every(_))
    {
        let before = from.checked_sub(jiff::SignedDuration::from_nanos(1)).unwrap_or(from);
        let scheduled = timetable.schedule().after(before).take_while(is_inside);
        slots.extend(scheduled.take(SLOTS_MAX));
    }
    slots
}

/// The records of a CronJob by their slots.
struct RecordIndex<'a> {
    /// The runs of each slot, the newest first.
    runs: BTreeMap<Timestamp, Vec<&'a SlotRecord>>,
    /// What was decided about slots that did not run, by the first slot. Ranges do not overlap.
    not_run: BTreeMap<Timestamp, &'a SlotRecord>,
    last_decided: Option<Timestamp>,
}

impl<'a> RecordIndex<'a> {
    fn new(snapshot: &'a CronJobSnapshot) -> RecordIndex<'a> {
        let mut index = RecordIndex {
            runs: BTreeMap::new(),
            not_run: BTreeMap::new(),
            last_decided: snapshot.last_decided(),
        };
        for record in snapshot.ledger.records() {
            let Some(slot) = instant(record.slot) else { continue };
            if record.decision == SlotDecision::Started {
                index.runs.entry(slot).or_default().push(record);
            } else {
                index.not_run.insert(slot, record);
            }
        }
        index
    }

    /// Returns what is known about a slot and why: its best run, else the decision of the schedule.
    fn state(&self, slot: Timestamp) -> (SlotState, String) {
        if let Some(runs) = self.runs.get(&slot) {
            return state_of_runs(runs);
        }
        let before = self.not_run.range(..=slot).next_back();
        match before.filter(|(_, record)| instant(record.last_slot()) >= Some(slot)) {
            Some((_, record)) if record.decision == SlotDecision::Skipped => {
                (SlotState::Skipped, record.reason.clone())
            }
            Some((_, record)) => (SlotState::Missed, record.reason.clone()),
            None if self.last_decided.is_none_or(|last| slot > last) => {
                (SlotState::Pending, String::new())
            }
            None => (SlotState::NoRecord, String::new()),
        }
    }
}

fn state_of_runs(runs: &[&SlotRecord]) -> (SlotState, String) {
    for (result, state) in
        [(RunResult::Succeeded, SlotState::Succeeded), (RunResult::Running, SlotState::Running)]
    {
        if runs.iter().any(|run| run.result == Some(result)) {
            return (state, String::new());
        }
    }
    match runs.first().map(|run| (run.result, &run.failure_reason)) {
        Some((Some(RunResult::Failed), reason)) => (SlotState::Failed, reason.clone()),
        Some((Some(result), _)) => (SlotState::Ended, result.to_string()),
        Some((None, _)) | None => (SlotState::Ended, String::new()),
    }
}
