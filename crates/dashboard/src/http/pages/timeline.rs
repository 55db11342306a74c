//! The timeline page.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use jiff::SignedDuration;

use crate::data::Entry;
use crate::http::app::App;
use crate::http::context::Visitor;
use crate::http::params::Params;
use crate::http::render::PageContent;
use crate::model::{LaneInput, PAGE_SIZE, TimelineRange, lane};
use crate::ui::{NavItem, TimelinePage, timeline_page};

const HOURS: [i64; 4] = [3, 12, 24, 168];
const HOURS_DEFAULT: i64 = 12;
/// How many records a lane shows.
const RECORDS_PER_LANE: usize = 120;

pub(in crate::http) async fn timeline(
    State(app): State<Arc<App>>,
    visitor: Visitor,
    params: Params,
) -> Response {
    let now = app.now();
    let hours = params.get("hours").parse().ok().filter(|hours| HOURS.contains(hours));
    let hours = hours.unwrap_or(HOURS_DEFAULT);
    let namespace = params.get("namespace");
    let mut entries: Vec<Arc<Entry>> = app.cache.entries();
    entries.retain(|entry| namespace.is_empty() || entry.id.namespace == namespace);
    let total = entries.len();
    let pages = total.div_ceil(PAGE_SIZE).max(1);
    let page: usize = params.get("page").parse().unwrap_or(1).clamp(1, pages);
    let shown: Vec<Arc<Entry>> =
        entries.into_iter().skip((page - 1) * PAGE_SIZE).take(PAGE_SIZE).collect();
    let medians = app.cache.medians(&shown);
    let minutes = SignedDuration::from_mins(hours * 15);
    let from = now.checked_sub(minutes).unwrap_or(now);
    let until = from.checked_add(SignedDuration::from_hours(hours)).unwrap_or(now);
    let range = TimelineRange { from, until, now };
    // A run that started before the time that is shown can still be active in it.
    let since = from.checked_sub(SignedDuration::from_hours(1)).unwrap_or(from);
    let detail = &visitor.user.detail;
    let snapshots = detail.with_records_since(&shown, since, RECORDS_PER_LANE).await;
    let lanes: Vec<_> = shown
        .iter()
        .zip(&snapshots)
        .map(|(entry, snapshot)| {
            let median =
                medians.get(entry.uid()).copied().or_else(|| snapshot.ledger.median_duration());
            lane(&LaneInput { id: &entry.id, snapshot, median }, range)
        })
        .collect();
    let body = timeline_page(&TimelinePage {
        lanes: &lanes,
        range,
        hours,
        namespace,
        namespaces: &app.namespaces(),
        page,
        total,
        zone: &app.zone,
    });
    let mut content = PageContent::new("Timeline", NavItem::Timeline, body);
    content.events = app.events_query("fleet", &crate::data::Scope::Fleet);
    app.respond(&visitor, Ok(content)).await
}
