//! The page of one slot: why it did or did not run.

use jiff::Timestamp;
use maud::{Markup, html};
use punctual_api::slot_record::SlotRecord;
use punctual_views::{Cause, CronJobSnapshot, Explanation, local_time};

use super::text::{countdown, exact_time, kind_badge};
use crate::charts::{TimeMark, TimeSpan, slot_times};
use crate::data::{CronJobId, Rights};
use crate::model::{CellKind, record_kind};

/// The inputs of the page.
pub(crate) struct SlotPage<'a> {
    pub(crate) id: &'a CronJobId,
    pub(crate) snapshot: &'a CronJobSnapshot,
    pub(crate) explanation: &'a Explanation,
    pub(crate) slot: Timestamp,
    pub(crate) rights: Rights,
    /// Whether the cluster serves RunRequests, so that this slot can be run.
    pub(crate) can_run_slot: bool,
    /// The slots before and after.
    pub(crate) previous: Option<Timestamp>,
    pub(crate) next: Option<Timestamp>,
    pub(crate) now: Timestamp,
}

/// Builds the page.
pub(crate) fn slot_page(page: &SlotPage<'_>) -> Markup {
    let zone = page.snapshot.zone();
    let path = page.id.path();
    html! {
        div #slot.medium {
            p.crumbs { a href="/" { "Fleet" } " / " a href={ "/?namespace=" (page.id.namespace) } { (page.id.namespace) } " / " a href=(path) { (page.id.name) } " / slot" }
            div.title-row {
                h1 { (local_time(zone, page.slot)) " " span.zone-name { (zone.name()) } }
                nav.actions aria-label="Neighbouring slots" {
                    @if let Some(previous) = page.previous { a.button.small rel="prev" data-key="ArrowLeft" href={ (path) "/slots/" (previous) } { "← Previous" } }
                    @if let Some(next) = page.next { a.button.small rel="next" data-key="ArrowRight" href={ (path) "/slots/" (next) } { "Next →" } }
                }
            }
            p.answer { (verdict(page)) " " (sentence(&page.explanation.answer)) }
            (times(page))
            (decision(page))
            (remedies(page))
        }
    }
}

/// Returns a text as a sentence.
fn sentence(text: &str) -> String {
    let mut characters = text.chars();
    let first = characters.next().map(char::to_uppercase).into_iter().flatten();
    let mut sentence: String = first.chain(characters).collect();
    if !sentence.ends_with(['.', '?', '!']) {
        sentence.push('.');
    }
    sentence
}

fn verdict(page: &SlotPage<'_>) -> Markup {
    match &page.explanation.record {
        Some(record) => {
            let kind = record_kind(record);
            kind_badge(kind, verdict_text(kind))
        }
        None if page.slot > page.now => {
            html! { (kind_badge(CellKind::Upcoming, "To come")) " " (countdown(page.slot, page.now)) }
        }
        None => {
            let kind = match page.explanation.cause {
                Cause::Starting
                | Cause::WaitingForActiveRun
                | Cause::NotYetEffective
                | Cause::CatchUpBehind => CellKind::Running,
                Cause::ControllerDown | Cause::CreatePending => CellKind::Missed,
                _ => CellKind::Skipped,
            };
            let text = if kind == CellKind::Running { "Waiting" } else { "Not run" };
            kind_badge(kind, text)
        }
    }
}

fn verdict_text(kind: CellKind) -> &'static str {
    match kind {
        CellKind::Succeeded => "Succeeded",
        CellKind::Failed => "Failed",
        CellKind::Missed => "Missed",
        CellKind::Skipped => "Skipped",
        CellKind::Running => "Running",
        CellKind::Ended => "Ended early",
        CellKind::Upcoming => "To come",
    }
}

fn times(page: &SlotPage<'_>) -> Markup {
    let mut marks = vec![TimeMark { at: page.slot, label: "slot".into() }];
    let mut spans = Vec::new();
    let effective = page.explanation.effective_time.unwrap_or(page.slot);
    if effective != page.slot {
        marks.push(TimeMark { at: effective, label: "effective time, with jitter".into() });
        spans.push(TimeSpan {
            from: page.slot,
            until: effective,
            label: "jitter".into(),
            class: "span-wait",
        });
    }
    if let Some(record) = &page.explanation.record {
        record_times(record, effective, &mut marks, &mut spans, page.now);
    }
    let deadline = page.snapshot.cron_job.spec.starting_deadline_seconds;
    let has_run = page.explanation.record.as_ref().is_some_and(|record| record.job.is_some());
    if let Some(seconds) = deadline
        && !has_run
        && let Ok(ends) = effective.checked_add(jiff::SignedDuration::from_secs(seconds))
    {
        marks.push(TimeMark { at: ends, label: "starting deadline".into() });
        spans.push(TimeSpan {
            from: effective,
            until: ends,
            label: "time to start".into(),
            class: "span-deadline",
        });
    }
    if spans.is_empty() {
        return html! {};
    }
    html! { section.card aria-label="Times" { div.scroll { (slot_times(&marks, &spans, page.snapshot.zone())) } } }
}

fn record_times(
    record: &SlotRecord,
    effective: Timestamp,
    marks: &mut Vec<TimeMark>,
    spans: &mut Vec<TimeSpan>,
    now: Timestamp,
) {
    let created = record.created_time.map(|time| time.timestamp());
    let started = record.start_time.map(|time| time.timestamp());
    let ended = record.completion_time.map(|time| time.timestamp());
    if let Some(created) = created.filter(|created| *created > effective) {
        spans.push(TimeSpan {
            from: effective,
            until: created,
            label: "late".into(),
            class: "span-late",
        });
    }
    marks.extend(created.map(|at| TimeMark { at, label: "Job created".into() }));
    if let Some(begin) = started.or(created) {
        let kind = record_kind(record);
        let class = match kind {
            CellKind::Failed => "span-fail",
            CellKind::Succeeded => "span-ok",
            _ => "span-run",
        };
        let until = ended.unwrap_or(if record.is_running() { now } else { begin });
        spans.push(TimeSpan { from: begin, until, label: format!("run: {}", kind.label()), class });
    }
    marks.extend(ended.map(|at| TimeMark { at, label: "ended".into() }));
}

fn decision(page: &SlotPage<'_>) -> Markup {
    let zone = page.snapshot.zone();
    let explanation = page.explanation;
    html! {
        section aria-labelledby="decision" {
            h2 #decision { "How this was decided" }
            div.card {
                dl.kv.wide {
                    dt { "Slot" } dd { (exact_time(zone, page.slot)) }
                    @if let Some(effective) = explanation.effective_time { dt { "With jitter" } dd { (exact_time(zone, effective)) } }
                    @if let Some(record) = &explanation.record { (record_facts(page, record)) }
                    @if explanation.record.is_none() { dt { "Record" } dd { "none; this is what the controller would do now" } }
                }
                @if !explanation.details.is_empty() { ul.sentences { @for detail in &explanation.details { li { (sentence(detail)) } } } }
            }
        }
    }
}

fn record_facts(page: &SlotPage<'_>, record: &SlotRecord) -> Markup {
    let zone = page.snapshot.zone();
    let times = [
        ("Job created", record.created_time),
        ("Started", record.start_time),
        ("Ended", record.completion_time),
    ];
    html! {
        dt { "Decision" } dd { (record.decision.as_str()) ", " (record.reason) }
        @for (label, time) in times { @if let Some(time) = time { dt { (label) } dd { (exact_time(zone, time.timestamp())) } } }
        @if let Some(attempts) = record.attempts { dt { "Pods ended" } dd { (attempts) } }
        @if !record.failure_reason.is_empty() { dt { "Failure" } dd { (record.failure_reason) } }
        @if !record.message.is_empty() { dt { "Message" } dd { (record.message) } }
        @if !record.request.is_empty() { dt { "Asked for by" } dd { "RunRequest " (record.request) } }
        @if record.slots() > 1 { dt { "Same decision" } dd { "for " (record.slots()) " slots" @if let Some(last) = record.through { ", until " (exact_time(zone, last.timestamp())) } } }
        @if let Some(job) = &record.job { dt { "Run" } dd { a href={ "/runs/" (page.id.namespace) "/" (job.name) } { (job.name) } } }
    }
}

fn remedies(page: &SlotPage<'_>) -> Markup {
    let can_run = page.rights.start && page.can_run_slot && page.slot <= page.now;
    let remedies = &page.explanation.remedies;
    let path = page.id.path();
    html! {
        @if can_run || !remedies.is_empty() {
            section aria-labelledby="remedies" {
                h2 #remedies { "What you can do" }
                div.cards.two {
                    @if can_run {
                        article.card {
                            h3 { "Run it now for this slot" }
                            p.dim { "The program gets the same slot and interval as it had, or would have had." }
                            div.actions { a.button.primary data-dialog data-key="r" href={ (path) "/trigger?slot=" (page.slot) } { "Run this slot" } }
                        }
                    }
                    @for remedy in remedies {
                        article.card {
                            h3 { "Avoid it next time" }
                            p.dim { (remedy) }
                            @if page.rights.edit { div.actions { a.button href={ (path) "/edit" } { "Plan this change…" } } }
                        }
                    }
                }
            }
        }
    }
}
