//! Runs slots of the past: first a preview of what each slot would do, then the request.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Path, State};
use axum::response::Response;
use http::{Request, StatusCode};
use jiff::{SignedDuration, Timestamp};
use punctual_api::Time;
use punctual_reader::RecordQuery;
use punctual_views::CronJobSnapshot;

use super::cron_job::{IdPath, find};
use crate::data::{ActionError, BackfillOrder, CronJobId, Entry, RunRequestDraft, request_runs};
use crate::http::app::App;
use crate::http::context::Visitor;
use crate::http::params::{Params, read_form};
use crate::http::render::{PageContent, PageError};
use crate::model::{CellKind, record_kind};
use crate::ui::{self, ActionForm, BackfillForm, BackfillPreview, BackfillSlot, NavItem};

/// The most slots of a request.
const SLOTS_MAX: usize = 10_000;
/// How many slots of a preview are listed.
const LISTED_MAX: usize = 200;
const PARALLELISM_MAX: i32 = 100;

/// What a user asks for.
struct Backfill {
    from: Timestamp,
    to: Timestamp,
    runs: &'static str,
    order: BackfillOrder,
    parallelism: i32,
}

fn read(params: &Params, entry: &Entry) -> Result<Backfill, String> {
    let zone = entry.snapshot.zone();
    let from = params.instant("from", zone)?.ok_or("Enter when the backfill begins.")?;
    let to = params.instant("to", zone)?.ok_or("Enter when the backfill ends.")?;
    if to <= from {
        return Err("The end must be later than the beginning.".to_owned());
    }
    let runs = match params.get("runs") {
        "" | "Missing" => "Missing",
        "Failed" => "Failed",
        "All" => "All",
        other => return Err(format!("{other:?} is not a choice of slots.")),
    };
    let order = match params.get("order") {
        "NewestFirst" => BackfillOrder::NewestFirst,
        _ => BackfillOrder::OldestFirst,
    };
    let parallelism = match params.get("parallelism") {
        "" => 1,
        text => {
            text.parse().ok().filter(|count| (1..=PARALLELISM_MAX).contains(count)).ok_or_else(
                || format!("Between 1 and {PARALLELISM_MAX} runs can be active at the same time."),
            )?
        }
    };
    Ok(Backfill { from, to, runs, order, parallelism })
}

/// Whether a slot would run.
fn would_run(runs: &str, kind: Option<CellKind>) -> bool {
    match (runs, kind) {
        (_, Some(CellKind::Running)) => runs == "All",
        ("All", _) => true,
        // What happened to a slot without a record is not known.
        (_, None) => false,
        ("Missing", Some(kind)) => matches!(kind, CellKind::Missed | CellKind::Skipped),
        (_, Some(kind)) => kind != CellKind::Succeeded,
    }
}

fn preview(
    snapshot: &CronJobSnapshot,
    backfill: &Backfill,
    now: Timestamp,
) -> Result<BackfillPreview, String> {
    let before = backfill.from.checked_sub(SignedDuration::from_nanos(1)).unwrap_or(backfill.from);
    let end = backfill.to.min(now);
    let slots = snapshot.slots_after(before).take_while(|slot| *slot < end);
    let slots: Vec<Timestamp> = slots.take(SLOTS_MAX + 1).collect();
    if slots.len() > SLOTS_MAX {
        return Err(format!("This range has more than {SLOTS_MAX} slots; choose a shorter one."));
    }
    let mut preview = BackfillPreview { slots: Vec::new(), total: slots.len(), starts: 0 };
    for slot in slots {
        let kind = snapshot.ledger.record_of(slot).map(record_kind);
        let would_run = would_run(backfill.runs, kind);
        preview.starts += usize::from(would_run);
        if preview.slots.len() < LISTED_MAX {
            preview.slots.push(BackfillSlot { slot, kind, would_run });
        }
    }
    Ok(preview)
}

pub(in crate::http) async fn backfill_form(
    State(app): State<Arc<App>>,
    visitor: Visitor,
    Path(path): IdPath,
    params: Params,
) -> Response {
    let content = match find(&app, &path) {
        Ok((id, entry)) => form_content(&app, &visitor, (&id, &entry), &params, None).await,
        Err(error) => Err(error),
    };
    app.respond(&visitor, content).await
}

async fn form_content(
    app: &App,
    visitor: &Visitor,
    (id, entry): (&CronJobId, &Entry),
    params: &Params,
    error: Option<String>,
) -> Result<PageContent, PageError> {
    if !visitor.user.detail.reader.serves("runrequests") {
        let text = "This cluster does not serve RunRequests, so slots of the past cannot be run.";
        return Err(PageError::not_found(text));
    }
    let now = app.now();
    let mut error = error;
    let mut found = None;
    if error.is_none() && !params.get("from").is_empty() {
        match read(params, entry) {
            Ok(backfill) => {
                let until = format!("slotBefore={:.0}", backfill.to);
                let query = RecordQuery { limit: SLOTS_MAX, selectors: vec![until] };
                let snapshot = visitor.user.detail.snapshot(entry, &query).await?;
                match preview(&snapshot, &backfill, now) {
                    Ok(preview) => found = Some(preview),
                    Err(text) => error = Some(text),
                }
            }
            Err(text) => error = Some(text),
        }
    }
    let zone = entry.snapshot.zone();
    let local = |at: Timestamp| zone.at(at).strftime("%Y-%m-%dT%H:%M").to_string();
    let day = now.checked_sub(SignedDuration::from_hours(24)).unwrap_or(now);
    let value = |name: &str, default: Timestamp| match params.get(name) {
        "" => local(default),
        text => text.to_owned(),
    };
    let body = ui::backfill_form(&BackfillForm {
        form: ActionForm { id, zone, error: error.as_deref(), now },
        from: &value("from", day),
        to: &value("to", now),
        runs: params.get("runs"),
        order: params.get("order"),
        parallelism: params.get("parallelism").parse().unwrap_or(1),
        preview: found.as_ref(),
    });
    Ok(PageContent::new("Backfill", NavItem::Fleet, body))
}

pub(in crate::http) async fn backfill(
    State(app): State<Arc<App>>,
    visitor: Visitor,
    Path(path): IdPath,
    request: Request<Body>,
) -> Response {
    let params = match read_form(request).await {
        Ok(params) => params,
        Err(response) => return *response,
    };
    let (id, entry) = match find(&app, &path) {
        Ok(found) => found,
        Err(error) => return app.respond(&visitor, Err(error)).await,
    };
    let result = match read(&params, &entry) {
        Ok(backfill) => send(&visitor, &id, &backfill).await,
        Err(error) => Err(ActionError::Input(error)),
    };
    match result {
        Ok(name) => {
            let text = format!(
                "The backfill {name} was requested. Its runs appear in the ledger as they start."
            );
            app.redirect(&visitor, &id.path(), text)
        }
        Err(error) => {
            let error = Some(error.to_string());
            match form_content(&app, &visitor, (&id, &entry), &params, error).await {
                Ok(content) => {
                    app.respond_with(&visitor, StatusCode::UNPROCESSABLE_ENTITY, content).await
                }
                Err(error) => app.respond(&visitor, Err(error)).await,
            }
        }
    }
}

async fn send(
    visitor: &Visitor,
    id: &CronJobId,
    backfill: &Backfill,
) -> Result<String, ActionError> {
    let draft = RunRequestDraft {
        from: Some(Time::new(backfill.from)),
        to: Some(Time::new(backfill.to)),
        runs: Some(backfill.runs),
        parallelism: Some(backfill.parallelism),
        order: Some(backfill.order),
        ..RunRequestDraft::default()
    };
    request_runs(&visitor.user.detail.reader, id, &draft).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_choice_selects_slots_by_what_happened_to_them() {
        use CellKind::{Failed, Missed, Running, Skipped, Succeeded};
        let selected = |runs| {
            [Some(Succeeded), Some(Failed), Some(Missed), Some(Skipped), Some(Running), None]
                .map(|kind| would_run(runs, kind))
        };
        assert_eq!(selected("Missing"), [false, false, true, true, false, false]);
        assert_eq!(selected("Failed"), [false, true, true, true, false, false]);
        assert_eq!(selected("All"), [true; 6]);
    }
}
