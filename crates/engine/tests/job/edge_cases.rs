//! Tests of single decisions about a Job in edge cases.

use jiff::{SignedDuration, Timestamp};
use punctual_api::job::{JobStatus, condition};
use punctual_api::{Job, Pod};
use punctual_engine::EventType;
use punctual_engine::job::{Backoff, ContainerExit, Observed, Plan, PodView, decide};
use serde_json::{Value, json};

const TRACKED: &str = "batch.kubernetes.io/job-tracking";

fn at(second: i64) -> Timestamp {
    "2026-03-01T12:00:00Z".parse::<Timestamp>().unwrap() + SignedDuration::from_secs(second)
}

fn job(spec: Value, status: Value) -> Job {
    let mut job = json!({"metadata": {"name": "j", "namespace": "ns", "uid": "u"},
        "spec": {"template": {"spec": {"containers": [{"name": "c"}]}}}, "status": status});
    for (key, value) in spec.as_object().unwrap() {
        job["spec"][key] = value.clone();
    }
    serde_json::from_value(job).unwrap()
}

/// A tracked Pod in a phase. `meta` overrides fields of its metadata.
fn pod(name: &str, phase: &str, meta: Value) -> PodView {
    let mut metadata = json!({"name": name, "uid": format!("uid-{name}"), "finalizers": [TRACKED],
        "creationTimestamp": at(0).to_string()});
    for (key, value) in meta.as_object().unwrap() {
        metadata[key] = value.clone();
    }
    let pod = json!({"metadata": metadata, "status": {"phase": phase}});
    PodView::from_pod(&serde_json::from_value::<Pod>(pod).unwrap())
}

fn indexed_pod(index: u32, phase: &str, failures: u32) -> PodView {
    let annotations = json!({"batch.kubernetes.io/job-completion-index": index.to_string(),
        "batch.kubernetes.io/job-index-failure-count": failures.to_string()});
    pod(&format!("j-{index}-{failures}"), phase, json!({"annotations": annotations}))
}

fn decide_once(job: &Job, pods: &[PodView], now: Timestamp) -> Plan {
    decide(&Observed { job, pods, backoff: &Backoff::default(), status_only: false }, now)
}

fn deleted(plan: &Plan) -> Vec<&str> {
    plan.pods_to_delete.iter().map(|delete| delete.key.name.as_str()).collect()
}

fn untracked(plan: &Plan) -> Vec<&str> {
    plan.finalizers_to_remove.iter().map(|key| key.name.as_str()).collect()
}

fn indexes_created(plan: &Plan) -> Vec<&str> {
    let key = "batch.kubernetes.io/job-completion-index";
    plan.pods_to_create.iter().filter_map(|create| create.pod.metadata.annotation(key)).collect()
}

fn finished(condition_type: &str) -> Value {
    let condition = json!({"type": condition_type, "status": "True",
        "lastTransitionTime": at(0).to_string(), "lastProbeTime": at(0).to_string()});
    json!({"conditions": [condition], "startTime": at(0).to_string()})
}

#[test]
fn a_job_of_another_controller_is_ignored() {
    let others = job(json!({"managedBy": "example.com/mine"}), json!({}));
    assert!(decide_once(&others, &[], at(0)).is_idle());
    let ours = job(json!({"managedBy": "kubernetes.io/job-controller"}), json!({}));
    assert_eq!(decide_once(&ours, &[], at(0)).pods_to_create.len(), 1);
}

#[test]
fn a_job_with_an_unknown_completion_mode_is_ignored_with_a_warning() {
    for spec in [json!({"completionMode": "Later"}), json!({"completionMode": "Indexed"})] {
        let plan = decide_once(&job(spec, json!({})), &[], at(0));
        assert!(plan.is_idle());
        let event = &plan.events[0];
        assert_eq!((event.event_type, event.reason), (EventType::Warning, "UnknownCompletionMode"));
    }
}

#[test]
fn a_finished_job_is_deleted_when_its_time_to_live_is_over() {
    for kind in [condition::COMPLETE, condition::FAILED] {
        let mut job = job(json!({"ttlSecondsAfterFinished": 30}), finished(kind));
        let early = decide_once(&job, &[], at(29));
        assert!(early.is_idle());
        assert_eq!(early.wake_at, Some(at(30)));
        assert_eq!(decide_once(&job, &[], at(30)).delete_job.unwrap().uid, "u");
        job.metadata.deletion_timestamp = job.status.start_time;
        assert!(decide_once(&job, &[], at(99)).is_idle(), "the Job is already being deleted");
        job.metadata.deletion_timestamp = None;
        job.spec.ttl_seconds_after_finished = None;
        assert!(decide_once(&job, &[], at(99)).is_idle());
    }
}

#[test]
fn a_pod_of_a_finished_job_loses_its_finalizer() {
    let job = job(json!({}), finished(condition::COMPLETE));
    let plan = decide_once(&job, &[pod("p", "Running", json!({}))], at(9));
    assert_eq!(untracked(&plan), ["p"]);
    assert!(plan.status.is_none());
}

#[test]
fn a_create_whose_response_was_lost_is_repeated_with_the_same_name() {
    let job = job(json!({"parallelism": 2, "completions": 9}), json!({}));
    let names = |plan: Plan| -> Vec<String> {
        plan.pods_to_create.iter().map(|create| create.pod.metadata.name.clone()).collect()
    };
    let first = names(decide_once(&job, &[], at(0)));
    assert_eq!(first, names(decide_once(&job, &[], at(5))));
    assert_ne!(first[0], first[1]);
    let observed = [pod(&first[0], "Pending", json!({}))];
    assert_eq!(names(decide_once(&job, &observed, at(5))), first[1..]);
}

#[test]
fn status_only_writes_the_status_and_changes_no_pods() {
    let job = job(json!({"parallelism": 3, "completions": 3}), json!({"active": 3}));
    let pods = [pod("a", "Succeeded", json!({})), pod("b", "Running", json!({}))];
    let observed =
        Observed { job: &job, pods: &pods, backoff: &Backoff::default(), status_only: true };
    let plan = decide(&observed, at(0));
    assert!(plan.pods_to_create.is_empty() && plan.pods_to_delete.is_empty());
    let status = plan.status.unwrap();
    assert_eq!(status.active, 1);
    assert_eq!(status.uncounted_terminated_pods.unwrap().succeeded, ["uid-a"]);
}

#[test]
fn the_least_useful_pods_are_removed_first() {
    let ready = |mut view: PodView, since: i64| {
        view.ready = Some(Some(at(since)));
        view
    };
    let assigned = |mut view: PodView| {
        view.is_assigned = true;
        view
    };
    let young = json!({"creationTimestamp": at(50).to_string()});
    let pods = [
        ready(assigned(pod("ready-long", "Running", json!({}))), 1),
        ready(assigned(pod("ready-short", "Running", json!({}))), 9),
        assigned(pod("running", "Running", json!({}))),
        assigned(pod("running-young", "Running", young)),
        assigned(pod("pending", "Pending", json!({}))),
        pod("unassigned", "Pending", json!({})),
    ];
    let order = ["unassigned", "pending", "running-young", "running", "ready-short", "ready-long"];
    for left in 0..=6 {
        let spec = json!({"parallelism": left, "completions": 9});
        let plan = decide_once(&job(spec, json!({})), &pods, at(60));
        assert_eq!(deleted(&plan), order[..6 - left], "{left} stay");
        assert_eq!(untracked(&plan), order[..6 - left], "removed Pods are not counted");
    }
}

#[test]
fn duplicate_indexes_and_invalid_indexes_are_removed() {
    let spec = json!({"parallelism": 9, "completions": 3, "completionMode": "Indexed"});
    let pods = [
        indexed_pod(0, "Running", 0),
        indexed_pod(0, "Pending", 1),
        indexed_pod(1, "Running", 0),
        indexed_pod(3, "Running", 0),
        pod("none", "Running", json!({})),
    ];
    let plan = decide_once(&job(spec, json!({})), &pods, at(0));
    let mut names = deleted(&plan);
    names.sort_unstable();
    assert_eq!(names, ["j-0-1", "j-3-0", "none"]);
    assert!(plan.pods_to_create.is_empty(), "one step creates or deletes Pods, not both");
}

#[test]
fn an_interrupted_removal_is_completed() {
    let job = job(json!({"parallelism": 2, "completions": 2}), json!({}));
    let pods = [
        pod("whole", "Running", json!({})),
        pod("half-removed", "Running", json!({"finalizers": []})),
    ];
    assert_eq!(deleted(&decide_once(&job, &pods, at(0))), ["half-removed"]);
}

#[test]
fn many_pods_are_counted_in_several_steps() {
    let mut job = job(json!({"parallelism": 0, "completions": 1300}), json!({}));
    let mut pods: Vec<PodView> =
        (0..1200).map(|n| pod(&format!("p{n}"), "Succeeded", json!({}))).collect();
    let mut sizes = Vec::new();
    for _ in 0..9 {
        let plan = decide_once(&job, &pods, at(0));
        if plan.is_idle() {
            break;
        }
        job.status = plan.status.clone().unwrap_or_else(|| job.status.clone());
        sizes.push(plan.finalizers_to_remove.len());
        for key in &plan.finalizers_to_remove {
            pods.iter_mut().find(|pod| pod.uid == key.uid).unwrap().is_tracked = false;
        }
    }
    assert_eq!(sizes, [500, 500, 200, 0]);
    assert_eq!(job.status.succeeded, 1200);
}

#[test]
fn a_failed_index_is_retried_after_a_delay_that_depends_on_its_failures() {
    let spec = json!({"parallelism": 2, "completions": 2, "completionMode": "Indexed",
        "backoffLimitPerIndex": 3});
    let job = job(spec, json!({"failedIndexes": ""}));
    let pods = [indexed_pod(0, "Failed", 1), indexed_pod(1, "Running", 0)];
    let early = decide_once(&job, &pods, at(19));
    assert!(early.pods_to_create.is_empty() && untracked(&early).is_empty());
    assert_eq!(early.wake_at, Some(at(20)));
    let due = decide_once(&job, &pods, at(20));
    assert_eq!(indexes_created(&due), ["0"]);
    assert!(untracked(&due).is_empty(), "the failed Pod is kept until it is replaced");
    let annotations = &due.pods_to_create[0].pod.metadata.annotations;
    assert_eq!(annotations["batch.kubernetes.io/job-index-failure-count"], "2");
    let replaced =
        [indexed_pod(0, "Failed", 1), indexed_pod(0, "Pending", 2), indexed_pod(1, "Running", 0)];
    assert_eq!(untracked(&decide_once(&job, &replaced, at(20))), ["j-0-1"]);
}

#[test]
fn ignored_failures_of_an_index_are_counted_separately() {
    let rule = json!({"action": "Ignore", "onPodConditions": [{"type": "D", "status": "True"}]});
    let spec = json!({"parallelism": 1, "completions": 1, "completionMode": "Indexed",
        "backoffLimitPerIndex": 0, "podFailurePolicy": {"rules": [rule]}});
    let mut failed = indexed_pod(0, "Failed", 0);
    failed.conditions = vec![("D".to_owned(), "True".to_owned())];
    let plan = decide_once(&job(spec, json!({})), &[failed], at(60));
    let annotations = &plan.pods_to_create[0].pod.metadata.annotations;
    assert_eq!(annotations["batch.kubernetes.io/job-index-failure-count"], "0");
    assert_eq!(annotations["batch.kubernetes.io/job-index-ignored-failure-count"], "1");
}

#[test]
fn a_fail_index_rule_fails_the_index_at_its_first_failure() {
    let rule = json!({"action": "FailIndex", "onPodConditions": [{"type": "D", "status": "True"}]});
    let spec = json!({"parallelism": 2, "completions": 2, "completionMode": "Indexed",
        "backoffLimitPerIndex": 5, "podFailurePolicy": {"rules": [rule]}});
    let mut failed = indexed_pod(1, "Failed", 0);
    failed.conditions = vec![("D".to_owned(), "True".to_owned())];
    let plan = decide_once(&job(spec, json!({})), &[indexed_pod(0, "Running", 0), failed], at(60));
    assert_eq!(plan.status.unwrap().failed_indexes.as_deref(), Some("1"));
    assert!(plan.pods_to_create.is_empty());
}

#[test]
fn the_replacement_policy_decides_when_a_terminating_pod_is_replaced() {
    let terminating = pod(
        "p",
        "Running",
        json!({"deletionTimestamp": at(30).to_string(),
        "deletionGracePeriodSeconds": 30}),
    );
    let rules = json!({"rules": []});
    for (policy, created) in [
        (json!({"podReplacementPolicy": "TerminatingOrFailed"}), 1),
        (json!({"podReplacementPolicy": "Failed"}), 0),
        (json!({"podFailurePolicy": rules}), 0),
    ] {
        let mut job = job(policy.clone(), json!({}));
        job.spec.completions = Some(1);
        let plan = decide_once(&job, std::slice::from_ref(&terminating), at(10));
        assert_eq!(plan.pods_to_create.len(), created, "{policy}");
        let uncounted = plan.status.unwrap().uncounted_terminated_pods.unwrap();
        assert_eq!(uncounted.failed.len(), created, "{policy}");
    }
}

#[test]
fn the_delay_after_a_deleted_pod_is_kept() {
    let job = job(json!({"completions": 1}), json!({}));
    let terminating = pod(
        "p",
        "Running",
        json!({"deletionTimestamp": at(30).to_string(),
        "deletionGracePeriodSeconds": 30}),
    );
    let first = decide_once(&job, &[terminating], at(1));
    let decide_with =
        |backoff| decide(&Observed { job: &job, pods: &[], backoff, status_only: false }, at(2));
    assert_eq!(decide_with(&first.backoff).wake_at, Some(at(10)));
    assert_eq!(decide_with(&Backoff::default()).pods_to_create.len(), 1, "a crash loses the delay");
}

#[test]
fn a_removed_pod_causes_no_delay() {
    let job = job(json!({"parallelism": 1, "completions": 1}), json!({}));
    let removed = pod(
        "p",
        "Running",
        json!({"deletionTimestamp": at(30).to_string(),
        "deletionGracePeriodSeconds": 30, "finalizers": []}),
    );
    assert_eq!(decide_once(&job, &[removed], at(1)).pods_to_create.len(), 1);
}

#[test]
fn a_job_that_finishes_while_suspended_has_a_start_time() {
    let suspended = json!({"type": "Suspended", "status": "True"});
    let status = json!({"succeeded": 1, "conditions": [suspended]});
    let plan = decide_once(&job(json!({"completions": 1, "suspend": true}), status), &[], at(7));
    let status = plan.status.unwrap();
    assert!(status.is_true(condition::SUCCESS_CRITERIA_MET));
    assert_eq!(status.start_time.unwrap().timestamp(), at(7));
}

#[test]
fn suspended_time_does_not_count_towards_the_deadline() {
    let spec = json!({"activeDeadlineSeconds": 60, "suspend": true});
    let mut job = job(spec, json!({"startTime": at(0).to_string()}));
    let suspended = decide_once(&job, &[], at(1000));
    assert_eq!(suspended.wake_at, None);
    job.status = suspended.status.unwrap();
    assert!(job.status.start_time.is_none() && job.status.is_true(condition::SUSPENDED));
    job.spec.suspend = Some(false);
    let resumed = decide_once(&job, &[], at(2000));
    assert_eq!(resumed.events[0].reason, "Resumed");
    assert_eq!(resumed.status.unwrap().start_time.unwrap().timestamp(), at(2000));
    assert_eq!(resumed.wake_at, Some(at(2060)));
}

#[test]
fn a_job_with_too_many_successes_reports_them() {
    let met =
        json!({"type": "SuccessCriteriaMet", "status": "True", "reason": "CompletionsReached"});
    let status = json!({"succeeded": 3, "startTime": at(50).to_string(), "conditions": [met]});
    let plan = decide_once(&job(json!({"completions": 2}), status), &[], at(20));
    let reasons: Vec<&str> = plan.events.iter().map(|event| event.reason).collect();
    assert_eq!(reasons, ["TooManySucceededPods", "Completed"]);
    let end = plan.status.unwrap().completion_time.unwrap().timestamp();
    assert_eq!(end, at(50), "the completion time is not before the start time");
}

#[test]
fn a_job_finishes_after_its_last_pod() {
    let target = json!({"type": "FailureTarget", "status": "True", "reason": "DeadlineExceeded",
        "message": "m"});
    let status = json!({"startTime": at(0).to_string(), "conditions": [target]});
    let ignore = json!({"action": "Ignore", "onExitCodes": {"operator": "In", "values": [7]}});
    let job = job(json!({"podFailurePolicy": {"rules": [ignore]}}), status);
    let is_finished =
        |pods: &[PodView]| decide_once(&job, pods, at(9)).status.unwrap().is_finished();
    let untracked = json!({"finalizers": []});
    let deleted = json!({"deletionTimestamp": at(9).to_string()});
    let removed = json!({"deletionTimestamp": at(9).to_string(), "finalizers": []});
    let mut ignored = pod("ignored", "Failed", json!({}));
    ignored.exits = vec![ContainerExit { container: "c".to_owned(), code: 7 }];
    assert!(!is_finished(&[pod("tracked", "Failed", json!({}))]));
    assert!(!is_finished(&[ignored]), "the Pod has the finalizer");
    assert!(!is_finished(&[pod("deleted", "Pending", deleted)]));
    assert!(!is_finished(&[pod("active", "Running", untracked.clone())]));
    assert!(!is_finished(&[pod("terminating", "Running", removed)]));
    assert!(is_finished(&[pod("counted", "Failed", untracked)]));
    assert!(is_finished(&[]));
}

#[test]
fn fields_of_the_template_are_kept() {
    let mut job = job(json!({"completions": 1, "completionMode": "Indexed"}), json!({}));
    job.spec.template = serde_json::from_value(json!({
        "metadata": {"finalizers": ["example.com/mine"], "labels": {"a": "b"}},
        "spec": {
            "initContainers": [{"name": "i"}],
            "containers": [{"name": "c", "env": [{"name": "JOB_COMPLETION_INDEX", "value": "x"}]}],
        },
    }))
    .unwrap();
    let plan = decide_once(&job, &[], at(0));
    let pod = &plan.pods_to_create[0].pod;
    assert_eq!(pod.metadata.finalizers, ["example.com/mine", TRACKED]);
    assert_eq!(pod.metadata.labels["a"], "b");
    assert_eq!(pod.spec.containers[0].env[0].value, "x");
    assert_eq!(pod.spec.containers[0].env.len(), 1);
    let variable = pod.spec.init_containers[0].env[0].value_from.as_ref().unwrap();
    assert_eq!(
        variable.field_ref.as_ref().unwrap().field_path,
        "metadata.labels['batch.kubernetes.io/job-completion-index']"
    );
    assert_eq!(pod.spec.hostname, "j-0");
}

#[test]
fn the_pods_of_a_deleted_job_are_counted_and_lose_their_finalizer() {
    let mut job = job(json!({"parallelism": 3, "completions": 9}), json!({}));
    job.metadata.deletion_timestamp = Some(at(5).into());
    let pods = [pod("a", "Succeeded", json!({})), pod("b", "Running", json!({}))];
    let plan = decide_once(&job, &pods, at(5));
    assert_eq!(untracked(&plan), ["a", "b"]);
    assert!(plan.pods_to_delete.is_empty() && plan.pods_to_create.is_empty());
    let uncounted = plan.status.unwrap().uncounted_terminated_pods.unwrap();
    assert_eq!((uncounted.succeeded.len(), uncounted.failed.len()), (1, 0));
}

#[test]
fn an_index_that_failed_and_succeeded_is_in_one_set_only() {
    let spec = json!({"parallelism": 2, "completions": 2, "completionMode": "Indexed",
        "backoffLimitPerIndex": 0});
    let both = [indexed_pod(0, "Failed", 0), indexed_pod(0, "Succeeded", 1)];
    for (recorded, completed, failed) in [("", "0", ""), ("0", "", "0")] {
        let job = job(spec.clone(), json!({"failedIndexes": recorded}));
        let JobStatus { completed_indexes, failed_indexes, .. } =
            decide_once(&job, &both, at(0)).status.unwrap();
        assert_eq!(
            (completed_indexes.as_str(), failed_indexes.as_deref()),
            (completed, Some(failed))
        );
    }
}

#[test]
fn with_replacement_policy_failed_an_index_waits_for_its_terminating_pod() {
    let spec = json!({"parallelism": 2, "completions": 3, "completionMode": "Indexed",
        "podReplacementPolicy": "Failed"});
    let mut terminating = indexed_pod(0, "Running", 0);
    terminating.is_deleting = true;
    let plan = decide_once(&job(spec, json!({})), &[terminating], at(0));
    assert_eq!(indexes_created(&plan), ["1"]);
}

#[test]
fn restarts_count_as_failures_with_restart_policy_on_failure() {
    for (limit, restarts, policy, has_failed) in [
        (2, 1, "OnFailure", false),
        (2, 2, "OnFailure", true),
        (0, 0, "OnFailure", false),
        (0, 1, "OnFailure", true),
        (2, 9, "Never", false),
    ] {
        let mut job = job(json!({"backoffLimit": limit, "completions": 1}), json!({}));
        job.spec.template.spec.restart_policy = policy.to_owned();
        let mut running = pod("p", "Running", json!({}));
        running.restarts.total = restarts;
        let status = decide_once(&job, &[running], at(0)).status.unwrap();
        let is_target = status.is_true(condition::FAILURE_TARGET);
        assert_eq!(is_target, has_failed, "{restarts} restarts of {limit}, {policy}");
    }
}

#[test]
fn the_failed_pod_with_the_highest_failure_count_is_replaced() {
    let spec = json!({"parallelism": 1, "completions": 1, "completionMode": "Indexed",
        "backoffLimitPerIndex": 9});
    for order in [[1, 2], [2, 1]] {
        let pods = order.map(|failures| indexed_pod(0, "Failed", failures));
        let plan = decide_once(&job(spec.clone(), json!({})), &pods, at(600));
        let annotations = &plan.pods_to_create[0].pod.metadata.annotations;
        assert_eq!(annotations["batch.kubernetes.io/job-index-failure-count"], "3");
        assert_eq!(untracked(&plan), ["j-0-1"]);
    }
}

#[test]
fn the_status_has_at_most_the_uids_of_one_step() {
    let uids: Vec<String> = (100..600).map(|n| format!("uid-p{n}")).collect();
    let status = json!({"uncountedTerminatedPods": {"succeeded": uids}});
    let job = job(json!({"parallelism": 0, "completions": 900}), status);
    let pods: Vec<PodView> =
        (0..600).map(|n| pod(&format!("p{n}"), "Succeeded", json!({}))).collect();
    let plan = decide_once(&job, &pods, at(0));
    let recorded = plan.status.unwrap().uncounted_terminated_pods.unwrap().succeeded;
    assert_eq!(recorded, uids);
    assert_eq!(plan.finalizers_to_remove.len(), 500);
}

#[test]
fn a_pod_view_is_small() {
    let size = size_of::<PodView>();
    assert!(size <= 256, "{size} bytes");
}
