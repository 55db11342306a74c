//! Request bodies: reads them up to the size limit and decodes them by their content type.

use axum::body::Body;
use bytes::Bytes;
use http::header;
use punctual_api::decode::{self, DecodedObject, ExpectedKind};
use punctual_api::json_tree::SizeBudget;
use punctual_api::status::{Status, StatusReason};
use punctual_api::{proto, yaml};
use serde_json::Value;

use super::Call;
use crate::request::{BodyEncoding, TextFormat, encoding};

/// Reads a whole body. Fails if it is larger than the limit.
pub(super) async fn read(call: &Call, body: Body) -> Result<Bytes, Status> {
    let limit = call.server.state.limits.body_bytes_max;
    axum::body::to_bytes(body, limit).await.map_err(|error| {
        let is_too_large = std::error::Error::source(&error)
            .is_some_and(|source| source.is::<http_body_util::LengthLimitError>());
        if is_too_large {
            Status::failure(
                StatusReason::RequestEntityTooLarge,
                format!("Request entity too large: limit is {limit}"),
            )
        } else {
            Status::bad_request(format!("cannot read the request body: {error}"))
        }
    })
}

/// Decodes the object in a body of any supported content type.
pub(super) fn decode_object(
    call: &Call,
    body: &[u8],
    expected: &ExpectedKind<'_>,
) -> Result<DecodedObject, Status> {
    match encoding(call.header(header::CONTENT_TYPE))? {
        BodyEncoding::Text(format) => decode_text(call, body, format, expected),
        BodyEncoding::Protobuf => check(call, proto::decode_object(body, expected)?, expected),
    }
}

/// Decodes the object in a JSON or YAML body.
pub(super) fn decode_text(
    call: &Call,
    body: &[u8],
    format: TextFormat,
    expected: &ExpectedKind<'_>,
) -> Result<DecodedObject, Status> {
    let registry = &call.server.state.registry;
    match format {
        TextFormat::Json => {
            let dialect = registry.validation.dialect;
            decode::decode_json(body, expected, dialect, registry.unknown_fields())
        }
        TextFormat::Yaml => check(call, parse_yaml(body)?, expected),
    }
}

/// Checks an object that was not decoded from JSON.
fn check(
    call: &Call,
    object: DecodedObject,
    expected: &ExpectedKind<'_>,
) -> Result<DecodedObject, Status> {
    let registry = &call.server.state.registry;
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
pub(super) fn decode_delete_options(call: &Call, body: &[u8]) -> Result<Option<Value>, Status> {
    if body.is_empty() {
        return Ok(None);
    }
    match encoding(call.header(header::CONTENT_TYPE))? {
        BodyEncoding::Protobuf => proto::decode_delete_options(body).map(Some),
        BodyEncoding::Text(TextFormat::Yaml) => parse_yaml(body).map(|decoded| Some(decoded.value)),
        BodyEncoding::Text(TextFormat::Json) => serde_json::from_slice(body)
            .map(|fields| Some(Value::Object(fields)))
            .map_err(|why| Status::bad_request(format!("cannot decode DeleteOptions: {why}"))),
    }
}
