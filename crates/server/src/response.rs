//! Renders objects, lists and tables in the format that the client accepts, and errors as JSON.

mod list;
mod record_list;

use axum::body::Body;
use bytes::Bytes;
use http::{HeaderValue, Response, StatusCode, header};
use jiff::Timestamp;
use punctual_api::Status;
use serde_json::Value;

pub(crate) use self::list::{ListResponse, render_list};
pub(crate) use self::record_list::{RecordListOptions, render_record_list, render_record_page};
use crate::request::{Representation, ResponseFormat, TextFormat};
use crate::stored::{StoredObject, TypeMeta};
use crate::table::{self, IncludeObject, TableOptions, partial_metadata};

/// A response, or an error that becomes one.
pub(crate) type ApiResult = Result<Response<Body>, Status>;

/// How objects are rendered, as requested by the `Accept` header and the query.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ResponseOptions {
    /// JSON or YAML; whole objects, metadata or a table.
    pub(crate) format: ResponseFormat,
    /// What the rows of a table contain of their objects.
    pub(crate) include_object: IncludeObject,
    /// The current time, for the ages in tables.
    pub(crate) now: Timestamp,
}

impl ResponseOptions {
    pub(crate) fn table_options(&self) -> TableOptions {
        TableOptions { include_object: self.include_object, has_columns: true, now: self.now }
    }
}

/// Renders an object.
pub(crate) fn render_object(
    code: StatusCode,
    stored: &StoredObject,
    options: ResponseOptions,
) -> ApiResult {
    if options.format == ResponseFormat::JSON {
        let mut body = Vec::with_capacity(stored.value.len() + 64);
        stored.write(TypeMeta::Include, &mut body)?;
        body.push(b'\n');
        return Ok(from_bytes(code, "application/json", body.into()));
    }
    let tree = stored.to_served_json()?;
    let rendered = match options.format.representation {
        Representation::Full => tree,
        Representation::Metadata => partial_metadata::object(&tree),
        Representation::Table => {
            let metadata = table::metadata_of_one(&tree);
            table::render(stored.served, &[tree], metadata, options.table_options())
        }
    };
    Ok(render_value(code, &rendered, options.format))
}

/// Renders a JSON value in the text format of the response.
pub(crate) fn render_value(
    code: StatusCode,
    value: &Value,
    format: ResponseFormat,
) -> Response<Body> {
    let text = match format.text_format {
        TextFormat::Json => format!("{value}\n"),
        TextFormat::Yaml => serde_saphyr::to_string(value).unwrap_or_default(),
    };
    from_bytes(code, format.content_type(), text.into())
}

/// Renders an error, or the status of a delete. It is always JSON, which every client can read.
pub(crate) fn render_status(status: &Status) -> Response<Body> {
    let code = StatusCode::from_u16(status.code).unwrap_or(StatusCode::OK);
    let body = serde_json::to_vec(status).unwrap_or_default();
    let mut response = from_bytes(code, "application/json", body.into());
    let retry = status.details.as_ref().map_or(0, |details| details.retry_after_seconds);
    if retry > 0 {
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(retry));
    }
    response
}

/// Renders plain text.
pub(crate) fn render_text(code: StatusCode, text: impl Into<Bytes>) -> Response<Body> {
    let mut response = from_bytes(code, "text/plain; charset=utf-8", text.into());
    let nosniff = HeaderValue::from_static("nosniff");
    response.headers_mut().insert(header::X_CONTENT_TYPE_OPTIONS, nosniff);
    response
}

/// Returns a response with an encoded body.
pub(crate) fn from_bytes(
    code: StatusCode,
    content_type: &'static str,
    body: Bytes,
) -> Response<Body> {
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = code;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache, private"));
    response
}

/// Limit of the total length of warnings in a response, as in kube-apiserver.
const WARNINGS_LEN_MAX: usize = 4096;

/// Adds warning headers, which kubectl prints. Duplicates are left out.
pub(crate) fn add_warnings(response: &mut Response<Body>, warnings: &[String]) {
    let mut remaining = WARNINGS_LEN_MAX;
    for (i, warning) in warnings.iter().enumerate() {
        if warnings.iter().take(i).any(|earlier| earlier == warning) {
            continue;
        }
        let visible: String = warning.chars().filter(|c| !c.is_control()).take(remaining).collect();
        remaining -= visible.chars().count().min(remaining);
        if let Some(value) = warning_value(&visible) {
            response.headers_mut().append(header::WARNING, value);
        }
    }
}

/// Adds a warning header before the others.
pub(crate) fn prepend_warning(response: &mut Response<Body>, warning: &str) {
    let headers = response.headers_mut();
    let others: Vec<HeaderValue> = headers.get_all(header::WARNING).iter().cloned().collect();
    headers.remove(header::WARNING);
    for value in warning_value(warning).into_iter().chain(others) {
        headers.append(header::WARNING, value);
    }
}

fn warning_value(text: &str) -> Option<HeaderValue> {
    let quoted = text.replace('\\', "\\\\").replace('"', "\\\"");
    HeaderValue::from_bytes(format!("299 - \"{quoted}\"").as_bytes()).ok()
}
