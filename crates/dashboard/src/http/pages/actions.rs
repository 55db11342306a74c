//! Run now, suspend, resume, and stop a run. Each has a form of its own, and goes back to the page afterwards.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Path, State};
use axum::response::Response;
use http::{Request, StatusCode};
use jiff::{SignedDuration, Timestamp};
use maud::Markup;
use punctual_reader::{MissedSlots, RecordQuery};
use punctual_views::{CronJobSnapshot, ResumePreview};

use super::cron_job::{IdPath, SubmittedForm, find, read_submitted};
use super::run::find_run;
use crate::data::{self, ActionError, CronJobId, Entry, SuspendRequest, TriggerOutcome};
use crate::http::app::App;
use crate::http::context::Visitor;
use crate::http::params::{InputError, Params, read_form};
use crate::http::render::{PageContent, PageError};
use crate::ui::{self, ActionForm, NavItem, ResumeForm, SuspendValues};

/// How many records a resume reads.
const RECORDS: usize = 50;
/// The longest reason of a suspension.
const REASON_LEN_MAX: usize = 300;
/// The longest suspension that can be chosen.
const HOURS_MAX: i64 = 24 * 366;
/// How many slots of a suspension are counted.
const COUNTED_MAX: usize = 10_000;

fn form<'a>(
    app: &'a App,
    id: &'a CronJobId,
    entry: &'a Entry,
    error: Option<&'a str>,
) -> ActionForm<'a> {
    ActionForm { id, zone: entry.snapshot.zone(), error, now: app.now() }
}

fn page(title: &str, body: Markup) -> PageContent {
    PageContent::new(title, NavItem::Fleet, body)
}

/// Shows the form again after an error of the user, and an error page otherwise.
async fn show_again(app: &App, visitor: &Visitor, title: &str, body: Markup) -> Response {
    app.respond_with(visitor, StatusCode::UNPROCESSABLE_ENTITY, page(title, body)).await
}

fn chosen_slot(params: &Params, entry: &Entry) -> Result<Option<Timestamp>, InputError> {
    params.instant("slot", entry.snapshot.zone())
}

pub(in crate::http) async fn trigger_form(
    State(app): State<Arc<App>>,
    visitor: Visitor,
    Path(path): IdPath,
    params: Params,
) -> Response {
    let content = find(&app, &path).and_then(|(id, entry)| {
        let slot = chosen_slot(&params, &entry).map_err(PageError::from)?;
        let serves = visitor.user.detail.reader.serves("runrequests");
        Ok(page("Run now", ui::trigger_form(&form(&app, &id, &entry, None), slot, serves)))
    });
    app.respond(&visitor, content).await
}

pub(in crate::http) async fn trigger(
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
    let reader = &visitor.user.detail.reader;
    let slot = chosen_slot(&params, &entry).unwrap_or_default();
    match data::trigger(reader, &entry.snapshot.cron_job, &id, slot).await {
        Ok(TriggerOutcome::Request(name)) => {
            let text = format!(
                "A run of {} was requested ({name}). It appears here as soon as it starts.",
                id.name
            );
            app.redirect(&visitor, &id.path(), text)
        }
        Ok(TriggerOutcome::Job(name)) => {
            let path = format!("/runs/{}/{name}", id.namespace);
            app.redirect(
                &visitor,
                &path,
                format!("The Job {name} was created, as kubectl create job --from does."),
            )
        }
        Err(error) => {
            let error = error.to_string();
            let serves = reader.serves("runrequests");
            let body = ui::trigger_form(&form(&app, &id, &entry, Some(&error)), slot, serves);
            show_again(&app, &visitor, "Run now", body).await
        }
    }
}

pub(in crate::http) async fn suspend_form(
    State(app): State<Arc<App>>,
    visitor: Visitor,
    Path(path): IdPath,
) -> Response {
    let content = find(&app, &path).map(|(id, entry)| {
        let form = form(&app, &id, &entry, None);
        page("Suspend", ui::suspend_form(&form, &SuspendValues::default()))
    });
    app.respond(&visitor, content).await
}

/// Reads until when and why to suspend.
pub(super) fn suspend_request(
    params: &Params,
    entry: &Entry,
    by: &str,
    now: Timestamp,
) -> Result<SuspendRequest, InputError> {
    let reason = params.get("reason");
    if reason.len() > REASON_LEN_MAX {
        return Err(InputError(format!("The reason is longer than {REASON_LEN_MAX} bytes.")));
    }
    let mut until = params.instant("until", entry.snapshot.zone())?;
    if until.is_none() && !params.get("for").is_empty() {
        let hours = params.get("for").strip_suffix('h').and_then(|hours| hours.parse::<i64>().ok());
        let hours = hours
            .filter(|hours| (1..=HOURS_MAX).contains(hours))
            .ok_or(InputError::new("Choose how long to suspend."))?;
        until = now.checked_add(SignedDuration::from_hours(hours)).ok();
    }
    if until.is_some_and(|until| until <= now) {
        return Err(InputError::new("The time has passed; choose a later one."));
    }
    Ok(SuspendRequest { until, reason: reason.to_owned(), by: by.to_owned(), now })
}

pub(in crate::http) async fn suspend(
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
    let reader = &visitor.user.detail.reader;
    let result = match suspend_request(&params, &entry, &visitor.user.name, app.now()) {
        Ok(request) => data::suspend(reader, &entry.snapshot.cron_job, request).await,
        Err(error) => Err(error.into()),
    };
    match result {
        Ok(_) => app.redirect(&visitor, &id.path(), format!("{} is suspended.", id.name)),
        Err(error) => {
            let error = error.to_string();
            let values = SuspendValues { until: params.get("until"), reason: params.get("reason") };
            let body = ui::suspend_form(&form(&app, &id, &entry, Some(&error)), &values);
            show_again(&app, &visitor, "Suspend", body).await
        }
    }
}

pub(in crate::http) async fn resume_form(
    State(app): State<Arc<App>>,
    visitor: Visitor,
    Path(path): IdPath,
) -> Response {
    let content = match find(&app, &path) {
        Ok((id, entry)) => resume_content(&app, &visitor, &id, &entry, None).await,
        Err(error) => Err(error),
    };
    app.respond(&visitor, content).await
}

async fn resume_content(
    app: &App,
    visitor: &Visitor,
    id: &CronJobId,
    entry: &Entry,
    error: Option<&str>,
) -> Result<PageContent, PageError> {
    let detail = &visitor.user.detail;
    let snapshot = detail.snapshot(entry, &RecordQuery::newest(RECORDS)).await?;
    let now = app.now();
    let body = ui::resume_form(&ResumeForm {
        form: form(app, id, entry, error),
        preview: ResumePreview::new(&snapshot, now),
        can_run_all: detail.reader.serves_run_requests(),
        suspended_slots: suspended_slots(&snapshot, now).count(),
        snapshot: &snapshot,
    });
    Ok(page("Resume", body))
}

/// Returns the slots since the beginning of the suspension.
fn suspended_slots(
    snapshot: &CronJobSnapshot,
    now: Timestamp,
) -> impl Iterator<Item = Timestamp> + '_ {
    let since = snapshot.suspension().and_then(|suspension| suspension.since);
    let since = since.unwrap_or(now);
    snapshot.slots_after(since).take_while(move |slot| *slot <= now).take(COUNTED_MAX)
}

pub(in crate::http) async fn resume(
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
    match resume_as_chosen(&visitor, &entry, params.get("missed")).await {
        Ok(text) => app.redirect(&visitor, &id.path(), text),
        Err(error) => {
            let error = error.to_string();
            let content = resume_content(&app, &visitor, &id, &entry, Some(&error)).await;
            match content {
                Ok(content) => {
                    app.respond_with(&visitor, StatusCode::UNPROCESSABLE_ENTITY, content).await
                }
                Err(error) => app.respond(&visitor, Err(error)).await,
            }
        }
    }
}

/// Resumes a CronJob, and says what happens to the slots of the suspension.
async fn resume_as_chosen(
    visitor: &Visitor,
    entry: &Entry,
    missed: &str,
) -> Result<String, ActionError> {
    let reader = &visitor.user.detail.reader;
    let name = &entry.id.name;
    let (choice, text) = match missed {
        "latest" => (MissedSlots::Latest, format!("{name} is resumed.")),
        "drop" => {
            let text = format!("{name} is resumed. The slots of the suspension do not run.");
            (MissedSlots::Drop, text)
        }
        "all" => {
            let text = format!("{name} is resumed. The slots of the suspension run in order.");
            (MissedSlots::All, text)
        }
        _ => {
            let text = "Choose what happens to the slots of the suspension.";
            return Err(ActionError::Input(text.to_owned()));
        }
    };
    data::resume(reader, &entry.snapshot.cron_job, choice).await?;
    Ok(text)
}

pub(in crate::http) async fn stop_form(
    State(app): State<Arc<App>>,
    visitor: Visitor,
    Path((namespace, name)): Path<(String, String)>,
) -> Response {
    let content = find_run(&visitor, &namespace, &name).await.map(|(_, detail)| {
        page("Stop the run", ui::stop_form(&namespace, &name, &detail.job.metadata.uid, None))
    });
    app.respond(&visitor, content).await
}

pub(in crate::http) async fn stop(
    State(app): State<Arc<App>>,
    visitor: Visitor,
    Path((namespace, name)): Path<(String, String)>,
    request: Request<Body>,
) -> Response {
    let params = match read_form(request).await {
        Ok(params) => params,
        Err(response) => return *response,
    };
    let (run, detail) = match find_run(&visitor, &namespace, &name).await {
        Ok(found) => found,
        Err(error) => return app.respond(&visitor, Err(error)).await,
    };
    let owner = detail.job.metadata.controller().map(|owner| owner.uid.clone()).unwrap_or_default();
    let owner = visitor.user.detail.owner_of(&owner);
    let uid = params.get("uid");
    match data::delete_job(&visitor.user.detail.reader, &run, uid).await {
        Ok(()) => {
            let path = owner.map_or_else(|| "/".to_owned(), |owner| owner.id.path());
            app.redirect(&visitor, &path, format!("The run {name} is being stopped."))
        }
        Err(error) => {
            let body = ui::stop_form(&namespace, &name, uid, Some(&error.to_string()));
            show_again(&app, &visitor, "Stop the run", body).await
        }
    }
}
