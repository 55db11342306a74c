//! Bodies of requests: bounded, and of the type that their header says.

use axum::body::Body;
use bytes::Bytes;
use http::header;
use punctual_api::decode::{self, DecodedObject, ExpectedKind};
use punctual_api::json_tree::SizeBudget;
use punctual_api::status::{Status, StatusReason};
use punctual_api::{proto, yaml};
use serde_json::Value;

use super::Call;
use crate::request::{BodyFormat, Encoding, encoding};

/// All of a body, if it is not too large.
pub(super) async fn read(call: &Call, body: Body) -> Result<Bytes, Status> {
    let most = call.server.shared.limits.body_bytes_max;
    axum::body::to_bytes(body, most).await.map_err(|error| {
        let is_large = std::error::Error::source(&error)
            .is_some_and(|source| source.is::<http_body_util::LengthLimitError>());
        match is_large {
            true => Status::failure(
                StatusReason::RequestEntityTooLarge,
                format!("Request entity too large: limit is {most}"),
            ),
            false => Status::bad_request(format!("the body could not be read: {error}")),
        }
    })
}

/// The object in a body.
pub(super) fn object(
    call: &Call,
    body: &[u8],
    expected: &ExpectedKind<'_>,
) -> Result<DecodedObject, Status> {
    match encoding(call.header(header::CONTENT_TYPE))? {
        Encoding::Text(format) => decoded(call, body, format, expected),
        Encoding::Protobuf => checked(call, proto::decode_object(body, expected)?, expected),
    }
}

/// The object in a text of a format.
pub(super) fn decoded(
    call: &Call,
    body: &[u8],
    format: BodyFormat,
    expected: &ExpectedKind<'_>,
) -> Result<DecodedObject, Status> {
    let registry = &call.server.shared.registry;
    let (dialect, unknown) = (registry.rules.dialect, registry.unknown_fields());
    match format {
        BodyFormat::Json => decode::decode_json(body, expected, dialect, unknown),
        BodyFormat::Yaml => checked(call, yaml_tree(body)?, expected),
    }
}

/// An object that did not come as JSON.
fn checked(
    call: &Call,
    read: DecodedObject,
    expected: &ExpectedKind<'_>,
) -> Result<DecodedObject, Status> {
    let registry = &call.server.shared.registry;
    decode::check_object(read, expected, registry.rules.dialect, registry.unknown_fields())
}

/// A body of YAML, which may be JSON.
pub(super) fn yaml_tree(body: &[u8]) -> Result<DecodedObject, Status> {
    let bad = |why: String| Status::bad_request(format!("error converting YAML to JSON: {why}"));
    let text = std::str::from_utf8(body).map_err(|why| bad(why.to_string()))?;
    let (value, duplicates) =
        yaml::parse_document(text, 0, &mut SizeBudget::default()).map_err(bad)?;
    if !value.is_object() {
        return Err(bad("the body is not an object".to_owned()));
    }
    let doubts = duplicates.iter().map(|path| format!("duplicate field \"{path}\"")).collect();
    Ok(DecodedObject { value, field_warnings: doubts })
}

/// The options in the body of a delete, if there are any.
pub(super) fn options(call: &Call, body: &[u8]) -> Result<Option<Value>, Status> {
    if body.is_empty() {
        return Ok(None);
    }
    match encoding(call.header(header::CONTENT_TYPE))? {
        Encoding::Protobuf => proto::decode_delete_options(body).map(Some),
        Encoding::Text(BodyFormat::Yaml) => yaml_tree(body).map(|decoded| Some(decoded.value)),
        Encoding::Text(BodyFormat::Json) => serde_json::from_slice(body)
            .map(|fields| Some(Value::Object(fields)))
            .map_err(|why| Status::bad_request(format!("the options cannot be read: {why}"))),
    }
}
