//! The plan page: reads a manifest and compares it with the cluster. Nothing is written.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use http::Request;
use jiff::{SignedDuration, Timestamp};
use punctual_api::json_tree::SizeBudget;
use punctual_api::{CronJob, CronJobKind, ObjectMeta, Time, defaults, yaml};
use punctual_reader::{RecordQuery, with_kind};
use punctual_views::{ChangeReport, CronJobSnapshot, compare, field_changes, find_collisions};
use serde::Deserialize as _;
use serde_json::Value;

use crate::data::{CronJobId, object_json};
use crate::http::app::App;
use crate::http::context::Visitor;
use crate::http::params::{InputError, Params, read_form};
use crate::http::render::PageContent;
use crate::ui::{NavItem, PlanPage, PlannedReport, YAML_LEN_MAX, plan_page};

/// How many next slots are compared side by side.
const NEXT_SLOTS: usize = 10;
/// The newest records are enough to know which slots are accounted for.
const RECORDS: usize = 50;
/// How many CronJobs are searched for collisions.
const FLEET_MAX: usize = 2_000;
const DAYS_DEFAULT: i64 = 7;
const DAYS_MAX: i64 = 366;

/// An edit with the CronJob before and after it.
pub(super) struct Planned {
    pub(super) after: CronJobSnapshot,
    pub(super) before: Option<CronJobSnapshot>,
    pub(super) report: ChangeReport,
}

/// Parses a manifest that contains one object.
pub(super) fn parse(text: &str) -> Result<Value, InputError> {
    if text.len() > YAML_LEN_MAX {
        return Err(InputError(format!("The text is longer than {YAML_LEN_MAX} bytes.")));
    }
    let mut budget = SizeBudget::default();
    let (value, duplicates) = yaml::parse_document(text, 0, &mut budget)
        .map_err(|error| InputError(error.to_string()))?;
    match duplicates.first() {
        Some(path) => Err(InputError(format!("The field {path} is there twice."))),
        None => Ok(value),
    }
}

/// Compares an object with the cluster.
pub(super) async fn plan_object(
    app: &App,
    visitor: &Visitor,
    mut object: Value,
    until: Timestamp,
) -> Result<Planned, InputError> {
    let now = app.now();
    defaults::cron_job(&mut object);
    let mut after = CronJob::deserialize(&object).map_err(|error| InputError(error.to_string()))?;
    let kind = after.cron_job_kind().filter(|kind| *kind != CronJobKind::BatchV1Beta1);
    let kind = kind.ok_or(InputError::new(
        "This is not a CronJob of batch/v1 and not a ScheduledJob of punctual.dev/v1.",
    ))?;
    if after.metadata.namespace.is_empty() {
        "default".clone_into(&mut after.metadata.namespace);
    }
    let metadata = &after.metadata;
    let id = CronJobId::from_parts(kind.plural(), &metadata.namespace, &metadata.name)
        .ok_or(InputError::new("metadata.name or metadata.namespace is missing or not valid."))?;
    let detail = &visitor.user.detail;
    let live = object_json(&detail.reader, &id.api_path())
        .await
        .map_err(|error| InputError(error.to_string()))?;
    let Some(live) = live else {
        after.metadata.creation_timestamp = Some(Time::new(now));
        let after = CronJobSnapshot::new(after, app.cache.zone());
        let report = compare(None, &after, Vec::new(), now, until)
            .map_err(|error| InputError(error.to_string()))?;
        return Ok(Planned {
            before: None,
            report: with_collisions(app, &after, report, until),
            after,
        });
    };
    // The server may have stored the object before it knew a default.
    let mut with_defaults = live.clone();
    defaults::cron_job(&mut with_defaults);
    let spec = |object: &Value| object.get("spec").cloned().unwrap_or_default();
    let fields = field_changes("spec", &spec(&with_defaults), &spec(&object));
    let before = with_kind(
        CronJob::deserialize(&live).map_err(|error| InputError(error.to_string()))?,
        kind,
    );
    after.status = before.status.clone();
    let mut annotations = before.metadata.annotations.clone();
    annotations.extend(std::mem::take(&mut after.metadata.annotations));
    after.metadata = ObjectMeta { annotations, ..before.metadata.clone() };
    let before = match app.cache.entry(&id) {
        Some(entry) => detail
            .snapshot(&entry, &RecordQuery::newest(RECORDS))
            .await
            .map_err(|error| InputError(error.to_string()))?,
        None => CronJobSnapshot::new(before, app.cache.zone()),
    };
    let after = before.with_edit(after);
    let report = compare(Some(&before), &after, fields, now, until)
        .map_err(|error| InputError(error.to_string()))?;
    Ok(Planned { before: Some(before), report: with_collisions(app, &after, report, until), after })
}

fn with_collisions(
    app: &App,
    after: &CronJobSnapshot,
    mut report: ChangeReport,
    until: Timestamp,
) -> ChangeReport {
    let entries = app.cache.entries();
    let fleet = entries.iter().take(FLEET_MAX).map(|entry| &entry.snapshot);
    let now = app.now();
    // Minutes in which both start repeat; a week shows them.
    let week = now.checked_add(SignedDuration::from_hours(24 * 7)).unwrap_or(until);
    report.collisions = find_collisions(after, fleet, now, until.min(week));
    report
}

pub(in crate::http) async fn plan_form(
    State(app): State<Arc<App>>,
    visitor: Visitor,
    params: Params,
) -> Response {
    let content = content(&app, &visitor, &params).await;
    app.respond(&visitor, Ok(content)).await
}

pub(in crate::http) async fn plan(
    State(app): State<Arc<App>>,
    visitor: Visitor,
    request: Request<Body>,
) -> Response {
    let params = match read_form(request).await {
        Ok(params) => params,
        Err(response) => return *response,
    };
    let content = content(&app, &visitor, &params).await;
    app.respond(&visitor, Ok(content)).await
}

async fn content(app: &App, visitor: &Visitor, params: &Params) -> PageContent {
    let now = app.now();
    let days = params.get("days").parse().unwrap_or(DAYS_DEFAULT).clamp(1, DAYS_MAX);
    let until = now.checked_add(SignedDuration::from_hours(24 * days)).unwrap_or(now);
    let text = params.raw("yaml");
    let mut reports = Vec::new();
    let mut error = None;
    if !text.trim().is_empty() {
        let planned = match parse(text) {
            Ok(object) => plan_object(app, visitor, object, until).await,
            Err(error) => Err(error),
        };
        match planned {
            Ok(planned) => reports.push(planned_report(planned, now)),
            Err(refused) => error = Some(refused.to_string()),
        }
    }
    let body = plan_page(&PlanPage {
        yaml: text,
        days,
        error: error.as_deref(),
        reports: &reports,
        until,
        now,
    });
    PageContent::new("Plan", NavItem::Plan, body)
}

fn planned_report(planned: Planned, now: Timestamp) -> PlannedReport {
    let next = |snapshot: &CronJobSnapshot| -> Vec<Timestamp> {
        snapshot.planned_slots(now, Timestamp::MAX).take(NEXT_SLOTS).collect()
    };
    PlannedReport {
        zone: planned.after.zone().clone(),
        before: planned.before.as_ref().map(next).unwrap_or_default(),
        after: next(&planned.after),
        report: planned.report,
    }
}
