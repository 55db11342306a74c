//! Bodies in protobuf, as kubectl and programs of client-go send them.
//!
//! A body is read into the tree that the JSON of the same object would give, and then takes the
//! same way: see [`decode::tree`](crate::decode::tree). Nothing is ever written in protobuf, since
//! every client reads JSON too. `wire` knows the encoding, `table` the messages, `build` makes the
//! tree and `leaf` the values that are messages of their own on the wire only.
//!
//! Depth is bounded, memory by a small multiple of the input, and time by its length.

mod build;
mod leaf;
mod table;
mod wire;

use serde_json::{Map, Value};

use self::wire::Reader;
use crate::decode::{DecodedObject, ExpectedKind};
use crate::status::{Status, StatusReason};

/// What every body begins with.
const PREFIX: [u8; 4] = *b"k8s\0";
/// Bytes of a body that are shown if nothing can be made of it.
const SHOWN_MAX: usize = 30;

/// Reads the object of a request; [`decode::tree`](crate::decode::tree) is to check it.
///
/// An object of another kind is not read beyond its kind, which that check refuses.
pub fn decode_object(body: &[u8], expected: &ExpectedKind<'_>) -> Result<DecodedObject, Status> {
    let envelope = Envelope::read(body).map_err(|why| unrecognized(expected.kind, &why, body))?;
    let is_as_expected = is_or_empty(envelope.kind, expected.kind)
        && is_or_empty(envelope.api_version, expected.api_version);
    let mut fields = match is_as_expected {
        true => fields(&envelope, expected)?,
        false => Map::new(),
    };
    for (name, text) in [("apiVersion", envelope.api_version), ("kind", envelope.kind)] {
        if !text.is_empty() {
            fields.insert(name.to_owned(), text.into());
        }
    }
    Ok(DecodedObject { value: fields.into(), field_warnings: Vec::new() })
}

/// Reads the options of a delete, which may be said to be of any group.
pub fn decode_delete_options(body: &[u8]) -> Result<Value, Status> {
    const OPTIONS: ExpectedKind<'_> =
        ExpectedKind { api_version: "meta.k8s.io/v1", kind: "DeleteOptions" };
    let envelope = Envelope::read(body).map_err(|why| unrecognized(OPTIONS.kind, &why, body))?;
    if !is_or_empty(envelope.kind, OPTIONS.kind) {
        return Err(Status::bad_request("decoded object cannot be converted to DeleteOptions"));
    }
    fields(&envelope, &OPTIONS).map(Value::Object)
}

fn is_or_empty(text: &str, expected: &str) -> bool {
    text.is_empty() || text == expected
}

fn fields(
    envelope: &Envelope<'_>,
    expected: &ExpectedKind<'_>,
) -> Result<Map<String, Value>, Status> {
    let (api_version, kind) = (expected.api_version, expected.kind);
    let message = table::of_kind(api_version, kind).ok_or_else(has_no_messages)?;
    build::fields(envelope.raw, message).map_err(|why| {
        let version = api_version.rsplit('/').next().unwrap_or_default();
        Status::bad_request(format!(
            "{kind} in version \"{version}\" cannot be handled as a {kind}: {why}"
        ))
    })
}

/// As Kubernetes says it of custom resources.
fn has_no_messages() -> Status {
    Status::failure(
        StatusReason::UnsupportedMediaType,
        "the body of the request was in an unknown format - accepted media types include: \
         application/json, application/yaml",
    )
}

fn unrecognized(kind: &str, why: &str, body: &[u8]) -> Status {
    let shown = match body {
        [] => "<empty>".to_owned(),
        _ => body.iter().take(SHOWN_MAX).map(|byte| format!("{byte:02x}")).collect(),
    };
    let more = if body.len() > SHOWN_MAX { " ..." } else { "" };
    Status::bad_request(format!(
        "the object provided is unrecognized (must be of type {kind}): {why} ({shown}{more})"
    ))
}

/// What is around every object (`runtime.Unknown`).
#[derive(Debug, Default)]
struct Envelope<'a> {
    api_version: &'a str,
    kind: &'a str,
    raw: &'a [u8],
}

impl<'a> Envelope<'a> {
    fn read(body: &'a [u8]) -> Result<Envelope<'a>, String> {
        if body.is_empty() {
            return Err("empty data".to_owned());
        }
        let message = body.strip_prefix(&PREFIX).ok_or(
            "provided data does not appear to be a protobuf message, expected prefix \
             [107 56 115 0]",
        )?;
        if message.is_empty() {
            return Err("empty body".to_owned());
        }
        let mut envelope = Envelope::default();
        let mut reader = Reader::new(message);
        while let Some(tag) = reader.tag("Unknown")? {
            match tag.number {
                1 => envelope.read_type(reader.bytes(tag, "TypeMeta")?)?,
                2 => envelope.raw = reader.bytes(tag, "Raw")?,
                _ => reader.skip(tag)?,
            }
        }
        Ok(envelope)
    }

    fn read_type(&mut self, message: &'a [u8]) -> Result<(), String> {
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
