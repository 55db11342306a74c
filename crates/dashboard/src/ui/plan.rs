//! The plan page: what a spec would change, before it is applied.

use jiff::Timestamp;
use maud::{Markup, html};
use punctual_schedule::Zone;
use punctual_views::{ChangeReport, FieldChange, local_time, short_time};
use serde_json::Value;

use super::edit::YAML_LEN_MAX;
use super::text::plural;

/// How many slots and collisions are listed.
const LISTED_MAX: usize = 20;
/// The longest value of a field that is shown.
const VALUE_MAX: usize = 300;

/// The inputs of the page.
pub(crate) struct PlanPage<'a> {
    pub(crate) yaml: &'a str,
    pub(crate) days: i64,
    pub(crate) error: Option<&'a str>,
    pub(crate) reports: &'a [PlannedReport],
    pub(crate) until: Timestamp,
    pub(crate) now: Timestamp,
}

/// What one CronJob of the input would change.
pub(crate) struct PlannedReport {
    pub(crate) report: ChangeReport,
    pub(crate) zone: Zone,
    /// The next slots without and with the edit.
    pub(crate) before: Vec<Timestamp>,
    pub(crate) after: Vec<Timestamp>,
}

/// Builds the page.
pub(crate) fn plan_page(page: &PlanPage<'_>) -> Markup {
    html! {
        div.medium {
            h1 { "Plan" }
            p.dim { "Paste a CronJob or ScheduledJob, and see what it would change before it is applied. Nothing is written." }
            @if let Some(error) = page.error { div.banner.bad role="alert" { span.mark aria-hidden="true" { "✕" } span.pre { (error) } } }
            @for planned in page.reports {
                section.preview {
                    h2 { (planned.report.kind) " " (planned.report.namespace) "/" (planned.report.name) }
                    (change_report(&planned.report, &planned.zone, page.until, page.now))
                    (before_after(planned))
                }
            }
            form.card.action-form action="/plan" method="post" {
                label for="yaml" { "YAML or JSON" }
                textarea #yaml name="yaml" rows="20" spellcheck="false" autocomplete="off" maxlength=(YAML_LEN_MAX)
                    placeholder="apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: backup, namespace: default}\nspec:\n  schedule: '30 2 * * *'\n  …" { (page.yaml) }
                label for="days" { "Compare the slots of the next" }
                select #days name="days" { @for days in [1, 7, 31, 90] { option value=(days) selected[days == page.days] { (days) " days" } } }
                div.actions { button.primary type="submit" { "Plan" } }
            }
        }
    }
}

/// Shows what an edit changes.
pub(crate) fn change_report(
    report: &ChangeReport,
    zone: &Zone,
    until: Timestamp,
    now: Timestamp,
) -> Markup {
    html! {
        div.card.report {
            @if !report.is_change() { p.lead { "Nothing changes." } }
            @if report.is_new { p.lead { "It would be created." } }
            @if !report.fields.is_empty() { (fields(&report.fields)) }
            div.facts {
                div {
                    span.figure { (report.slots.before) " → " (report.slots.after) }
                    span.dim { "slots until " (short_time(zone, until)) }
                }
                div {
                    span.figure { "+" (report.slots.gained.len()) " −" (report.slots.lost.len()) }
                    span.dim { "gained and lost" }
                }
                div {
                    @match report.starts_at_once {
                        Some(slot) => { span.figure { "1 run" } span.dim { "starts at once, for slot " (local_time(zone, slot)) } }
                        None => { span.figure { "none" } span.dim { "starts at once" } }
                    }
                }
            }
            @for note in &report.notes { p.note { span.mark aria-hidden="true" { "i" } (note) } }
            @if !report.is_new { (slot_list("Gained", "+", &report.slots.gained, zone)) }
            (slot_list("Lost", "−", &report.slots.lost, zone))
            (collisions(report, zone, now))
        }
    }
}

fn fields(fields: &[FieldChange]) -> Markup {
    html! {
        table.plain-table.diff {
            thead { tr { th scope="col" { "Field" } th scope="col" { "Before" } th scope="col" { "After" } } }
            tbody {
                @for change in fields {
                    tr {
                        td { code { (change.path) } }
                        td { (value("del", "−", change.before.as_ref())) }
                        td { (value("ins", "+", change.after.as_ref())) }
                    }
                }
            }
        }
    }
}

fn value(class: &str, mark: &str, value: Option<&Value>) -> Markup {
    let text = value.map(|value| {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        if text.chars().count() > VALUE_MAX {
            text.chars().take(VALUE_MAX).chain("…".chars()).collect()
        } else {
            text
        }
    });
    html! {
        @match text {
            Some(text) => { code class=(class) { span aria-hidden="true" { (mark) " " } (text) } }
            None => { span.dim { "not set" } }
        }
    }
}

fn slot_list(title: &str, mark: &str, slots: &[Timestamp], zone: &Zone) -> Markup {
    html! {
        @if !slots.is_empty() {
            details {
                summary { (title) ": " (plural(slots.len(), "slot")) }
                ul.slots-list {
                    @for slot in slots.iter().take(LISTED_MAX) { li { span aria-hidden="true" { (mark) " " } (local_time(zone, *slot)) } }
                    @if slots.len() > LISTED_MAX { li.dim { "and " (slots.len() - LISTED_MAX) " more" } }
                }
            }
        }
    }
}

fn collisions(report: &ChangeReport, zone: &Zone, now: Timestamp) -> Markup {
    html! {
        @if !report.collisions.is_empty() {
            details {
                summary { "Same minute as " (plural(report.collisions.len(), "other CronJob")) }
                ul.slots-list {
                    @for collision in report.collisions.iter().take(LISTED_MAX) {
                        li { (collision.cron_job) span.dim { ": " (plural(collision.count, "time")) ", first " (super::text::friendly_text(zone, collision.first, now)) } }
                    }
                }
            }
        }
    }
}

fn before_after(planned: &PlannedReport) -> Markup {
    let column = |title: &str, slots: &[Timestamp]| {
        html! {
            div {
                h3 { (title) }
                @if slots.is_empty() { p.dim { "none" } }
                ol.next { @for slot in slots { li { (local_time(&planned.zone, *slot)) } } }
            }
        }
    };
    html! {
        div.card { div.two-columns { (column("Next slots before", &planned.before)) (column("Next slots after", &planned.after)) } }
    }
}
