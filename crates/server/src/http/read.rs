//! Handlers of reads: get, list, watch and log.

use axum::body::Body;
use futures::StreamExt as _;
use http::{HeaderValue, Response, StatusCode, header};
use punctual_api::{Pod, Status};
use serde::Deserialize as _;

use super::{Call, watch};
use crate::logs::LogQuery;
use crate::registry::{CollectionRef, ObjectRef};
use crate::request::{ListOptions, ResponseFormat};
use crate::response::{self, ApiResult, ListResponse, RenderOptions};
use crate::table::IncludeObject;

impl Call {
    /// Parses how the client wants objects to be rendered.
    pub(super) fn render_options(&self) -> Result<RenderOptions, Status> {
        let format = ResponseFormat::negotiate(self.header(header::ACCEPT))?;
        let include = IncludeObject::parse(self.query.text("includeObject"))
            .map_err(|error| Status::bad_request(error.to_string()))?;
        Ok(RenderOptions { format, include, now: self.server.state.registry.env.now() })
    }

    fn accepts_gzip(&self) -> bool {
        let accepted = self.header(header::ACCEPT_ENCODING);
        accepted.split(',').any(|coding| coding.split(';').next().map(str::trim) == Some("gzip"))
    }
}

/// Handles a get.
pub(super) fn get(call: &Call, object: &ObjectRef) -> ApiResult {
    let options = call.render_options()?;
    let stored = call.server.state.registry.get(object)?;
    response::render_object(StatusCode::OK, &stored, options)
}

/// Handles a list or a watch.
pub(super) fn list_or_watch(call: &Call, collection: CollectionRef) -> ApiResult {
    let render_options = call.render_options()?;
    let options = ListOptions::parse(&call.query, &collection.served)?;
    if options.is_watch {
        return watch::respond(call, &collection, &options, render_options);
    }
    let page = call.server.state.registry.list(&collection, &options)?;
    response::render_list(ListResponse {
        served: collection.served,
        page,
        options: render_options,
        accepts_gzip: call.accepts_gzip(),
    })
}

/// Handles a request for the log of a Pod's container. The log of a container that has not started
/// is empty.
pub(super) async fn log(call: &Call, object: &ObjectRef) -> ApiResult {
    let stored = call.server.state.registry.get(object)?;
    let pod =
        Pod::deserialize(&stored.to_json()?).map_err(|why| Status::internal(&why.to_string()))?;
    let query = LogQuery::parse(&call.query, &pod)?;
    // A followed log is limited like a watch.
    let permit = if query.follow { call.acquire_watch()? } else { None };
    let lines = match &call.server.state.logs {
        Some(source) => source.logs(pod, query).await?,
        None => None,
    };
    let Some(lines) = lines else {
        let mut response = Response::new(Body::empty());
        *response.status_mut() = StatusCode::NO_CONTENT;
        return Ok(response);
    };
    let shutdown = call.server.state.shutdown.clone();
    let lines = lines.take_until(shutdown.cancelled_owned()).map(move |line| {
        // Keeps the permit until the stream ends.
        let _permit = &permit;
        line
    });
    let mut response = Response::new(Body::from_stream(lines));
    let plain = HeaderValue::from_static("text/plain");
    response.headers_mut().insert(header::CONTENT_TYPE, plain);
    Ok(response)
}
