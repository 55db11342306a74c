//! `punctual why`: why a slot did or did not run, or why nothing runs now.

use jiff::{SignedDuration, Timestamp};
use punctual_schedule::Zone;
use punctual_views::{
    ChosenSlot, CronJobSnapshot, Explanation, RecordSource, choose_slot, explain_latest_not_run,
    explain_now, explain_slot, local_time,
};
use serde::Serialize;

use super::args::WhyArgs;
use super::records::{RecordQuery, complete_snapshot, read_snapshot};
use super::session::Session;
use crate::{clock, output, program_name};

/// How many records are read to find the slot and the runs around it.
const RECORDS_MAX: usize = 1_000;
/// How long after an old slot the run is looked for that superseded it.
const LATER_RUNS: SignedDuration = SignedDuration::from_hours(7 * 24);
/// The width of a text that does not go to a terminal.
const TEXT_WIDTH: usize = 100;

/// What `-o json` prints.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WhyOutput {
    namespace: String,
    name: String,
    time_zone: String,
    record_source: RecordSource,
    /// The slot that was named, or the latest that did not run.
    #[serde(skip_serializing_if = "Option::is_none")]
    slot: Option<Explanation>,
    /// Why nothing runs now; only if no slot was named.
    #[serde(skip_serializing_if = "Option::is_none")]
    present: Option<Explanation>,
}

pub(super) async fn run(args: &WhyArgs, zone: &Zone) -> anyhow::Result<()> {
    let session = Session::connect(&args.target.connection).await?;
    let query = RecordQuery::newest(RECORDS_MAX);
    let mut snapshot = read_snapshot(&session, &args.target.target, &query, zone).await?;
    let now = clock::now();
    let chosen = args.slot.as_ref().map(|text| choose_slot(&snapshot, text, now)).transpose()?;
    if let Some(ChosenSlot::At(slot)) = chosen
        && is_older(&snapshot, slot)
    {
        let query = records_around(slot);
        snapshot = complete_snapshot(&session, snapshot.cron_job, &query, zone).await?;
    }
    let explained = explain(&snapshot, chosen.as_ref(), now);
    args.output.print(&explained, || text(&explained, &snapshot))
}

/// Whether a slot precedes the records that were read.
fn is_older(snapshot: &CronJobSnapshot, slot: Timestamp) -> bool {
    let ledger = &snapshot.ledger;
    ledger.source() == RecordSource::SlotRecords
        && !ledger.is_complete()
        && ledger.oldest_slot().is_some_and(|oldest| slot < oldest)
}

fn records_around(slot: Timestamp) -> RecordQuery {
    let until = slot.checked_add(LATER_RUNS).unwrap_or(Timestamp::MAX);
    RecordQuery { limit: RECORDS_MAX, selectors: vec![format!("slotBefore={until:.0}")] }
}

pub(super) fn explain(
    snapshot: &CronJobSnapshot,
    chosen: Option<&ChosenSlot>,
    now: Timestamp,
) -> WhyOutput {
    let program = program_name::program_name();
    let metadata = &snapshot.cron_job.metadata;
    let (explained, present) = match chosen {
        Some(chosen) => (Some(explain_slot(snapshot, chosen, now)), None),
        None => (explain_latest_not_run(snapshot, now), Some(explain_now(snapshot, now))),
    };
    WhyOutput {
        namespace: metadata.namespace.clone(),
        name: metadata.name.clone(),
        time_zone: snapshot.zone().name().to_owned(),
        record_source: snapshot.ledger.source(),
        slot: explained.map(|explanation| explanation.with_program(program)),
        present: present.map(|explanation| explanation.with_program(program)),
    }
}

pub(super) fn text(explained: &WhyOutput, snapshot: &CronJobSnapshot) -> String {
    let key = snapshot.cron_job.key();
    let zone = snapshot.zone();
    let mut text = String::new();
    if let Some(present) = &explained.present {
        text += &explanation_text(&format!("{key} now"), present, zone);
        text += match &explained.slot {
            Some(_) => "\nThe latest slot that did not run:\n",
            None => "\nNo slot is known that did not run.\n",
        };
    }
    // The state of now explains the same slot already.
    let is_repeated = explained.present.as_ref().is_some_and(|present| {
        let slot = explained.slot.as_ref();
        slot.is_some_and(|slot| slot.cause == present.cause && slot.record.is_none())
    });
    match &explained.slot {
        Some(slot) if is_repeated => {
            let at = slot.slot.map_or_else(String::new, |at| local_time(zone, at));
            text += &format!("  {at}, for the same reason\n");
        }
        Some(slot) => {
            let at =
                slot.slot.map_or_else(String::new, |at| format!(" slot {}", local_time(zone, at)));
            text += &explanation_text(&format!("{key}{at}"), slot, zone);
        }
        None => {}
    }
    text
}

/// Formats an explanation: the answer, the times, the details and what to do.
fn explanation_text(subject: &str, explanation: &Explanation, zone: &Zone) -> String {
    let mut text = format!("{subject}: {}\n", output::one_line(&explanation.answer));
    if let Some(record) = &explanation.record {
        text += &times_text(explanation, record, zone);
    } else if let Some(effective) = explanation.effective_time {
        text += &format!("  due with jitter  {}\n", local_time(zone, effective));
    }
    for detail in &explanation.details {
        text += &wrap(&output::one_line(detail), "  ", "  ");
    }
    for remedy in &explanation.remedies {
        text += &wrap(&output::one_line(remedy), "  -> ", "     ");
    }
    text
}

fn times_text(
    explanation: &Explanation,
    record: &punctual_api::slot_record::SlotRecord,
    zone: &Zone,
) -> String {
    let times = [
        ("due with jitter", explanation.effective_time),
        ("Job created", record.created_time.map(|time| time.timestamp())),
        ("started", record.start_time.map(|time| time.timestamp())),
        ("ended", record.completion_time.map(|time| time.timestamp())),
    ];
    let lines = times.into_iter().filter_map(|(name, time)| Some((name, time?)));
    let mut text: String =
        lines.map(|(name, time)| format!("  {name:<16} {}\n", local_time(zone, time))).collect();
    if let Some(job) = &record.job {
        text += &format!("  {:<16} {}\n", "Job", job.name);
    }
    text
}

/// Breaks a text into lines of the width of the terminal.
fn wrap(text: &str, first: &str, next: &str) -> String {
    let width = super::columns::width_limit().unwrap_or(TEXT_WIDTH).clamp(40, TEXT_WIDTH);
    let mut lines = String::new();
    let mut line = first.to_owned();
    let mut is_empty = true;
    for word in text.split(' ') {
        if !is_empty && line.chars().count() + 1 + word.chars().count() > width {
            lines += &format!("{line}\n");
            next.clone_into(&mut line);
            is_empty = true;
        }
        if !is_empty {
            line.push(' ');
        }
        line.push_str(word);
        is_empty = false;
    }
    format!("{lines}{line}\n")
}
