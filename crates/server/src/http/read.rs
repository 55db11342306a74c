//! Handlers of requests that read: get, list, watch and the log of a Pod.

use axum::body::Body;
use futures::StreamExt as _;
use http::{HeaderValue, Response, StatusCode, header};
use punctual_api::{Pod, Status};
use serde::Deserialize as _;

use super::{LongRunning, RequestContext, is_in_process, slot_records, watch};
use crate::limits::Share;
use crate::logs::LogQuery;
use crate::registry::{CollectionRef, ObjectRef};
use crate::request::{ListOptions, ResponseFormat};
use crate::resource::SLOT_RECORDS;
use crate::response::{self, ApiResult, ListResponse, ResponseOptions};
use crate::table::IncludeObject;

impl RequestContext {
    /// Parses how the client wants objects to be rendered.
    pub(super) fn response_options(&self) -> Result<ResponseOptions, Status> {
        let format = ResponseFormat::negotiate(self.header(header::ACCEPT))?;
        let include_object = IncludeObject::parse(self.query.text("includeObject"))
            .map_err(|error| Status::bad_request(error.to_string()))?;
        Ok(ResponseOptions { format, include_object, now: self.server.state.registry.env.now() })
    }

    /// Takes a permit to read a log. Requests from this process are not limited.
    fn acquire_log(&self) -> Result<Option<Share>, Status> {
        if is_in_process(&self.parts) {
            return Ok(None);
        }
        self.server.state.limiter.acquire_log(&self.user).map(Some)
    }

    pub(super) fn accepts_gzip(&self) -> bool {
        let accepted = self.header(header::ACCEPT_ENCODING);
        accepted.split(',').any(|coding| coding.split(';').next().map(str::trim) == Some("gzip"))
    }
}

/// Handles a get.
pub(super) async fn get(request: &RequestContext, object: &ObjectRef) -> ApiResult {
    if object.collection.served.resource == &SLOT_RECORDS {
        return slot_records::get(request, object).await;
    }
    let options = request.response_options()?;
    let stored = request.server.state.registry.get(object)?;
    response::render_object(StatusCode::OK, &stored, options)
}

/// Handles a list or a watch.
pub(super) async fn list_or_watch(
    request: &RequestContext,
    collection: CollectionRef,
) -> ApiResult {
    if collection.served.resource == &SLOT_RECORDS {
        return slot_records::list_or_watch(request, collection).await;
    }
    let response_options = request.response_options()?;
    let options = ListOptions::parse(&request.query, &collection.served)?;
    if options.is_watch {
        return watch::respond(request, &collection, &options, response_options).await;
    }
    let page = request.server.state.registry.list(&collection, &options)?;
    Ok(response::render_list(ListResponse {
        served: collection.served,
        page,
        options: response_options,
        accepts_gzip: request.accepts_gzip(),
    }))
}

/// Handles a request for the log of a Pod's container. The log of a container that has not started
/// is empty.
pub(super) async fn log(request: &RequestContext, object: &ObjectRef) -> ApiResult {
    let stored = request.server.state.registry.get(object)?;
    let pod =
        Pod::deserialize(&stored.to_json()?).map_err(|why| Status::internal(&why.to_string()))?;
    let query = LogQuery::parse(&request.query, &pod)?;
    let is_followed = query.follow;
    let log_permit = request.acquire_log()?;
    // A followed log is also limited like a watch.
    let watch_permit = if is_followed { request.acquire_watch()? } else { None };
    let lines = match &request.server.state.logs {
        Some(source) => source.logs(pod, query).await?,
        None => None,
    };
    let Some(lines) = lines else {
        let mut response = Response::new(Body::empty());
        *response.status_mut() = StatusCode::NO_CONTENT;
        return Ok(response);
    };
    let shutdown = request.server.state.shutdown.clone();
    let lines = lines.take_until(shutdown.cancelled_owned()).map(move |line| {
        // Keeps the permits until the stream ends.
        let _permits = (&log_permit, &watch_permit);
        line
    });
    let mut response = Response::new(Body::from_stream(lines));
    let plain = HeaderValue::from_static("text/plain");
    response.headers_mut().insert(header::CONTENT_TYPE, plain);
    if is_followed {
        response.extensions_mut().insert(LongRunning);
    }
    Ok(response)
}
