//! Replays the 27 Jobs of `testdata/jobs.jsonl`, recorded from Kubernetes' Job controller with fixed
//! outcomes of their Pods. Ours must reach the same conditions, counts, indexes, Pods and events.
//!
//! Not compared: times, the five random characters of Pod names, the UIDs of Pods, the fields that a
//! node or an admission plugin sets, and the finalizers of deleted Pods (the recording shows them in
//! an earlier state).

use jiff::{SignedDuration, Timestamp};
use punctual_api::job::JobStatus;
use punctual_api::validate::ValidationOptions;
use punctual_api::write_rules::{self, CreateContext, ResourceKind};
use punctual_api::{Dialect, Job, Pod};
use punctual_schedule::Zones;
use serde_json::{Value, json};

use crate::job_simulator::{JobSimulator, PodOutcome};

const RECORDED: &str = include_str!("../../testdata/jobs.jsonl");

#[test]
fn every_recorded_job_has_the_same_result_as_in_kubernetes() {
    let cases: Vec<Value> =
        RECORDED.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(cases.len(), 27);
    let mut statuses = 0;
    for case in &cases {
        let simulator = run(case);
        let name = case["name"].as_str().unwrap();
        assert_eq!(simulator.job.is_some(), case["jobStillThere"] == true, "{name}: still there");
        let last = simulator.written.last().unwrap();
        let status = comparable(&serde_json::to_value(last).unwrap());
        assert_eq!(status, comparable(&case["finalJob"]["status"]), "{name}: status");
        assert_eq!(pods_of(&simulator), recorded_pods(case), "{name}: Pods");
        assert_eq!(events_of(&simulator), recorded_events(case), "{name}: events");
        statuses += check_history(case, &simulator.written);
    }
    println!("{} Jobs, {statuses} intermediate statuses", cases.len());
}

/// Checks that the recorded intermediate statuses are written here too, in the same order.
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

fn run(case: &Value) -> JobSimulator {
    let started_at: Timestamp = "2026-11-15T08:14:50Z".parse().unwrap();
    let mut simulator = JobSimulator::new(stored_job(case, started_at), started_at);
    let outcomes = case["outcomes"].clone();
    simulator.outcome_of = Box::new(move |number, pod| outcome(&outcomes, number, pod));
    let steps = case["steps"].as_array().unwrap().iter();
    let mut steps = steps
        .map(|step| {
            let after = SignedDuration::from_secs(step["afterSeconds"].as_i64().unwrap());
            (started_at + after, &step["mergePatch"])
        })
        .peekable();
    for _ in 0..1000 {
        let plan = simulator.decide(false);
        if !plan.is_idle() {
            simulator.execute(&plan, usize::MAX);
            continue;
        }
        let step_at = steps.peek().map(|(at, _)| *at);
        let next = [plan.wake_at, simulator.next_change_at(), step_at].into_iter().flatten().min();
        let Some(next) = next else { return simulator };
        simulator.now = next;
        simulator.apply_due_changes();
        if let Some((_, patch)) = steps.next_if(|(at, _)| *at <= next) {
            patch_spec(simulator.job.as_mut().unwrap(), patch);
        }
    }
    panic!("{}: not idle after 1000 decisions", case["name"]);
}

/// Returns the Job as the server stores it after the create.
fn stored_job(case: &Value, now: Timestamp) -> Job {
    let uid = case["finalJob"]["metadata"]["uid"].as_str().unwrap();
    let context = CreateContext { namespace: "jobs", uid, suffix: "abcde", now };
    let options = ValidationOptions { zones: Zones::bundled(), dialect: Dialect::default() };
    let created =
        write_rules::create(ResourceKind::Job, case["job"].clone(), &context, &options).unwrap();
    let mut job: Job = serde_json::from_value(created.object).unwrap();
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

fn outcome(outcomes: &Value, number: usize, pod: &Pod) -> PodOutcome {
    let index = pod.metadata.annotation("batch.kubernetes.io/job-completion-index");
    let key = index.map_or(number.to_string(), |index| format!("index {index}"));
    match &outcomes[key] {
        Value::String(text) if text == "run" => PodOutcome::Run,
        Value::String(text) => {
            PodOutcome::Restart(text.strip_prefix("restart:").unwrap().parse().unwrap())
        }
        code => PodOutcome::Exit(code.as_i64().unwrap_or(0) as i32),
    }
}

/// Removes times and random characters from a status.
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
        condition["message"] = json!(mask_random_names(condition["message"].as_str().unwrap()));
    }
    status
}

/// Replaces the last five characters of each Pod name in a message. A Pod name is any word with a
/// dash before its last five characters.
fn mask_random_names(message: &str) -> String {
    let words = message.split(' ').map(|word| match word.char_indices().rev().nth(5) {
        Some((dash, '-')) => format!("{}-*****", &word[..dash]),
        _ => word.to_owned(),
    });
    words.collect::<Vec<_>>().join(" ")
}

/// Returns the compared fields of a Pod as a line.
fn pod_line(pod: &Value, exists: bool) -> String {
    let meta = &pod["metadata"];
    let spec = &pod["spec"];
    let finalizers = if exists { meta["finalizers"].clone() } else { Value::Null };
    let container = &spec["containers"][0];
    json!({
        "stillThere": exists,
        "name": mask_random_names(meta["name"].as_str().unwrap()),
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

fn pods_of(simulator: &JobSimulator) -> Vec<String> {
    let line = |pod: &Pod, exists| pod_line(&serde_json::to_value(pod).unwrap(), exists);
    let existing = simulator.pods.values().map(|pod| line(pod, true));
    let mut lines: Vec<String> =
        existing.chain(simulator.deleted_pods.iter().map(|pod| line(pod, false))).collect();
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

/// Returns type, reason and message of each event in order. Events about Pods that are created or
/// deleted together may be in any order.
fn events_of(simulator: &JobSimulator) -> Vec<String> {
    let lines = simulator.events.iter();
    let lines =
        lines.map(|event| event_line(event.event_type.as_str(), event.reason, &event.message));
    sort_groups(lines.collect())
}

fn recorded_events(case: &Value) -> Vec<String> {
    let text = |event: &Value, key: &str| event[key].as_str().unwrap().to_owned();
    let events = case["events"].as_array().unwrap().iter();
    let lines = events
        .map(|e| event_line(&text(e, "type"), &text(e, "reason"), &text(e, "message")))
        .collect();
    sort_groups(lines)
}

fn event_line(event_type: &str, reason: &str, message: &str) -> String {
    format!("{event_type} {reason} {}", mask_random_names(message))
}

/// Sorts adjacent lines with the same reason.
fn sort_groups(lines: Vec<String>) -> Vec<String> {
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
fn mask_random_names_masks_only_pod_names() {
    let message = "Container c for pod jobs/a-job-mfqnt failed with exit code 42";
    let expected = "Container c for pod jobs/a-job-***** failed with exit code 42";
    assert_eq!(mask_random_names(message), expected);
    assert_eq!(mask_random_names("Job has failed indexes"), "Job has failed indexes");
}
