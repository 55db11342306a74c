//! Actions on the CronJobs that are selected in the list.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use http::Request;
use punctual_reader::MissedSlots;

use super::actions::suspend_request;
use crate::data::{self, ActionError, CronJobId, Entry};
use crate::http::app::App;
use crate::http::context::Visitor;
use crate::http::params::{Params, read_form};
use crate::http::render::{PageContent, PageError};
use crate::ui::{self, NavItem};

/// The most CronJobs of an action: a page of the list.
const ITEMS_MAX: usize = 200;
const ACTIONS: [&str; 3] = ["trigger", "suspend", "resume"];

fn selected(params: &Params) -> Vec<CronJobId> {
    params.all("item").filter_map(CronJobId::parse).take(ITEMS_MAX).collect()
}

pub(in crate::http) async fn bulk_form(
    State(app): State<Arc<App>>,
    visitor: Visitor,
    params: Params,
) -> Response {
    let action = params.get("action");
    let content = if ACTIONS.contains(&action) {
        let body = ui::bulk_form(action, &selected(&params), &app.zone, None);
        Ok(PageContent::new("Several CronJobs", NavItem::Fleet, body))
    } else {
        Err(PageError::invalid("There is no such action."))
    };
    app.respond(&visitor, content).await
}

pub(in crate::http) async fn bulk(
    State(app): State<Arc<App>>,
    visitor: Visitor,
    request: Request<Body>,
) -> Response {
    let params = match read_form(request).await {
        Ok(params) => params,
        Err(response) => return *response,
    };
    let mut done = 0;
    let mut failures = Vec::new();
    let items = selected(&params);
    for id in &items {
        let result = match app.cache.entry(id) {
            Some(entry) => carry_out(&app, &visitor, &params, &entry).await,
            None => Err(ActionError::Input("it does not exist any more".to_owned())),
        };
        match result {
            Ok(()) => done += 1,
            Err(error) => failures.push(format!("{}/{}: {error}", id.namespace, id.name)),
        }
    }
    let verb = match params.get("action") {
        "suspend" => "suspended",
        "resume" => "resumed",
        _ => "started",
    };
    let text = format!("{done} of {} CronJobs {verb}.", items.len());
    if failures.is_empty() {
        return app.redirect(&visitor, "/", text);
    }
    let shown: Vec<String> = failures.into_iter().take(5).collect();
    app.redirect_error(&visitor, "/", format!("{text} {}", shown.join("; ")))
}

async fn carry_out(
    app: &App,
    visitor: &Visitor,
    params: &Params,
    entry: &Entry,
) -> Result<(), ActionError> {
    let reader = &visitor.user.detail.reader;
    let id = &entry.id;
    let cron_job = &entry.snapshot.cron_job;
    match params.get("action") {
        "trigger" => data::trigger(reader, cron_job, id, None).await.map(|_| ()),
        "suspend" => {
            let request = suspend_request(params, entry, &visitor.user.name, app.now());
            data::suspend(reader, cron_job, request?).await.map(|_| ())
        }
        "resume" => data::resume(reader, cron_job, MissedSlots::Latest).await.map(|_| ()),
        _ => Err(ActionError::Input("there is no such action".to_owned())),
    }
}
