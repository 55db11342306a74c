//! Tests of decoding: the messages for malformed requests, unknown fields and duplicate fields.

use super::*;

const CRON_JOB: ExpectedKind<'_> = ExpectedKind { api_version: "batch/v1", kind: "CronJob" };

fn decode(text: &str) -> Result<DecodedObject, Status> {
    decode_json(text.as_bytes(), &CRON_JOB, Dialect::Punctual, UnknownFields::Keep)
}

#[test]
fn malformed_requests_are_rejected_with_the_messages_of_kubernetes() {
    let head = "CronJob in version \"v1\" cannot be handled as a CronJob: ";
    let unrecognized = "the object provided is unrecognized (must be of type CronJob): couldn't \
                        get version/kind; json parse error: ";
    for (text, want) in [
        ("", format!("{unrecognized}unexpected end of JSON input (<empty>)")),
        (
            "{\"apiVersion\":",
            format!("{unrecognized}unexpected end of JSON input ({{\"apiVersion\":)"),
        ),
        (
            "[]",
            format!(
                "{unrecognized}json: cannot unmarshal array into Go value of type struct {{ \
                 APIVersion string \"json:\\\"apiVersion,omitempty\\\"\"; Kind string \
                 \"json:\\\"kind,omitempty\\\"\" }} (5b5d)"
            ),
        ),
        (
            r#"{"kind":"Job"}"#,
            "Job in version \"v1\" cannot be handled as a CronJob: converting (v1.Job) to \
             (batch.CronJob): unknown conversion"
                .to_owned(),
        ),
        (
            r#"{"spec":{"suspend":"x"}}"#,
            format!(
                "{head}json: cannot unmarshal string into Go struct field CronJobSpec.spec.suspend \
                 of type bool"
            ),
        ),
        (
            r#"{"spec":{"startingDeadlineSeconds":"9"}}"#,
            format!(
                "{head}json: cannot unmarshal string into Go struct field \
                 CronJobSpec.spec.startingDeadlineSeconds of type int64"
            ),
        ),
        (
            r#"{"spec":{"failedJobsHistoryLimit":3000000000}}"#,
            format!(
                "{head}json: cannot unmarshal number 3000000000 into Go struct field \
                 CronJobSpec.spec.failedJobsHistoryLimit of type int32"
            ),
        ),
        (
            r#"{"spec":{"jobTemplate":{"spec":{"template":{"spec":
                {"containers":[{"image":7}]}}}}}}"#,
            format!(
                "{head}json: cannot unmarshal number into Go struct field \
                 Container.spec.jobTemplate.spec.template.spec.containers.image of type string"
            ),
        ),
    ] {
        let status = decode(text).unwrap_err();
        assert_eq!((status.code, status.message), (400, want), "{text}");
    }
}

#[test]
fn unknown_and_duplicate_fields_are_warnings_or_errors() {
    let text = r#"{"metadata":{"name":"a"},"metadata":{"name":"b"},"spec":{"schedul":"x",
        "jobTemplate":{"spec":{"template":{"spec":{"containers":[{"nme":"c"}]}}}}}}"#;
    let decoded = decode(text).unwrap();
    assert_eq!(
        decoded.field_warnings,
        [
            "unknown field \"spec.jobTemplate.spec.template.spec.containers[0].nme\"",
            "unknown field \"spec.schedul\"",
            "duplicate field \"metadata\"",
        ]
    );
    assert_eq!(decoded.value["metadata"]["name"], "b");
    assert_eq!(decoded.value["spec"]["schedul"], "x");
    let message = decoded.accept(FieldValidation::Strict, &CRON_JOB).unwrap_err().message;
    assert!(message.contains("a CronJob: strict decoding error: unknown field \"spec.jobT"));
}

#[test]
fn unknown_fields_can_be_dropped_and_null_means_absent() {
    let text = r#"{"metadata":{"labels":null},"spec":{"x":1,"schedule":"* * * * *"}}"#;
    let decoded =
        decode_json(text.as_bytes(), &CRON_JOB, Dialect::Punctual, UnknownFields::Drop).unwrap();
    assert_eq!(
        decoded.value,
        serde_json::json!({"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {},
            "spec": {"schedule": "* * * * *"}})
    );
}

#[test]
fn null_in_a_list_becomes_zero() {
    let text = r#"{"spec":{"jobTemplate":{"spec":{"template":{"spec":{"containers":[null],
        "nodeSelector":{"a":null}}}}}}}"#;
    let pod =
        decode(text).unwrap().value["spec"]["jobTemplate"]["spec"]["template"]["spec"].clone();
    assert_eq!(pod, serde_json::json!({"containers": [{}], "nodeSelector": {"a": ""}}));
}

#[test]
fn our_fields_are_unknown_in_the_strict_dialect_only() {
    let text = r#"{"spec":{"jitter":5}}"#;
    for (dialect, field_warnings) in
        [(Dialect::Punctual, vec![]), (Dialect::Kubernetes, vec!["unknown field \"spec.jitter\""])]
    {
        let decoded =
            decode_json(text.as_bytes(), &CRON_JOB, dialect, UnknownFields::Keep).unwrap();
        assert_eq!(decoded.field_warnings, field_warnings);
    }
}

#[test]
fn deeply_nested_json_is_rejected_without_deep_recursion() {
    let deep = "[".repeat(100_000);
    assert_eq!(decode(&format!("{{\"spec\":{{\"x\":{deep}")).unwrap_err().code, 400);
}

#[test]
fn objects_nested_too_deeply_are_rejected() {
    let nested = |levels: usize| {
        let deep = (0..levels).fold("1".to_owned(), |below, _| format!("{{\"d\":{below}}}"));
        let body = format!("{{\"metadata\":{{\"name\":\"a\"}},\"spec\":{{\"x\":{deep}}}}}");
        let expected = ExpectedKind { api_version: "batch/v1", kind: "CronJob" };
        decode_json(body.as_bytes(), &expected, Dialect::Punctual, UnknownFields::Keep)
            .map_err(|status| status.code)
    };
    assert!(nested(60).is_ok());
    assert_eq!(nested(63).unwrap_err(), 400);
    assert_eq!(nested(100).unwrap_err(), 400);
}
