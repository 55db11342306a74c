//! `punctual list`: the CronJobs of a namespace or a cluster, one row each.

use std::collections::HashSet;

use jiff::{SignedDuration, Timestamp};
use punctual_schedule::Zone;
use punctual_views::{
    CronJobSnapshot, FleetFilter, FleetOrder, FleetRow, RecordSource, Streak, format_duration,
    local_time, short_time,
};
use serde::Serialize;

use super::args::{ListArgs, SortColumn};
use super::columns::{self, TerminalColumn};
use super::fleet::{self, FleetScope};
use super::output_format::{ListFormat, object_name};
use super::session::Session;
use super::watch;
use crate::{clock, output, program_name};

/// How many of the newest slot records are read for results and streaks.
const RECORDS_MAX: usize = 5_000;

/// What `-o json` prints.
#[derive(Serialize)]
struct ListOutput<'a> {
    now: Timestamp,
    items: &'a [FleetRow],
}

/// How rows are selected and printed.
pub(super) struct RowPrinter<'a> {
    pub(super) args: &'a ListArgs,
    pub(super) zone: &'a Zone,
    /// Whether names have a type, because there are objects of both kinds.
    has_types: bool,
}

pub(super) async fn run(args: &ListArgs, zone: &Zone) -> anyhow::Result<()> {
    let session = Session::connect(&args.connection).await?;
    let namespace = if args.all_namespaces { "" } else { session.namespace.as_str() };
    let selector = args.selector.as_deref();
    let scope = FleetScope { namespace, selector, records_max: RECORDS_MAX };
    let fleet = fleet::read(&session, &scope, zone).await?;
    let kinds = fleet.snapshots.iter().map(CronJobSnapshot::kind);
    let has_types = kinds.collect::<HashSet<_>>().len() > 1;
    let printer = RowPrinter { args, zone, has_types };
    let now = clock::now();
    let rows = printer.rows(&fleet.snapshots, now);
    let widths = printer.print(&rows, now, &session)?;
    if fleet.is_reconstructed && is_table(args.output) {
        let note = RecordSource::Reconstructed.note().unwrap_or_default();
        output::print_error(&format!("note: {}", note.replace("this CronJob", "some CronJobs")));
    }
    if args.watch {
        return watch::follow(&session, &scope, fleet, &printer, &widths).await;
    }
    Ok(())
}

fn is_table(format: ListFormat) -> bool {
    matches!(format, ListFormat::Table | ListFormat::Wide)
}

impl RowPrinter<'_> {
    fn filter(&self) -> FleetFilter {
        FleetFilter {
            is_failing: self.args.failing,
            is_suspended: self.args.suspended,
            due_within: self.args.due,
        }
    }

    fn rows(&self, snapshots: &[CronJobSnapshot], now: Timestamp) -> Vec<FleetRow> {
        let filter = self.filter();
        let mut rows: Vec<FleetRow> =
            snapshots.iter().map(|snapshot| FleetRow::new(snapshot, now)).collect();
        rows.retain(|row| filter.matches(row, now));
        let order = match self.args.sort {
            SortColumn::Name => FleetOrder::Name,
            SortColumn::Next => FleetOrder::Next,
            SortColumn::Last => FleetOrder::Last,
        };
        rows.sort_by(|a, b| order.compare(a, b));
        rows
    }

    /// Prints all rows. Returns the widths of the columns, for rows that follow.
    fn print(
        &self,
        rows: &[FleetRow],
        now: Timestamp,
        session: &Session,
    ) -> anyhow::Result<Vec<usize>> {
        match self.args.output {
            ListFormat::Json => output::print_json(&ListOutput { now, items: rows })?,
            ListFormat::Yaml => output::print_yaml(&ListOutput { now, items: rows })?,
            ListFormat::Name => {
                output::print(
                    &rows.iter().map(|row| format!("{}\n", name(row))).collect::<String>(),
                )?;
            }
            ListFormat::Table | ListFormat::Wide => return self.print_table(rows, now, session),
        }
        Ok(Vec::new())
    }

    fn print_table(
        &self,
        rows: &[FleetRow],
        now: Timestamp,
        session: &Session,
    ) -> anyhow::Result<Vec<usize>> {
        let cells: Vec<Vec<String>> = rows.iter().map(|row| self.cells(row, now)).collect();
        let columns = self.columns();
        let widths = columns::widths(&columns, &cells, self.limit());
        if rows.is_empty() {
            output::print_error(&self.nothing_found(session));
            return Ok(widths);
        }
        let header: Vec<String> = columns.into_iter().map(|column| column.title).collect();
        let mut text = columns::line(&header, &widths);
        text.extend(cells.iter().map(|row| columns::line(row, &widths)));
        output::print(&text)?;
        Ok(widths)
    }

    /// Prints a row that has changed.
    pub(super) fn print_changed(
        &self,
        row: &FleetRow,
        now: Timestamp,
        widths: &[usize],
    ) -> anyhow::Result<()> {
        if !self.filter().matches(row, now) {
            return Ok(());
        }
        match self.args.output {
            ListFormat::Json => output::print(&format!("{}\n", serde_json::to_string(row)?)),
            ListFormat::Yaml => {
                output::print("---\n")?;
                output::print_yaml(row)
            }
            ListFormat::Name => output::print(&format!("{}\n", name(row))),
            ListFormat::Table | ListFormat::Wide => {
                let cells = self.cells(row, now);
                output::print(&columns::added_line(&cells, widths, self.limit()))
            }
        }
    }

    fn limit(&self) -> Option<usize> {
        if self.args.output == ListFormat::Wide { None } else { columns::width_limit() }
    }

    fn nothing_found(&self, session: &Session) -> String {
        let found = if self.args.failing || self.args.suspended || self.args.due.is_some() {
            "no CronJob matches"
        } else {
            "no CronJobs"
        };
        if self.args.all_namespaces {
            return format!("{found} in any namespace of {}", session.url());
        }
        let name = program_name::program_name();
        let namespace = &session.namespace;
        format!(
            "{found} in namespace {namespace:?} of {}; `{name} list -A` lists all namespaces",
            session.url()
        )
    }

    fn columns(&self) -> Vec<TerminalColumn> {
        let next = format!("NEXT ({})", self.zone.name());
        let mut columns = Vec::new();
        if self.args.all_namespaces {
            columns.push(TerminalColumn::flexible("NAMESPACE"));
        }
        columns.extend([
            TerminalColumn::flexible("NAME"),
            TerminalColumn::flexible("SCHEDULE"),
            TerminalColumn::flexible("ZONE"),
            TerminalColumn::fixed(&next),
        ]);
        columns.extend(["IN", "LAST", "TOOK", "STREAK", "ACTIVE"].map(TerminalColumn::fixed));
        columns.push(TerminalColumn::flexible("STATE"));
        if self.args.output == ListFormat::Wide {
            columns.extend(["KIND", "LAST SLOT"].map(TerminalColumn::fixed));
        }
        columns
    }

    /// Returns a time without its date if it is in the next days, so that the table is narrow.
    fn next_text(&self, next: Timestamp, now: Timestamp) -> String {
        let text = short_time(self.zone, next);
        let is_soon = next.duration_since(now) < SignedDuration::from_hours(6 * 24);
        let is_wide = self.args.output == ListFormat::Wide;
        match text.split(' ').collect::<Vec<_>>().as_slice() {
            [day, _, time] if is_soon && !is_wide => format!("{day} {time}"),
            [_, date, time] if !is_wide => format!("{date} {time}"),
            _ => text,
        }
    }

    fn cells(&self, row: &FleetRow, now: Timestamp) -> Vec<String> {
        let dash = || "-".to_owned();
        let mut cells = Vec::new();
        if self.args.all_namespaces {
            cells.push(row.namespace.clone());
        }
        let state = match row.detail.as_str() {
            "" => row.state.as_str().to_owned(),
            detail => format!("{}: {detail}", row.state.as_str()),
        };
        let zone = if row.is_default_zone { "-".to_owned() } else { row.time_zone.clone() };
        cells.extend([
            if self.has_types { typed_name(row) } else { row.name.clone() },
            row.schedule.clone(),
            zone,
            row.next.map_or_else(dash, |next| self.next_text(next, now)),
            row.next.map_or_else(dash, |next| format_duration(whole_seconds(next, now))),
            last_text(row, now),
            row.took_seconds
                .map_or_else(dash, |took| format_duration(SignedDuration::from_secs(took))),
            row.streak.map_or_else(dash, streak_text),
            row.active.to_string(),
            state,
        ]);
        if self.args.output == ListFormat::Wide {
            let slot = row.last_slot.map_or_else(dash, |slot| local_time(self.zone, slot));
            cells.extend([row.kind.to_owned(), slot]);
        }
        cells
    }
}

/// Returns the time until `at`, rounded up, so that a run that is due is not due in 0s for a second.
fn whole_seconds(at: Timestamp, now: Timestamp) -> SignedDuration {
    let almost_a_second = SignedDuration::from_millis(999);
    let rounded_up = at.duration_since(now).saturating_add(almost_a_second);
    SignedDuration::from_secs(rounded_up.as_secs().max(0))
}

/// Returns a name that other commands accept: `cj/backup`, `sj/report`.
fn typed_name(row: &FleetRow) -> String {
    let kind = if row.kind == "ScheduledJob" { "sj" } else { "cj" };
    format!("{kind}/{}", row.name)
}

fn last_text(row: &FleetRow, now: Timestamp) -> String {
    let Some(result) = row.last_result else { return "-".to_owned() };
    let word = match result.as_str() {
        "Succeeded" => "ok",
        "Failed" => "fail",
        other => other,
    };
    match row.last_end {
        Some(end) => {
            let ago = format_duration(SignedDuration::from_secs(now.duration_since(end).as_secs()));
            let ago = ago.split(' ').next().unwrap_or_default().to_owned();
            format!("{word} {ago} ago")
        }
        None => word.to_owned(),
    }
}

fn streak_text(streak: Streak) -> String {
    let word = if streak.is_success { "ok" } else { "fail" };
    let more = if streak.is_at_least { "+" } else { "" };
    format!("{word} {}{more}", streak.count)
}

fn name(row: &FleetRow) -> String {
    let kind = if row.kind == "ScheduledJob" {
        punctual_api::CronJobKind::ScheduledJob
    } else {
        punctual_api::CronJobKind::BatchV1
    };
    object_name(kind, &row.name)
}
