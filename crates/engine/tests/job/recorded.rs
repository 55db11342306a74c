//! The 27 Jobs of `testdata/jobs.jsonl`, run by Kubernetes' own controller with recorded outcomes
//! of their Pods: ours arrives at the same conditions, counts, indexes, Pods and events.
//!
//! Not compared: times (another clock), the five random characters of a Pod's name (made otherwise
//! here), the UIDs of Pods, what a node or an admission plugin adds to a Pod, and the finalizers of
//! Pods that are gone (the recording shows them as they were at some moment before).

use jiff::{SignedDuration, Timestamp};
use punctual_api::job::JobStatus;
use punctual_api::strategy::{self, CreateContext, ResourceKind};
use punctual_api::validate::ValidationOptions;
use punctual_api::{Dialect, Job, Pod};
use punctual_schedule::Zones;
use serde_json::{Value, json};

use crate::world::{EffectResult, World};

const RECORDED: &str = include_str!("../../testdata/jobs.jsonl");

#[test]
fn every_recorded_job_ends_as_it_did_in_kubernetes() {
    let cases: Vec<Value> =
        RECORDED.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(cases.len(), 27);
    let mut statuses = 0;
    for case in &cases {
        let world = live(case);
        let name = case["name"].as_str().unwrap();
        assert_eq!(world.job.is_some(), case["jobStillThere"] == true, "{name}: still there");
        let last = world.written.last().unwrap();
        let status = comparable(&serde_json::to_value(last).unwrap());
        assert_eq!(status, comparable(&case["finalJob"]["status"]), "{name}: status");
        assert_eq!(pods_of(&world), recorded_pods(case), "{name}: Pods");
        assert_eq!(events_of(&world), recorded_events(case), "{name}: events");
        statuses += check_history(case, &world.written);
    }
    println!("{} Jobs, {statuses} statuses on the way", cases.len());
}

/// The statuses that were seen on the way in Kubernetes are written here too, in that order.
fn check_history(case: &Value, written: &[JobStatus]) -> usize {
    let mut ours = written.iter().map(|status| comparable(&serde_json::to_value(status).unwrap()));
    let recorded = case["statusHistory"].as_array().unwrap();
    let recorded = recorded.iter().filter(|status| !status.as_object().unwrap().is_empty());
    let recorded: Vec<Value> = recorded.map(comparable).collect();
    for status in &recorded {
        assert!(ours.any(|own| own == *status), "{}: {status:#} of {written:#?}", case["name"]);
    }
    recorded.len()
}

fn live(case: &Value) -> World {
    let started_at: Timestamp = "2026-11-15T08:14:50Z".parse().unwrap();
    let mut world = World::new(posted(case, started_at), started_at);
    let outcomes = case["outcomes"].clone();
    world.outcome_of = Box::new(move |number, pod| outcome(&outcomes, number, pod));
    let steps = case["steps"].as_array().unwrap().iter();
    let mut steps = steps
        .map(|step| {
            let after = SignedDuration::from_secs(step["afterSeconds"].as_i64().unwrap());
            (started_at + after, &step["mergePatch"])
        })
        .peekable();
    for _ in 0..1000 {
        let plan = world.decide(false);
        if !plan.is_idle() {
            world.execute(&plan, usize::MAX);
            continue;
        }
        let step_at = steps.peek().map(|(at, _)| *at);
        let next = [plan.wake_at, world.next_happening(), step_at].into_iter().flatten().min();
        let Some(next) = next else { return world };
        world.now = next;
        world.let_happen();
        if let Some((_, patch)) = steps.next_if(|(at, _)| *at <= next) {
            patch_spec(world.job.as_mut().unwrap(), patch);
        }
    }
    panic!("{}: no end", case["name"]);
}

/// The Job as a server stores it that is given what was posted.
fn posted(case: &Value, now: Timestamp) -> Job {
    let uid = case["finalJob"]["metadata"]["uid"].as_str().unwrap();
    let birth = CreateContext { namespace: "jobs", uid, suffix: "abcde", now };
    let rules = ValidationOptions { zones: Zones::bundled(), dialect: Dialect::default() };
    let made = strategy::create(ResourceKind::Job, case["job"].clone(), &birth, &rules).unwrap();
    let mut job: Job = serde_json::from_value(made.object).unwrap();
    job.metadata.resource_version = "1".to_owned();
    job
}

fn patch_spec(job: &mut Job, patch: &Value) {
    let mut tree = serde_json::to_value(&*job).unwrap();
    for (field, value) in patch["spec"].as_object().unwrap() {
        tree["spec"][field] = value.clone();
    }
    *job = serde_json::from_value(tree).unwrap();
}

fn outcome(outcomes: &Value, number: usize, pod: &Pod) -> EffectResult {
    let index = pod.metadata.annotation("batch.kubernetes.io/job-completion-index");
    let key = index.map_or(number.to_string(), |index| format!("index {index}"));
    match &outcomes[key] {
        Value::String(text) if text == "run" => EffectResult::Run,
        Value::String(text) => {
            EffectResult::Restart(text.strip_prefix("restart:").unwrap().parse().unwrap())
        }
        code => EffectResult::ContainerExit(code.as_i64().unwrap_or(0) as i32),
    }
}

/// A status without times and without the characters that chance chose.
fn comparable(status: &Value) -> Value {
    let mut status = status.clone();
    for key in ["startTime", "completionTime"] {
        if let Some(time) = status.get_mut(key) {
            *time = json!("some time");
        }
    }
    for condition in
        status.get_mut("conditions").and_then(Value::as_array_mut).into_iter().flatten()
    {
        condition["lastProbeTime"] = json!("some time");
        condition["lastTransitionTime"] = json!("some time");
        condition["message"] = json!(without_chance(condition["message"].as_str().unwrap()));
    }
    status
}

/// A message in which the last five characters of each Pod's name are stars. All names begin with
/// that of a Job, so what looks like a name is a word with a dash before its last five characters.
fn without_chance(message: &str) -> String {
    let words = message.split(' ').map(|word| match word.char_indices().rev().nth(5) {
        Some((dash, '-')) => format!("{}-*****", &word[..dash]),
        _ => word.to_owned(),
    });
    words.collect::<Vec<_>>().join(" ")
}

/// What is compared of a Pod, as text that can be sorted.
fn pod_line(pod: &Value, still_there: bool) -> String {
    let (meta, spec) = (&pod["metadata"], &pod["spec"]);
    let finalizers = if still_there { meta["finalizers"].clone() } else { Value::Null };
    let container = &spec["containers"][0];
    json!({
        "stillThere": still_there,
        "name": without_chance(meta["name"].as_str().unwrap()),
        "generateName": meta["generateName"],
        "namespace": meta["namespace"],
        "labels": meta["labels"],
        "annotations": meta["annotations"],
        "owners": meta["ownerReferences"],
        "finalizers": finalizers,
        "hostname": spec["hostname"],
        "env": container["env"],
        "command": container["command"],
        "restartPolicy": spec["restartPolicy"],
        "phase": pod["status"]["phase"],
    })
    .to_string()
}

fn pods_of(world: &World) -> Vec<String> {
    let line = |pod: &Pod, still_there| pod_line(&serde_json::to_value(pod).unwrap(), still_there);
    let here = world.pods.values().map(|pod| line(pod, true));
    let mut lines: Vec<String> =
        here.chain(world.gone.iter().map(|pod| line(pod, false))).collect();
    lines.sort();
    lines
}

fn recorded_pods(case: &Value) -> Vec<String> {
    let pods = case["pods"].as_array().unwrap();
    let mut lines: Vec<String> =
        pods.iter().map(|pod| pod_line(&pod["pod"], pod["stillThere"] == true)).collect();
    lines.sort();
    lines
}

/// Type, reason and message of each event, in order; Pods that are made or deleted together are
/// so in any order, which their equal lines do not show.
fn events_of(world: &World) -> Vec<String> {
    let lines = world.events.iter();
    let lines = lines.map(|note| line(note.event_type.as_str(), note.reason, &note.message));
    in_groups(lines.collect())
}

fn recorded_events(case: &Value) -> Vec<String> {
    let text = |event: &Value, key: &str| event[key].as_str().unwrap().to_owned();
    let events = case["events"].as_array().unwrap().iter();
    let lines =
        events.map(|e| line(&text(e, "type"), &text(e, "reason"), &text(e, "message"))).collect();
    in_groups(lines)
}

fn line(kind: &str, reason: &str, message: &str) -> String {
    format!("{kind} {reason} {}", without_chance(message))
}

/// Sorts neighbours of one reason, as the Pods of an Indexed Job differ in their names.
fn in_groups(lines: Vec<String>) -> Vec<String> {
    let reason = |line: &String| line.split(' ').nth(1).map(str::to_owned);
    let groups = lines.chunk_by(|a, b| reason(a) == reason(b));
    groups
        .flat_map(|group| {
            let mut group = group.to_vec();
            group.sort();
            group
        })
        .collect()
}

#[test]
fn names_are_compared_but_for_what_chance_chose() {
    let message = "Container c for pod jobs/a-job-mfqnt failed with exit code 42";
    let expected = "Container c for pod jobs/a-job-***** failed with exit code 42";
    assert_eq!(without_chance(message), expected);
    assert_eq!(without_chance("Job has failed indexes"), "Job has failed indexes");
}
