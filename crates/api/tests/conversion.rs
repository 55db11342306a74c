//! Conversion between the kinds preserves every CronJob.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

use proptest::collection::{btree_map, vec};
use proptest::option::of;
use proptest::prelude::*;
use punctual_api::convert::EventVersion;
use punctual_api::{CronJob, CronJobKind, convert};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

/// Generates JSON with unusual numbers and texts, a few levels deep.
fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (-1e6..1e6f64).prop_map(Value::from),
        ".*".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            btree_map(".{1,8}", inner, 0..4).prop_map(|map| map.into_iter().collect()),
        ]
    })
}

/// Generates fields that no version declares.
fn unknown_fields() -> impl Strategy<Value = Map<String, Value>> {
    btree_map("x-[a-z]{1,6}", any_json(), 0..3).prop_map(|map| map.into_iter().collect())
}

/// Generates a template as JSON text, with or without white space.
fn any_template() -> impl Strategy<Value = Box<RawValue>> {
    (any_json(), any::<bool>()).prop_map(|(value, is_pretty)| {
        let object = json!({"spec": value});
        let text = if is_pretty {
            serde_json::to_string_pretty(&object)
        } else {
            serde_json::to_string(&object)
        };
        RawValue::from_string(text.unwrap()).unwrap()
    })
}

fn any_kind() -> impl Strategy<Value = CronJobKind> {
    proptest::sample::select(&CronJobKind::ALL[..])
}

const POLICIES: [&str; 6] = ["", "Allow", "Forbid", "Replace", "CatchUp", "Odd"];

fn any_cron_job() -> impl Strategy<Value = CronJob> {
    let spec = (
        ".{0,20}",
        of("[A-Z/a-z]{1,12}"),
        proptest::sample::select(&POLICIES[..]),
        of(any::<i32>()),
        of(any_template()),
    );
    let around = (any_kind(), unknown_fields(), unknown_fields(), unknown_fields());
    let annotations = btree_map("[a-z]{1,5}", ".{0,9}", 0..3);
    (spec, around, annotations, any::<i64>()).prop_map(|(spec, around, annotations, runs)| {
        let (kind, top, in_spec, in_meta) = around;
        let mut cron_job =
            convert::convert_cron_job(CronJob { extra: top, ..CronJob::default() }, kind);
        cron_job.metadata.annotations = annotations;
        cron_job.metadata.extra = in_meta;
        cron_job.spec.schedule = spec.0;
        cron_job.spec.time_zone = spec.1;
        cron_job.spec.concurrency_policy = spec.2.to_owned();
        cron_job.spec.jitter = spec.3;
        cron_job.spec.job_template = spec.4;
        cron_job.spec.extra = in_spec;
        cron_job.status.successful_runs = runs;
        cron_job
    })
}

fn text(cron_job: &CronJob) -> String {
    serde_json::to_string(cron_job).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_conversion_round_trip_changes_nothing(cron_job in any_cron_job(), over in any_kind()) {
        let kind = cron_job.cron_job_kind().unwrap();
        let converted = convert::convert_cron_job(cron_job.clone(), over);
        prop_assert_eq!(converted.cron_job_kind(), Some(over));
        prop_assert_eq!(converted.job_template_json(), cron_job.job_template_json());
        prop_assert_eq!(text(&convert::convert_cron_job(converted, kind)), text(&cron_job));
    }

    #[test]
    fn converting_json_changes_only_api_version_and_kind(cron_job in any_cron_job(), over in any_kind()) {
        let mut tree = serde_json::to_value(&cron_job).unwrap();
        convert::convert_cron_job_json(&mut tree, over);
        let typed = serde_json::to_value(convert::convert_cron_job(cron_job, over)).unwrap();
        prop_assert_eq!(tree, typed);
    }

    #[test]
    fn a_json_round_trip_changes_no_byte(cron_job in any_cron_job()) {
        let written = text(&cron_job);
        let read: CronJob = serde_json::from_str(&written).unwrap();
        prop_assert_eq!(text(&read), written);
    }

    #[test]
    fn extension_fields_survive_a_round_trip_through_annotations(cron_job in any_cron_job()) {
        let kind = cron_job.cron_job_kind().unwrap();
        let plain = convert::to_kubernetes(cron_job.clone());
        prop_assert_eq!(plain.spec.jitter, None);
        prop_assert!(plain.spec.concurrency_policy != "CatchUp");
        prop_assert_eq!(plain.concurrency_policy(), cron_job.concurrency_policy());
        prop_assert_eq!(plain.jitter_percent(), cron_job.jitter_percent());
        prop_assert_eq!(text(&convert::from_kubernetes(plain, kind)), text(&cron_job));
    }
}

/// Kubernetes rejects an empty time zone.
#[test]
fn converting_to_kubernetes_removes_an_empty_time_zone() {
    let mut cron_job = CronJob::default();
    cron_job.spec.time_zone = Some(String::new());
    assert_eq!(convert::to_kubernetes(cron_job).spec.time_zone, None);
}

#[test]
fn converting_ignores_other_kinds() {
    for object in [json!({"apiVersion": "v1", "kind": "Pod"}), json!({}), json!(null), json!([1])] {
        let mut tree = object.clone();
        convert::convert_cron_job_json(&mut tree, CronJobKind::ScheduledJob);
        assert_eq!(tree, object);
    }
}

#[test]
fn converting_an_event_preserves_its_content() {
    let core = json!({"apiVersion": "v1", "kind": "Event", "involvedObject": {"name": "x"},
        "message": "m", "reason": "R", "count": 2, "source": {"component": "c"}, "type": "Normal",
        "firstTimestamp": "2026-01-01T00:00:00Z", "lastTimestamp": null,
        "reportingComponent": "c"});
    let mut event = core.clone();
    convert::convert_event(&mut event, EventVersion::EventsV1);
    assert_eq!(event.get("note"), Some(&json!("m")));
    assert_eq!(event.get("message"), None);
    convert::convert_event(&mut event, EventVersion::CoreV1);
    assert_eq!(event, core);
}
