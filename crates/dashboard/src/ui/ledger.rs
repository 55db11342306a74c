//! The search in the ledger of all CronJobs.

use maud::{Markup, html};
use punctual_schedule::Zone;
use punctual_views::{HistoryRow, format_duration};

use super::text::{exact_time, kind_badge};
use crate::data::LedgerLine;
use crate::model::record_kind;

/// What to search for, as the URL says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct LedgerFilter {
    pub(crate) namespace: String,
    pub(crate) cron_job: String,
    pub(crate) decision: String,
    pub(crate) result: String,
    pub(crate) since: String,
    pub(crate) until: String,
}

impl LedgerFilter {
    fn pairs(&self) -> [(&'static str, &str); 6] {
        [
            ("namespace", &self.namespace),
            ("cronjob", &self.cron_job),
            ("decision", &self.decision),
            ("result", &self.result),
            ("since", &self.since),
            ("until", &self.until),
        ]
    }

    /// Returns the URL of a page of the search.
    pub(crate) fn url(&self, path: &str, more: &[(&str, &str)]) -> String {
        let mut query = form_urlencoded::Serializer::new(String::new());
        let pairs = self.pairs().into_iter().chain(more.iter().copied());
        for (key, value) in pairs.filter(|(_, value)| !value.is_empty()) {
            query.append_pair(key, value);
        }
        match query.finish() {
            query if query.is_empty() => path.to_owned(),
            query => format!("{path}?{query}"),
        }
    }
}

/// The inputs of the page.
pub(crate) struct LedgerPageView<'a> {
    pub(crate) filter: &'a LedgerFilter,
    pub(crate) namespaces: &'a [String],
    pub(crate) lines: &'a [LedgerLine],
    /// The token of the next page.
    pub(crate) next: Option<&'a str>,
    pub(crate) is_first: bool,
    /// Whether the cluster serves records.
    pub(crate) is_served: bool,
    pub(crate) error: Option<&'a str>,
    pub(crate) zone: &'a Zone,
}

/// Builds the page.
pub(crate) fn ledger_page(page: &LedgerPageView<'_>) -> Markup {
    html! {
        div #ledger-page {
            div.title-row {
                div { h1 { "Ledger" } p.dim { "What was decided about each slot, newest first. Times are in " (page.zone.name()) "." } }
                div.actions.no-print {
                    a.button.small href=(page.filter.url("/ledger.csv", &[])) download { "CSV" }
                    a.button.small href=(page.filter.url("/ledger.json", &[])) download { "JSON" }
                }
            }
            @if let Some(error) = page.error { div.banner.bad role="alert" { span.mark aria-hidden="true" { "✕" } span { (error) } } }
            @if !page.is_served { p.note { span.mark aria-hidden="true" { "i" } "This cluster serves no slot records. These are the records in statuses, or reconstructed from Jobs; deleted Jobs are missing." } }
            (filters(page))
            @if page.lines.is_empty() {
                section.card.empty { p.lead { "No record matches." } @if page.filter != &LedgerFilter::default() { div.actions { a.button href="/ledger" { "Show all" } } } }
            } @else {
                (table(page))
            }
            nav.pager.no-print aria-label="Pages of the ledger" {
                @if !page.is_first { a.button.small rel="prev" href=(page.filter.url("/ledger", &[])) { "Newest" } }
                @if let Some(token) = page.next { a.button.small rel="next" href=(page.filter.url("/ledger", &[("continue", token)])) { "Older" } }
            }
        }
    }
}

fn filters(page: &LedgerPageView<'_>) -> Markup {
    let filter = page.filter;
    let select = |name: &str, label: &str, value: &str, options: &[&str]| {
        html! {
            div {
                label for=(name) { (label) }
                select id=(name) name=(name) {
                    option value="" { "Any" }
                    @for option in options { option value=(option) selected[*option == value] { (option) } }
                }
            }
        }
    };
    let namespaces: Vec<&str> = page.namespaces.iter().take(500).map(String::as_str).collect();
    html! {
        form.card.search-form.no-print action="/ledger" {
            (select("namespace", "Namespace", &filter.namespace, &namespaces))
            div { label for="cronjob" { "CronJob" } input #cronjob name="cronjob" value=(filter.cron_job) maxlength="253" placeholder="exact name" spellcheck="false"; }
            (select("decision", "Decision", &filter.decision, &["Started", "Skipped", "Missed"]))
            (select("result", "Result", &filter.result, &["Running", "Succeeded", "Failed", "Replaced", "Deleted", "Unknown"]))
            div { label for="since" { "From" } input #since type="datetime-local" name="since" value=(filter.since); }
            div { label for="until" { "To" } input #until type="datetime-local" name="until" value=(filter.until); }
            div.actions { button.primary type="submit" { "Search" } a.button href="/ledger" { "Reset" } }
        }
    }
}

fn table(page: &LedgerPageView<'_>) -> Markup {
    html! {
        div.table-wrap { table.ledger {
            thead { tr {
                th scope="col" { "Slot" } th scope="col" { "CronJob" } th scope="col" { "What happened" } th scope="col" { "Reason" }
                th.num scope="col" { "Late" } th.num scope="col" { "Took" } th.no-print scope="col" { span.sr { "Links" } }
            } }
            tbody { @for line in page.lines { (table_row(page, line)) } }
        } }
    }
}

fn table_row(page: &LedgerPageView<'_>, line: &LedgerLine) -> Markup {
    let record = &line.record;
    let row = HistoryRow::new(record);
    let path = line.id.path();
    let seconds = |seconds: i64| format_duration(jiff::SignedDuration::from_secs(seconds));
    let reason =
        if record.failure_reason.is_empty() { &record.reason } else { &record.failure_reason };
    html! {
        tr {
            td data-label="Slot" {
                @if let Some(slot) = record.slot { (exact_time(page.zone, slot.timestamp())) }
                @if record.slots() > 1 { span.sub { "and " (record.slots() - 1) " more" } }
            }
            td data-label="CronJob" { a.strong href=(path) { (line.id.name) } span.sub { (line.id.namespace) } }
            td data-label="What happened" { (kind_badge(record_kind(record), &row.outcome())) }
            td data-label="Reason" { (reason) @if !record.message.is_empty() { span.sub.clip title=(record.message) { (record.message) } } }
            td.num data-label="Late" { @if let Some(late) = row.late_seconds { (seconds(late)) } }
            td.num data-label="Took" { @if let Some(took) = row.took_seconds { (seconds(took)) } }
            td.links.no-print {
                @if let Some(slot) = record.last_slot() { a href={ (path) "/slots/" (slot) } { "why" } }
                @if let Some(job) = &record.job { " · " a href={ "/runs/" (line.id.namespace) "/" (job.name) } { "run" } }
            }
        }
    }
}
