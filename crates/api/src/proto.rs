//! Decodes request bodies in protobuf, as sent by kubectl and client-go.
//!
//! A body becomes the tree that the JSON of the same object gives;
//! [`decode::check_object`](crate::decode::check_object) then checks it. Responses are never
//! protobuf, because every client also reads JSON. `wire` reads the encoding, `table` knows the
//! messages, `message` builds the tree, and `value` reads values that are messages only in
//! protobuf.
//!
//! Depth is limited, memory is a small multiple of the input, and time is linear in its length.

mod error;
mod message;
mod table;
mod value;
mod wire;

use serde_json::{Map, Value};

use self::error::ProtoError;
use self::wire::Reader;
use crate::decode::{DecodedObject, ExpectedKind};
use crate::status::{Status, StatusReason};

/// The prefix of every body.
const PREFIX: [u8; 4] = *b"k8s\0";
/// How many bytes of an unreadable body the error message shows.
const SHOWN_MAX: usize = 30;

/// Decodes the object of a request; [`decode::check_object`](crate::decode::check_object) must
/// check the result.
///
/// Does not decode the fields of an unexpected kind, which that check rejects.
pub fn decode_object(body: &[u8], expected: &ExpectedKind<'_>) -> Result<DecodedObject, Status> {
    let envelope = Envelope::read(body).map_err(|why| unrecognized(expected.kind, &why, body))?;
    let is_as_expected = is_or_empty(envelope.kind, expected.kind)
        && is_or_empty(envelope.api_version, expected.api_version);
    let mut fields = if is_as_expected { decode_fields(&envelope, expected)? } else { Map::new() };
    for (name, text) in [("apiVersion", envelope.api_version), ("kind", envelope.kind)] {
        if !text.is_empty() {
            fields.insert(name.to_owned(), text.into());
        }
    }
    Ok(DecodedObject { value: fields.into(), field_warnings: Vec::new() })
}

/// Decodes delete options, whose `apiVersion` may name any group.
pub fn decode_delete_options(body: &[u8]) -> Result<Value, Status> {
    const OPTIONS: ExpectedKind<'_> =
        ExpectedKind { api_version: "meta.k8s.io/v1", kind: "DeleteOptions" };
    let envelope = Envelope::read(body).map_err(|why| unrecognized(OPTIONS.kind, &why, body))?;
    if !is_or_empty(envelope.kind, OPTIONS.kind) {
        return Err(Status::bad_request("decoded object cannot be converted to DeleteOptions"));
    }
    decode_fields(&envelope, &OPTIONS).map(Value::Object)
}

fn is_or_empty(text: &str, expected: &str) -> bool {
    text.is_empty() || text == expected
}

fn decode_fields(
    envelope: &Envelope<'_>,
    expected: &ExpectedKind<'_>,
) -> Result<Map<String, Value>, Status> {
    let ExpectedKind { api_version, kind } = *expected;
    let message = table::find_kind(api_version, kind).ok_or_else(unsupported_media_type)?;
    message::decode_fields(envelope.raw, message).map_err(|why| {
        let version = api_version.rsplit('/').next().unwrap_or_default();
        Status::bad_request(format!(
            "{kind} in version \"{version}\" cannot be handled as a {kind}: {why}"
        ))
    })
}

/// The response of Kubernetes for custom resources.
fn unsupported_media_type() -> Status {
    Status::failure(
        StatusReason::UnsupportedMediaType,
        "the body of the request was in an unknown format - accepted media types include: \
         application/json, application/yaml",
    )
}

fn unrecognized(kind: &str, error: &ProtoError, body: &[u8]) -> Status {
    let shown = match body {
        [] => "<empty>".to_owned(),
        _ => body.iter().take(SHOWN_MAX).map(|byte| format!("{byte:02x}")).collect(),
    };
    let more = if body.len() > SHOWN_MAX { " ..." } else { "" };
    Status::bad_request(format!(
        "the object provided is unrecognized (must be of type {kind}): {error} ({shown}{more})"
    ))
}

/// The envelope around every object (`runtime.Unknown`).
#[derive(Debug, Default)]
struct Envelope<'a> {
    api_version: &'a str,
    kind: &'a str,
    raw: &'a [u8],
}

impl<'a> Envelope<'a> {
    fn read(body: &'a [u8]) -> Result<Envelope<'a>, ProtoError> {
        if body.is_empty() {
            return Err(ProtoError::EmptyData);
        }
        let message = body.strip_prefix(&PREFIX).ok_or(ProtoError::WrongPrefix)?;
        if message.is_empty() {
            return Err(ProtoError::EmptyBody);
        }
        let mut envelope = Envelope::default();
        let mut reader = Reader::new(message);
        while let Some(tag) = reader.tag("Unknown")? {
            match tag.number {
                1 => envelope.read_type_meta(reader.bytes(tag, "TypeMeta")?)?,
                2 => envelope.raw = reader.bytes(tag, "Raw")?,
                _ => reader.skip(tag)?,
            }
        }
        Ok(envelope)
    }

    fn read_type_meta(&mut self, message: &'a [u8]) -> Result<(), ProtoError> {
        let mut reader = Reader::new(message);
        while let Some(tag) = reader.tag("TypeMeta")? {
            match tag.number {
                1 => self.api_version = reader.text(tag, "APIVersion")?,
                2 => self.kind = reader.text(tag, "Kind")?,
                _ => reader.skip(tag)?,
            }
        }
        Ok(())
    }
}
