//! Random lives: any spec, any outcomes, edits, refused Pods, and a crash after any effect.
//!
//! The world checks each effect as it is carried out; here it is checked that there are never
//! too many Pods, that every life comes to rest, and that at rest everything adds up.

use jiff::{SignedDuration, Timestamp};
use proptest::collection::vec;
use proptest::prelude::*;
use punctual_api::job::{JobStatus, condition};
use punctual_api::{Job, Time, validate};
use punctual_engine::job::Plan;
use serde_json::{Map, Value, json};

use crate::world::{EffectResult, World, is_tracked};

const UID: &str = "4f8a1c1e-0000-4000-8000-000000000001";

/// A life to be lived.
#[derive(Clone, Debug)]
struct Life {
    spec: Value,
    /// What becomes of the Pods, in order of creation; the others end well.
    outcomes: Vec<EffectResult>,
    /// After how many effects the controller dies, plan by plan; then it lives on.
    crashes: Vec<usize>,
    /// Whether Pods are refused, plan by plan; then they are not.
    refusals: Vec<bool>,
    /// Whether time passes between a crash and the next look.
    is_slow_to_restart: bool,
    /// Seconds after which the spec is changed, or the Job deleted.
    edits: Vec<(i64, Edit)>,
    dies_aloud: bool,
    spread_secs: usize,
}

#[derive(Clone, Copy, Debug)]
enum Edit {
    Parallelism(i32),
    Suspend(bool),
    Delete,
}

fn outcome() -> impl Strategy<Value = EffectResult> {
    prop_oneof![
        4 => Just(EffectResult::ContainerExit(0)),
        3 => Just(EffectResult::ContainerExit(1)),
        2 => Just(EffectResult::ContainerExit(7)),
        1 => Just(EffectResult::ContainerExit(9)),
        1 => Just(EffectResult::ContainerExit(42)),
        2 => Just(EffectResult::Deleted),
        1 => Just(EffectResult::Run),
        1 => (0..3).prop_map(EffectResult::Restart),
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
        if let (true, Some(completions)) = (is_indexed, completions) {
            set("completionMode", json!("Indexed"));
            if let Some(limit) = limit_per_index {
                per_index = true;
                set("backoffLimitPerIndex", json!(limit));
                if let Some(max) = max_failed.filter(|_| completions > 0) {
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
            // A policy goes by how Pods end, so they must not be restarted.
            fields["template"]["spec"]["restartPolicy"] = json!("Never");
        }
        Value::Object(fields)
    }
}

prop_compose! {
    fn life()(
        spec in spec(),
        outcomes in vec(outcome(), 0..9),
        crashes in vec(0..6_usize, 0..30),
        refusals in vec(any::<bool>(), 0..9),
        is_slow_to_restart in any::<bool>(),
        mut edits in vec((1..40_i64, edit()), 0..3),
        dies_aloud in any::<bool>(),
        spread_secs in 0..8_usize,
    ) -> Life {
        edits.sort_by_key(|(after, _)| *after);
        // A Pod that is replaced only once it failed must get to say so.
        let dies_aloud = dies_aloud || spec["podReplacementPolicy"] == "Failed";
        Life {
            spec, outcomes, crashes, refusals, is_slow_to_restart, edits, dies_aloud, spread_secs,
        }
    }
}

fn born(life: &Life, now: Timestamp) -> World {
    let meta = json!({"name": "j", "namespace": "ns", "uid": UID, "generation": 1,
        "resourceVersion": "1", "creationTimestamp": Time::new(now).to_string()});
    let job = json!({"metadata": meta, "spec": life.spec});
    let job: Job = serde_json::from_value(job).unwrap();
    let mut world = World::new(job, now);
    let outcomes = life.outcomes.clone();
    world.outcome_of = Box::new(move |number, _| {
        outcomes.get(number).copied().unwrap_or(EffectResult::ContainerExit(0))
    });
    world.dies_aloud = life.dies_aloud;
    world.spread_secs = life.spread_secs;
    world
}

fn apply(edit: Edit, world: &mut World) {
    let now = world.now;
    let Some(job) = world.job.as_mut().filter(|job| !job.status.is_finished()) else { return };
    match edit {
        Edit::Parallelism(count) => job.spec.parallelism = Some(count),
        Edit::Suspend(is_suspended) => job.spec.suspend = Some(is_suspended),
        Edit::Delete => {
            job.metadata.deletion_timestamp = Some(Time::new(now));
            // As the garbage collector does for a deletion in the foreground.
            let names: Vec<String> = world.pods.keys().cloned().collect();
            names.iter().for_each(|name| world.delete(name));
        }
    }
}

/// What must hold of every plan, before it is carried out.
fn check_plan(world: &World, plan: &Plan) {
    let job = world.job.as_ref().unwrap();
    let is_active = |pod: &&punctual_api::Pod| {
        !pod.status.is_terminal() && pod.metadata.deletion_timestamp.is_none()
    };
    let active = world.pods.values().filter(is_active).count();
    let created = plan.pods_to_create.len();
    if created > 0 {
        let parallelism = job.spec.parallelism.unwrap_or(1);
        assert!(active + created <= parallelism as usize, "{active} active, {created} more");
        assert!(!job.spec.is_suspended() && job.metadata.deletion_timestamp.is_none());
        let is_ending = |kind| job.status.is_true(kind);
        assert!(
            !is_ending(condition::FAILURE_TARGET) && !is_ending(condition::SUCCESS_CRITERIA_MET)
        );
        assert!(plan.pods_to_delete.is_empty(), "Pods come or go");
    }
    assert!(plan.wake_at.is_none_or(|wake_at| wake_at > world.now), "{:?}", plan.wake_at);
}

/// Pods were refused: the status is written, and the Pods are tried again.
fn report(world: &mut World) {
    let plan = world.decide(true);
    assert!(plan.pods_to_create.is_empty() && plan.pods_to_delete.is_empty());
    world.execute(&plan, usize::MAX);
}

fn live(life: &Life, world: &mut World) {
    let started_at = world.now;
    let mut crashes = life.crashes.iter().copied();
    let mut refusals = life.refusals.iter().copied();
    let mut edits = life.edits.iter().copied().peekable();
    for _ in 0..2000 {
        let plan = world.decide(false);
        if !plan.is_idle() {
            check_plan(world, &plan);
            if !plan.pods_to_create.is_empty() && refusals.next() == Some(true) {
                report(world);
                continue;
            }
            let Some(effects) = crashes.next() else {
                world.execute(&plan, usize::MAX);
                continue;
            };
            world.execute(&plan, effects);
            world.crash();
            if !life.is_slow_to_restart {
                continue;
            }
        }
        let edit_at = edits.peek().map(|(after, _)| started_at + SignedDuration::from_secs(*after));
        let wakes = [plan.wake_at, world.next_happening(), edit_at];
        let Some(next) = wakes.into_iter().flatten().min() else {
            if plan.is_idle() {
                return;
            }
            continue;
        };
        world.now = world.now.max(next);
        world.let_happen();
        if edit_at.is_some_and(|at| at <= world.now) {
            apply(edits.next().unwrap().1, world);
        }
    }
    panic!("no rest after 2000 looks: {:?}", world.job);
}

/// What must hold when nothing is left to do.
fn check_rest(life: &Life, world: &World) {
    let job = world.job.as_ref().unwrap();
    let status = &job.status;
    assert!(world.decide(false).is_idle() && world.decide(true).is_idle(), "not at rest");
    check_counts(world, status);
    let is_ending = status.is_true(condition::FAILURE_TARGET)
        || status.is_true(condition::SUCCESS_CRITERIA_MET);
    if status.is_finished() {
        assert!(is_ending, "ended without announcement");
        assert!(world.pods.values().all(|pod| !is_tracked(pod)), "a tracked Pod is left");
        assert!(!status.is_true(condition::COMPLETE) || !status.is_true(condition::FAILED));
    } else {
        assert!(!is_ending, "announced its end and did not come to it");
        let may_rest = job.spec.is_suspended()
            || job.spec.parallelism == Some(0)
            || job.metadata.deletion_timestamp.is_some()
            || status.active > 0;
        assert!(may_rest, "stuck: {status:?} of {life:?}");
    }
    let unfinished = world.pods.values().filter(|pod| !pod.status.is_terminal());
    let (going, running): (Vec<_>, Vec<_>) =
        unfinished.partition(|pod| pod.metadata.deletion_timestamp.is_some());
    assert_eq!(running.len() as i32, status.active, "active");
    // A Pod that failed may be kept for what it knows of its index.
    assert!(going.is_empty() || job.spec.backoff_limit_per_index.is_some());
    assert_eq!(going.len() as i32, status.terminating.unwrap(), "terminating");
}

/// Each Pod was counted exactly once, as what it was entered as.
fn check_counts(world: &World, status: &JobStatus) {
    assert!(status.uncounted_terminated_pods.as_ref().is_none_or(|pods| pods.is_empty()));
    assert_eq!(status.failed, world.entered.failed, "failed");
    if world.job.as_ref().unwrap().spec.is_indexed() {
        let indexes = punctual_engine::job::Indexes::parse(&status.completed_indexes, u32::MAX);
        assert_eq!(status.succeeded as u64, indexes.len());
    } else {
        assert_eq!(status.succeeded, world.entered.succeeded, "succeeded");
    }
}

const START: &str = "2026-03-01T12:00:00.25Z";

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_life_comes_to_rest_and_counts_each_pod_once(life in life()) {
        let mut world = born(&life, START.parse().unwrap());
        live(&life, &mut world);
        check_rest(&life, &world);
    }

    /// Without edits and without Pods that are removed, crashes change nothing about the end.
    #[test]
    fn a_life_with_crashes_ends_as_the_same_life_without(mut life in life()) {
        life.edits.clear();
        // The wait after a Pod that is gone is lost in a crash, and with it the order of events.
        life.outcomes.retain(|outcome| *outcome != EffectResult::Deleted);
        life.is_slow_to_restart = false;
        let mut whole = born(&life, START.parse().unwrap());
        let mut broken = born(&life, START.parse().unwrap());
        live(&Life { crashes: Vec::new(), ..life.clone() }, &mut whole);
        live(&life, &mut broken);
        let end = |world: &World| {
            let status = world.job.as_ref().unwrap().status.clone();
            let kinds = status.conditions.iter().map(|c| (c.condition_type.clone(), c.reason.clone()));
            (kinds.collect::<Vec<_>>(), status.succeeded, status.failed, status.active,
                status.completed_indexes.clone(), status.failed_indexes.clone())
        };
        prop_assert_eq!(end(&whole), end(&broken));
    }

    #[test]
    fn the_specs_of_these_lives_are_what_a_server_accepts(life in life()) {
        let world = born(&life, START.parse().unwrap());
        let mut job = world.job.unwrap();
        job.spec.selector = Some(Default::default());
        let mut tree = serde_json::to_value(&job).unwrap();
        punctual_api::defaults::job(&mut tree);
        let job: Job = serde_json::from_value(tree).unwrap();
        let refused = validate::job_create(&job);
        let about_policies = refused.iter().filter(|error| {
            let text = format!("{error:?}");
            text.contains("olicy") || text.contains("ndex")
        });
        prop_assert_eq!(about_policies.count(), 0, "{:?}", refused);
    }
}
