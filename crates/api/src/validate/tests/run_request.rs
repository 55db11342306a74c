//! Tests of the validation of RunRequests.

use super::*;

fn request() -> Value {
    json!({
        "apiVersion": "punctual.dev/v1", "kind": "RunRequest",
        "metadata": {"name": "r", "namespace": "n", "uid": "u", "resourceVersion": "1"},
        "spec": {"target": {"name": "backup"}, "now": true},
    })
}

/// A request whose spec has these fields besides the target.
fn request_for(spec: Value) -> Value {
    let mut request = with(request(), &[("/spec", spec)]);
    set(&mut request, "/spec/target", json!({"name": "backup"}));
    request
}

fn read(mut object: Value) -> RunRequest {
    defaults::run_request(&mut object);
    serde_json::from_value(object).unwrap()
}

#[track_caller]
fn check_spec(spec: Value, want: &[&str]) {
    check(run_request_create(&read(request_for(spec))), want);
}

#[test]
fn exactly_one_way_to_choose_runs_is_required() {
    const FROM: &str = "2026-11-01T00:00:00Z";
    const TO: &str = "2026-11-02T00:00:00Z";
    for valid in [
        json!({"now": true}),
        json!({"now": true, "slots": []}),
        json!({"now": false, "slots": [FROM]}),
        json!({"slots": [TO, FROM]}),
        json!({"from": FROM, "to": TO}),
    ] {
        check_spec(valid, &[]);
    }
    let nothing = "spec: Required value: must specify one of: `now`, `slots`, or `from` and `to`";
    check_spec(json!({}), &[nothing]);
    check_spec(json!({"now": false, "slots": []}), &[nothing]);
    check_spec(
        json!({"now": true, "slots": [FROM], "from": FROM, "to": TO}),
        &[
            "spec.slots: Forbidden: may not be set together with `now`",
            "spec.from: Forbidden: may not be set together with `now`",
        ],
    );
    check_spec(
        json!({"slots": [FROM], "to": TO}),
        &[
            "spec.to: Forbidden: may not be set together with `slots`",
            "spec.from: Required value: must be set together with `to`",
        ],
    );
    check_spec(
        json!({"from": FROM}),
        &["spec.to: Required value: must be set together with `from`"],
    );
}

#[test]
fn an_interval_ends_after_it_begins() {
    for from in ["2026-11-02T00:00:00Z", "2026-11-02T00:00:00.9Z", "2026-11-02T02:00:00+01:00"] {
        check_spec(
            json!({"from": from, "to": "2026-11-02T00:00:00Z"}),
            &["spec.to: Invalid value: \"2026-11-02T00:00:00Z\": must be later than `from`"],
        );
    }
    check_spec(json!({"from": "2026-11-01T23:59:59Z", "to": "2026-11-02T00:00:00Z"}), &[]);
}

#[test]
fn slots_are_different_and_at_most_ten_thousand() {
    check_spec(
        json!({"slots": ["2026-11-02T00:00:00Z", "2026-11-02T01:00:00+01:00", "2026-11-02T00:00:00Z"]}),
        &["spec.slots[1]: Duplicate value: \"2026-11-02T00:00:00Z\""],
    );
    let slots = |count: i64| -> Value {
        let at = |i| jiff::Timestamp::from_second(1_700_000_000 + 60 * i).unwrap().to_string();
        (0..count).map(at).collect()
    };
    check_spec(json!({"slots": slots(10_000)}), &[]);
    check_spec(
        json!({"slots": slots(10_001)}),
        &["spec.slots: Too many: 10001: must have at most 10000 items"],
    );
    let absent =
        json!({"spec": {"slots": ["2026-11-02T00:00:00Z", null]}, "status": {"slots": [{}]}});
    check(
        run_request_absent_slots(&absent),
        &["spec.slots[1]: Required value", "status.slots[0].slot: Required value"],
    );
}

#[test]
fn texts_and_numbers_have_supported_values() {
    check_spec(
        json!({"now": true, "runs": "missing", "concurrencyPolicy": "Forbid", "parallelism": 0,
            "order": "Newest", "ttlSecondsAfterFinished": -1}),
        &[
            "spec.runs: Unsupported value: \"missing\": supported values: \"Missing\", \"Failed\", \"All\"",
            "spec.concurrencyPolicy: Unsupported value: \"Forbid\": supported values: \"Allow\", \"Replace\"",
            "spec.parallelism: Invalid value: 0: must be between 1 and 1000, inclusive",
            "spec.order: Unsupported value: \"Newest\": supported values: \"OldestFirst\", \"NewestFirst\"",
            "spec.ttlSecondsAfterFinished: Invalid value: -1: must be greater than or equal to 0",
        ],
    );
    check_spec(
        json!({"now": true, "runs": "All", "concurrencyPolicy": "Replace", "parallelism": 1000,
            "order": "NewestFirst", "ttlSecondsAfterFinished": 0, "suspend": true}),
        &[],
    );
    let mut other = request();
    set(&mut other, "/spec/target", json!({"kind": "Job", "name": "Upper"}));
    let errors = run_request_create(&read(other));
    assert_eq!(errors.len(), 2, "{errors:?}");
    assert_eq!(
        errors[0].to_string(),
        "spec.target.kind: Unsupported value: \"Job\": supported values: \"CronJob\", \"ScheduledJob\""
    );
    assert_eq!(errors[1].path, "spec.target.name");
    check(
        run_request_create(&read(with(request(), &[("/spec/target", json!({}))]))),
        &["spec.target.name: Required value"],
    );
}

#[test]
fn overrides_follow_the_rules_of_containers() {
    let overridden =
        |containers: Value| json!({"now": true, "overrides": {"containers": containers}});
    check_spec(
        overridden(json!([{
            "name": "main", "args": [],
            "env": [
                {"name": "A", "value": "x"},
                {"name": "B", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
                {"name": "C", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}},
            ],
        }])),
        &[],
    );
    check_spec(
        overridden(json!([
            {"name": "main", "env": [
                {"name": ""},
                {"name": "A", "value": "x", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}},
                {"name": "A"},
                {"name": "B", "valueFrom": {"fieldRef": {"fieldPath": "spec.containers"}}},
            ]},
            {"name": "main"},
            {"name": ""},
        ])),
        &[
            "spec.overrides.containers[0].env[0].name: Required value",
            "spec.overrides.containers[0].env[1].valueFrom: Invalid value: \"\": may not be specified when `value` is not empty",
            "spec.overrides.containers[0].env[3].valueFrom.fieldRef.fieldPath: Invalid value: \"spec.containers\": error converting fieldPath: field label not supported: spec.containers",
            "spec.overrides.containers[0].env[2].name: Duplicate value: \"A\"",
            "spec.overrides.containers[1].name: Duplicate value: \"main\"",
            "spec.overrides.containers[2].name: Required value",
        ],
    );
}

#[test]
fn overrides_have_a_limited_size() {
    let container = |fields: Value| {
        let mut container = fields;
        set(&mut container, "/name", json!("main"));
        json!({"now": true, "overrides": {"containers": [container]}})
    };
    check_spec(
        container(json!({"args": vec!["x"; 1_001]})),
        &["spec.overrides.containers[0].args: Too many: 1001: must have at most 1000 items"],
    );
    check_spec(container(json!({"args": ["x".repeat(131_071)]})), &[]);
    check_spec(
        container(json!({"args": ["x", "x".repeat(131_072)]})),
        &["spec.overrides.containers[0].args[1]: Too long: may not be more than 131071 bytes"],
    );
    check_spec(
        container(json!({"env": vec![json!({"name": "A"}); 1_001]})),
        &["spec.overrides.containers[0].env: Too many: 1001: must have at most 1000 items"],
    );
    let containers: Vec<_> = (0..65).map(|i| json!({"name": format!("c{i}")})).collect();
    check_spec(
        json!({"now": true, "overrides": {"containers": containers}}),
        &["spec.overrides.containers: Too many: 65: must have at most 64 items"],
    );
}

#[test]
fn only_suspension_parallelism_and_ttl_change_after_the_creation() {
    let old = request_for(json!({"slots": ["2026-11-02T00:00:00Z"]}));
    let update = |spec: Value| run_request_update(&read(request_for(spec)), &read(old.clone()));
    let slots = json!(["2026-11-02T00:00:00Z"]);
    check(
        update(json!({"slots": slots, "suspend": true, "parallelism": 3,
            "ttlSecondsAfterFinished": 5})),
        &[],
    );
    let changes = json!({"from": "2026-11-01T00:00:00Z", "to": "2026-11-02T00:00:00Z", "runs": "All",
        "concurrencyPolicy": "Allow", "order": "NewestFirst",
        "overrides": {"containers": [{"name": "c"}]}});
    let errors: Vec<_> = update(changes).iter().map(|error| error.to_string()).collect();
    let immutable = ["slots", "from", "to", "runs", "concurrencyPolicy", "order", "overrides"];
    let want = immutable.map(|name| format!("spec.{name}: Invalid value: field is immutable"));
    assert_eq!(errors, want);
    let renamed = with(old.clone(), &[("/spec/target/name", json!("other"))]);
    check(
        run_request_update(&read(renamed), &read(old)),
        &["spec.target: Invalid value: field is immutable"],
    );
}

#[test]
fn a_status_counts_consistently_and_keeps_what_was_decided() {
    let with_status = |status: Value| read(with(request(), &[("/status", status)]));
    let accepted = json!({"targetUID": "t", "acceptedTime": "2026-11-02T00:00:00Z", "total": 3});
    let old = with_status(accepted.clone());
    let progress = with(
        accepted.clone(),
        &[
            ("/started", json!(2)),
            ("/skipped", json!(1)),
            ("/succeeded", json!(1)),
            ("/failed", json!(1)),
        ],
    );
    check(run_request_status_update(&with_status(progress.clone()), &old), &[]);
    check(run_request_status_update(&old, &with_status(json!({}))), &[]);
    let wrong =
        with(progress, &[("/failed", json!(2)), ("/total", json!(2)), ("/targetUID", json!("v"))]);
    check(
        run_request_status_update(&with_status(wrong), &old),
        &[
            "status.started: Invalid value: 2: `started` and `skipped` may not exceed `total`",
            "status.succeeded: Invalid value: 1: `succeeded` and `failed` may not exceed `started`",
            "status.targetUID: Invalid value: field is immutable",
            "status.total: Invalid value: field is immutable",
        ],
    );
    let completed = with_status(json!({"completionTime": "2026-11-02T00:00:00Z"}));
    check(
        run_request_status_update(&with_status(json!({"skipped": -1})), &completed),
        &[
            "status.skipped: Invalid value: -1: must be between 0 and 10000, inclusive",
            "status.completionTime: Invalid value: field is immutable",
        ],
    );
}
