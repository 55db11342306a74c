//! The page of a run, and its log as a file.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Path, State};
use axum::response::{IntoResponse as _, Response};
use http::StatusCode;
use http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use punctual_engine::cronjob::JobView;

use crate::data::{
    LogRequest, PodRow, RunDetail, RunJob, Scope, is_object_name, open_log, read_log_tail, read_run,
};
use crate::http::app::App;
use crate::http::context::Visitor;
use crate::http::params::Params;
use crate::http::render::{PageContent, PageError};
use crate::ui::{NavItem, RunPage, run_page};

/// Reads the run of a URL.
pub(super) async fn find_run(
    visitor: &Visitor,
    namespace: &str,
    name: &str,
) -> Result<(RunJob, RunDetail), PageError> {
    if !is_object_name(namespace) || !is_object_name(name) {
        return Err(PageError::no_cron_job(None));
    }
    let run = RunJob { namespace: namespace.to_owned(), name: name.to_owned() };
    match read_run(&visitor.user.detail.reader, &run).await? {
        Some(detail) => Ok((run, detail)),
        None => Err(PageError::not_found(format!(
            "The Job {namespace}/{name} does not exist. Finished Jobs are deleted as the CronJob's history limits say; \
             the ledger still has the record of the run."
        ))),
    }
}

pub(in crate::http) async fn run(
    State(app): State<Arc<App>>,
    visitor: Visitor,
    Path((namespace, name)): Path<(String, String)>,
    params: Params,
) -> Response {
    let content = run_content(&app, &visitor, &RunJob { namespace, name }, &params).await;
    app.respond(&visitor, content).await
}

async fn run_content(
    app: &App,
    visitor: &Visitor,
    path: &RunJob,
    params: &Params,
) -> Result<PageContent, PageError> {
    let RunJob { namespace, name } = path;
    let scope = Scope::Job { namespace: namespace.clone(), name: name.clone() };
    let mut events = app.events_query(&format!("run:{namespace}/{name}"), &scope);
    let (_, detail) = find_run(visitor, namespace, name).await?;
    let user = &visitor.user;
    let reader = &user.detail.reader;
    let shown = choose_container(&detail.pods, params);
    let log = match shown {
        Some(shown) => Some(read_log_tail(reader, &log_request(namespace, shown)).await),
        None => None,
    };
    if let Some(shown) = shown.filter(|shown| shown.finished.is_none()) {
        events.push_str(&format!("&pod={}&container={}", shown.pod, shown.container));
    }
    let view = JobView::from_job(&detail.job);
    let owner = user.detail.owner_of(&view.controller_uid);
    let error = log.as_ref().and_then(|log| log.as_ref().err()).map(ToString::to_string);
    let log = log.and_then(Result::ok);
    let zone = owner.as_ref().map_or(&app.zone, |owner| owner.snapshot.zone());
    let body = run_page(&RunPage {
        job: &detail.job,
        pods: &detail.pods,
        shown,
        log: log.as_ref().map(|log| log.text.as_str()),
        is_cut: log.as_ref().is_some_and(|log| log.is_cut),
        log_error: error.as_deref(),
        owner: owner.as_ref().map(|owner| &owner.id),
        zone,
        rights: user.rights.read(reader, namespace, &*app.clock).await,
        now: app.now(),
    });
    let mut content = PageContent::new(format!("Run {name}"), NavItem::Fleet, body);
    content.events = events;
    Ok(content)
}

/// Returns the container that the URL names, else the newest one with a log.
fn choose_container<'a>(pods: &'a [PodRow], params: &Params) -> Option<&'a PodRow> {
    let named = pods
        .iter()
        .find(|row| row.pod == params.get("pod") && row.container == params.get("container"));
    named.or_else(|| pods.iter().rev().find(|row| row.has_log()))
}

fn log_request(namespace: &str, row: &PodRow) -> LogRequest {
    LogRequest {
        namespace: namespace.to_owned(),
        pod: row.pod.clone(),
        container: row.container.clone(),
        follow: false,
        tail_lines: None,
    }
}

/// Serves a whole log as a file.
pub(in crate::http) async fn run_log(
    State(app): State<Arc<App>>,
    visitor: Visitor,
    Path((namespace, name)): Path<(String, String)>,
    params: Params,
) -> Response {
    let pod = params.get("pod");
    let container = params.get("container");
    let is_valid =
        [namespace.as_str(), name.as_str(), pod, container].into_iter().all(is_object_name);
    if !is_valid {
        return app.respond(&visitor, Err(PageError::invalid("The URL names no container."))).await;
    }
    let Ok(permit) = app.streams.clone().try_acquire_owned() else {
        return (StatusCode::SERVICE_UNAVAILABLE, "Too many logs are open.\n").into_response();
    };
    let request = LogRequest {
        namespace,
        pod: pod.to_owned(),
        container: container.to_owned(),
        follow: false,
        tail_lines: None,
    };
    match open_log(&visitor.user.detail.reader, &request).await {
        Ok(log) => {
            let log = futures::StreamExt::inspect(log, move |_| {
                let _ = &permit;
            });
            let name = format!("attachment; filename=\"{pod}-{container}.log\"");
            let headers = [
                (CONTENT_TYPE, "text/plain; charset=utf-8".to_owned()),
                (CONTENT_DISPOSITION, name),
            ];
            (headers, Body::from_stream(log)).into_response()
        }
        Err(error) => app.respond(&visitor, Err(error.into())).await,
    }
}
