//! Runs slots of the past: first a preview of what each slot would do, then the request.

use std::ops::Range;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Path, State};
use axum::response::Response;
use http::{Request, StatusCode};
use jiff::{SignedDuration, Timestamp};
use punctual_api::Time;
use punctual_api::run_request::RunRequestSpec;
use punctual_views::{CronJobSnapshot, preview_runs};

use super::cron_job::{IdPath, SubmittedForm, find, read_submitted};
use crate::data::{Entry, request_runs};
use crate::http::app::App;
use crate::http::context::Visitor;
use crate::http::params::{InputError, Params};
use crate::http::render::{PageContent, PageError};
use crate::ui::{self, ActionForm, BackfillForm, BackfillPreview, NavItem};

/// The most records of a preview.
const SLOTS_MAX: usize = 10_000;
/// How many slots of a preview are listed.
const LISTED_MAX: usize = 200;
const PARALLELISM_MAX: i32 = 100;

/// Reads what a user asks for.
fn read(params: &Params, entry: &Entry) -> Result<RunRequestSpec, InputError> {
    let zone = entry.snapshot.zone();
    let from =
        params.instant("from", zone)?.ok_or(InputError::new("Enter when the backfill begins."))?;
    let to = params.instant("to", zone)?.ok_or(InputError::new("Enter when the backfill ends."))?;
    if to <= from {
        return Err(InputError::new("The end must be later than the beginning."));
    }
    let choose = |name: &str, choices: &[&str]| match params.get(name) {
        "" => Ok(String::new()),
        text if choices.contains(&text) => Ok(text.to_owned()),
        text => Err(InputError(format!("{text:?} is not a choice of {name}."))),
    };
    let parallelism = match params.get("parallelism") {
        "" => 1,
        text => {
            let parsed = text.parse().ok().filter(|count| (1..=PARALLELISM_MAX).contains(count));
            let message =
                format!("Between 1 and {PARALLELISM_MAX} runs can be active at the same time.");
            parsed.ok_or(InputError(message))?
        }
    };
    Ok(RunRequestSpec {
        from: Some(Time::new(from)),
        to: Some(Time::new(to)),
        runs: choose("runs", &["Missing", "Failed", "All"])?,
        order: choose("order", &["OldestFirst", "NewestFirst"])?,
        parallelism: Some(parallelism),
        ..RunRequestSpec::default()
    })
}

/// Returns what the engine says about the slots of the range.
fn preview(
    snapshot: &CronJobSnapshot,
    spec: &RunRequestSpec,
    now: Timestamp,
) -> Result<BackfillPreview, InputError> {
    let preview = preview_runs(snapshot, spec, now);
    if let Some(refusal) = preview.refusal {
        return Err(InputError(format!(
            "The controller would not accept this: {}.",
            refusal.message
        )));
    }
    let starts = preview.run_count();
    let total = preview.slots.len();
    Ok(BackfillPreview {
        slots: preview.slots.into_iter().take(LISTED_MAX).collect(),
        total,
        starts,
    })
}

pub(in crate::http) async fn backfill_form(
    State(app): State<Arc<App>>,
    visitor: Visitor,
    Path(path): IdPath,
    params: Params,
) -> Response {
    let content = match find(&app, &path) {
        Ok((_, entry)) => form_content(&app, &visitor, &entry, &params, None).await,
        Err(error) => Err(error),
    };
    app.respond(&visitor, content).await
}

async fn form_content(
    app: &App,
    visitor: &Visitor,
    entry: &Entry,
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
            Ok(spec) => {
                let detail = &visitor.user.detail;
                let snapshot =
                    detail.snapshot_between(entry, spec_range(&spec, now), SLOTS_MAX).await?;
                match preview(&snapshot, &spec, now) {
                    Ok(preview) => found = Some(preview),
                    Err(refused) => error = Some(refused.to_string()),
                }
            }
            Err(refused) => error = Some(refused.to_string()),
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
        form: ActionForm { id: &entry.id, zone, error: error.as_deref(), now },
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
    let SubmittedForm { params, id, entry } =
        match read_submitted(&app, &visitor, &path, request).await {
            Ok(submitted) => submitted,
            Err(response) => return *response,
        };
    let result = match read(&params, &entry) {
        Ok(spec) => request_runs(&visitor.user.detail.reader, &id, spec).await,
        Err(error) => Err(error.into()),
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
            match form_content(&app, &visitor, &entry, &params, error).await {
                Ok(content) => {
                    app.respond_with(&visitor, StatusCode::UNPROCESSABLE_ENTITY, content).await
                }
                Err(error) => app.respond(&visitor, Err(error)).await,
            }
        }
    }
}

/// Returns the time of the slots of a request.
fn spec_range(spec: &RunRequestSpec, now: Timestamp) -> Range<Timestamp> {
    spec.from.map_or(now, Time::timestamp)..spec.to.map_or(now, Time::timestamp)
}
