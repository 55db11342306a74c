//! Objects that client-go wrote in protobuf, beside the JSON that it wrote of the same objects; and
//! bytes that nobody wrote. See `testdata/README.md`.

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

/// The same object in both encodings.
struct Pair {
    body: Vec<u8>,
    json: Value,
}

impl Pair {
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

fn pairs() -> Vec<Pair> {
    let pair = |line: &str| {
        let line: Value = serde_json::from_str(line).unwrap();
        let body = BASE64.decode(line["protobuf"].as_str().unwrap()).unwrap();
        Pair { body, json: line["json"].clone() }
    };
    include_str!("../testdata/proto.jsonl").lines().map(pair).collect()
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
    decode::check_object(decoded, expected, Dialect::Strict, UnknownFields::Drop)
}

/// The tree without what is null in it.
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
fn an_object_in_protobuf_is_the_object_in_json() {
    let mut field_warnings = Vec::new();
    for pair in pairs() {
        let expected = pair.expected();
        let json = DecodedObject { value: pair.json.clone(), field_warnings: Vec::new() };
        let json = checked(json, &expected).unwrap();
        field_warnings.extend(json.field_warnings);
        let mut want = without_nulls(&json.value);
        let fields = want.as_object_mut().unwrap();
        if pair.is_options() {
            fields.retain(|name, _| name != "apiVersion" && name != "kind");
        }
        if expected.kind.ends_with("Review") {
            // The answer is ours to give, so it is not read.
            fields.remove("status");
        }
        assert_eq!(read(&pair.body, &expected).unwrap(), want, "{expected:?}");
    }
    // Kubernetes v1.37 has no such field any more.
    let gone = "unknown field \"status.nodeAllocatableResourceClaimStatuses[0].resources\"";
    assert_eq!(field_warnings, [gone]);
}

/// Notes every field that a tree has, by its struct.
fn note(value: &Value, shape: &StructSchema, seen: &mut BTreeSet<String>) {
    for (name, value) in value.as_object().into_iter().flatten() {
        let Some(field) = shape.field(name) else { continue };
        seen.insert(format!("{}.{name}", shape.name));
        match (&field.ty, value) {
            (FieldType::Struct(id), value) => note(value, id.get(), seen),
            (FieldType::List(item), Value::Array(items)) => {
                let FieldType::Struct(id) = &**item else { continue };
                items.iter().for_each(|item| note(item, id.get(), seen));
            }
            _ => {}
        }
    }
}

#[test]
fn the_objects_have_every_field_that_has_a_number() {
    let mut seen = BTreeSet::new();
    for pair in pairs() {
        let expected = pair.expected();
        if let Some(shape) = schema::find_kind(expected.api_version, expected.kind) {
            note(&pair.json, shape, &mut seen);
        }
    }
    let mut unseen = BTreeSet::new();
    for (message, field) in numbered() {
        let (shape, name) = (schema::find_struct(message).unwrap(), format!("{message}.{field}"));
        // Fields of an embedded struct are seen as fields of the struct around it.
        let is_embedded = ["EphemeralContainerCommon", "ProbeHandler", "VolumeSource"];
        let is_reached = !is_embedded.contains(&message);
        assert!(shape.field(field).is_some(), "{name}");
        if is_reached && !seen.contains(&name) {
            unseen.insert(message);
        }
    }
    // Conditions of this kind are only in fields of ours.
    assert_eq!(unseen, BTreeSet::from(["Condition"]));
    for (embedded, around) in [
        ("EphemeralContainerCommon", "EphemeralContainer"),
        ("ProbeHandler", "Probe"),
        ("VolumeSource", "Volume"),
    ] {
        for (_, field) in numbered().into_iter().filter(|(message, _)| *message == embedded) {
            assert!(seen.contains(&format!("{around}.{field}")), "{around}.{field}");
        }
    }
}

/// The messages and fields of the table whose types are those of the schema.
fn numbered() -> Vec<(&'static str, &'static str)> {
    let (mut message, mut fields) = ("", Vec::new());
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

fn stretch(number: u8, bytes: &[u8]) -> Vec<u8> {
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

/// A body whose envelope says nothing about what is in it.
fn bare(raw: &[u8]) -> Vec<u8> {
    [b"k8s\0".to_vec(), stretch(1, &[]), stretch(2, raw)].concat()
}

/// A body of a CronJob with these bytes for its `spec`.
fn spec(bytes: &[u8]) -> Vec<u8> {
    bare(&stretch(2, bytes))
}

fn tree(body: &[u8]) -> Value {
    proto::decode_object(body, &CRON_JOB).unwrap().value
}

#[test]
fn a_body_that_is_no_protobuf_is_refused_in_kubernetes_words() {
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
fn a_message_with_a_fault_is_refused_in_kubernetes_words() {
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
        let status = proto::decode_object(&spec(bytes), &CRON_JOB).unwrap_err();
        assert_eq!((status.code, status.message), (400, format!("{head}{why}")), "{bytes:?}");
    }
}

#[test]
fn an_envelope_that_names_no_kind_holds_what_is_expected() {
    let value = read(&spec(&stretch(1, b"@daily")), &CRON_JOB).unwrap();
    assert_eq!(
        value,
        json!({"apiVersion": "batch/v1", "kind": "CronJob", "spec": {"schedule": "@daily"}})
    );
}

#[test]
fn another_kind_or_version_is_refused() {
    let named = |api_version: &str, kind: &str| {
        let ty = [stretch(1, api_version.as_bytes()), stretch(2, kind.as_bytes())].concat();
        [b"k8s\0".to_vec(), stretch(1, &ty), stretch(2, b"\xff")].concat()
    };
    let refusal = |body: &[u8]| read(body, &CRON_JOB).unwrap_err().message;
    assert!(refusal(&named("batch/v1", "Job")).contains("unknown conversion"));
    assert!(refusal(&named("batch/v9", "CronJob")).contains("does not match the expected API"));
    let status = proto::decode_delete_options(&named("v1", "CronJob")).unwrap_err();
    assert_eq!(status.message, "decoded object cannot be converted to DeleteOptions");
}

#[test]
fn a_kind_of_ours_has_no_messages() {
    let expected = ExpectedKind { api_version: "punctual.dev/v1", kind: "ScheduledJob" };
    assert_eq!(proto::decode_object(&bare(&[]), &expected).unwrap_err().code, 415);
}

#[test]
fn fields_that_nobody_knows_are_skipped() {
    // Number 15 in every wire type, a group with a field in it included.
    let unknown =
        [0x78, 1, 0x79, 1, 2, 3, 4, 5, 6, 7, 8, 0x7a, 1, 9, 0x7b, 0x08, 1, 0x7c, 0x7d, 1, 2, 3, 4];
    let bytes = [&unknown[..], &stretch(1, b"@daily"), &unknown].concat();
    assert_eq!(tree(&spec(&bytes)), json!({"spec": {"schedule": "@daily"}}));
}

#[test]
fn what_is_given_twice_is_merged_as_in_go() {
    let first = stretch(2, &[stretch(1, b"a"), vec![0x20, 1], vec![0x10, 5]].concat());
    let second = stretch(2, &[stretch(1, b"b"), vec![0x20, 0]].concat());
    assert_eq!(
        tree(&bare(&[first, second].concat())),
        json!({"spec": {"schedule": "b", "suspend": false, "startingDeadlineSeconds": 5}})
    );
    let label = |value: &[u8]| stretch(11, &[stretch(1, b"k"), value.to_vec()].concat());
    let labels = [label(&stretch(2, b"1")), label(&[]), stretch(11, &[])].concat();
    let value = tree(&bare(&stretch(1, &labels)));
    assert_eq!(value, json!({"metadata": {"labels": {"k": "", "": ""}}}));
}

#[test]
fn numbers_may_be_packed_or_not() {
    let values = [0x18, 1, 0x1a, 2, 2, 3, 0x1a, 0, 0x18, 4];
    let codes = stretch(1, &stretch(2, &values));
    let job = stretch(2, &stretch(11, &codes));
    let value = tree(&spec(&stretch(5, &job)));
    let rule = &value["spec"]["jobTemplate"]["spec"]["podFailurePolicy"]["rules"][0];
    assert_eq!(rule["onExitCodes"]["values"], json!([1, 2, 3, 4]));
}

/// What a tree takes in memory, roughly.
fn weight(value: &Value) -> usize {
    let own = size_of::<Value>();
    own + match value {
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(weight).sum(),
        Value::Object(fields) => weight_of_fields(fields),
        _ => 0,
    }
}

fn weight_of_fields(fields: &Map<String, Value>) -> usize {
    fields.iter().map(|(name, value)| size_of::<String>() + name.len() + weight(value)).sum()
}

/// A field of two bytes may bring a name of 48 with it, in a message of two bytes.
const WEIGHT_PER_BYTE_MAX: usize = 80;

fn survives(body: &[u8], expected: &ExpectedKind<'_>) {
    let result = match expected.kind {
        "DeleteOptions" => proto::decode_delete_options(body),
        _ => proto::decode_object(body, expected).map(|decoded| decoded.value),
    };
    match result {
        Ok(value) => {
            assert!(weight(&value) <= WEIGHT_PER_BYTE_MAX * (body.len() + 1), "{}", body.len());
            let decoded = DecodedObject { value, field_warnings: Vec::new() };
            let _ = decode::check_object(decoded, expected, Dialect::Strict, UnknownFields::Drop);
        }
        Err(status) => assert!([400, 415].contains(&status.code)),
    }
}

#[test]
fn a_body_that_is_cut_off_is_refused_unless_it_is_cut_between_parts_of_the_envelope() {
    for pair in pairs().iter().filter(|pair| !pair.is_options()) {
        let expected = pair.expected();
        let whole = proto::decode_object(&pair.body, &expected).unwrap().value;
        let without_object = json!({"apiVersion": expected.api_version, "kind": expected.kind});
        for length in 0..pair.body.len() {
            if let Ok(cut) = proto::decode_object(&pair.body[..length], &expected) {
                let is_a_part = cut.value == whole || cut.value == without_object;
                assert!(is_a_part, "{expected:?} {length}");
            }
        }
    }
}

#[test]
fn a_list_of_nothing_takes_no_more_than_its_share() {
    // Two bytes each: containers without a name, and then numbers of one byte each.
    let containers = stretch(2, &[0x12, 0].repeat(100_000));
    survives(&bare(&containers), &ExpectedKind { api_version: "v1", kind: "Pod" });
    let numbers = stretch(1, &stretch(2, &stretch(3, &[0; 100_000])));
    survives(&spec(&stretch(5, &stretch(2, &stretch(11, &numbers)))), &CRON_JOB);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1024))]

    #[test]
    fn any_bytes_are_read_or_refused(raw in prop::collection::vec(any::<u8>(), 0..200)) {
        survives(&raw, &CRON_JOB);
        for pair in pairs() {
            survives(&bare(&raw), &pair.expected());
        }
    }

    #[test]
    fn mutated_objects_are_read_or_refused(
        which in any::<prop::sample::Index>(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
        cut in any::<prop::sample::Index>(),
        is_cut in any::<bool>(),
    ) {
        let pairs = pairs();
        let pair = which.get(&pairs);
        let mut body = pair.body.clone();
        for (place, byte) in changes {
            let place = place.index(body.len());
            body[place] = byte;
        }
        if is_cut {
            body.truncate(cut.index(body.len()));
        }
        survives(&body, &pair.expected());
    }
}
