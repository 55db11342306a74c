//! Tests of what is read from a Pod: its finish time, restarts and annotations, and whether it is
//! active.

use serde_json::{Value, json};

use super::*;

fn view_of(pod: Value) -> PodView {
    PodView::from_pod(&serde_json::from_value::<Pod>(pod).unwrap())
}

fn container(name: &str, finished_at: &str) -> Value {
    let finished_at = (!finished_at.is_empty()).then_some(finished_at);
    json!({"name": name, "state": {"terminated": {"exitCode": 0, "finishedAt": finished_at}}})
}

#[test]
fn the_finish_time_comes_from_the_best_source() {
    let meta = json!({"creationTimestamp": "2026-01-01T00:00:01Z"});
    let deleted = json!({"creationTimestamp": "2026-01-01T00:00:01Z",
        "deletionTimestamp": "2026-01-01T00:00:40Z", "deletionGracePeriodSeconds": 30});
    let not_ready = json!([{"type": "Ready", "status": "False",
        "lastTransitionTime": "2026-01-01T00:00:05Z", "lastProbeTime": null}]);
    let sidecar = json!([{"name": "s", "restartPolicy": "Always"}, {"name": "i"}]);
    let a = container("a", "2026-01-01T00:00:07Z");
    let b = container("b", "2026-01-01T00:00:08Z");
    let s = container("s", "2026-01-01T00:00:09Z");
    let i = container("i", "2026-01-01T00:00:55Z");
    for (second, meta, status, spec) in [
        (1, &meta, json!({}), json!({})),
        (10, &deleted, json!({}), json!({})),
        (5, &deleted, json!({"conditions": not_ready}), json!({})),
        (8, &deleted, json!({"conditions": not_ready, "containerStatuses": [a, b]}), json!({})),
        // One container without a finish time makes the times of all containers unusable.
        (1, &meta, json!({"containerStatuses": [a, container("c", "")]}), json!({})),
        (
            9,
            &meta,
            json!({"containerStatuses": [a], "initContainerStatuses": [s, i]}),
            json!({"initContainers": sidecar}),
        ),
    ] {
        let view = view_of(json!({"metadata": meta, "status": status, "spec": spec}));
        let expected = format!("2026-01-01T00:00:{second:02}Z");
        assert_eq!(view.finished_at.to_string(), expected, "{meta} {status}");
    }
}

#[test]
fn annotations_that_are_not_numbers_are_ignored() {
    for (text, index) in [("3", Some(3)), ("-1", None), ("x", None), ("99999999999", None)] {
        let key = "batch.kubernetes.io/job-completion-index";
        assert_eq!(
            view_of(json!({"metadata": {"annotations": {key: text}}})).index,
            index,
            "{text}"
        );
    }
}

#[test]
fn a_pod_is_active_until_it_finishes_or_is_deleted() {
    for (phase, active, terminating) in [
        ("", true, true),
        ("Pending", true, true),
        ("Running", true, true),
        ("Unknown", true, true),
        ("Succeeded", false, false),
        ("Failed", false, false),
    ] {
        let mut view = view_of(json!({"status": {"phase": phase}}));
        assert_eq!((view.is_active(), view.is_terminating()), (active, false), "{phase}");
        view.is_deleting = true;
        assert_eq!((view.is_active(), view.is_terminating()), (false, terminating), "{phase}");
    }
}

#[test]
fn restarts_are_summed_over_all_containers() {
    let status = |name: &str, count: i32| json!({"name": name, "restartCount": count});
    let view = view_of(json!({"status": {"containerStatuses": [status("a", 2), status("b", 3)],
        "initContainerStatuses": [status("i", 4)]}}));
    assert_eq!(view.restarts, RestartCounts { total: 9, max_of_containers: 3, max_of_sidecars: 0 });
}
