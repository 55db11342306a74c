//! The fleet list.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use maud::{Markup, html};
use punctual_api::slot_record::{RunResult, SlotRecord};
use punctual_views::{CronJobSnapshot, FleetRow, FleetState, HistoryRow, format_duration};

use super::text::{age, countdown, friendly_text, friendly_time, grouped, plural, state_badge};
use crate::charts::{mini_strip, sparkline};
use crate::data::{CronJobId, Rights};
use crate::model::{
    Attention, CellKind, FleetQuery, Overview, PAGE_SIZE, SortColumn, StateFilter, past_cells,
    record_kind, upcoming_cells,
};

/// How many slots a row shows.
const PAST_CELLS: usize = 20;
const UPCOMING_CELLS: usize = 4;
/// How many durations a row shows.
const DURATIONS: usize = 14;

/// A row of the list.
pub(crate) struct FleetPageRow {
    pub(crate) id: CronJobId,
    pub(crate) row: Arc<FleetRow>,
    pub(crate) snapshot: CronJobSnapshot,
    pub(crate) rights: Rights,
}

/// The fleet page.
pub(crate) struct FleetPage {
    pub(crate) query: FleetQuery,
    pub(crate) overview: Overview,
    pub(crate) attention: Vec<Attention>,
    pub(crate) more_attention: usize,
    pub(crate) rows: Vec<FleetPageRow>,
    /// How many rows the filter selects on all pages.
    pub(crate) selected: usize,
    pub(crate) is_loading: bool,
    pub(crate) now: Timestamp,
}

/// Builds the page.
pub(crate) fn fleet_page(page: &FleetPage) -> Markup {
    if page.is_loading {
        return html! {
            h1 { "Fleet" }
            section.card.empty { p.lead { "Reading CronJobs and Jobs…" } p.dim { "The page appears as soon as the first lists are complete." } }
        };
    }
    html! {
        div #fleet {
            div.title-row {
                div {
                    h1 { "Fleet" }
                    p.dim { (summary(&page.overview)) }
                }
            }
            @if page.query.is_unfiltered() && page.query.page == 1 { (panels(page)) }
            (filters(page))
            @if page.rows.is_empty() { (empty(page)) } @else { (table(page)) }
        }
    }
}

fn summary(overview: &Overview) -> String {
    let parts = [
        format!(
            "{} in {}",
            plural(overview.cron_jobs, "CronJob"),
            plural(overview.namespaces.len(), "namespace")
        ),
        format!("{} running", grouped(overview.running)),
        format!("{} due within the hour", grouped(overview.due_soon)),
        format!("{} suspended", grouped(overview.suspended)),
    ];
    parts.join(" · ")
}

fn panels(page: &FleetPage) -> Markup {
    html! {
        div.panels {
            section aria-labelledby="attention" {
                h2 #attention { "Needs attention" }
                @if page.attention.is_empty() {
                    div.card.quiet {
                        span.badge.good { span.mark aria-hidden="true" { "✓" } "All quiet" }
                        p.dim { "No CronJob fails, is stuck or is overdue." }
                    }
                } @else {
                    div.cards { @for attention in &page.attention { (attention_card(attention, page.now)) } }
                    @if page.more_attention > 0 {
                        p { a href=(page.query.with_state(StateFilter::Attention).url()) { (plural(page.more_attention, "more")) " need attention" } }
                    }
                }
            }
            section aria-labelledby="up-next" {
                h2 #up-next { "Up next" }
                div.card.up-next {
                    @if page.overview.up_next.is_empty() { p.dim { "No run is planned." } }
                    ol {
                        @for next in &page.overview.up_next {
                            li {
                                a href=(next.id.path()) { (next.id.name) }
                                span.dim { (next.id.namespace) }
                                (countdown(next.at, page.now))
                            }
                        }
                    }
                }
            }
        }
    }
}

fn attention_card(attention: &Attention, now: Timestamp) -> Markup {
    let row = &attention.row;
    let path = attention.entry.id.path();
    let (mark, class, headline) = match row.state {
        FleetState::Failing => ("✕", "bad", failing_headline(row)),
        FleetState::Overdue => ("!", "warn", "is overdue".to_owned()),
        FleetState::Stuck => ("✕", "bad", "is stuck".to_owned()),
        _ => ("✕", "bad", "has an invalid schedule".to_owned()),
    };
    let records = attention.entry.snapshot.ledger.records();
    let is_problem =
        |record: &&SlotRecord| matches!(record_kind(record), CellKind::Failed | CellKind::Missed);
    let newest = records.iter().find(is_problem);
    let zone = attention.entry.snapshot.zone();
    let text = match (row.detail.as_str(), newest) {
        ("", Some(record)) => {
            let row = HistoryRow::new(record);
            let slot = record.last_slot().map(|slot| friendly_text(zone, slot.timestamp(), now));
            let reason =
                [record.failure_reason.as_str(), record.message.as_str(), record.reason.as_str()];
            let reason = reason.into_iter().find(|text| !text.is_empty()).unwrap_or_default();
            format!("Slot {}: {}. {reason}", slot.unwrap_or_default(), row.outcome().to_lowercase())
        }
        ("", None) => "A later run is active.".to_owned(),
        (detail, _) => detail.to_owned(),
    };
    let run = newest.and_then(|record| record.job.as_ref());
    let slot = newest.and_then(|record| record.last_slot());
    html! {
        article class={ "card attention " (class) } {
            h3 { span class={ "dot-mark " (class) } aria-hidden="true" { (mark) } a href=(path) { (row.namespace) "/" (row.name) } " " (headline) }
            p.dim { (text) }
            div.actions {
                @if let Some(run) = run { a.button href={ "/runs/" (row.namespace) "/" (run.name) } { "Open log" } }
                @if let Some(slot) = slot { a.button href={ (path) "/slots/" (slot) } { "Why" } }
                @else { a.button href=(path) { "Details" } }
            }
        }
    }
}

fn failing_headline(row: &FleetRow) -> String {
    match row.streak {
        Some(streak) if streak.count > 1 => format!("failed {} times in a row", streak.count),
        _ => "failed".to_owned(),
    }
}

fn filters(page: &FleetPage) -> Markup {
    let query = &page.query;
    html! {
        div.filters {
            nav aria-label="State" {
                @for state in StateFilter::ALL {
                    a.pill href=(query.with_state(state).url()) aria-current=[(state == query.state).then_some("true")] {
                        (state.label())
                        @if let Some(count) = page.overview.count(state) { span.count { (grouped(count)) } }
                    }
                }
            }
            form action="/" {
                input type="hidden" name="q" value=(query.search);
                input type="hidden" name="state" value=(query.state.value());
                label.sr for="namespace" { "Namespace" }
                select #namespace name="namespace" data-submit {
                    option value="" { "All namespaces" }
                    @for namespace in page.overview.namespaces.iter().take(500) {
                        option value=(namespace) selected[*namespace == query.namespace] { (namespace) }
                    }
                }
                button.small type="submit" { "Show" }
            }
        }
    }
}

fn empty(page: &FleetPage) -> Markup {
    html! {
        section.card.empty {
            @if page.query.is_unfiltered() {
                p.lead { "There is no CronJob yet." }
                p.dim { "Create one with kubectl, or with:" }
                pre.command { "punctual run --schedule '*/5 * * * *' -- echo hello" }
            } @else {
                p.lead { "No CronJob matches." }
                div.actions { a.button href="/" { "Show all" } }
            }
        }
    }
}

fn table(page: &FleetPage) -> Markup {
    let can_change = page.rows.iter().any(|row| row.rights.any());
    html! {
        form #bulk action="/bulk" method="get" data-dialog-form {
            div.table-wrap {
                table.fleet {
                    (table_head(page, can_change))
                    tbody {
                        @for row in &page.rows { (table_row(row, page.now, can_change)) }
                    }
                }
            }
            div.table-foot {
                @if can_change {
                    div.actions {
                        span.dim { "With the selected:" }
                        button.small name="action" value="trigger" { "Run now…" }
                        button.small name="action" value="suspend" { "Suspend…" }
                        button.small name="action" value="resume" { "Resume…" }
                    }
                }
                (pager(page))
            }
        }
    }
}

fn table_head(page: &FleetPage, can_change: bool) -> Markup {
    let query = &page.query;
    let heading = |column: SortColumn, label: &str| {
        let is_sorted = query.sort == column;
        let direction = if query.is_descending { "descending" } else { "ascending" };
        html! {
            th scope="col" aria-sort=[is_sorted.then_some(direction)] {
                a href=(query.sorted_by(column).url()) { (label) @if is_sorted { span.arrow aria-hidden="true" { (if query.is_descending { "↓" } else { "↑" }) } } }
            }
        }
    };
    html! {
        thead {
            tr {
                @if can_change { th.check scope="col" { span.sr { "Select" } } }
                (heading(SortColumn::Name, "Name"))
                th scope="col" { "Schedule" }
                th scope="col" { "Last " (PAST_CELLS) " slots and next" }
                (heading(SortColumn::Next, "Next"))
                (heading(SortColumn::State, "State"))
                (heading(SortColumn::Last, "Last run"))
                @if can_change { th scope="col" { span.sr { "Actions" } } }
            }
        }
    }
}

fn table_row(page_row: &FleetPageRow, now: Timestamp, can_change: bool) -> Markup {
    let FleetPageRow { id, row, snapshot, rights } = page_row;
    let path = id.path();
    let past = past_cells(snapshot, PAST_CELLS);
    let upcoming = upcoming_cells(snapshot, UPCOMING_CELLS, now);
    let words = snapshot
        .timetable()
        .map_or_else(|error| error.to_string(), |timetable| timetable.schedule().describe());
    html! {
        tr id={ "row-" (id) } data-row data-href=(path) {
            @if can_change {
                td.check { input type="checkbox" name="item" value=(id) aria-label={ "Select " (row.name) }; }
            }
            td.name data-label="Name" {
                a.strong href=(path) { (row.name) }
                span.sub { (row.namespace) @if row.kind == "ScheduledJob" { " · ScheduledJob" } }
            }
            td.schedule data-label="Schedule" {
                span.words title=(words) { (words_without_zone(&words, &row.time_zone)) }
                span.sub { code { (row.schedule) } " " (row.time_zone) }
            }
            td.slots data-label="Slots" { a href=(path) tabindex="-1" { (mini_strip(&past, &upcoming, PAST_CELLS)) } }
            td data-label="Next" { (next_cell(row, snapshot, now)) }
            td data-label="State" { (state_badge(row)) (state_detail(row)) }
            td data-label="Last run" { (last_cell(row, snapshot, now)) }
            @if can_change { td.row-actions { (row_actions(&path, row, *rights)) } }
        }
    }
}

/// The zone is a column of its own.
fn words_without_zone<'a>(words: &'a str, zone: &str) -> &'a str {
    let zone = words.strip_suffix(zone).and_then(|words| words.strip_suffix(", in "));
    zone.unwrap_or(words)
}

fn next_cell(row: &FleetRow, snapshot: &CronJobSnapshot, now: Timestamp) -> Markup {
    html! {
        @match row.next {
            Some(next) => {
                (friendly_time(snapshot.zone(), next, now))
                span.sub { (countdown(next, now)) }
            }
            None => { span.dim { "–" } }
        }
    }
}

fn state_detail(row: &FleetRow) -> Markup {
    let text = match (row.state, row.streak) {
        (FleetState::Failing, Some(streak)) if streak.count > 1 => {
            format!("{} in a row", streak.count)
        }
        (FleetState::Ok, Some(streak)) if streak.count > 1 => {
            format!("{}{} in a row", streak.count, if streak.is_at_least { "+" } else { "" })
        }
        _ => row.detail.clone(),
    };
    html! { @if !text.is_empty() { span.sub.clip title=(text) { (text) } } }
}

fn last_cell(row: &FleetRow, snapshot: &CronJobSnapshot, now: Timestamp) -> Markup {
    let mut runs: Vec<(f64, bool)> = snapshot
        .ledger
        .runs()
        .filter_map(|record| {
            let took = HistoryRow::new(record).took_seconds?;
            #[expect(clippy::cast_precision_loss, reason = "a duration in seconds has few digits")]
            let took = took as f64;
            Some((took, record_kind(record) == CellKind::Failed))
        })
        .take(DURATIONS)
        .collect();
    runs.reverse();
    let result = row.last_result.map_or("", |result| match result {
        RunResult::Succeeded => "ok",
        RunResult::Failed => "failed",
        _ => "ended",
    });
    html! {
        @if !runs.is_empty() { (sparkline(&runs)) }
        span.sub {
            @if let Some(took) = row.took_seconds { (format_duration(SignedDuration::from_secs(took))) }
            @match (row.last_end, row.last_slot) {
                (Some(end), _) => { " " (result) " · " (age(end, now)) }
                (None, Some(slot)) => { (age(slot, now)) }
                (None, None) => { "never ran" }
            }
        }
    }
}

fn row_actions(path: &str, row: &FleetRow, rights: Rights) -> Markup {
    html! {
        @if rights.start { a.button.small href={ (path) "/trigger" } data-dialog { "Run now" } }
        @if rights.edit {
            @if row.suspension.is_some() { a.button.small href={ (path) "/resume" } data-dialog { "Resume…" } }
            @else { a.button.small href={ (path) "/suspend" } data-dialog { "Suspend…" } }
        }
    }
}

fn pager(page: &FleetPage) -> Markup {
    let pages = page.selected.div_ceil(PAGE_SIZE).max(1);
    let current = page.query.page;
    let first = (current - 1) * PAGE_SIZE + 1;
    html! {
        nav.pager aria-label="Pages of the list" {
            span.dim { (grouped(first)) "–" (grouped(first + page.rows.len() - 1)) " of " (grouped(page.selected)) }
            @if current > 1 { a.button.small rel="prev" href=(page.query.with_page(current - 1).url()) { "Previous" } }
            @if current < pages { a.button.small rel="next" href=(page.query.with_page(current + 1).url()) { "Next" } }
        }
    }
}
