//! The page of one run, with its log.

use jiff::Timestamp;
use maud::{Markup, html};
use punctual_api::Job;
use punctual_api::well_known::annotations;
use punctual_engine::cronjob::{JobResult, JobView};
use punctual_schedule::Zone;
use punctual_views::format_duration;

use super::text::{age, friendly_seconds, kind_badge};
use crate::data::{CronJobId, PodRow, Rights};
use crate::model::CellKind;

/// The inputs of the page.
pub(crate) struct RunPage<'a> {
    pub(crate) job: &'a Job,
    pub(crate) pods: &'a [PodRow],
    /// The container whose log is shown.
    pub(crate) shown: Option<&'a PodRow>,
    pub(crate) log: Option<&'a str>,
    /// Whether the beginning of the log is left out.
    pub(crate) is_cut: bool,
    pub(crate) log_error: Option<&'a str>,
    pub(crate) owner: Option<&'a CronJobId>,
    pub(crate) zone: &'a Zone,
    pub(crate) rights: Rights,
    pub(crate) now: Timestamp,
}

/// Builds the page.
pub(crate) fn run_page(page: &RunPage<'_>) -> Markup {
    let metadata = &page.job.metadata;
    let view = JobView::from_job(page.job);
    html! {
        div #run {
            p.crumbs {
                a href="/" { "Fleet" } " / " a href={ "/?namespace=" (metadata.namespace) } { (metadata.namespace) }
                @if let Some(owner) = page.owner { " / " a href=(owner.path()) { (owner.name) } }
                " / run"
            }
            div #run-state { (title(page, &view)) (facts(page, &view)) }
            (log(page))
        }
    }
}

fn title(page: &RunPage<'_>, view: &JobView) -> Markup {
    let metadata = &page.job.metadata;
    let path = format!("/runs/{}/{}", metadata.namespace, metadata.name);
    let (kind, text) = match view.result {
        Some(JobResult::Complete) => (CellKind::Succeeded, "Succeeded"),
        Some(JobResult::Failed) => (CellKind::Failed, "Failed"),
        None if view.is_deleting() => (CellKind::Ended, "Stopping"),
        None => (CellKind::Running, "Running"),
    };
    html! {
        div.title-row {
            div { h1 { (metadata.name) " " (kind_badge(kind, text)) } }
            div.actions.page-actions {
                @if let Some(owner) = page.owner {
                    @if page.rights.start {
                        @let slot = view.slot.map(|slot| format!("?slot={slot}")).unwrap_or_default();
                        a.button data-dialog data-key="r" href={ (owner.path()) "/trigger" (slot) } { "Run again" }
                    }
                }
                @if page.rights.stop && view.result.is_none() && !view.is_deleting() {
                    a.button.danger data-dialog data-key="x" href={ (path) "/stop" } { "Stop…" }
                }
            }
        }
    }
}

fn facts(page: &RunPage<'_>, view: &JobView) -> Markup {
    let metadata = &page.job.metadata;
    let annotation =
        |key: &str| metadata.annotation(key).and_then(|text| text.parse::<Timestamp>().ok());
    let previous = annotation(annotations::PREVIOUS_SCHEDULED_TIMESTAMP);
    let took =
        view.started_at.map(|start| view.finished_at.unwrap_or(page.now).duration_since(start));
    html! {
        div.columns {
            section.card aria-label="Attempts" {
                h2 { "Attempts" }
                @if page.pods.is_empty() {
                    p.dim { @if view.result.is_some() { "The Pods are deleted." } @else { "No Pod was created yet." } }
                } @else {
                    table.plain-table {
                        thead { tr { th scope="col" { "Pod" } th scope="col" { "State" } th.num scope="col" { "Exit code" } th scope="col" { "Started" } th scope="col" { span.sr { "Log" } } } }
                        tbody { @for pod in page.pods { (pod_row(page, pod)) } }
                    }
                }
            }
            section.card aria-label="Times" {
                h2 { "Times" }
                dl.kv {
                    @if let Some(slot) = view.slot {
                        dt { "Slot" } dd { @match page.owner { Some(owner) => { a href={ (owner.path()) "/slots/" (slot) } { (friendly_seconds(page.zone, slot, page.now)) } } None => { (friendly_seconds(page.zone, slot, page.now)) } } }
                    } @else { dt { "Slot" } dd { "none; started by hand" } }
                    @if let Some(previous) = previous { dt { "Previous slot" } dd { (friendly_seconds(page.zone, previous, page.now)) } }
                    @if let Some(created) = view.created_at { dt { "Created" } dd { (friendly_seconds(page.zone, created, page.now)) } }
                    @if let Some(started) = view.started_at { dt { "Started" } dd { (friendly_seconds(page.zone, started, page.now)) " (" (age(started, page.now)) ")" } }
                    @if let Some(finished) = view.finished_at { dt { "Ended" } dd { (friendly_seconds(page.zone, finished, page.now)) } }
                    @if let Some(took) = took { dt { (if view.result.is_some() { "Took" } else { "Runs for" }) } dd { (format_duration(jiff::SignedDuration::from_secs(took.as_secs().max(0)))) } }
                    @if !view.failure_reason.is_empty() { dt { "Failure" } dd { (view.failure_reason) } }
                }
            }
        }
    }
}

fn pod_row(page: &RunPage<'_>, pod: &PodRow) -> Markup {
    let kind = match (pod.phase.as_str(), pod.exit_code) {
        ("Succeeded", _) => CellKind::Succeeded,
        ("Failed", _) => CellKind::Failed,
        ("Running", _) => CellKind::Running,
        _ => CellKind::Upcoming,
    };
    let metadata = &page.job.metadata;
    let is_shown = page.shown == Some(pod);
    let link = format!(
        "/runs/{}/{}?pod={}&container={}",
        metadata.namespace, metadata.name, pod.pod, pod.container
    );
    html! {
        tr {
            td data-label="Pod" { (pod.pod) span.sub { (pod.container) @if pod.restarts > 0 { " · " (pod.restarts) " restarts" } } }
            td data-label="State" { (kind_badge(kind, &pod.phase)) @if !pod.reason.is_empty() { span.sub.clip title=(pod.reason) { (pod.reason) } } }
            td.num data-label="Exit code" { @if let Some(code) = pod.exit_code { (code) } }
            td data-label="Started" { @if let Some(started) = pod.started { (age(started, page.now)) } }
            td.links { @if pod.has_log() { a href=(link) aria-current=[is_shown.then_some("true")] { "log" } } }
        }
    }
}

fn log(page: &RunPage<'_>) -> Markup {
    let metadata = &page.job.metadata;
    html! {
        section.log-section aria-labelledby="log-title" {
            @match page.shown {
                Some(shown) => {
                    @let download = format!("/runs/{}/{}/log?pod={}&container={}", metadata.namespace, metadata.name, shown.pod, shown.container);
                    div.title-row {
                        h2 #log-title { "Log of " (shown.pod) " " span.dim { (shown.container) } }
                        div.actions {
                            label.check-label { input #follow type="checkbox" checked; "Follow" }
                            a.button.small href=(download) download { "Download" }
                        }
                    }
                    @if let Some(error) = page.log_error { div.banner.warn { span.mark aria-hidden="true" { "!" } span { (error) } } }
                    @if page.is_cut { p.dim { "The beginning is left out; download the log to see all of it." } }
                    pre #log.log tabindex="0" data-state=(if shown.finished.is_some() { "ended" } else { "open" }) { (page.log.unwrap_or_default()) }
                    p.dim #log-note { @if page.log.is_none_or(str::is_empty) { "The log is empty." } }
                }
                None => {
                    h2 #log-title { "Log" }
                    div.card.quiet { p.dim { "There is no log: no container of this run has started, or its Pods are deleted." } }
                }
            }
        }
    }
}
