//! The editor: checks an edit with the cluster, shows what it changes, and saves it.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Path, State};
use axum::response::Response;
use http::{Request, StatusCode};
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use super::cron_job::{CronJobPath, IdPath, SubmittedForm, find, read_submitted, to_yaml};
use super::plan::{Planned, parse, plan_object};
use crate::data::{CronJobId, Entry, object_json, replace_object};
use crate::http::app::App;
use crate::http::context::Visitor;
use crate::http::params::InputError;
use crate::http::render::{PageContent, PageError};
use crate::ui::{EditPage, EditPreview, NavItem, edit_page};

/// The time whose slots are compared.
const DAYS: i64 = 7;

pub(in crate::http) async fn edit_form(
    State(app): State<Arc<App>>,
    visitor: Visitor,
    Path(path): IdPath,
) -> Response {
    let content = form_content(&app, &visitor, &path).await;
    app.respond(&visitor, content).await
}

async fn form_content(
    app: &App,
    visitor: &Visitor,
    path: &CronJobPath,
) -> Result<PageContent, PageError> {
    let (id, entry) = find(app, path)?;
    let reader = &visitor.user.detail.reader;
    if !visitor.user.rights.read(reader, &id.namespace, &*app.clock).await.edit {
        return Err(PageError::forbidden());
    }
    let object = object_json(reader, &id.api_path()).await?;
    let object = object.ok_or_else(|| PageError::no_cron_job(Some(&id)))?;
    Ok(content(app, &entry, &to_yaml(object, true), None, None))
}

fn content(
    app: &App,
    entry: &Entry,
    yaml: &str,
    error: Option<&str>,
    preview: Option<EditPreview<'_>>,
) -> PageContent {
    let id = &entry.id;
    let zone = entry.snapshot.zone();
    let body = edit_page(&EditPage { id, yaml, error, preview, zone, now: app.now() });
    PageContent::new(format!("Edit {}", id.name), NavItem::Fleet, body)
}

pub(in crate::http) async fn edit(
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
    let yaml = params.raw("yaml");
    let is_saved = params.get("step") == "save";
    let result = match check(yaml, &id) {
        Ok(object) if is_saved => save(&visitor, &id, &object).await.map(|()| None),
        Ok(object) => preview(&app, &visitor, &id, object).await.map(Some),
        Err(error) => Err(error),
    };
    match result {
        Ok(None) => app.redirect(&visitor, &id.path(), format!("{} is saved.", id.name)),
        Ok(Some((planned, until))) => {
            let preview = EditPreview { report: &planned.report, until };
            let content = content(&app, &entry, yaml, None, Some(preview));
            app.respond(&visitor, Ok(content)).await
        }
        Err(error) => {
            let content = content(&app, &entry, yaml, Some(&error.0), None);
            app.respond_with(&visitor, StatusCode::UNPROCESSABLE_ENTITY, content).await
        }
    }
}

/// Parses the YAML, which must describe the same object and say which version it is based on.
fn check(yaml: &str, id: &CronJobId) -> Result<Value, InputError> {
    let object = parse(yaml)?;
    let text = |path: &str| object.pointer(path).and_then(Value::as_str).unwrap_or_default();
    let same = [
        ("kind", text("/kind"), id.kind.kind()),
        ("apiVersion", text("/apiVersion"), id.kind.api_version()),
        ("metadata.name", text("/metadata/name"), id.name.as_str()),
        ("metadata.namespace", text("/metadata/namespace"), id.namespace.as_str()),
    ];
    if let Some((field, _, wanted)) = same.into_iter().find(|(_, found, wanted)| found != wanted) {
        return Err(InputError(format!(
            "{field} must stay {wanted}; an edit cannot rename an object."
        )));
    }
    if text("/metadata/resourceVersion").is_empty() {
        return Err(InputError::new(
            "metadata.resourceVersion must stay, so that changes of others are not lost.",
        ));
    }
    Ok(object)
}

/// Lets the cluster check the edit, and computes what it changes.
async fn preview(
    app: &App,
    visitor: &Visitor,
    id: &CronJobId,
    object: Value,
) -> Result<(Planned, Timestamp), InputError> {
    let reader = &visitor.user.detail.reader;
    replace_object(reader, &id.api_path(), &object, true)
        .await
        .map_err(|error| InputError(error.to_string()))?;
    let until =
        app.now().checked_add(SignedDuration::from_hours(24 * DAYS)).unwrap_or(Timestamp::MAX);
    let planned = plan_object(app, visitor, object, until).await?;
    Ok((planned, until))
}

async fn save(visitor: &Visitor, id: &CronJobId, object: &Value) -> Result<(), InputError> {
    let reader = &visitor.user.detail.reader;
    let saved = replace_object(reader, &id.api_path(), object, false).await;
    saved.map(|_| ()).map_err(|error| InputError(error.to_string()))
}
