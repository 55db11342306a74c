//! Random histories of a Job: any spec, any outcomes, edits, rejected Pods, and a crash after any effect.
//!
//! The simulator checks each effect. These tests check that a Job never has too many Pods, that every
//! history becomes idle, and that all counts are right then.

use jiff::{SignedDuration, Timestamp};
use proptest::collection::vec;
use proptest::prelude::*;
use punctual_api::job::{JobStatus, condition};
use punctual_api::{Job, Time, validate};
use punctual_engine::job::Plan;
use serde_json::{Map, Value, json};

use crate::job_simulator::{JobSimulator, PodOutcome, is_tracked};

const UID: &str = "4f8a1c1e-0000-4000-8000-000000000001";

/// The parameters of a history.
#[derive(Clone, Debug)]
struct JobHistory {
    spec: Value,
    /// The outcomes of the Pods in the order of creation; all further Pods succeed.
    outcomes: Vec<PodOutcome>,
    /// For each plan, after how many effects the controller crashes; there are no crashes afterwards.
    crashes: Vec<usize>,
    /// For each plan, whether the creates are rejected; there are no rejections afterwards.
    rejections: Vec<bool>,
    /// Whether time passes between a crash and the next decision.
    is_slow_to_restart: bool,
    /// The edits of the Job, with the seconds after which they occur.
    edits: Vec<(i64, Edit)>,
    reports_exit_on_delete: bool,
    spread_secs: usize,
}

#[derive(Clone, Copy, Debug)]
enum Edit {
    Parallelism(i32),
    Suspend(bool),
    Delete,
}

fn outcome() -> impl Strategy<Value = PodOutcome> {
    prop_oneof![
        4 => Just(PodOutcome::Exit(0)),
        3 => Just(PodOutcome::Exit(1)),
        2 => Just(PodOutcome::Exit(7)),
        1 => Just(PodOutcome::Exit(9)),
        1 => Just(PodOutcome::Exit(42)),
        2 => Just(PodOutcome::Deleted),
        1 => Just(PodOutcome::Run),
        1 => (0..3).prop_map(PodOutcome::Restart),
    ]
}

fn edit() -> impl Strategy<Value = Edit> {
    prop_oneof![
        3 => (0..4).prop_map(Edit::Parallelism),
        3 => any::<bool>().prop_map(Edit::Suspend),
        1 => Just(Edit::Delete),
    ]
}

fn failure_policy(is_indexed: bool) -> impl Strategy<Value = Value> {
    let rule = |action: &str, code: i32| json!({"action": action, "onExitCodes": {"operator": "In", "values": [code]}});
    let index_rule = if is_indexed { rule("FailIndex", 9) } else { rule("Count", 9) };
    Just(json!({"rules": [rule("FailJob", 42), rule("Ignore", 7), index_rule]}))
}

prop_compose! {
    /// The fields that any Job may have.
    fn plain()(
        parallelism in 0..4,
        backoff_limit in prop_oneof![Just(None), (0..4).prop_map(Some)],
        deadline in prop_oneof![4 => Just(None), 1 => (1..60).prop_map(Some)],
        is_suspended in prop_oneof![4 => Just(false), 1 => Just(true)],
        only_failed in any::<bool>(),
        restart_policy in prop_oneof![3 => Just("Never"), 1 => Just("OnFailure")],
    ) -> Map<String, Value> {
        let mut spec = json!({
            "parallelism": parallelism,
            "suspend": is_suspended,
            "podReplacementPolicy": if only_failed { "Failed" } else { "TerminatingOrFailed" },
            "template": {
                "metadata": {"labels": {"job-name": "j"}},
                "spec": {"restartPolicy": restart_policy,
                    "containers": [{"name": "c", "image": "busybox"}]},
            },
        });
        let fields = spec.as_object_mut().unwrap();
        fields.extend(backoff_limit.map(|limit| ("backoffLimit".to_owned(), json!(limit))));
        fields.extend(deadline.map(|secs| ("activeDeadlineSeconds".to_owned(), json!(secs))));
        fields.clone()
    }
}

prop_compose! {
    fn spec()(
        mut fields in plain(),
        completions in prop_oneof![1 => Just(None), 4 => (0..5).prop_map(Some)],
        is_indexed in any::<bool>(),
        limit_per_index in prop_oneof![Just(None), (0..3).prop_map(Some)],
        max_failed in prop_oneof![Just(None), (0..2).prop_map(Some)],
        success_count in prop_oneof![2 => Just(None), 1 => (1..3).prop_map(Some)],
        has_failure_policy in any::<bool>(),
        policy in failure_policy(false),
        index_policy in failure_policy(true),
    ) -> Value {
        let mut set = |key: &str, value: Value| fields.insert(key.to_owned(), value);
        let mut per_index = false;
        if let Some(completions) = completions {
            set("completions", json!(completions));
        }
        if let Some(completions) = completions
            && is_indexed
        {
            set("completionMode", json!("Indexed"));
            if let Some(limit) = limit_per_index {
                per_index = true;
                set("backoffLimitPerIndex", json!(limit));
                if let Some(max) = max_failed
                    && completions > 0
                {
                    set("maxFailedIndexes", json!(max));
                }
            }
            if let Some(count) = success_count.filter(|count| *count <= completions) {
                set("successPolicy", json!({"rules": [{"succeededCount": count}]}));
            }
        }
        if has_failure_policy {
            set("podFailurePolicy", if per_index { index_policy } else { policy });
            set("podReplacementPolicy", json!("Failed"));
            // A pod failure policy requires `restartPolicy: Never`.
            fields["template"]["spec"]["restartPolicy"] = json!("Never");
        }
        Value::Object(fields)
    }
}

prop_compose! {
    fn history()(
        spec in spec(),
        outcomes in vec(outcome(), 0..9),
        crashes in vec(0..6_usize, 0..30),
        rejections in vec(any::<bool>(), 0..9),
        is_slow_to_restart in any::<bool>(),
        mut edits in vec((1..40_i64, edit()), 0..3),
        reports_exit_on_delete in any::<bool>(),
        spread_secs in 0..8_usize,
    ) -> JobHistory {
        edits.sort_by_key(|(after, _)| *after);
        // With `podReplacementPolicy: Failed`, a deleted Pod must report its exit code.
        let reports_exit_on_delete = reports_exit_on_delete || spec["podReplacementPolicy"] == "Failed";
        JobHistory {
            spec, outcomes, crashes, rejections, is_slow_to_restart, edits, reports_exit_on_delete, spread_secs,
        }
    }
}

fn start(history: &JobHistory, now: Timestamp) -> JobSimulator {
    let meta = json!({"name": "j", "namespace": "ns", "uid": UID, "generation": 1,
        "resourceVersion": "1", "creationTimestamp": Time::new(now).to_string()});
    let job = json!({"metadata": meta, "spec": history.spec});
    let job: Job = serde_json::from_value(job).unwrap();
    let mut simulator = JobSimulator::new(job, now);
    let outcomes = history.outcomes.clone();
    simulator.outcome_of =
        Box::new(move |number, _| outcomes.get(number).copied().unwrap_or(PodOutcome::Exit(0)));
    simulator.reports_exit_on_delete = history.reports_exit_on_delete;
    simulator.spread_secs = history.spread_secs;
    simulator
}

fn apply(edit: Edit, simulator: &mut JobSimulator) {
    let now = simulator.now;
    let Some(job) = simulator.job.as_mut().filter(|job| !job.status.is_finished()) else { return };
    match edit {
        Edit::Parallelism(count) => job.spec.parallelism = Some(count),
        Edit::Suspend(is_suspended) => job.spec.suspend = Some(is_suspended),
        Edit::Delete => {
            job.metadata.deletion_timestamp = Some(Time::new(now));
            // The garbage collector deletes the Pods first (foreground deletion).
            let names: Vec<String> = simulator.pods.keys().cloned().collect();
            for name in &names {
                simulator.delete(name);
            }
        }
    }
}

/// Checks a plan before it is executed.
fn check_plan(simulator: &JobSimulator, plan: &Plan) {
    let job = simulator.job.as_ref().unwrap();
    let is_active = |pod: &&punctual_api::Pod| {
        !pod.status.is_terminal() && pod.metadata.deletion_timestamp.is_none()
    };
    let active = simulator.pods.values().filter(is_active).count();
    let created = plan.pods_to_create.len();
    if created > 0 {
        let parallelism = job.spec.parallelism.unwrap_or(1);
        assert!(active + created <= parallelism as usize, "{active} active, {created} more");
        assert!(!job.spec.is_suspended() && job.metadata.deletion_timestamp.is_none());
        let is_true = |condition_type| job.status.is_true(condition_type);
        assert!(!is_true(condition::FAILURE_TARGET) && !is_true(condition::SUCCESS_CRITERIA_MET));
        assert!(plan.pods_to_delete.is_empty(), "one step creates or deletes Pods, not both");
    }
    assert!(plan.wake_at.is_none_or(|wake_at| wake_at > simulator.now), "{:?}", plan.wake_at);
}

/// Writes the status after creates were rejected.
fn write_status_only(simulator: &mut JobSimulator) {
    let plan = simulator.decide(true);
    assert!(plan.pods_to_create.is_empty() && plan.pods_to_delete.is_empty());
    simulator.execute(&plan, usize::MAX);
}

fn run(history: &JobHistory, simulator: &mut JobSimulator) {
    let started_at = simulator.now;
    let mut crashes = history.crashes.iter().copied();
    let mut rejections = history.rejections.iter().copied();
    let mut edits = history.edits.iter().copied().peekable();
    for _ in 0..2000 {
        let plan = simulator.decide(false);
        if !plan.is_idle() {
            check_plan(simulator, &plan);
            if !plan.pods_to_create.is_empty() && rejections.next() == Some(true) {
                write_status_only(simulator);
                continue;
            }
            let Some(effects) = crashes.next() else {
                simulator.execute(&plan, usize::MAX);
                continue;
            };
            simulator.execute(&plan, effects);
            simulator.crash();
            if !history.is_slow_to_restart {
                continue;
            }
        }
        let edit_at = edits.peek().map(|(after, _)| started_at + SignedDuration::from_secs(*after));
        let wakes = [plan.wake_at, simulator.next_change_at(), edit_at];
        let Some(next) = wakes.into_iter().flatten().min() else {
            if plan.is_idle() {
                return;
            }
            continue;
        };
        simulator.now = simulator.now.max(next);
        simulator.apply_due_changes();
        if edit_at.is_some_and(|at| at <= simulator.now) {
            apply(edits.next().unwrap().1, simulator);
        }
    }
    panic!("not idle after 2000 decisions: {:?}", simulator.job);
}

/// Checks the state when nothing is left to do.
fn check_idle(history: &JobHistory, simulator: &JobSimulator) {
    let job = simulator.job.as_ref().unwrap();
    let status = &job.status;
    assert!(simulator.decide(false).is_idle() && simulator.decide(true).is_idle(), "not idle");
    check_counts(simulator, status);
    let is_ending = status.is_true(condition::FAILURE_TARGET)
        || status.is_true(condition::SUCCESS_CRITERIA_MET);
    if status.is_finished() {
        assert!(is_ending, "finished without an interim condition");
        assert!(simulator.pods.values().all(|pod| !is_tracked(pod)), "a tracked Pod is left");
        assert!(!status.is_true(condition::COMPLETE) || !status.is_true(condition::FAILED));
    } else {
        assert!(!is_ending, "has an interim condition and did not finish");
        let may_be_idle = job.spec.is_suspended()
            || job.spec.parallelism == Some(0)
            || job.metadata.deletion_timestamp.is_some()
            || status.active > 0;
        assert!(may_be_idle, "stuck: {status:?} of {history:?}");
    }
    let unfinished = simulator.pods.values().filter(|pod| !pod.status.is_terminal());
    let (terminating, running): (Vec<_>, Vec<_>) =
        unfinished.partition(|pod| pod.metadata.deletion_timestamp.is_some());
    assert_eq!(running.len() as i32, status.active, "active");
    // A failed Pod may be kept for the failure count of its index.
    assert!(terminating.is_empty() || job.spec.backoff_limit_per_index.is_some());
    assert_eq!(terminating.len() as i32, status.terminating.unwrap(), "terminating");
}

/// Checks that each Pod was counted exactly once, with its recorded result.
fn check_counts(simulator: &JobSimulator, status: &JobStatus) {
    assert!(status.uncounted_terminated_pods.as_ref().is_none_or(|pods| pods.is_empty()));
    assert_eq!(status.failed, simulator.recorded.failed, "failed");
    if simulator.job.as_ref().unwrap().spec.is_indexed() {
        let indexes = punctual_engine::job::Indexes::parse(&status.completed_indexes, u32::MAX);
        assert_eq!(status.succeeded as u64, indexes.len());
    } else {
        assert_eq!(status.succeeded, simulator.recorded.succeeded, "succeeded");
    }
}

const START: &str = "2026-03-01T12:00:00.25Z";

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_history_becomes_idle_and_counts_each_pod_once(history in history()) {
        let mut simulator = start(&history, START.parse().unwrap());
        run(&history, &mut simulator);
        check_idle(&history, &simulator);
    }

    /// Without edits and deleted Pods, crashes do not change the result.
    #[test]
    fn crashes_do_not_change_the_result(mut history in history()) {
        history.edits.clear();
        // A crash loses the backoff after a deleted Pod, which changes the order of events.
        history.outcomes.retain(|outcome| *outcome != PodOutcome::Deleted);
        history.is_slow_to_restart = false;
        let mut undisturbed = start(&history, START.parse().unwrap());
        let mut crashed = start(&history, START.parse().unwrap());
        run(&JobHistory { crashes: Vec::new(), ..history.clone() }, &mut undisturbed);
        run(&history, &mut crashed);
        let result = |simulator: &JobSimulator| {
            let status = simulator.job.as_ref().unwrap().status.clone();
            let kinds = status.conditions.iter().map(|c| (c.condition_type.clone(), c.reason.clone()));
            (kinds.collect::<Vec<_>>(), status.succeeded, status.failed, status.active,
                status.completed_indexes.clone(), status.failed_indexes.clone())
        };
        prop_assert_eq!(result(&undisturbed), result(&crashed));
    }

    #[test]
    fn a_server_accepts_the_generated_specs(history in history()) {
        let simulator = start(&history, START.parse().unwrap());
        let mut job = simulator.job.unwrap();
        job.spec.selector = Some(Default::default());
        let mut tree = serde_json::to_value(&job).unwrap();
        punctual_api::defaults::job(&mut tree);
        let job: Job = serde_json::from_value(tree).unwrap();
        let errors = validate::job_create(&job);
        let about_policies = errors.iter().filter(|error| {
            let text = format!("{error:?}");
            text.contains("olicy") || text.contains("ndex")
        });
        prop_assert_eq!(about_policies.count(), 0, "{:?}", errors);
    }
}
