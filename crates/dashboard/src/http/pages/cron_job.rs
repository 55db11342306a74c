//! The page of a CronJob, and that of one of its slots.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Path, State};
use axum::response::Response;
use http::Request;
use jiff::Timestamp;
use punctual_reader::RecordQuery;
use punctual_views::{ChosenSlot, CronJobSnapshot, choose_slot, describe, explain_slot};
use serde::Deserialize;
use serde_json::Value;

use crate::data::{CronJobId, DetailReader, Entry, Scope, object_json, records_around};
use crate::http::app::App;
use crate::http::context::Visitor;
use crate::http::params::{Params, read_form};
use crate::http::render::{PageContent, PageError};
use crate::ui::{CronJobPage, NavItem, SlotPage, cron_job_page, slot_page};

/// How many records the page of a CronJob reads.
const RECORDS: usize = 150;
/// How many records the page of a slot reads, for the slot and the runs around it.
const SLOT_RECORDS: usize = 300;
/// How many next slots are listed.
const UPCOMING: usize = 20;

pub(in crate::http) type IdPath = Path<CronJobPath>;

/// The path of the pages of a CronJob.
#[derive(Deserialize)]
pub(in crate::http) struct CronJobPath {
    kind: String,
    namespace: String,
    name: String,
}

/// The path of the page of a slot.
#[derive(Deserialize)]
pub(in crate::http) struct SlotPath {
    #[serde(flatten)]
    cron_job: CronJobPath,
    slot: String,
}

/// Finds the CronJob of a URL.
pub(super) fn find(app: &App, path: &CronJobPath) -> Result<(CronJobId, Arc<Entry>), PageError> {
    let id = CronJobId::from_parts(&path.kind, &path.namespace, &path.name)
        .ok_or(PageError::no_cron_job(None))?;
    match app.cache.entry(&id) {
        Some(entry) => Ok((id, entry)),
        None => Err(PageError::no_cron_job(Some(&id))),
    }
}

/// A form about a CronJob that a user sent.
pub(super) struct SubmittedForm {
    pub(super) params: Params,
    pub(super) id: CronJobId,
    pub(super) entry: Arc<Entry>,
}

/// Reads a form and finds its CronJob, or returns the response that says what is wrong.
pub(super) async fn read_submitted(
    app: &App,
    visitor: &Visitor,
    path: &CronJobPath,
    request: Request<Body>,
) -> Result<SubmittedForm, Box<Response>> {
    let params = read_form(request).await?;
    match find(app, path) {
        Ok((id, entry)) => Ok(SubmittedForm { params, id, entry }),
        Err(error) => Err(Box::new(app.respond(visitor, Err(error)).await)),
    }
}

pub(in crate::http) async fn cron_job(
    State(app): State<Arc<App>>,
    visitor: Visitor,
    Path(path): IdPath,
) -> Response {
    let content = Box::pin(cron_job_content(&app, &visitor, &path)).await;
    app.respond(&visitor, content).await
}

async fn cron_job_content(
    app: &App,
    visitor: &Visitor,
    path: &CronJobPath,
) -> Result<PageContent, PageError> {
    let (id, entry) = find(app, path)?;
    let events = app.events_query(&format!("cronjob:{id}"), &Scope::CronJob(id.clone()));
    let user = &visitor.user;
    let reader = &user.detail.reader;
    let query = RecordQuery::newest(RECORDS);
    let api_path = id.api_path();
    let (snapshot, rights, object) = tokio::join!(
        user.detail.snapshot(&entry, &query),
        user.rights.read(reader, &id.namespace, &*app.clock),
        object_json(reader, &api_path),
    );
    let snapshot = snapshot?;
    let yaml = object?.map_or_else(String::new, |object| to_yaml(object, false));
    let now = app.now();
    let description = describe(&snapshot, UPCOMING, now);
    let body = cron_job_page(&CronJobPage {
        id: &id,
        snapshot: &snapshot,
        description: &description,
        rights,
        can_backfill: reader.serves("runrequests"),
        yaml: &yaml,
        now,
    });
    let mut content =
        PageContent::new(format!("{} · {}", id.name, id.namespace), NavItem::Fleet, body);
    content.events = events;
    Ok(content)
}

/// Formats an object as YAML without the records of field managers. `for_edit` leaves out what users cannot change.
pub(super) fn to_yaml(mut object: Value, for_edit: bool) -> String {
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("managedFields");
        if for_edit {
            for field in ["uid", "generation", "creationTimestamp", "selfLink"] {
                metadata.remove(field);
            }
        }
    }
    if for_edit && let Some(fields) = object.as_object_mut() {
        fields.remove("status");
    }
    serde_saphyr::to_string(&object).unwrap_or_default()
}

pub(in crate::http) async fn slot(
    State(app): State<Arc<App>>,
    visitor: Visitor,
    Path(SlotPath { cron_job, slot }): Path<SlotPath>,
) -> Response {
    let content = Box::pin(slot_content(&app, &visitor, &cron_job, &slot)).await;
    app.respond(&visitor, content).await
}

async fn slot_content(
    app: &App,
    visitor: &Visitor,
    path: &CronJobPath,
    text: &str,
) -> Result<PageContent, PageError> {
    let (id, entry) = find(app, path)?;
    let events = app.events_query(&format!("cronjob:{id}"), &Scope::CronJob(id.clone()));
    let user = &visitor.user;
    let reader = &user.detail.reader;
    let query = RecordQuery::newest(SLOT_RECORDS);
    let mut snapshot = user.detail.snapshot(&entry, &query).await?;
    let now = app.now();
    let chosen =
        choose_slot(&snapshot, text, now).map_err(|error| PageError::invalid(error.to_string()))?;
    let ChosenSlot::At(slot) = chosen else {
        return Err(PageError::not_found(
            "This time did not exist: the clocks went forward over it.",
        ));
    };
    if DetailReader::is_older(&snapshot, slot) {
        snapshot = user.detail.snapshot(&entry, &records_around(slot, SLOT_RECORDS)).await?;
    }
    let rights = user.rights.read(reader, &id.namespace, &*app.clock).await;
    let explanation = explain_slot(&snapshot, &ChosenSlot::At(slot), now).with_program("punctual");
    let body = slot_page(&SlotPage {
        id: &id,
        snapshot: &snapshot,
        explanation: &explanation,
        slot,
        rights,
        can_run_slot: reader.serves("runrequests"),
        previous: previous_slot(&snapshot, slot),
        next: snapshot.slots_after(slot).next(),
        now,
    });
    let mut content = PageContent::new(format!("Slot of {}", id.name), NavItem::Ledger, body);
    content.events = events;
    Ok(content)
}

fn previous_slot(snapshot: &CronJobSnapshot, slot: Timestamp) -> Option<Timestamp> {
    let before = slot.checked_sub(jiff::SignedDuration::from_nanos(1)).ok()?;
    let created = snapshot.cron_job.metadata.creation_timestamp?.timestamp();
    snapshot.latest_slot(before).filter(|previous| *previous >= created)
}
