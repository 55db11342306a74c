//! For arbitrary objects `decide` returns a plan of bounded size and does not panic.

use jiff::Timestamp;
use proptest::collection::vec;
use proptest::option::of;
use proptest::prelude::*;
use punctual_api::{Job, Pod};
use punctual_engine::job::{Backoff, Observed, PodView, decide};
use serde_json::{Value, json};

const STEP_PODS_MAX: usize = 500;

fn odd_number() -> impl Strategy<Value = i64> {
    prop_oneof![Just(i64::from(i32::MIN)), Just(-1), 0..5_i64, Just(i64::from(i32::MAX)),]
}

fn odd_text() -> impl Strategy<Value = String> {
    prop_oneof![
        Just(String::new()),
        Just("0-2147483647".to_owned()),
        "[-0-9,x]{0,9}",
        Just("Indexed".to_owned()),
        Just("Failed".to_owned()),
        Just("NonIndexed".to_owned()),
        "\\PC{0,70}",
    ]
}

fn odd_time() -> impl Strategy<Value = Option<String>> {
    of(prop_oneof![
        Just("0001-01-01T00:00:00Z".to_owned()),
        Just("2026-03-01T12:00:00Z".to_owned()),
        Just("9999-12-30T00:00:00Z".to_owned()),
    ])
}

prop_compose! {
    fn job()(
        numbers in vec(of(odd_number()), 8),
        texts in vec(of(odd_text()), 6),
        flags in vec(any::<bool>(), 3),
        times in vec(odd_time(), 3),
        condition in prop_oneof![Just("Complete"), Just("FailureTarget"), Just("Suspended"),
            Just("SuccessCriteriaMet")],
    ) -> Value {
        json!({
            "metadata": {"name": texts[0].clone().unwrap_or_default(), "uid": "u",
                "deletionTimestamp": if flags[0] { times[0].clone() } else { None }},
            "spec": {
                "parallelism": numbers[0], "completions": numbers[1], "backoffLimit": numbers[2],
                "backoffLimitPerIndex": numbers[3], "maxFailedIndexes": numbers[4],
                "activeDeadlineSeconds": numbers[5].map(|n| n.saturating_mul(1 << 31)),
                "ttlSecondsAfterFinished": numbers[6],
                "completionMode": texts[1], "podReplacementPolicy": texts[2],
                "suspend": flags[1],
                "successPolicy": {"rules": [{"succeededIndexes": texts[3],
                    "succeededCount": numbers[7]}]},
                "podFailurePolicy": flags[2].then(|| json!({"rules": [{}, {"action": "Ignore"}]})),
                "template": {"metadata": {"finalizers": 7}, "spec": {"restartPolicy": "OnFailure"}},
            },
            "status": {
                "succeeded": numbers[7].unwrap_or(0), "failed": numbers[6].unwrap_or(0),
                "completedIndexes": texts[4].clone().unwrap_or_default(),
                "failedIndexes": texts[5], "startTime": times[1],
                "uncountedTerminatedPods": {"failed": ["uid-0", "uid-9"]},
                "conditions": [{"type": condition, "status": "True",
                    "lastTransitionTime": times[2], "lastProbeTime": null}],
            },
        })
    }
}

prop_compose! {
    fn pod()(
        phase in prop_oneof![Just("Pending"), Just("Running"), Just("Succeeded"), Just("Failed"),
            Just(""), Just("Later")],
        times in vec(odd_time(), 4),
        index in odd_text(),
        count in odd_number(),
        is_tracked in any::<bool>(),
    ) -> Value {
        json!({
            "metadata": {
                "creationTimestamp": times[0], "deletionTimestamp": times[1],
                "deletionGracePeriodSeconds": count.saturating_mul(1 << 31),
                "annotations": {"batch.kubernetes.io/job-completion-index": index,
                    "batch.kubernetes.io/job-index-failure-count": count.to_string(),
                    "batch.kubernetes.io/job-index-ignored-failure-count": count.to_string()},
                "finalizers": if is_tracked { vec!["batch.kubernetes.io/job-tracking"] } else { vec![] },
            },
            "status": {"phase": phase,
                "conditions": [{"type": "Ready", "status": "False", "lastTransitionTime": times[2],
                    "lastProbeTime": null}],
                "containerStatuses": [{"name": "c", "restartCount": count,
                    "state": {"terminated": {"exitCode": 1, "finishedAt": times[3]}}}]},
        })
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 3000, failure_persistence: None, ..ProptestConfig::default()
    })]

    #[test]
    fn decide_returns_a_bounded_plan_for_arbitrary_objects(
        job in job(), pods in vec(pod(), 0..6), status_only in any::<bool>(), now in odd_time(),
    ) {
        let job: Job = serde_json::from_value(job).unwrap();
        let view = |(number, mut pod): (usize, Value)| {
            pod["metadata"]["uid"] = json!(format!("uid-{number}"));
            pod["metadata"]["name"] = json!(format!("pod-{number}"));
            PodView::from_pod(&serde_json::from_value::<Pod>(pod).unwrap())
        };
        let pods: Vec<PodView> = pods.into_iter().enumerate().map(view).collect();
        let now: Timestamp = now.unwrap_or_else(|| "2026-03-01T12:00:07Z".to_owned()).parse().unwrap();
        let observed = Observed { job: &job, pods: &pods, backoff: &Backoff::default(), status_only };
        let plan = decide(&observed, now);
        prop_assert!(plan.pods_to_create.len() <= STEP_PODS_MAX);
        prop_assert!(plan.pods_to_delete.is_empty() || !status_only);
        prop_assert!(plan.wake_at.is_none_or(|wake_at| wake_at > now));
        let names: std::collections::BTreeSet<&str> =
            plan.pods_to_create.iter().map(|create| create.pod.metadata.name.as_str()).collect();
        prop_assert_eq!(names.len(), plan.pods_to_create.len());
    }
}
