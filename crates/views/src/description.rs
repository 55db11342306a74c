//! Everything about one CronJob on one page.

use jiff::Timestamp;
use punctual_api::slot_record::RunResult;
use serde::Serialize;

use crate::fleet::{FleetRow, FleetState};
use crate::history::HistoryRow;
use crate::policy_text;
use crate::snapshot::CronJobSnapshot;
use crate::suspension::Suspension;
use crate::{dst, ledger::RecordSource};

/// How many records of failures and missed slots are listed.
const PROBLEMS_MAX: usize = 5;

/// A slot that is due later.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct UpcomingSlot {
    /// The slot.
    pub slot: Timestamp,
    /// The slot with its jitter; absent if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effective_time: Option<Timestamp>,
    /// A remark about a change of the clocks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// A CronJob in words.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Description {
    /// The row of the fleet list.
    #[serde(flatten)]
    pub row: FleetRow,
    /// The schedule in plain English, or why it is invalid.
    pub schedule_text: String,
    /// Likely mistakes in the schedule.
    pub schedule_notes: Vec<String>,
    /// What the fields mean, one sentence each.
    pub policy: Vec<String>,
    /// How the CronJob is suspended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suspension: Option<Suspension>,
    /// The next slots.
    pub upcoming: Vec<UpcomingSlot>,
    /// The newest records, newest first.
    pub records: Vec<HistoryRow>,
    /// Where the records are from.
    pub record_source: RecordSource,
    /// Problems of now: conditions that are not as they should be, and the newest failed and missed slots.
    pub problems: Vec<String>,
    /// The counters of the status.
    pub counters: Counters,
}

/// The counters of the status.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Counters {
    /// How many runs succeeded.
    pub successful_runs: i64,
    /// How many runs failed, including missed slots.
    pub failed_runs: i64,
    /// How many slots were missed.
    pub missed_runs: i64,
    /// How many slots were skipped.
    pub skipped_runs: i64,
}

/// Describes a CronJob. `count` is the number of slots and of records that are listed.
pub fn describe(snapshot: &CronJobSnapshot, count: usize, now: Timestamp) -> Description {
    let status = &snapshot.cron_job.status;
    let timetable = snapshot.timetable();
    let (schedule_text, schedule_notes) = match timetable {
        Ok(timetable) => {
            let schedule = timetable.schedule();
            let notes = schedule.lints(now).iter().map(ToString::to_string).collect();
            (schedule.describe(), notes)
        }
        Err(error) => (error.to_string(), Vec::new()),
    };
    let records = snapshot.ledger.records();
    Description {
        row: FleetRow::new(snapshot, now),
        schedule_text,
        schedule_notes,
        policy: policy_text::sentences(&snapshot.cron_job),
        suspension: snapshot.suspension(),
        upcoming: upcoming(snapshot, count, now),
        records: records.iter().take(count).map(HistoryRow::new).collect(),
        record_source: snapshot.ledger.source(),
        problems: problems(snapshot, now),
        counters: Counters {
            successful_runs: status.successful_runs,
            failed_runs: status.failed_runs,
            missed_runs: status.missed_runs,
            skipped_runs: status.skipped_runs,
        },
    }
}

/// Returns the next slots with their remarks. A suspended CronJob has those after its resume, if that is
/// planned.
fn upcoming(snapshot: &CronJobSnapshot, count: usize, now: Timestamp) -> Vec<UpcomingSlot> {
    let Ok(timetable) = snapshot.timetable() else { return Vec::new() };
    let mut previous = now;
    let mut upcoming = Vec::new();
    for slot in snapshot.planned_slots(now, Timestamp::MAX).take(count) {
        let effective = snapshot.effective_time(slot);
        let note = dst::note(timetable.schedule(), previous, slot);
        upcoming.push(UpcomingSlot {
            slot,
            effective_time: (effective != slot).then_some(effective),
            note: note.map(|note| note.to_string()),
        });
        previous = slot;
    }
    upcoming
}

fn problems(snapshot: &CronJobSnapshot, now: Timestamp) -> Vec<String> {
    let mut problems = Vec::new();
    let row = FleetRow::new(snapshot, now);
    if row.state == FleetState::Overdue {
        problems.push(format!("Overdue: {}", row.detail));
    }
    for condition in &snapshot.cron_job.status.conditions {
        let is_problem = match condition.condition_type.as_str() {
            "Settled" => condition.status == "False",
            "Complete" => false,
            _ => condition.status == "True",
        };
        if is_problem {
            problems.push(format!("{}: {}", condition.reason, condition.message));
        }
    }
    let zone = snapshot.zone();
    let records = snapshot.ledger.records().iter();
    let failed = records.filter(|record| {
        record.result == Some(RunResult::Failed)
            || record.decision == punctual_api::slot_record::SlotDecision::Missed
    });
    problems.extend(failed.take(PROBLEMS_MAX).map(|record| HistoryRow::new(record).sentence(zone)));
    problems
}
