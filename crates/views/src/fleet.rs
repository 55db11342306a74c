//! One row for each CronJob: when it runs next, how its last runs ended, and whether it needs attention.

use std::cmp::Ordering;

use jiff::{SignedDuration, Timestamp};
use punctual_api::slot_record::{RunResult, SlotDecision};
use serde::Serialize;

use crate::ledger::{instant, run_duration};
use crate::snapshot::CronJobSnapshot;
use crate::suspension::Suspension;
use crate::time_text::local_time;

/// How late a start may be before the CronJob counts as overdue.
const START_TOLERANCE: SignedDuration = SignedDuration::from_secs(60);
/// Smaller differences between the clocks of machines are normal.
const CLOCK_TOLERANCE: SignedDuration = SignedDuration::from_secs(60);

/// The state of a CronJob.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum FleetState {
    /// Its schedule or time zone is invalid.
    Invalid,
    /// A slot should have started, and its controller did not act.
    Overdue,
    /// Its controller cannot do what it should, as the condition `Settled` says.
    Stuck,
    /// Its last run failed, or its last slots were missed.
    Failing,
    /// It is suspended.
    Suspended,
    /// A run is active.
    Running,
    /// Its last run succeeded.
    Ok,
    /// Nothing has run yet.
    New,
    /// Its only slot has passed.
    Complete,
    /// It is being deleted.
    Deleting,
}

impl FleetState {
    /// Returns the name.
    pub fn as_str(self) -> &'static str {
        match self {
            FleetState::Invalid => "Invalid",
            FleetState::Overdue => "Overdue",
            FleetState::Stuck => "Stuck",
            FleetState::Failing => "Failing",
            FleetState::Suspended => "Suspended",
            FleetState::Running => "Running",
            FleetState::Ok => "Ok",
            FleetState::New => "New",
            FleetState::Complete => "Complete",
            FleetState::Deleting => "Deleting",
        }
    }

    /// Whether a user should look at it.
    pub fn needs_attention(self) -> bool {
        use FleetState::{Failing, Invalid, Overdue, Stuck};
        matches!(self, Invalid | Overdue | Stuck | Failing)
    }
}

/// How many runs in a row ended in the same way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Streak {
    /// Whether they succeeded.
    pub is_success: bool,
    /// How many.
    pub count: i64,
    /// Whether there may be more, because older records are not known.
    pub is_at_least: bool,
}

/// One CronJob of a fleet.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FleetRow {
    /// The namespace.
    pub namespace: String,
    /// The name.
    pub name: String,
    /// `CronJob` or `ScheduledJob`.
    pub kind: &'static str,
    /// The schedule.
    pub schedule: String,
    /// The zone of the schedule.
    pub time_zone: String,
    /// Whether the CronJob names no zone, so that the controller's applies.
    pub is_default_zone: bool,
    /// When the next run starts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<Timestamp>,
    /// The slot of the newest run that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_slot: Option<Timestamp>,
    /// How the newest finished run ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_result: Option<RunResult>,
    /// When it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_end: Option<Timestamp>,
    /// How many seconds it took.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub took_seconds: Option<i64>,
    /// How many runs in a row ended in the same way.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub streak: Option<Streak>,
    /// How many runs are active.
    pub active: usize,
    /// The state.
    pub state: FleetState,
    /// Why it is in this state, if the state does not say all.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub detail: String,
    /// How it is suspended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suspension: Option<Suspension>,
}

impl FleetRow {
    /// Computes the row of a CronJob.
    pub fn new(snapshot: &CronJobSnapshot, now: Timestamp) -> FleetRow {
        let cron_job = &snapshot.cron_job;
        let finished = snapshot.ledger.runs().find(|record| !record.is_running());
        let StateReport { state, detail } = find_state(snapshot, now);
        FleetRow {
            namespace: cron_job.metadata.namespace.clone(),
            name: cron_job.metadata.name.clone(),
            kind: snapshot.kind().kind(),
            schedule: cron_job.spec.schedule.clone(),
            time_zone: match snapshot.timetable() {
                Ok(_) => snapshot.zone().name().to_owned(),
                Err(_) => cron_job.spec.zone_name().unwrap_or_default().to_owned(),
            },
            is_default_zone: snapshot.is_default_zone(),
            next: snapshot.next_start(now),
            last_slot: snapshot
                .ledger
                .runs()
                .find_map(|record| instant(record.slot))
                .max(instant(cron_job.status.last_schedule_time)),
            last_result: finished.and_then(|record| record.result),
            last_end: finished.and_then(|record| instant(record.completion_time)),
            took_seconds: finished.and_then(run_duration).map(|took| took.as_secs()),
            streak: find_streak(snapshot),
            active: cron_job.status.active.len(),
            state,
            detail,
            suspension: snapshot.suspension(),
        }
    }

    /// Returns the columns that a change of the row shows in; not how long until the next run.
    pub fn changes_key(&self) -> String {
        let FleetRow {
            next,
            last_slot,
            last_result,
            last_end,
            active,
            state,
            detail,
            schedule,
            ..
        } = self;
        let suspension = &self.suspension;
        format!(
            "{schedule} {next:?} {last_slot:?} {last_result:?} {last_end:?} {active} {state:?} {detail} {suspension:?}"
        )
    }
}

/// Returns how many runs in a row ended in the same way. The status counts failures exactly.
fn find_streak(snapshot: &CronJobSnapshot) -> Option<Streak> {
    let failures = snapshot.cron_job.status.failures_since_success;
    if failures > 0 {
        return Some(Streak { is_success: false, count: failures, is_at_least: false });
    }
    let mut results = snapshot.ledger.records().iter().filter_map(|record| {
        match (record.decision, record.result) {
            (SlotDecision::Missed, _) | (_, Some(RunResult::Failed)) => Some(false),
            (_, Some(RunResult::Succeeded)) => Some(true),
            _ => None,
        }
    });
    let is_success = results.next()?;
    let mut count = 1;
    let mut is_ended = false;
    for result in results {
        if result != is_success {
            is_ended = true;
            break;
        }
        count += 1;
    }
    let is_counted = is_success && count >= snapshot.cron_job.status.successful_runs.max(1);
    let is_at_least = !is_ended && !snapshot.ledger.is_complete() && !is_counted;
    Some(Streak { is_success, count, is_at_least })
}

struct StateReport {
    state: FleetState,
    detail: String,
}

impl StateReport {
    fn new(state: FleetState, detail: impl Into<String>) -> StateReport {
        StateReport { state, detail: detail.into() }
    }
}

fn find_state(snapshot: &CronJobSnapshot, now: Timestamp) -> StateReport {
    let cron_job = &snapshot.cron_job;
    if cron_job.metadata.deletion_timestamp.is_some() {
        return StateReport::new(FleetState::Deleting, "");
    }
    if let Err(error) = snapshot.timetable() {
        return StateReport::new(FleetState::Invalid, error.to_string());
    }
    if let Some(suspension) = snapshot.suspension() {
        return StateReport::new(FleetState::Suspended, suspension_text(snapshot, &suspension));
    }
    let condition =
        |name: &str| cron_job.status.conditions.iter().find(|it| it.condition_type == name);
    if let Some(settled) = condition("Settled").filter(|settled| settled.status == "False") {
        let detail = format!("{}: {}", settled.reason, settled.message);
        return StateReport::new(FleetState::Stuck, detail);
    }
    if let Some(last) = snapshot.last_decided()
        && last.duration_since(now) > CLOCK_TOLERANCE
    {
        let detail = format!("the last slot, {last}, is in the future");
        return StateReport::new(FleetState::Stuck, detail);
    }
    if condition("Complete").is_some_and(|complete| complete.status == "True") {
        return StateReport::new(FleetState::Complete, "");
    }
    if let Some(slot) = overdue_slot(snapshot, now) {
        let detail = format!("slot {} has not started", local_time(snapshot.zone(), slot));
        return StateReport::new(FleetState::Overdue, detail);
    }
    let streak = find_streak(snapshot);
    if streak.is_some_and(|streak| !streak.is_success) {
        return StateReport::new(FleetState::Failing, "");
    }
    let state = match streak {
        _ if !cron_job.status.active.is_empty() => FleetState::Running,
        Some(_) => FleetState::Ok,
        None if cron_job.status.last_successful_time.is_some() => FleetState::Ok,
        None => FleetState::New,
    };
    StateReport::new(state, "")
}

/// Returns a slot that should have started a while ago. No slot is overdue while a run is active, because the policy
/// may make it wait.
fn overdue_slot(snapshot: &CronJobSnapshot, now: Timestamp) -> Option<Timestamp> {
    let cron_job = &snapshot.cron_job;
    if !cron_job.status.active.is_empty() || cron_job.spec.starting_deadline_seconds == Some(0) {
        return None;
    }
    let earlier = now.checked_sub(START_TOLERANCE).ok()?;
    let slot = snapshot.latest_slot(earlier)?;
    let is_due = snapshot.effective_time(slot) <= earlier;
    let is_counted = Some(slot) > snapshot.schedule_since() && Some(slot) > snapshot.last_decided();
    (is_due && is_counted).then_some(slot)
}

fn suspension_text(snapshot: &CronJobSnapshot, suspension: &Suspension) -> String {
    let mut text = String::new();
    if let Some(until) = suspension.until {
        text += &format!("until {}", local_time(snapshot.zone(), until));
    }
    if !suspension.reason.is_empty() {
        let separator = if text.is_empty() { "" } else { ": " };
        text += &format!("{separator}{}", suspension.reason);
    }
    if !suspension.by.is_empty() {
        let separator = if text.is_empty() { "" } else { " " };
        text += &format!("{separator}({})", suspension.by);
    }
    text
}

/// Selects rows.
#[derive(Clone, Copy, Debug, Default)]
pub struct FleetFilter {
    /// Only those that need attention.
    pub is_failing: bool,
    /// Only suspended ones.
    pub is_suspended: bool,
    /// Only those whose next run starts within this time.
    pub due_within: Option<SignedDuration>,
}

impl FleetFilter {
    /// Whether a row is selected.
    pub fn matches(&self, row: &FleetRow, now: Timestamp) -> bool {
        let is_due = |within: SignedDuration| {
            row.next.is_some_and(|next| next.duration_since(now) <= within)
        };
        (!self.is_failing || row.state.needs_attention())
            && (!self.is_suspended || row.suspension.is_some())
            && self.due_within.is_none_or(is_due)
    }
}

/// The order of rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FleetOrder {
    /// By namespace and name.
    #[default]
    Name,
    /// By the next run, those without one last.
    Next,
    /// By the newest run, newest first.
    Last,
}

impl FleetOrder {
    /// Compares two rows.
    pub fn compare(self, a: &FleetRow, b: &FleetRow) -> Ordering {
        let by_name = || (&a.namespace, &a.name, a.kind).cmp(&(&b.namespace, &b.name, b.kind));
        let next = |row: &FleetRow| row.next.unwrap_or(Timestamp::MAX);
        match self {
            FleetOrder::Name => by_name(),
            FleetOrder::Next => next(a).cmp(&next(b)).then_with(by_name),
            FleetOrder::Last => b.last_slot.cmp(&a.last_slot).then_with(by_name),
        }
    }
}
