//! Decodes objects that client-go wrote in protobuf and compares them with client-go's JSON of the
//! same objects; also decodes arbitrary bytes. See `testdata/README.md`.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use proptest::prelude::*;
use punctual_api::decode::{self, DecodedObject, ExpectedKind, UnknownFields};
use punctual_api::schema::{self, FieldType, StructSchema};
use punctual_api::status::Status;
use punctual_api::{Dialect, proto};
use serde_json::{Map, Value, json};

/// An object in both encodings.
struct EncodedObject {
    body: Vec<u8>,
    json: Value,
}

impl EncodedObject {
    fn text(&self, name: &str) -> &str {
        self.json[name].as_str().unwrap()
    }

    fn expected(&self) -> ExpectedKind<'_> {
        ExpectedKind { api_version: self.text("apiVersion"), kind: self.text("kind") }
    }

    fn is_options(&self) -> bool {
        self.text("kind") == "DeleteOptions"
    }
}

fn encoded_objects() -> Vec<EncodedObject> {
    let object = |line: &str| {
        let line: Value = serde_json::from_str(line).unwrap();
        let body = BASE64.decode(line["protobuf"].as_str().unwrap()).unwrap();
        EncodedObject { body, json: line["json"].clone() }
    };
    include_str!("../testdata/proto.jsonl").lines().map(object).collect()
}

fn read(body: &[u8], expected: &ExpectedKind<'_>) -> Result<Value, Status> {
    match expected.kind {
        "DeleteOptions" => proto::decode_delete_options(body),
        _ => {
            let decoded = checked(proto::decode_object(body, expected)?, expected)?;
            assert_eq!(decoded.field_warnings, Vec::<String>::new());
            Ok(decoded.value)
        }
    }
}

fn checked(decoded: DecodedObject, expected: &ExpectedKind<'_>) -> Result<DecodedObject, Status> {
    decode::check_object(decoded, expected, Dialect::Kubernetes, UnknownFields::Drop)
}

/// Removes nulls from a tree.
fn without_nulls(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let there = fields.iter().filter(|(_, value)| !value.is_null());
            there.map(|(name, value)| (name.clone(), without_nulls(value))).collect()
        }
        Value::Array(items) => items.iter().map(without_nulls).collect(),
        _ => value.clone(),
    }
}

#[test]
fn protobuf_and_json_decode_to_the_same_object() {
    let mut field_warnings = Vec::new();
    for object in encoded_objects() {
        let expected = object.expected();
        let json = DecodedObject { value: object.json.clone(), field_warnings: Vec::new() };
        let json = checked(json, &expected).unwrap();
        field_warnings.extend(json.field_warnings);
        let mut want = without_nulls(&json.value);
        let fields = want.as_object_mut().unwrap();
        if object.is_options() {
            fields.retain(|name, _| name != "apiVersion" && name != "kind");
        }
        if expected.kind.ends_with("Review") {
            // The server sets the status, so it is not decoded.
            fields.remove("status");
        }
        assert_eq!(read(&object.body, &expected).unwrap(), want, "{expected:?}");
    }
    // Kubernetes v1.37 removed this field.
    let removed = "unknown field \"status.nodeAllocatableResourceClaimStatuses[0].resources\"";
    assert_eq!(field_warnings, [removed]);
}

/// Collects every field of a tree, by struct.
fn collect_fields(value: &Value, struct_schema: &StructSchema, found: &mut BTreeSet<String>) {
    for (name, value) in value.as_object().into_iter().flatten() {
        let Some(field) = struct_schema.field(name) else { continue };
        found.insert(format!("{}.{name}", struct_schema.name));
        match (&field.ty, value) {
            (FieldType::Struct(id), value) => collect_fields(value, id.get(), found),
            (FieldType::List(item), Value::Array(items)) => {
                let FieldType::Struct(id) = &**item else { continue };
                for item in items {
                    collect_fields(item, id.get(), found);
                }
            }
            _ => {}
        }
    }
}

#[test]
fn the_recorded_objects_cover_every_numbered_field() {
    let mut found = BTreeSet::new();
    for object in encoded_objects() {
        let expected = object.expected();
        if let Some(struct_schema) = schema::find_kind(expected.api_version, expected.kind) {
            collect_fields(&object.json, struct_schema, &mut found);
        }
    }
    let mut missing = BTreeSet::new();
    for (message, field) in numbered_fields() {
        let struct_schema = schema::find_struct(message).unwrap();
        let name = format!("{message}.{field}");
        // Fields of an embedded struct count as fields of the enclosing struct.
        let is_embedded = ["EphemeralContainerCommon", "ProbeHandler", "VolumeSource"];
        let is_reached = !is_embedded.contains(&message);
        assert!(struct_schema.field(field).is_some(), "{name}");
        if is_reached && !found.contains(&name) {
            missing.insert(message);
        }
    }
    // Only our extensions contain conditions of this type.
    assert_eq!(missing, BTreeSet::from(["Condition"]));
    for (embedded, enclosing) in [
        ("EphemeralContainerCommon", "EphemeralContainer"),
        ("ProbeHandler", "Probe"),
        ("VolumeSource", "Volume"),
    ] {
        for (_, field) in numbered_fields().into_iter().filter(|(message, _)| *message == embedded)
        {
            assert!(found.contains(&format!("{enclosing}.{field}")), "{enclosing}.{field}");
        }
    }
}

/// Returns the messages and fields whose types come from the schema tables.
fn numbered_fields() -> Vec<(&'static str, &'static str)> {
    let mut message = "";
    let mut fields = Vec::new();
    let source = include_str!("../src/schema/proto.txt");
    for line in source.lines().filter(|line| !line.starts_with('#')) {
        if !line.starts_with(' ') {
            message = line;
            continue;
        }
        let entries = line.split_whitespace().filter(|entry| !entry.contains([':', '+']));
        fields.extend(entries.map(|entry| (message, entry.split_once('=').unwrap().0)));
    }
    fields
}

const CRON_JOB: ExpectedKind<'_> = ExpectedKind { api_version: "batch/v1", kind: "CronJob" };

fn length_delimited(number: u8, bytes: &[u8]) -> Vec<u8> {
    let mut field = vec![number << 3 | 2];
    let mut length = bytes.len();
    while length >= 0x80 {
        field.push((length & 0x7f) as u8 | 0x80);
        length >>= 7;
    }
    field.push(length as u8);
    field.extend(bytes);
    field
}

/// Returns a body whose envelope names no kind.
fn body_without_kind(raw: &[u8]) -> Vec<u8> {
    [b"k8s\0".to_vec(), length_delimited(1, &[]), length_delimited(2, raw)].concat()
}

/// Returns the body of a CronJob with these bytes as its `spec`.
fn cron_job_body(bytes: &[u8]) -> Vec<u8> {
    body_without_kind(&length_delimited(2, bytes))
}

fn tree(body: &[u8]) -> Value {
    proto::decode_object(body, &CRON_JOB).unwrap().value
}

#[test]
fn bodies_that_are_not_protobuf_are_rejected_with_the_messages_of_kubernetes() {
    let head = "the object provided is unrecognized (must be of type CronJob): ";
    let no_prefix = "provided data does not appear to be a protobuf message, expected prefix \
                     [107 56 115 0]";
    for (body, why) in [
        (&b""[..], "empty data (<empty>)".to_owned()),
        (b"{}", format!("{no_prefix} (7b7d)")),
        (b"k8s", format!("{no_prefix} (6b3873)")),
        (b"k8s\0", "empty body (6b387300)".to_owned()),
        (b"k8s\0\x12\x05", "unexpected EOF (6b3873001205)".to_owned()),
        (
            b"k8s\0\x10\x05 and so on: thirty bytes are shown",
            "proto: wrong wireType = 0 for field Raw \
             (6b387300100520616e6420736f206f6e3a20746869727479206279746573 ...)"
                .to_owned(),
        ),
    ] {
        let status = proto::decode_object(body, &CRON_JOB).unwrap_err();
        assert_eq!((status.code, status.message), (400, format!("{head}{why}")));
    }
}

#[test]
fn malformed_messages_are_rejected_with_the_messages_of_kubernetes() {
    let head = "CronJob in version \"v1\" cannot be handled as a CronJob: ";
    for (bytes, why) in [
        (&[0x0a, 9, b'x'][..], "unexpected EOF"),
        (&[0x08, 1], "proto: wrong wireType = 0 for field Schedule"),
        (&[0x12, 0], "proto: wrong wireType = 2 for field StartingDeadlineSeconds"),
        (&[0x0a, 1, 0xff], "proto: field Schedule contains invalid UTF-8"),
        (&[0x10, 0x80], "unexpected EOF"),
        (&[0x00], "proto: CronJobSpec: illegal tag 0 (wire type 0)"),
        (&[0x0c], "proto: CronJobSpec: wiretype end group for non-group"),
        (&[0xff, 0x01], "proto: illegal wireType 7"),
    ] {
        let status = proto::decode_object(&cron_job_body(bytes), &CRON_JOB).unwrap_err();
        assert_eq!((status.code, status.message), (400, format!("{head}{why}")), "{bytes:?}");
    }
}

#[test]
fn an_envelope_without_a_kind_gets_the_expected_kind() {
    let value = read(&cron_job_body(&length_delimited(1, b"@daily")), &CRON_JOB).unwrap();
    assert_eq!(
        value,
        json!({"apiVersion": "batch/v1", "kind": "CronJob", "spec": {"schedule": "@daily"}})
    );
}

#[test]
fn another_kind_or_version_is_rejected() {
    let named = |api_version: &str, kind: &str| {
        let ty =
            [length_delimited(1, api_version.as_bytes()), length_delimited(2, kind.as_bytes())]
                .concat();
        [b"k8s\0".to_vec(), length_delimited(1, &ty), length_delimited(2, b"\xff")].concat()
    };
    let refusal = |body: &[u8]| read(body, &CRON_JOB).unwrap_err().message;
    assert!(refusal(&named("batch/v1", "Job")).contains("unknown conversion"));
    assert!(refusal(&named("batch/v9", "CronJob")).contains("does not match the expected API"));
    let status = proto::decode_delete_options(&named("v1", "CronJob")).unwrap_err();
    assert_eq!(status.message, "decoded object cannot be converted to DeleteOptions");
}

#[test]
fn a_scheduled_job_in_protobuf_is_rejected() {
    let expected = ExpectedKind { api_version: "punctual.dev/v1", kind: "ScheduledJob" };
    assert_eq!(proto::decode_object(&body_without_kind(&[]), &expected).unwrap_err().code, 415);
}

#[test]
fn unknown_fields_are_skipped() {
    // Field number 15 in every wire type, including a group with a field.
    let unknown =
        [0x78, 1, 0x79, 1, 2, 3, 4, 5, 6, 7, 8, 0x7a, 1, 9, 0x7b, 0x08, 1, 0x7c, 0x7d, 1, 2, 3, 4];
    let bytes = [&unknown[..], &length_delimited(1, b"@daily"), &unknown].concat();
    assert_eq!(tree(&cron_job_body(&bytes)), json!({"spec": {"schedule": "@daily"}}));
}

#[test]
fn repeated_fields_are_merged_like_in_go() {
    let first =
        length_delimited(2, &[length_delimited(1, b"a"), vec![0x20, 1], vec![0x10, 5]].concat());
    let second = length_delimited(2, &[length_delimited(1, b"b"), vec![0x20, 0]].concat());
    assert_eq!(
        tree(&body_without_kind(&[first, second].concat())),
        json!({"spec": {"schedule": "b", "suspend": false, "startingDeadlineSeconds": 5}})
    );
    let label =
        |value: &[u8]| length_delimited(11, &[length_delimited(1, b"k"), value.to_vec()].concat());
    let labels =
        [label(&length_delimited(2, b"1")), label(&[]), length_delimited(11, &[])].concat();
    let value = tree(&body_without_kind(&length_delimited(1, &labels)));
    assert_eq!(value, json!({"metadata": {"labels": {"k": "", "": ""}}}));
}

#[test]
fn packed_and_unpacked_numbers_are_read() {
    let values = [0x18, 1, 0x1a, 2, 2, 3, 0x1a, 0, 0x18, 4];
    let codes = length_delimited(1, &length_delimited(2, &values));
    let job = length_delimited(2, &length_delimited(11, &codes));
    let value = tree(&cron_job_body(&length_delimited(5, &job)));
    let rule = &value["spec"]["jobTemplate"]["spec"]["podFailurePolicy"]["rules"][0];
    assert_eq!(rule["onExitCodes"]["values"], json!([1, 2, 3, 4]));
}

/// Returns the approximate memory of a tree.
fn memory_size(value: &Value) -> usize {
    let own = size_of::<Value>();
    own + match value {
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(memory_size).sum(),
        Value::Object(fields) => memory_size_of_fields(fields),
        _ => 0,
    }
}

fn memory_size_of_fields(fields: &Map<String, Value>) -> usize {
    fields.iter().map(|(name, value)| size_of::<String>() + name.len() + memory_size(value)).sum()
}

/// A field of two bytes may add a name of 48 bytes, in a message of two bytes.
const MEMORY_PER_BYTE_MAX: usize = 80;

fn check_limits(body: &[u8], expected: &ExpectedKind<'_>) {
    let result = match expected.kind {
        "DeleteOptions" => proto::decode_delete_options(body),
        _ => proto::decode_object(body, expected).map(|decoded| decoded.value),
    };
    match result {
        Ok(value) => {
            assert!(
                memory_size(&value) <= MEMORY_PER_BYTE_MAX * (body.len() + 1),
                "{}",
                body.len()
            );
            let decoded = DecodedObject { value, field_warnings: Vec::new() };
            let _ =
                decode::check_object(decoded, expected, Dialect::Kubernetes, UnknownFields::Drop);
        }
        Err(status) => assert!([400, 415].contains(&status.code)),
    }
}

#[test]
fn truncated_bodies_are_rejected_except_between_fields_of_the_envelope() {
    for object in encoded_objects().iter().filter(|object| !object.is_options()) {
        let expected = object.expected();
        let whole = proto::decode_object(&object.body, &expected).unwrap().value;
        let without_object = json!({"apiVersion": expected.api_version, "kind": expected.kind});
        for length in 0..object.body.len() {
            if let Ok(cut) = proto::decode_object(&object.body[..length], &expected) {
                let is_a_part = cut.value == whole || cut.value == without_object;
                assert!(is_a_part, "{expected:?} {length}");
            }
        }
    }
}

#[test]
fn the_tree_of_many_empty_items_stays_small() {
    // Containers of two bytes each, then numbers of one byte each.
    let containers = length_delimited(2, &[0x12, 0].repeat(100_000));
    check_limits(&body_without_kind(&containers), &ExpectedKind { api_version: "v1", kind: "Pod" });
    let numbers = length_delimited(1, &length_delimited(2, &length_delimited(3, &[0; 100_000])));
    check_limits(
        &cron_job_body(&length_delimited(5, &length_delimited(2, &length_delimited(11, &numbers)))),
        &CRON_JOB,
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1024))]

    #[test]
    fn arbitrary_bytes_never_panic(raw in prop::collection::vec(any::<u8>(), 0..200)) {
        check_limits(&raw, &CRON_JOB);
        for object in encoded_objects() {
            check_limits(&body_without_kind(&raw), &object.expected());
        }
    }

    #[test]
    fn mutated_objects_never_panic(
        which in any::<prop::sample::Index>(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
        cut in any::<prop::sample::Index>(),
        is_cut in any::<bool>(),
    ) {
        let objects = encoded_objects();
        let object = which.get(&objects);
        let mut body = object.body.clone();
        for (index, byte) in changes {
            let index = index.index(body.len());
            body[index] = byte;
        }
        if is_cut {
            body.truncate(cut.index(body.len()));
        }
        check_limits(&body, &object.expected());
    }
}
