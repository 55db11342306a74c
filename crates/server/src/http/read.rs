//! Reads: one object, many, or what changes.

use axum::body::Body;
use futures::StreamExt as _;
use http::{HeaderValue, Response, StatusCode, header};
use punctual_api::{Pod, Status};
use serde::Deserialize as _;

use super::{Call, feed};
use crate::answer::{self, Answer, ListAnswer, Showing};
use crate::logs::LogQuery;
use crate::registry::{ObjectRef, Place};
use crate::request::{Form, ListOptions};
use crate::table::IncludeObject;

impl Call {
    /// How the answer is to be shown.
    pub(super) fn showing(&self) -> Result<Showing, Status> {
        let form = Form::accepted(self.header(header::ACCEPT))?;
        let include = IncludeObject::parse(self.query.text("includeObject"));
        let include = include.map_err(Status::bad_request)?;
        Ok(Showing { form, include, now: self.server.shared.registry.env.now() })
    }

    fn takes_gzip(&self) -> bool {
        let accepted = self.header(header::ACCEPT_ENCODING);
        accepted.split(',').any(|coding| coding.split(';').next().map(str::trim) == Some("gzip"))
    }
}

/// One object.
pub(super) fn get(call: &Call, object: &ObjectRef) -> Answer {
    let showing = call.showing()?;
    let stored = call.server.shared.registry.get(object)?;
    answer::object(StatusCode::OK, &stored, showing)
}

/// Many objects, or what changes.
pub(super) fn list_or_watch(call: &Call, place: Place) -> Answer {
    let showing = call.showing()?;
    let options = ListOptions::parse(&call.query, &place.view)?;
    if options.is_watch {
        return feed::answer(call, &place, &options, showing);
    }
    let page = call.server.shared.registry.list(&place, &options)?;
    let takes_gzip = call.takes_gzip();
    answer::list(ListAnswer { view: place.view, page, showing, takes_gzip })
}

/// What a Pod wrote; nothing if it has not begun, or nothing runs Pods here.
pub(super) async fn log(call: &Call, object: &ObjectRef) -> Answer {
    let stored = call.server.shared.registry.get(object)?;
    let pod =
        Pod::deserialize(&stored.tree()?).map_err(|why| Status::internal(&why.to_string()))?;
    let query = LogQuery::parse(&call.query, &pod)?;
    // A log that is followed lasts as a watch does.
    let place = query.follow.then(|| call.watch_place()).transpose()?;
    let lines = match &call.server.shared.logs {
        Some(source) => source.logs(pod, query).await?,
        None => None,
    };
    let Some(lines) = lines else {
        let mut response = Response::new(Body::empty());
        *response.status_mut() = StatusCode::NO_CONTENT;
        return Ok(response);
    };
    let ends = call.server.shared.ends.clone();
    let lines = lines.take_until(ends.cancelled_owned()).map(move |line| {
        let _place = &place;
        line
    });
    let mut response = Response::new(Body::from_stream(lines));
    let plain = HeaderValue::from_static("text/plain");
    response.headers_mut().insert(header::CONTENT_TYPE, plain);
    Ok(response)
}
