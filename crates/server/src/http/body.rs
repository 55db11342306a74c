//! Request bodies: reads them up to the size limit and decodes them by their content type.

use std::ops::Deref;

use axum::body::Body;
use bytes::{Bytes, BytesMut};
use http::header;
use http_body::Body as _;
use http_body_util::BodyExt as _;
use punctual_api::decode::{self, DecodedObject, ExpectedKind};
use punctual_api::json_tree::SizeBudget;
use punctual_api::status::{Status, StatusReason};
use punctual_api::{proto, yaml};
use serde_json::Value;

use super::{RequestContext, is_in_process};
use crate::limits::{ServerLimits, Share};
use crate::request::{BodyEncoding, TextFormat, encoding};

/// The body of a request. Until it is dropped, its bytes count for the limit on all request bodies in
/// memory.
pub(super) struct ReceivedBody {
    bytes: Bytes,
    _permit: Option<Share>,
}

impl Deref for ReceivedBody {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}

/// Reads a whole body. Fails if it is larger than the limit, if the user sends too many bodies at a
/// time, or if nothing arrives for too long.
pub(super) async fn read(
    request: &RequestContext,
    body: &mut Body,
) -> Result<ReceivedBody, Status> {
    let limits = &request.server.state.limits;
    let declared = body.size_hint().upper().and_then(|length| usize::try_from(length).ok());
    if declared.is_some_and(|length| length > limits.body_bytes_max) {
        return Err(too_large(limits.body_bytes_max));
    }
    if is_in_process(&request.parts) {
        return Ok(ReceivedBody { bytes: read_all(body, limits).await?, _permit: None });
    }
    if body.is_end_stream() {
        return Ok(ReceivedBody { bytes: Bytes::new(), _permit: None });
    }
    let length = declared.unwrap_or(limits.body_bytes_max);
    let permit = request.server.state.limiter.acquire_body(&request.user, length)?;
    let bytes = read_all(body, limits).await?;
    drop(permit.receiving);
    Ok(ReceivedBody { bytes, _permit: Some(permit.bytes) })
}

async fn read_all(body: &mut Body, limits: &ServerLimits) -> Result<Bytes, Status> {
    let mut received = BytesMut::new();
    loop {
        let frame = tokio::time::timeout(limits.body_stall_timeout, body.frame()).await;
        let frame = frame.map_err(|_| {
            Status::failure(StatusReason::Timeout, "Timeout: the request body did not arrive")
        })?;
        let Some(frame) = frame else { break };
        let frame = frame.map_err(|error| {
            Status::bad_request(format!("cannot read the request body: {error}"))
        })?;
        // Trailers have no meaning here.
        let Ok(data) = frame.into_data() else { continue };
        if received.is_empty() && body.is_end_stream() && data.len() <= limits.body_bytes_max {
            return Ok(data);
        }
        if received.len() + data.len() > limits.body_bytes_max {
            return Err(too_large(limits.body_bytes_max));
        }
        received.extend_from_slice(&data);
    }
    Ok(received.freeze())
}

fn too_large(limit: usize) -> Status {
    Status::failure(
        StatusReason::RequestEntityTooLarge,
        format!("Request entity too large: limit is {limit}"),
    )
}

/// Decodes the object in a body of any supported content type.
pub(super) fn decode_object(
    request: &RequestContext,
    body: &[u8],
    expected: &ExpectedKind<'_>,
) -> Result<DecodedObject, Status> {
    match encoding(request.header(header::CONTENT_TYPE))? {
        BodyEncoding::Text(format) => decode_text(request, body, format, expected),
        BodyEncoding::Protobuf => check(request, proto::decode_object(body, expected)?, expected),
    }
}

/// Decodes the object in a JSON or YAML body.
pub(super) fn decode_text(
    request: &RequestContext,
    body: &[u8],
    format: TextFormat,
    expected: &ExpectedKind<'_>,
) -> Result<DecodedObject, Status> {
    let registry = &request.server.state.registry;
    match format {
        TextFormat::Json => {
            let dialect = registry.validation.dialect;
            decode::decode_json(body, expected, dialect, registry.unknown_fields())
        }
        TextFormat::Yaml => check(request, parse_yaml(body)?, expected),
    }
}

/// Checks an object that was not decoded from JSON.
fn check(
    request: &RequestContext,
    object: DecodedObject,
    expected: &ExpectedKind<'_>,
) -> Result<DecodedObject, Status> {
    let registry = &request.server.state.registry;
    decode::check_object(object, expected, registry.validation.dialect, registry.unknown_fields())
}

/// Parses a YAML body. JSON is valid YAML.
fn parse_yaml(body: &[u8]) -> Result<DecodedObject, Status> {
    let bad = |why: String| Status::bad_request(format!("error converting YAML to JSON: {why}"));
    let text = std::str::from_utf8(body).map_err(|why| bad(why.to_string()))?;
    let (value, duplicates) = yaml::parse_document(text, 0, &mut SizeBudget::default())
        .map_err(|error| bad(error.to_string()))?;
    if !value.is_object() {
        return Err(bad("the body is not an object".to_owned()));
    }
    let warnings = duplicates.iter().map(|path| format!("duplicate field \"{path}\"")).collect();
    Ok(DecodedObject { value, field_warnings: warnings })
}

/// Decodes the DeleteOptions in the body of a delete request, if the body is not empty.
pub(super) fn decode_delete_options(
    request: &RequestContext,
    body: &[u8],
) -> Result<Option<Value>, Status> {
    if body.is_empty() {
        return Ok(None);
    }
    match encoding(request.header(header::CONTENT_TYPE))? {
        BodyEncoding::Protobuf => proto::decode_delete_options(body).map(Some),
        BodyEncoding::Text(TextFormat::Yaml) => parse_yaml(body).map(|decoded| Some(decoded.value)),
        BodyEncoding::Text(TextFormat::Json) => serde_json::from_slice(body)
            .map(|fields| Some(Value::Object(fields)))
            .map_err(|why| Status::bad_request(format!("cannot decode DeleteOptions: {why}"))),
    }
}
