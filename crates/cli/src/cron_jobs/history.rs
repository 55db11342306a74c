//! `punctual history`: the slot records of a CronJob.

use anyhow::{Context as _, anyhow};
use jiff::{SignedDuration, Timestamp};
use punctual_api::slot_record::{RunResult, SlotDecision};
use punctual_schedule::Zone;
use punctual_views::{HistoryFilter, HistoryRow, RecordSource, format_duration, short_time};
use serde::Serialize;

use super::args::HistoryArgs;
use super::columns::{self, TerminalColumn};
use super::duration_arg;
use super::output_format::{HistoryFormat, csv_cell};
use super::records::{RecordQuery, read_snapshot};
use super::session::Session;
use crate::{clock, output};

/// How many records are read at most if filters apply that the server does not know.
const RECORDS_MAX: usize = 20_000;

/// What `-o json` prints.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct HistoryOutput<'a> {
    kind: &'static str,
    namespace: &'a str,
    name: &'a str,
    record_source: RecordSource,
    items: &'a [HistoryRow],
}

pub(super) async fn run(args: &HistoryArgs, zone: &Zone) -> anyhow::Result<()> {
    let decisions = parse_all(&args.decision, SlotDecision::parse, &SlotDecision::ALL, "decision")?;
    let results = parse_all(&args.result, RunResult::parse, &RunResult::ALL, "result")?;
    let session = Session::connect(&args.target.connection).await?;
    let query = query(args, &decisions, &results);
    let snapshot = read_snapshot(&session, &args.target.target, &query, zone).await?;
    let now = clock::now();
    let parse_time = |text: &Option<String>, option: &str| {
        let parsed = text.as_ref().map(|text| duration_arg::parse_past(text, snapshot.zone(), now));
        parsed.transpose().with_context(|| format!("{option} is invalid"))
    };
    let since = parse_time(&args.since, "--since")?;
    let until = parse_time(&args.until, "--until")?;
    let filter = HistoryFilter { decisions, results, since, until };
    let rows = filter.rows(&snapshot.ledger, args.limit as usize);
    let metadata = &snapshot.cron_job.metadata;
    let source = snapshot.ledger.source();
    let json = HistoryOutput {
        kind: snapshot.kind().kind(),
        namespace: &metadata.namespace,
        name: &metadata.name,
        record_source: source,
        items: &rows,
    };
    match args.output {
        HistoryFormat::Json => output::print_json(&json),
        HistoryFormat::Yaml => output::print_yaml(&json),
        HistoryFormat::Csv => output::print(&csv(&rows)),
        HistoryFormat::Table | HistoryFormat::Wide => {
            let is_wide = args.output == HistoryFormat::Wide;
            let rows: Vec<&HistoryRow> = rows.iter().collect();
            if rows.is_empty() {
                output::print_error("no slot record matches");
            } else {
                output::print(&table(&rows, snapshot.zone(), is_wide))?;
            }
            print_note(source);
            Ok(())
        }
    }
}

fn print_note(source: RecordSource) {
    if let Some(note) = source.note() {
        output::print_error(&format!("note: {note}"));
    }
}

/// Lets the server select records where it can: it knows one decision and one result.
fn query(args: &HistoryArgs, decisions: &[SlotDecision], results: &[RunResult]) -> RecordQuery {
    let mut selectors = Vec::new();
    if let [decision] = decisions {
        selectors.push(format!("decision={decision}"));
    }
    if let [result] = results {
        selectors.push(format!("result={result}"));
    }
    // A duration before now narrows nothing down. The range of a record may begin before `--since`.
    if let Some(until) = args.until.as_ref().and_then(|text| text.parse::<Timestamp>().ok()) {
        selectors.push(format!("slotBefore={until}"));
    }
    let is_selected = decisions.len() < 2 && results.len() < 2;
    let has_range = args.since.is_some() || args.until.is_some();
    let limit = if is_selected && !has_range { args.limit as usize } else { RECORDS_MAX };
    RecordQuery { limit, selectors }
}

/// Parses names, without regard to case.
fn parse_all<T: ToString>(
    texts: &[String],
    parse: impl Fn(&str) -> Option<T>,
    all: &[T],
    what: &str,
) -> anyhow::Result<Vec<T>> {
    let names: Vec<String> = all.iter().map(ToString::to_string).collect();
    let parsed = texts.iter().map(|text| {
        let name = names.iter().find(|name| name.eq_ignore_ascii_case(text));
        name.and_then(|name| parse(name))
            .ok_or_else(|| anyhow!("{text:?} is not a {what}; choose from {}", names.join(", ")))
    });
    parsed.collect()
}

fn csv(rows: &[HistoryRow]) -> String {
    let mut text = format!("{}\n", HistoryRow::CSV_HEADER.join(","));
    for row in rows {
        let cells: Vec<String> = row.csv_cells().iter().map(|cell| csv_cell(cell)).collect();
        text += &format!("{}\n", cells.join(","));
    }
    text
}

/// Formats records as a table in one time zone.
pub(super) fn table(rows: &[&HistoryRow], zone: &Zone, is_wide: bool) -> String {
    let slot = format!("SLOT ({})", zone.name());
    let mut columns = vec![TerminalColumn::fixed(&slot)];
    columns.extend(["DECISION", "REASON", "RESULT", "LATE", "TOOK"].map(TerminalColumn::fixed));
    columns.push(TerminalColumn::flexible("JOB"));
    if is_wide {
        columns.extend(["CREATED", "ENDED", "REQUEST", "MESSAGE"].map(TerminalColumn::flexible));
    }
    let cells: Vec<Vec<String>> = rows.iter().map(|row| cells(row, zone, is_wide)).collect();
    let limit = if is_wide { None } else { columns::width_limit() };
    columns::table(&columns, &cells, limit)
}

fn cells(row: &HistoryRow, zone: &Zone, is_wide: bool) -> Vec<String> {
    let record = &row.record;
    let time = |time: Option<punctual_api::Time>| {
        time.map_or_else(|| "-".to_owned(), |time| short_time(zone, time.timestamp()))
    };
    let seconds = |seconds: Option<i64>| {
        let shown = |seconds| format_duration(SignedDuration::from_secs(seconds));
        seconds.map_or_else(|| "-".to_owned(), shown)
    };
    let slot = match record.slots() {
        1 => time(record.slot),
        count => format!("{} to {} ({count} slots)", time(record.slot), time(record.last_slot())),
    };
    let result = match (record.result, record.failure_reason.as_str()) {
        (None, _) => "-".to_owned(),
        (Some(result), "") => result.to_string(),
        (Some(result), reason) => format!("{result}: {reason}"),
    };
    let mut cells = vec![
        slot,
        record.decision.to_string(),
        record.reason.clone(),
        result,
        seconds(row.late_seconds),
        seconds(row.took_seconds),
        record.job.as_ref().map_or_else(|| "-".to_owned(), |job| job.name.clone()),
    ];
    if is_wide {
        cells.extend([
            time(record.created_time),
            time(record.completion_time),
            record.request.clone(),
            record.message.clone(),
        ]);
    }
    cells
}

/// Whether an instant is in a record's run, for the choice of logs.
pub(super) fn is_run_of(row: &punctual_api::slot_record::SlotRecord, slot: Timestamp) -> bool {
    row.decision == SlotDecision::Started && row.slot.map(|it| it.timestamp()) == Some(slot)
}
