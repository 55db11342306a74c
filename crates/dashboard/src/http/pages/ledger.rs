//! The search in the ledger, also as CSV and JSON.

use std::sync::Arc;

use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use jiff::Timestamp;
use punctual_api::slot_record::{RunResult, SlotDecision};
use punctual_views::{HistoryFilter, HistoryRow};
use serde_json::{Value, json};

use crate::data::{LedgerLine, LedgerPage, LedgerQuery, is_object_name};
use crate::http::app::App;
use crate::http::context::Visitor;
use crate::http::params::{InputError, Params};
use crate::http::render::{PageContent, PageError};
use crate::ui::{LedgerFilter, LedgerPageView, NavItem, ledger_page};

/// How many records a page and a file have.
const PAGE_RECORDS: usize = 100;
const FILE_RECORDS: usize = 5_000;
/// How many records are read at a time.
const BATCH: usize = 500;

fn read_filter(params: &Params) -> LedgerFilter {
    LedgerFilter {
        namespace: params.get("namespace").to_owned(),
        cron_job: params.get("cronjob").to_owned(),
        decision: params.get("decision").to_owned(),
        result: params.get("result").to_owned(),
        since: params.get("since").to_owned(),
        until: params.get("until").to_owned(),
    }
}

/// A search for records: what the server selects, and the same as a rule.
struct Search {
    query: LedgerQuery,
    rule: HistoryFilter,
    cron_job: String,
}

/// Checks a filter. Values become parts of API requests, so only known ones are passed on.
fn search(app: &App, filter: &LedgerFilter, params: &Params) -> Result<Search, InputError> {
    let mut selectors = Vec::new();
    let mut rule = HistoryFilter::default();
    for (text, what) in
        [(&filter.namespace, "a namespace"), (&filter.cron_job, "the name of a CronJob")]
    {
        if !text.is_empty() && !is_object_name(text) {
            return Err(InputError(format!("{text:?} is not {what}.")));
        }
    }
    if !filter.cron_job.is_empty() {
        selectors.push(format!("cronJob={}", filter.cron_job));
    }
    if let Some(decision) = SlotDecision::parse(&filter.decision) {
        selectors.push(format!("decision={decision}"));
        rule.decisions.push(decision);
    }
    if let Some(result) = RunResult::parse(&filter.result) {
        selectors.push(format!("result={result}"));
        rule.results.push(result);
    }
    rule.since = params.instant("since", &app.zone)?;
    rule.until = params.instant("until", &app.zone)?;
    let text = |at: Timestamp| format!("{at:.0}");
    selectors.extend(rule.since.map(|since| {
        // The server's bound is exclusive.
        let before = since.checked_sub(jiff::SignedDuration::from_secs(1)).unwrap_or(since);
        format!("slotAfter={}", text(before))
    }));
    selectors.extend(rule.until.map(|until| format!("slotBefore={}", text(until))));
    let query = LedgerQuery {
        namespace: filter.namespace.clone(),
        selectors,
        limit: PAGE_RECORDS,
        continue_token: Some(params.get("continue").to_owned()).filter(|token| !token.is_empty()),
    };
    Ok(Search { query, rule, cron_job: filter.cron_job.clone() })
}

impl Search {
    /// Selects the records of a cluster that does not select them itself.
    fn select(&self, mut page: LedgerPage) -> LedgerPage {
        if !page.is_served {
            page.records.retain(|line| {
                self.rule.matches(&line.record)
                    && (self.cron_job.is_empty() || line.id.name == self.cron_job)
            });
            page.records.truncate(self.query.limit);
        }
        page
    }
}

pub(in crate::http) async fn ledger(
    State(app): State<Arc<App>>,
    visitor: Visitor,
    params: Params,
) -> Response {
    let filter = read_filter(&params);
    let empty = LedgerPage { records: Vec::new(), continue_token: None, is_served: true };
    let (page, error) = match search(&app, &filter, &params) {
        Ok(search) => match visitor.user.detail.ledger_page(&search.query).await {
            Ok(page) => (search.select(page), None),
            // A page of an older state of the ledger.
            Err(error) if error.code() == Some(410) => {
                (empty, Some("This page has expired; search again.".to_owned()))
            }
            Err(error) => (empty, Some(error.to_string())),
        },
        Err(error) => (empty, Some(error.to_string())),
    };
    let body = ledger_page(&LedgerPageView {
        filter: &filter,
        namespaces: &app.namespaces(),
        lines: &page.records,
        next: page.continue_token.as_deref(),
        is_first: params.get("continue").is_empty(),
        is_served: page.is_served,
        error: error.as_deref(),
        zone: &app.zone,
    });
    app.respond(&visitor, Ok(PageContent::new("Ledger", NavItem::Ledger, body))).await
}

/// Reads the records of a file, which is limited.
async fn read_all(
    app: &App,
    visitor: &Visitor,
    params: &Params,
) -> Result<Vec<LedgerLine>, PageError> {
    let filter = read_filter(params);
    let mut search = search(app, &filter, params)?;
    search.query.limit = BATCH;
    let mut lines = Vec::new();
    loop {
        let page = search.select(visitor.user.detail.ledger_page(&search.query).await?);
        lines.extend(page.records);
        if page.continue_token.is_none() || lines.len() >= FILE_RECORDS {
            lines.truncate(FILE_RECORDS);
            return Ok(lines);
        }
        search.query.continue_token = page.continue_token;
    }
}

pub(in crate::http) async fn ledger_csv(
    State(app): State<Arc<App>>,
    visitor: Visitor,
    params: Params,
) -> Response {
    match read_all(&app, &visitor, &params).await {
        Ok(lines) => file(to_csv(&lines), "text/csv; charset=utf-8", "ledger.csv"),
        Err(error) => app.respond(&visitor, Err(error)).await,
    }
}

pub(in crate::http) async fn ledger_json(
    State(app): State<Arc<App>>,
    visitor: Visitor,
    params: Params,
) -> Response {
    match read_all(&app, &visitor, &params).await {
        Ok(lines) => file(to_json(&lines).to_string(), "application/json", "ledger.json"),
        Err(error) => app.respond(&visitor, Err(error)).await,
    }
}

fn file(content: String, content_type: &str, name: &str) -> Response {
    let headers = [
        (CONTENT_TYPE, content_type.to_owned()),
        (CONTENT_DISPOSITION, format!("attachment; filename=\"{name}\"")),
    ];
    (headers, content).into_response()
}

fn to_csv(lines: &[LedgerLine]) -> String {
    let mut text = String::from("namespace,cronJob,kind");
    for column in HistoryRow::CSV_HEADER {
        text.push(',');
        text.push_str(column);
    }
    text.push('\n');
    for line in lines {
        let own = [line.id.namespace.as_str(), line.id.name.as_str(), line.id.kind.kind()];
        let cells = HistoryRow::new(&line.record).csv_cells();
        let cells = own.into_iter().chain(cells.iter().map(String::as_str));
        text.push_str(&cells.map(csv_cell).collect::<Vec<_>>().join(","));
        text.push('\n');
    }
    text
}

/// Quotes a cell. A cell that a spreadsheet would take for a formula gets an apostrophe.
fn csv_cell(text: &str) -> String {
    let text = if text.starts_with(['=', '+', '-', '@', '\t', '\r']) {
        format!("'{text}")
    } else {
        text.to_owned()
    };
    if text.contains([',', '"', '\n', '\r']) {
        return format!("\"{}\"", text.replace('"', "\"\""));
    }
    text
}

fn to_json(lines: &[LedgerLine]) -> Value {
    let items = lines.iter().map(|line| {
        let mut item = serde_json::to_value(HistoryRow::new(&line.record)).unwrap_or_default();
        if let Some(fields) = item.as_object_mut() {
            fields.insert("namespace".into(), json!(line.id.namespace));
            fields.insert("cronJob".into(), json!(line.id.name));
            fields.insert("kind".into(), json!(line.id.kind.kind()));
        }
        item
    });
    json!({"items": items.collect::<Vec<_>>()})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_quoted_and_formulas_are_text() {
        for (cell, wanted) in [
            ("a", "a"),
            ("a,b", "\"a,b\""),
            ("say \"hi\"", "\"say \"\"hi\"\"\""),
            ("=1+1", "'=1+1"),
            ("@SUM(A1)", "'@SUM(A1)"),
        ] {
            assert_eq!(csv_cell(cell), wanted);
        }
    }
}
