//! The timeline of the fleet: what ran, and what is expected to run.

use maud::{Markup, html};
use punctual_schedule::Zone;

use super::text::{grouped, plural};
use crate::charts::{legend, ticks, timeline};
use crate::model::{CellKind, Lane, PAGE_SIZE, TimelineRange};

/// The lengths of time that can be shown.
const SPANS: [(i64, &str); 4] = [(3, "3 hours"), (12, "12 hours"), (24, "1 day"), (168, "1 week")];

/// The inputs of the page.
pub(crate) struct TimelinePage<'a> {
    pub(crate) lanes: &'a [Lane],
    pub(crate) range: TimelineRange,
    /// How many hours are shown.
    pub(crate) hours: i64,
    pub(crate) namespace: &'a str,
    pub(crate) namespaces: &'a [String],
    pub(crate) page: usize,
    /// How many CronJobs there are on all pages.
    pub(crate) total: usize,
    /// The zone of the axis.
    pub(crate) zone: &'a Zone,
}

/// Builds the page.
pub(crate) fn timeline_page(page: &TimelinePage<'_>) -> Markup {
    let kinds = [
        CellKind::Succeeded,
        CellKind::Failed,
        CellKind::Missed,
        CellKind::Skipped,
        CellKind::Running,
    ];
    let expected: usize = page.lanes.iter().map(|lane| lane.expected).sum();
    html! {
        div #timeline {
            div.title-row {
                div {
                    h1 { "Timeline" }
                    p.dim { "A quarter of the time is past, the rest is predicted from the schedules and how long the last runs took. " (plural(expected, "run")) " expected on this page. Axis in " (page.zone.name()) "." }
                }
            }
            (controls(page))
            @if page.lanes.is_empty() {
                section.card.empty { p.lead { "There is nothing to show." } }
            } @else {
                div.card.lanes {
                    (axis(page))
                    (rows(page))
                }
                div.legend-row {
                    (legend(&kinds))
                    span.legend { svg width="18" height="12" viewBox="0 0 18 12" aria-hidden="true" { rect.c-expected x="1" y="1" width="16" height="10" {} } "expected" }
                }
                (pager(page))
            }
        }
    }
}

fn url(hours: i64, namespace: &str, page: usize) -> String {
    let mut query = form_urlencoded::Serializer::new(String::new());
    query.append_pair("hours", &hours.to_string());
    if !namespace.is_empty() {
        query.append_pair("namespace", namespace);
    }
    if page > 1 {
        query.append_pair("page", &page.to_string());
    }
    format!("/timeline?{}", query.finish())
}

fn controls(page: &TimelinePage<'_>) -> Markup {
    html! {
        div.filters {
            nav aria-label="Length" {
                @for (hours, label) in SPANS {
                    a.pill href=(url(hours, page.namespace, 1)) aria-current=[(hours == page.hours).then_some("true")] { (label) }
                }
            }
            form action="/timeline" {
                input type="hidden" name="hours" value=(page.hours);
                label.sr for="namespace" { "Namespace" }
                select #namespace name="namespace" data-submit {
                    option value="" { "All namespaces" }
                    @for namespace in page.namespaces.iter().take(500) { option value=(namespace) selected[namespace == page.namespace] { (namespace) } }
                }
                button.small type="submit" { "Show" }
            }
        }
    }
}

fn axis(page: &TimelinePage<'_>) -> Markup {
    let ticks = ticks(page.range, page.zone);
    let now = page.range.fraction(page.range.now) * 1000.0;
    html! {
        div.lane-row.axis {
            span {}
            svg.lane-axis viewBox="0 0 1000 26" aria-hidden="true" {
                @for tick in &ticks {
                    @let x = format!("{:.1}", tick.at * 1000.0);
                    line.grid x1=(x) x2=(x) y1="18" y2="26" {}
                    text.axis-label x=(x) y="12" text-anchor="middle" { (tick.label) }
                }
                line.now x1=(format!("{now:.1}")) x2=(format!("{now:.1}")) y1="14" y2="26" {}
            }
        }
    }
}

fn rows(page: &TimelinePage<'_>) -> Markup {
    let mut last = "";
    let mut grouped: Vec<(Option<&str>, &Lane)> = Vec::new();
    for lane in page.lanes {
        let heading = (lane.id.namespace != last).then_some(lane.id.namespace.as_str());
        last = &lane.id.namespace;
        grouped.push((heading, lane));
    }
    html! {
        @for (heading, lane) in grouped {
            @if let Some(namespace) = heading { h3.lane-group { (namespace) } }
            div.lane-row {
                a.clip href=(lane.id.path()) title=(lane.id.name) { (lane.id.name) }
                (timeline(lane, page.range, page.zone))
            }
        }
    }
}

fn pager(page: &TimelinePage<'_>) -> Markup {
    let pages = page.total.div_ceil(PAGE_SIZE).max(1);
    html! {
        @if pages > 1 {
            nav.pager aria-label="Pages of the timeline" {
                span.dim { "page " (page.page) " of " (pages) ", " (grouped(page.total)) " CronJobs" }
                @if page.page > 1 { a.button.small rel="prev" href=(url(page.hours, page.namespace, page.page - 1)) { "Previous" } }
                @if page.page < pages { a.button.small rel="next" href=(url(page.hours, page.namespace, page.page + 1)) { "Next" } }
            }
        }
    }
}
