//! The page of one CronJob.

use jiff::Timestamp;
use maud::{Markup, html};
use punctual_api::event::Event;
use punctual_views::{
    CronJobSnapshot, Description, FleetState, HistoryRow, RecordSource, explain_now,
    format_duration, short_time,
};

use super::text::{
    countdown, exact_time, friendly_seconds, friendly_time, kind_badge, seconds_text, state_badge,
};
use crate::charts::{BarChart, ChartBar, Threshold, bar_chart, legend, slot_strip};
use crate::data::{CronJobId, Rights};
use crate::model::{CellKind, past_cells, record_kind, upcoming_cells};

/// How many slots the strip shows.
const PAST_CELLS: usize = 64;
const UPCOMING_CELLS: usize = 16;
/// How many runs the charts show.
const CHART_RUNS: usize = 60;
/// How many next slots, records and Events are listed.
const NEXT_MAX: usize = 20;
const RECORDS_MAX: usize = 15;
const EVENTS_MAX: usize = 20;

/// The inputs of the page.
pub(crate) struct CronJobPage<'a> {
    pub(crate) id: &'a CronJobId,
    pub(crate) snapshot: &'a CronJobSnapshot,
    pub(crate) description: &'a Description,
    pub(crate) rights: Rights,
    /// Whether the cluster serves RunRequests, so that a backfill is possible.
    pub(crate) can_backfill: bool,
    pub(crate) yaml: &'a str,
    pub(crate) now: Timestamp,
}

/// Builds the page.
pub(crate) fn cron_job_page(page: &CronJobPage<'_>) -> Markup {
    html! {
        div #cronjob {
            (heading(page))
            (problems(page))
            div.columns {
                div {
                    (strip(page))
                    (charts(page))
                    (ledger(page))
                    (events(page))
                }
                aside {
                    (next_slots(page))
                    (state(page))
                    (policy(page))
                }
            }
            details.card.yaml {
                summary { "YAML" }
                pre { code { (page.yaml) } }
            }
        }
    }
}

fn heading(page: &CronJobPage<'_>) -> Markup {
    let row = &page.description.row;
    let path = page.id.path();
    let rights = page.rights;
    html! {
        div.title-row {
            div {
                p.crumbs { a href="/" { "Fleet" } " / " a href={ "/?namespace=" (row.namespace) } { (row.namespace) } @if row.kind == "ScheduledJob" { " / ScheduledJob" } }
                h1 { (row.name) " " (state_badge(row)) }
                p.lead { (page.description.schedule_text) @if !page.description.schedule_text.ends_with('.') { "." } " " code { (row.schedule) } }
            }
            div.actions.page-actions {
                @if rights.start {
                    a.button.primary href={ (path) "/trigger" } data-dialog data-key="r" { "Run now" }
                    @if page.can_backfill { a.button href={ (path) "/backfill" } data-dialog data-key="b" { "Backfill…" } }
                }
                @if rights.edit {
                    @if row.suspension.is_some() { a.button href={ (path) "/resume" } data-dialog data-key="s" { "Resume…" } }
                    @else { a.button href={ (path) "/suspend" } data-dialog data-key="s" { "Suspend…" } }
                    a.button href={ (path) "/edit" } data-key="e" { "Edit" }
                }
            }
        }
    }
}

fn problems(page: &CronJobPage<'_>) -> Markup {
    let row = &page.description.row;
    let present = explain_now(page.snapshot, page.now);
    let is_bad = row.state.needs_attention();
    html! {
        @if let Some(suspension) = &page.description.suspension {
            div.banner.calm role="status" {
                span.mark aria-hidden="true" { "‖" }
                span {
                    "Suspended"
                    @if let Some(until) = suspension.until { " until " (exact_time(page.snapshot.zone(), until)) }
                    @if !suspension.by.is_empty() { " by " (suspension.by) }
                    @if !suspension.reason.is_empty() { ": " (suspension.reason) }
                    "."
                }
            }
        }
        @if is_bad {
            div.banner.bad role="status" {
                span.mark aria-hidden="true" { "✕" }
                div {
                    @if row.state == FleetState::Invalid { (row.detail) }
                    @else {
                        @for problem in page.description.problems.iter().take(3) { p { (problem) } }
                    }
                }
            }
        } @else if page.description.suspension.is_none() {
            p.now-text { b { "Now: " } (present.answer) "." }
        }
        @for note in &page.description.schedule_notes { p.note { span.mark aria-hidden="true" { "i" } (note) } }
    }
}

fn strip(page: &CronJobPage<'_>) -> Markup {
    let past = past_cells(page.snapshot, PAST_CELLS);
    let upcoming = upcoming_cells(page.snapshot, UPCOMING_CELLS, page.now);
    let shown: Vec<CellKind> = CellKind::ALL
        .into_iter()
        .filter(|kind| past.iter().chain(&upcoming).any(|cell| cell.kind == *kind))
        .collect();
    let has_dst = upcoming.iter().any(|cell| cell.dst.is_some());
    html! {
        section.card aria-label="Slots" {
            @if past.is_empty() && upcoming.is_empty() {
                p.dim { "No slot is known." }
            } @else {
                div.scroll { (slot_strip(&past, &upcoming, page.snapshot.zone(), &page.id.path())) }
                div.legend-row {
                    (legend(&shown))
                    @if has_dst { span.legend { svg width="12" height="11" viewBox="-1 -1 12 11" aria-hidden="true" { path.dst d="M5 0l5 9h-10z" {} } "clocks change" } }
                }
            }
            @if let Some(note) = page.description.record_source.note() { p.dim { (note) } }
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "durations in seconds have few digits")]
fn charts(page: &CronJobPage<'_>) -> Markup {
    let zone = page.snapshot.zone();
    let rows: Vec<HistoryRow> =
        page.snapshot.ledger.runs().take(CHART_RUNS).map(HistoryRow::new).collect();
    let bar = |row: &HistoryRow, value: i64, what: &str| {
        let slot = row.record.slot?.timestamp();
        Some(ChartBar {
            value: value as f64,
            is_failure: record_kind(&row.record) == CellKind::Failed,
            title: format!(
                "{}: {what} {}, {}",
                short_time(zone, slot),
                seconds_text(value as f64),
                row.outcome().to_lowercase()
            ),
            href: format!("{}/slots/{slot}", page.id.path()),
        })
    };
    let took: Vec<ChartBar> =
        rows.iter().rev().filter_map(|row| bar(row, row.took_seconds?, "took")).collect();
    let late: Vec<ChartBar> =
        rows.iter().rev().filter_map(|row| bar(row, row.late_seconds?, "late")).collect();
    let median = page.snapshot.ledger.median_duration();
    let latest = late.iter().map(|bar| bar.value).fold(0.0, f64::max);
    html! {
        @if !took.is_empty() {
            section aria-labelledby="durations" {
                h2 #durations { "Duration and result" }
                div.card { div.scroll {
                    (bar_chart(&BarChart {
                        label: "duration of the last runs",
                        bars: &took,
                        format: &seconds_text,
                        median: median.map(|median| Threshold { value: median.as_secs_f64(), label: format!("median {}", format_duration(median)) }),
                    }))
                } }
            }
        }
        @if late.len() > 1 && latest > 0.0 {
            section aria-labelledby="lateness" {
                h2 #lateness { "Lateness of starts" }
                div.card { div.scroll {
                    (bar_chart(&BarChart { label: "how late the last runs started", bars: &late, format: &seconds_text, median: None }))
                } }
            }
        } @else if late.len() > 1 {
            p.dim.on-time { span.badge.good { span.mark aria-hidden="true" { "✓" } "Punctual" } " The last " (late.len()) " runs started within a second of their time." }
        }
    }
}

fn ledger(page: &CronJobPage<'_>) -> Markup {
    let rows: Vec<HistoryRow> =
        page.snapshot.ledger.records().iter().take(RECORDS_MAX).map(HistoryRow::new).collect();
    let metadata = &page.snapshot.cron_job.metadata;
    html! {
        section aria-labelledby="ledger" {
            h2 #ledger {
                "Ledger "
                a.more href={ "/ledger?namespace=" (metadata.namespace) "&cronjob=" (metadata.name) } { "all records" }
            }
            @if rows.is_empty() {
                div.card.quiet { p.dim { "Nothing was decided yet." } }
            } @else {
                div.table-wrap { table.ledger {
                    thead { tr { th scope="col" { "Slot" } th scope="col" { "What happened" } th scope="col" { "Reason" } th.num scope="col" { "Late" } th.num scope="col" { "Took" } th scope="col" { span.sr { "Links" } } } }
                    tbody { @for row in &rows { (record_row(page, row)) } }
                } }
            }
        }
    }
}

fn record_row(page: &CronJobPage<'_>, row: &HistoryRow) -> Markup {
    let record = &row.record;
    let path = page.id.path();
    let kind = record_kind(record);
    let reason =
        if record.failure_reason.is_empty() { &record.reason } else { &record.failure_reason };
    html! {
        tr {
            td data-label="Slot" {
                @if let Some(slot) = record.slot { a href={ (path) "/slots/" (slot) } { (slot_time(page, slot.timestamp())) } }
                @if record.slots() > 1 { span.sub { "and " (record.slots() - 1) " more" } }
            }
            td data-label="What happened" { (kind_badge(kind, &row.outcome())) }
            td data-label="Reason" {
                (reason)
                @if !record.request.is_empty() { span.sub { "request " (record.request) } }
                @if !record.message.is_empty() { span.sub.clip title=(record.message) { (record.message) } }
            }
            td.num data-label="Late" { @if let Some(late) = row.late_seconds { (seconds(late)) } }
            td.num data-label="Took" { @if let Some(took) = row.took_seconds { (seconds(took)) } }
            td.links {
                @if let Some(slot) = record.last_slot() { a href={ (path) "/slots/" (slot) } { "why" } }
                @if let Some(job) = &record.job { " · " a href={ "/runs/" (page.id.namespace) "/" (job.name) } { "run" } }
            }
        }
    }
}

/// Shows a slot with its seconds if slots of this schedule have any.
fn slot_time(page: &CronJobPage<'_>, slot: Timestamp) -> Markup {
    let zone = page.snapshot.zone();
    let records = page.snapshot.ledger.records().iter().take(RECORDS_MAX);
    let mut slots = records.filter_map(|record| record.slot);
    if slots.any(|slot| slot.timestamp().as_second().rem_euclid(60) != 0) {
        return friendly_seconds(zone, slot, page.now);
    }
    friendly_time(zone, slot, page.now)
}

fn seconds(seconds: i64) -> String {
    format_duration(jiff::SignedDuration::from_secs(seconds))
}

fn events(page: &CronJobPage<'_>) -> Markup {
    let events: Vec<&Event> = page.snapshot.events.iter().rev().take(EVENTS_MAX).collect();
    html! {
        @if !events.is_empty() {
            section aria-labelledby="events" {
                h2 #events { "Events" }
                div.table-wrap { table.events {
                    thead { tr { th scope="col" { "Last seen" } th scope="col" { "Reason" } th scope="col" { "Message" } } }
                    tbody {
                        @for event in events {
                            tr {
                                td data-label="Last seen" {
                                    @if let Some(time) = event.last_timestamp.or(event.first_timestamp) { (friendly_seconds(page.snapshot.zone(), time.timestamp(), page.now)) }
                                    @if event.count > 1 { span.sub { (event.count) " times" } }
                                }
                                td data-label="Reason" { @if event.event_type == "Warning" { span.mark aria-label="warning" { "! " } } (event.reason) }
                                td data-label="Message" { (event.message) }
                            }
                        }
                    }
                } }
            }
        }
    }
}

fn next_slots(page: &CronJobPage<'_>) -> Markup {
    let zone = page.snapshot.zone();
    let upcoming: Vec<_> = page.description.upcoming.iter().take(NEXT_MAX).collect();
    html! {
        section.card aria-labelledby="next" {
            h2 #next { "Next" }
            @if upcoming.is_empty() { p.dim { "No slot comes." } }
            ol.next {
                @for (index, slot) in upcoming.iter().enumerate() {
                    li {
                        a href={ (page.id.path()) "/slots/" (slot.slot) } { (short_time(zone, slot.slot)) }
                        @if index == 0 { " " (countdown(slot.effective_time.unwrap_or(slot.slot), page.now)) }
                        @if let Some(effective) = slot.effective_time { span.sub { "starts " (zone.at(effective).strftime("%H:%M:%S").to_string()) " (jitter)" } }
                        @if let Some(note) = &slot.note { span.sub.dst-note { span.mark aria-hidden="true" { "▲ " } (note) } }
                    }
                }
            }
            p.dim { (zone.name()) @if page.snapshot.is_default_zone() { " (the CronJob names no zone)" } }
        }
    }
}

fn state(page: &CronJobPage<'_>) -> Markup {
    let counters = page.description.counters;
    let status = &page.snapshot.cron_job.status;
    let zone = page.snapshot.zone();
    let rows = [
        ("Succeeded", counters.successful_runs),
        ("Failed", counters.failed_runs),
        ("Missed", counters.missed_runs),
        ("Skipped", counters.skipped_runs),
    ];
    html! {
        section.card aria-labelledby="state" {
            h2 #state { "State" }
            dl.kv {
                @for (label, count) in rows { dt { (label) } dd { (count) } }
                dt { "Last success" }
                dd { @match status.last_successful_time { Some(at) => { (friendly_time(zone, at.timestamp(), page.now)) } None => { "–" } } }
                @if let Some(median) = page.snapshot.ledger.median_duration() { dt { "Takes" } dd { "about " (format_duration(median)) } }
                @for active in status.active.iter().take(10) {
                    dt { "Active" } dd { a href={ "/runs/" (page.id.namespace) "/" (active.name) } { (active.name) } }
                }
            }
            @if page.description.record_source == RecordSource::Reconstructed { p.dim { "This cluster keeps no counters of missed and skipped slots." } }
        }
    }
}

fn policy(page: &CronJobPage<'_>) -> Markup {
    html! {
        section.card aria-labelledby="policy" {
            h2 #policy { "Policy in words" }
            ul.sentences { @for sentence in &page.description.policy { li { (sentence) } } }
        }
    }
}
