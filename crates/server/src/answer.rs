//! Answers: objects, lists, statuses, in the form that was asked for.

mod list;

use axum::body::Body;
use bytes::Bytes;
use http::{HeaderValue, Response, StatusCode, header};
use jiff::Timestamp;
use punctual_api::Status;
use serde_json::Value;

pub(crate) use self::list::{ListAnswer, list};
use crate::request::{BodyFormat, Form, Shape};
use crate::stored::{Stored, Typed};
use crate::table::{self, IncludeObject, Rendering, partial};

/// An answer, or a refusal that becomes one.
pub(crate) type Answer = Result<Response<Body>, Status>;

/// How an object is to be shown.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Showing {
    pub(crate) form: Form,
    pub(crate) include: IncludeObject,
    pub(crate) now: Timestamp,
}

impl Showing {
    pub(crate) fn rendering(&self) -> Rendering {
        Rendering { include: self.include, has_columns: true, now: self.now }
    }
}

/// An object.
pub(crate) fn object(code: StatusCode, stored: &Stored, showing: Showing) -> Answer {
    if showing.form == Form::JSON {
        let mut body = Vec::with_capacity(stored.value.len() + 64);
        stored.write(Typed::Yes, &mut body)?;
        body.push(b'\n');
        return Ok(bytes(code, "application/json", body.into()));
    }
    let tree = stored.served_tree()?;
    let shown = match showing.form.shape {
        Shape::Whole => tree,
        Shape::Metadata => partial::object(&tree),
        Shape::Table => {
            let metadata = table::metadata_of_one(&tree);
            table::render(stored.view, &[tree], metadata, showing.rendering())
        }
    };
    Ok(tree_as(code, &shown, showing.form))
}

/// A tree that is none of our objects.
pub(crate) fn tree_as(code: StatusCode, tree: &Value, form: Form) -> Response<Body> {
    bytes(code, form.content_type(), text_of(tree, form.format).into())
}

/// A tree as text.
pub(crate) fn text_of(tree: &Value, format: BodyFormat) -> String {
    match format {
        BodyFormat::Json => format!("{tree}\n"),
        BodyFormat::Yaml => serde_saphyr::to_string(tree).unwrap_or_default(),
    }
}

/// What went wrong. Always in JSON: every client reads it.
pub(crate) fn status(status: &Status) -> Response<Body> {
    let code = StatusCode::from_u16(status.code).unwrap_or(StatusCode::OK);
    let body = serde_json::to_vec(status).unwrap_or_default();
    let mut response = bytes(code, "application/json", body.into());
    let retry = status.details.as_ref().map_or(0, |details| details.retry_after_seconds);
    if retry > 0 {
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(retry));
    }
    response
}

/// Text for people.
pub(crate) fn text(code: StatusCode, text: impl Into<Bytes>) -> Response<Body> {
    let mut response = bytes(code, "text/plain; charset=utf-8", text.into());
    let nosniff = HeaderValue::from_static("nosniff");
    response.headers_mut().insert(header::X_CONTENT_TYPE_OPTIONS, nosniff);
    response
}

/// Bytes of a type.
pub(crate) fn bytes(code: StatusCode, content_type: &'static str, body: Bytes) -> Response<Body> {
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = code;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache, private"));
    response
}

/// Longest text of warnings that goes into one answer, as in kube-apiserver.
const WARNINGS_LEN_MAX: usize = 4096;

/// Adds warnings for the people behind a client.
pub(crate) fn warn(response: &mut Response<Body>, warnings: &[String]) {
    let mut left = WARNINGS_LEN_MAX;
    for (i, warning) in warnings.iter().enumerate() {
        if warnings.iter().take(i).any(|earlier| earlier == warning) {
            continue;
        }
        let visible: String = warning.chars().filter(|c| !c.is_control()).take(left).collect();
        left -= visible.chars().count().min(left);
        let quoted = visible.replace('\\', "\\\\").replace('"', "\\\"");
        if let Ok(value) = HeaderValue::from_bytes(format!("299 - \"{quoted}\"").as_bytes()) {
            response.headers_mut().append(header::WARNING, value);
        }
    }
}
