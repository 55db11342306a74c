//! Reads: one object, many, or what changes.

use axum::body::Body;
use http::{Response, StatusCode, header};
use punctual_api::Status;

use super::{Call, feed};
use crate::answer::{self, Answer, ListAnswer, Showing};
use crate::registry::{ObjectRef, Place};
use crate::request::{Form, ListOptions};
use crate::table::IncludeObject;

impl Call {
    /// How the answer is to be shown.
    pub(super) fn showing(&self) -> Result<Showing, Status> {
        let form = Form::accepted(self.header(header::ACCEPT))?;
        let include = IncludeObject::parse(self.query.text("includeObject"));
        let include = include.map_err(Status::bad_request)?;
        Ok(Showing { form, include, now: self.server.shared.registry.world.now() })
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

/// What a Pod wrote; nothing as long as nothing runs Pods here.
pub(super) fn log(call: &Call, object: &ObjectRef) -> Answer {
    call.server.shared.registry.get(object)?;
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    Ok(response)
}
