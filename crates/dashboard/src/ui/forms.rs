//! The forms of actions. Each is a page of its own; the script shows it as a dialog.

use jiff::Timestamp;
use maud::{Markup, html};
use punctual_schedule::Zone;
use punctual_views::{CronJobSnapshot, ResumePreview, SlotPreview, SlotState, local_time};

use super::text::{countdown, exact_time, friendly_time, kind_badge, plural};
use crate::data::CronJobId;
use crate::model::CellKind;

/// A form about one CronJob.
pub(crate) struct ActionForm<'a> {
    pub(crate) id: &'a CronJobId,
    pub(crate) zone: &'a Zone,
    /// Why the last try failed.
    pub(crate) error: Option<&'a str>,
    pub(crate) now: Timestamp,
}

/// The frame of a form.
struct FormFrame<'a> {
    title: &'a str,
    action: &'a str,
    back: &'a str,
    error: Option<&'a str>,
}

impl FormFrame<'_> {
    fn with(&self, body: &Markup, submit: &Markup) -> Markup {
        html! {
            div.narrow data-form {
                h1 #dialog-title { (self.title) }
                @if let Some(error) = self.error { div.banner.bad role="alert" { span.mark aria-hidden="true" { "✕" } span { (error) } } }
                form.card.action-form action=(self.action) method="post" {
                    (body)
                    div.actions { (submit) a.button data-close href=(self.back) { "Cancel" } }
                }
            }
        }
    }
}

/// Asks whether to start a run: now, or for a slot.
pub(crate) fn trigger_form(
    form: &ActionForm<'_>,
    slot: Option<Timestamp>,
    creates_request: bool,
) -> Markup {
    let path = form.id.path();
    let body = html! {
        @match slot {
            Some(slot) => {
                input type="hidden" name="slot" value=(slot);
                p.lead { "Run " b { (form.id.name) } " for the slot " (exact_time(form.zone, slot)) "?" }
                p.dim { "The program gets this slot and its interval, also if it ran before." }
            }
            None => {
                p.lead { "Run " b { (form.id.name) } " now?" }
                @if creates_request { p.dim { "The controller starts it. The concurrency policy applies: with Forbid it waits for the active run." } }
            }
        }
        @if !creates_request { p.note { span.mark aria-hidden="true" { "i" } "This cluster serves no RunRequests, so a Job is created as kubectl create job --from does. The concurrency policy does not apply." } }
    };
    let submit = html! { button.primary type="submit" autofocus { "Run now" } };
    FormFrame {
        title: "Run now",
        action: &format!("{path}/trigger"),
        back: &path,
        error: form.error,
    }
    .with(&body, &submit)
}

/// Asks until when and why to suspend.
pub(crate) fn suspend_form(form: &ActionForm<'_>, values: &SuspendValues<'_>) -> Markup {
    let path = form.id.path();
    let body = html! {
        p.lead { "No further run of " b { (form.id.name) } " starts. Active runs continue." }
        (suspend_fields(values, form.zone))
    };
    let submit = html! { button.primary type="submit" { "Suspend" } };
    FormFrame {
        title: "Suspend",
        action: &format!("{path}/suspend"),
        back: &path,
        error: form.error,
    }
    .with(&body, &submit)
}

/// What a user has entered to suspend.
#[derive(Default)]
pub(crate) struct SuspendValues<'a> {
    pub(crate) until: &'a str,
    pub(crate) reason: &'a str,
}

fn suspend_fields(values: &SuspendValues<'_>, zone: &Zone) -> Markup {
    html! {
        label for="for" { "For" }
        select #for name="for" {
            @for (value, label) in [("", "until it is resumed"), ("1h", "1 hour"), ("4h", "4 hours"), ("12h", "12 hours"), ("24h", "1 day"), ("168h", "1 week")] {
                option value=(value) { (label) }
            }
        }
        label for="until" { "Or until " span.dim { "(" (zone.name()) ")" } }
        input #until type="datetime-local" name="until" value=(values.until);
        label for="reason" { "Reason" }
        input #reason type="text" name="reason" value=(values.reason) maxlength="300" placeholder="database upgrade";
    }
}

/// What a resume does to the slots of the suspension.
pub(crate) struct ResumeForm<'a> {
    pub(crate) form: ActionForm<'a>,
    pub(crate) snapshot: &'a CronJobSnapshot,
    pub(crate) preview: ResumePreview,
    /// Whether RunRequests are served, so that all slots can be run.
    pub(crate) can_run_all: bool,
    /// How many slots of the suspension did not run.
    pub(crate) suspended_slots: usize,
}

/// Asks what happens to the slots of the suspension.
pub(crate) fn resume_form(resume: &ResumeForm<'_>) -> Markup {
    let ResumeForm { form, snapshot, preview, can_run_all, suspended_slots } = resume;
    let path = form.id.path();
    let policy = match (preview.starts_at_once, preview.starts_after_active_run) {
        (Some(slot), _) => format!("slot {} starts at once", local_time(form.zone, slot)),
        (_, Some(slot)) => {
            format!("slot {} starts when the active run ends", local_time(form.zone, slot))
        }
        _ => "no slot starts at once".to_owned(),
    };
    let all = match suspended_slots {
        0 => "none was due".to_owned(),
        count => format!("{} in order", plural(*count, "slot")),
    };
    let body = html! {
        p.lead { "Let " b { (form.id.name) } " run again." }
        fieldset.choices {
            legend { "Slots of the suspension" }
            label { input type="radio" name="missed" value="latest" checked; span { b { "As its policy says" } span.sub { (snapshot.policy().as_str()) ": " (policy) } } }
            label { input type="radio" name="missed" value="drop"; span { b { "Drop them" } span.sub { "none of them runs" } } }
            @if *can_run_all { label { input type="radio" name="missed" value="all"; span { b { "Run all" } span.sub { (all) } } } }
        }
        @if let Some(next) = preview.next { p.dim { "The next slot starts " (friendly_time(form.zone, next, form.now)) ", " (countdown(next, form.now)) "." } }
    };
    let submit = html! { button.primary type="submit" autofocus { "Resume" } };
    FormFrame { title: "Resume", action: &format!("{path}/resume"), back: &path, error: form.error }
        .with(&body, &submit)
}

/// A backfill: which slots, and what would happen to each.
pub(crate) struct BackfillForm<'a> {
    pub(crate) form: ActionForm<'a>,
    pub(crate) from: &'a str,
    pub(crate) to: &'a str,
    pub(crate) runs: &'a str,
    pub(crate) order: &'a str,
    pub(crate) parallelism: i32,
    pub(crate) preview: Option<&'a BackfillPreview>,
}

/// What a backfill would do.
pub(crate) struct BackfillPreview {
    pub(crate) slots: Vec<SlotPreview>,
    /// How many slots the range has.
    pub(crate) total: usize,
    /// How many of them would run.
    pub(crate) starts: usize,
}

/// Asks for the range, and shows what would happen before it is carried out.
pub(crate) fn backfill_form(backfill: &BackfillForm<'_>) -> Markup {
    let form = &backfill.form;
    let path = form.id.path();
    html! {
        div.narrow data-form {
            p.crumbs { a href=(path) { (form.id.name) } " / backfill" }
            h1 #dialog-title { "Backfill" }
            @if let Some(error) = form.error { div.banner.bad role="alert" { span.mark aria-hidden="true" { "✕" } span { (error) } } }
            form.card.action-form action={ (path) "/backfill" } method="get" {
                p.dim { "Runs slots of the past in order. Each run gets its slot and interval. Times are in " (form.zone.name()) "." }
                div.pair {
                    div { label for="from" { "From" } input #from type="datetime-local" name="from" value=(backfill.from) required; }
                    div { label for="to" { "To (excluded)" } input #to type="datetime-local" name="to" value=(backfill.to) required; }
                }
                div.pair {
                    div { label for="runs" { "Slots that run" } (select("runs", backfill.runs, &[("Missing", "those that did not run"), ("Failed", "those that did not succeed"), ("All", "all")])) }
                    div { label for="order" { "Order" } (select("order", backfill.order, &[("OldestFirst", "oldest first"), ("NewestFirst", "newest first")])) }
                }
                label for="parallelism" { "At the same time" }
                input #parallelism type="number" name="parallelism" min="1" max="100" value=(backfill.parallelism);
                div.actions { button type="submit" name="preview" value="1" { "Preview" } a.button data-close href=(path) { "Cancel" } }
            }
            @if let Some(preview) = backfill.preview { (backfill_preview(backfill, preview)) }
        }
    }
}

fn select(name: &str, value: &str, options: &[(&str, &str)]) -> Markup {
    html! {
        select id=(name) name=(name) {
            @for (option, label) in options { option value=(option) selected[*option == value] { (label) } }
        }
    }
}

fn backfill_preview(backfill: &BackfillForm<'_>, preview: &BackfillPreview) -> Markup {
    let form = &backfill.form;
    html! {
        form.card.action-form action={ (form.id.path()) "/backfill" } method="post" {
            h2 { (plural(preview.starts, "slot")) " of " (preview.total) " would run" }
            @for (name, value) in [("from", backfill.from), ("to", backfill.to), ("runs", backfill.runs), ("order", backfill.order)] {
                input type="hidden" name=(name) value=(value);
            }
            input type="hidden" name="parallelism" value=(backfill.parallelism);
            table.plain-table {
                thead { tr { th scope="col" { "Slot" } th scope="col" { "Now" } th scope="col" { "Would" } } }
                tbody {
                    @for slot in &preview.slots {
                        tr {
                            td { (exact_time(form.zone, slot.slot)) }
                            td { (slot_state(slot.state)) }
                            td { @if slot.would_run { b { "run" } } @else { span.dim { "keep" } } }
                        }
                    }
                }
            }
            @if preview.total > preview.slots.len() { p.dim { "and " (preview.total - preview.slots.len()) " more" } }
            div.actions {
                @if preview.starts > 0 { button.primary type="submit" { "Run " (plural(preview.starts, "slot")) } }
                @else { p.dim { "There is nothing to run." } }
            }
        }
    }
}

fn slot_state(state: SlotState) -> Markup {
    let kind = match state {
        SlotState::Succeeded => CellKind::Succeeded,
        SlotState::Running => CellKind::Running,
        SlotState::Failed => CellKind::Failed,
        SlotState::Missed => CellKind::Missed,
        SlotState::Skipped => CellKind::Skipped,
        SlotState::Ended => CellKind::Ended,
        SlotState::Pending | SlotState::NoRecord => CellKind::Upcoming,
    };
    kind_badge(kind, state.as_str())
}

/// Asks whether to stop a run.
pub(crate) fn stop_form(namespace: &str, name: &str, uid: &str, error: Option<&str>) -> Markup {
    let path = format!("/runs/{namespace}/{name}");
    let body = html! {
        input type="hidden" name="uid" value=(uid);
        p.lead { "Stop the run " b { (name) } "?" }
        p.dim { "Its Job and Pods are deleted: the program gets SIGTERM, and its log is gone. The ledger records that it was deleted." }
    };
    let submit = html! { button.danger type="submit" { "Stop it" } };
    FormFrame { title: "Stop the run", action: &format!("{path}/stop"), back: &path, error }
        .with(&body, &submit)
}

/// Asks before an action on several CronJobs.
pub(crate) fn bulk_form(
    action: &str,
    items: &[CronJobId],
    zone: &Zone,
    error: Option<&str>,
) -> Markup {
    let (title, text) = match action {
        "suspend" => ("Suspend", "No further run of these starts. Active runs continue."),
        "resume" => {
            ("Resume", "These run again. Slots of the suspension start as their policies say.")
        }
        _ => ("Run now", "One run of each starts now."),
    };
    let body = html! {
        input type="hidden" name="action" value=(action);
        p.lead { (text) }
        ul.items {
            @for item in items { li { input type="hidden" name="item" value=(item); (item.namespace) "/" b { (item.name) } } }
        }
        @if items.is_empty() { p.note { span.mark aria-hidden="true" { "i" } "Select CronJobs in the list first." } }
        @if action == "suspend" && !items.is_empty() { (suspend_fields(&SuspendValues::default(), zone)) }
    };
    let submit = html! {
        @if !items.is_empty() { button.primary type="submit" { (title) " " (plural(items.len(), "CronJob")) } }
    };
    FormFrame { title, action: "/bulk", back: "/", error }.with(&body, &submit)
}
