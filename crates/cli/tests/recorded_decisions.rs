//! Compares `punctual decide` with 1,500 recorded decisions of Kubernetes' own controller.
//!
//! The decisions must be the same except for the named exceptions. Each exception is applied to the
//! recorded answer first, so that excepted cases are compared as well.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

use std::{
    collections::BTreeMap,
    io::Write,
    process::{Command, Stdio},
};

use jiff::{SignedDuration, Timestamp};
use punctual_schedule::{Schedule, Zones};
use serde_json::Value;

/// The compared fields of a decision.
#[derive(Clone, Debug, PartialEq)]
struct ComparedAnswer {
    created: Vec<String>,
    /// Sorted, because the order does not matter.
    deleted: Vec<String>,
    active: Vec<String>,
    last_schedule_time: Option<String>,
    last_successful_time: Option<String>,
    /// `Type Reason`, sorted, because the order does not matter.
    events: Vec<String>,
    requeue_after_ms: Option<i64>,
}

fn names(value: &Value) -> Vec<String> {
    value.as_array().into_iter().flatten().map(|name| name.as_str().unwrap().into()).collect()
}

fn text(value: &Value) -> Option<String> {
    value.as_str().map(String::from)
}

impl ComparedAnswer {
    /// Reads a decision. Kubernetes adds 100 ms to the requeue delay; `added_ms` removes them.
    fn read(value: &Value, added_ms: i64) -> ComparedAnswer {
        let reason = |event: String| event.split(' ').take(2).collect::<Vec<_>>().join(" ");
        let requeue = value["requeueAfterSeconds"].as_f64();
        let answer = ComparedAnswer {
            created: names(&value["created"]),
            deleted: names(&value["deleted"]),
            active: names(&value["active"]),
            last_schedule_time: text(&value["lastScheduleTime"]),
            last_successful_time: text(&value["lastSuccessfulTime"]),
            events: names(&value["events"]).into_iter().map(reason).collect(),
            requeue_after_ms: requeue.map(|secs| (secs * 1000.0).round() as i64 - added_ms),
        };
        answer.sorted()
    }

    fn sorted(mut self) -> ComparedAnswer {
        self.deleted.sort();
        self.events.sort();
        self
    }

    fn remove_event(&mut self, reason: &str) {
        self.events.retain(|event| !event.ends_with(reason));
    }
}

/// One recorded case.
struct RecordedCase(Value);

impl RecordedCase {
    fn spec(&self) -> &Value {
        &self.0["cronJob"]["spec"]
    }

    fn policy(&self) -> &str {
        self.spec()["concurrencyPolicy"].as_str().unwrap()
    }

    fn time(&self, text: &Value) -> Option<Timestamp> {
        text.as_str().filter(|text| !text.is_empty()).map(|text| text.parse().unwrap())
    }

    fn now(&self) -> Timestamp {
        self.time(&self.0["now"]).unwrap()
    }

    /// Whether the CronJob never starts a run in its current state.
    fn is_blocked(&self) -> bool {
        let metadata = &self.0["cronJob"]["metadata"];
        self.spec()["suspend"] == true
            || metadata["deletionTimestamp"].is_string()
            || self.schedule().is_none()
    }

    fn schedule(&self) -> Option<Schedule> {
        let zone = self.spec()["timeZone"].as_str().unwrap_or("UTC");
        let zone = Zones::bundled().get(zone).ok()?;
        let schedule = Schedule::parse(self.spec()["schedule"].as_str().unwrap(), &zone).ok()?;
        (!schedule.is_never()).then_some(schedule)
    }

    /// Returns the running Jobs that are missing from `status.active`.
    fn unrecorded_jobs(&self) -> Vec<String> {
        let active = self.0["cronJob"]["status"]["active"].as_array().cloned().unwrap_or_default();
        let jobs = self.0["jobsListed"].as_array().into_iter().flatten();
        jobs.filter(|job| job["status"]["conditions"].is_null())
            .filter(|job| !active.iter().any(|entry| entry["uid"] == job["metadata"]["uid"]))
            .map(|job| job["metadata"]["name"].as_str().unwrap().into())
            .collect()
    }

    /// Whether the deadline of a slot has passed.
    fn has_miss(&self) -> bool {
        let Some(deadline) = self.spec()["startingDeadlineSeconds"].as_i64() else { return false };
        let Some(schedule) = self.schedule() else { return false };
        let cron_job = &self.0["cronJob"];
        let last = self.time(&cron_job["status"]["lastScheduleTime"]);
        let created = self.time(&cron_job["metadata"]["creationTimestamp"]).unwrap();
        let late = self.now() - SignedDuration::from_secs(deadline);
        !self.is_blocked() && schedule.count_in(last.unwrap_or(created), late) > 0
    }

    fn name_of(&self, slot: Timestamp) -> String {
        let secs = slot.as_second();
        let number = if secs % 60 == 0 { secs / 60 } else { secs };
        format!("{}-{number}", self.0["cronJob"]["metadata"]["name"].as_str().unwrap())
    }

    /// Applies the start of a slot, or its rejection by the policy, to an answer without a start.
    fn add_start(&self, answer: &mut ComparedAnswer, slot: Timestamp) {
        if self.policy() == "Forbid" && !answer.active.is_empty() {
            answer.events.push("Normal JobAlreadyActive".into());
            return;
        }
        if self.policy() == "Replace" {
            answer.events.extend(answer.active.iter().map(|_| "Normal SuccessfulDelete".into()));
            answer.deleted.append(&mut answer.active);
        }
        answer.created = vec![self.name_of(slot)];
        answer.active.extend(answer.created.clone());
        answer.last_schedule_time = Some(slot.to_string());
        answer.events.push("Normal SuccessfulCreate".into());
    }

    /// Removes the start that Kubernetes recorded.
    fn remove_start(&self, answer: &mut ComparedAnswer) {
        let replaced = answer.created.iter().any(|_| self.policy() == "Replace");
        for created in std::mem::take(&mut answer.created) {
            answer.active.retain(|name| *name != created);
            answer.remove_event("SuccessfulCreate");
            answer.last_schedule_time = text(&self.0["cronJob"]["status"]["lastScheduleTime"]);
        }
        if replaced {
            for name in self.replaced(answer) {
                answer.deleted.retain(|deleted| *deleted != name);
                let at = answer.events.iter().position(|event| event.ends_with("SuccessfulDelete"));
                answer.events.remove(at.unwrap());
                answer.active.push(name);
            }
        }
        answer.remove_event("JobAlreadyActive");
    }

    /// Returns the running Jobs that the policy Replace deleted, without the Jobs deleted as history.
    fn replaced(&self, answer: &ComparedAnswer) -> Vec<String> {
        let jobs = self.0["jobsListed"].as_array().cloned().unwrap_or_default();
        let finished = |name: &String| {
            let named = |job: &&Value| job["metadata"]["name"].as_str() == Some(name);
            jobs.iter().find(named).is_some_and(|job| !job["status"]["conditions"].is_null())
        };
        let active = names_of_active(&self.0["cronJob"]["status"]["active"]);
        active.into_iter().filter(|name| answer.deleted.contains(name) && !finished(name)).collect()
    }

    /// Returns the deleted Jobs that had already ended, which the cache did not show.
    fn ended_outside_cache(&self, answer: &ComparedAnswer) -> Vec<String> {
        let jobs = self.0["jobsOnlyOnServer"].as_array().into_iter().flatten();
        let ended = jobs.filter(|job| !job["status"]["conditions"].is_null());
        let names = ended.map(|job| job["metadata"]["name"].as_str().unwrap().to_owned());
        names.filter(|name| answer.deleted.contains(name)).collect()
    }

    /// Removes deletions from the answer.
    fn undo_deletions(&self, answer: &mut ComparedAnswer, names: Vec<String>) {
        for name in names {
            answer.deleted.retain(|deleted| *deleted != name);
            let at = answer.events.iter().position(|event| event.ends_with("SuccessfulDelete"));
            answer.events.remove(at.unwrap());
            answer.active.insert(0, name);
        }
    }

    /// Returns the expected answer and the exceptions that it needs.
    fn expected(&self) -> (ComparedAnswer, Vec<&'static str>) {
        let recorded = ComparedAnswer::read(&self.0["upstream"], 100);
        let mut answer = recorded.clone();
        let mut exceptions = Vec::new();
        let latest = if self.is_blocked() { None } else { self.time(&self.0["latestUnmet"]) };
        let unrecorded = self.unrecorded_jobs();
        if self.0["latestUnmet"] != self.0["latestUnmetUpstream"] && latest.is_some() {
            exceptions.push("1 the latest pending slot is exact");
        }
        if !unrecorded.is_empty() {
            exceptions.push("6 an unrecorded run is adopted");
        }
        if latest.is_some_and(|slot| slot.as_second() % 60 != 0 && !recorded.created.is_empty()) {
            exceptions.push("4 a Job of a slot that is not on a whole minute is named by seconds");
        }
        let restarted_slot = if exceptions.is_empty() { None } else { latest };
        if restarted_slot.is_some() {
            self.remove_start(&mut answer);
        }
        answer.active.extend(unrecorded);
        if let Some(slot) = restarted_slot {
            self.add_start(&mut answer, slot);
        }
        answer.remove_event("UnexpectedJob");
        let ended = self.ended_outside_cache(&answer);
        if !ended.is_empty() {
            exceptions.push("7 an ended run is counted before it is deleted");
            self.undo_deletions(&mut answer, ended);
        }
        self.expect_warnings(&mut answer, latest.is_some(), &mut exceptions);
        (answer.sorted(), exceptions)
    }

    fn expect_warnings(
        &self,
        answer: &mut ComparedAnswer,
        is_due: bool,
        exceptions: &mut Vec<&'static str>,
    ) {
        let is_reported = answer.events.iter().any(|event| event.ends_with("TooManyMissedTimes"));
        let is_expected =
            is_due && self.policy() == "Allow" && self.0["unmetSlots"].as_u64() > Some(100);
        if is_reported != is_expected {
            exceptions.push("2 TooManyMissedTimes is exact, and only reported under Allow");
        }
        answer.remove_event("TooManyMissedTimes");
        if is_expected {
            answer.events.push("Warning TooManyMissedTimes".into());
        }
        if !answer.created.is_empty() && self.0["unmetSlots"].as_u64() > Some(1) {
            exceptions.push("8 skipped slots are reported");
            answer.events.push("Normal SkippedSlots".into());
        }
        if self.has_miss() {
            exceptions.push("3 a missed slot is reported");
            answer.events.push("Warning MissSchedule".into());
        }
    }
}

fn names_of_active(active: &Value) -> Vec<String> {
    let entries = active.as_array().into_iter().flatten();
    entries.map(|entry| entry["name"].as_str().unwrap().into()).collect()
}

fn decide(cases: &'static str) -> Vec<Value> {
    let mut child = Command::new(env!("CARGO_BIN_EXE_punctual"))
        .args(["--tzdata", "bundled", "--time-zone", "UTC", "decide", "--stdin"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let writer = std::thread::spawn(move || stdin.write_all(cases.as_bytes()).unwrap());
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    String::from_utf8(output.stdout)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn decisions_equal_the_recorded_ones_except_for_the_named_exceptions() {
    let text = include_str!("../../engine/testdata/decide.jsonl");
    let cases: Vec<RecordedCase> =
        text.lines().map(|line| RecordedCase(serde_json::from_str(line).unwrap())).collect();
    let answers = decide(text);
    assert_eq!((cases.len(), answers.len()), (1_500, 1_500));
    let mut excepted: BTreeMap<&str, usize> = BTreeMap::new();
    let mut unexcepted = 0;
    for (case, answer) in cases.iter().zip(answers) {
        let (expected, exceptions) = case.expected();
        assert_eq!(ComparedAnswer::read(&answer, 0), expected, "case {}", case.0["id"]);
        unexcepted += usize::from(exceptions.is_empty());
        for exception in exceptions {
            *excepted.entry(exception).or_default() += 1;
        }
    }
    println!("{unexcepted} cases without any exception");
    for (exception, count) in &excepted {
        println!("{count} cases: {exception}");
    }
    assert_eq!(excepted.get("6 an unrecorded run is adopted"), Some(&23));
}

fn decide_one(case: &Value) -> Value {
    let text: &'static str = Box::leak(case.to_string().into_boxed_str());
    decide(text).remove(0)
}

fn case(jobs: Value) -> Value {
    serde_json::json!({
        "now": "2026-03-01T11:00:05Z",
        "cronJob": {
            "metadata": {"name": "a", "namespace": "ns", "uid": "new",
                "creationTimestamp": "2026-03-01T10:30:00Z"},
            "spec": {"schedule": "0 * * * *", "concurrencyPolicy": "Forbid", "jobTemplate": {}},
        },
        "jobsListed": jobs,
    })
}

#[test]
fn jobs_of_a_deleted_cron_job_with_the_same_name_are_ignored() {
    let owner =
        serde_json::json!([{"kind": "CronJob", "name": "a", "uid": "old", "controller": true}]);
    let mut job = serde_json::json!({"metadata": {"name": "a-29539320", "uid": "j",
        "annotations": {"batch.kubernetes.io/cronjob-scheduled-timestamp": "2026-03-01T10:00:00Z"},
        "ownerReferences": owner}});
    let answer = decide_one(&case(serde_json::json!([job])));
    assert_eq!(names(&answer["created"]), ["a-29539380"], "the old Job does not block a run");
    // If the old Job has the name of the slot's Job, the slot is skipped and the next one is awaited.
    job["metadata"]["name"] = "a-29539380".into();
    let answer = decide_one(&case(serde_json::json!([job])));
    assert_eq!(answer["created"], serde_json::json!([]));
    assert_eq!(answer["events"], serde_json::json!(["Warning FailedCreate"]));
    assert_eq!(answer["requeueAfterSeconds"], 3595.0);
    assert_eq!(answer["status"]["conditions"][0]["reason"], "NameTaken");
}

#[test]
fn invalid_input_is_answered_with_an_error() {
    let good = case(Value::Null).to_string();
    let text = format!("nonsense\n{{\"now\":\"today\",\"cronJob\":{{}}}}\n{good}\n");
    let answers = decide(Box::leak(text.into_boxed_str()));
    assert!(answers[0]["error"].as_str().unwrap().starts_with("expected an object like"));
    assert!(answers[1]["error"].as_str().unwrap().starts_with("\"today\" is not a time"));
    assert_eq!(names(&answers[2]["created"]), ["a-29539380"]);
}

#[test]
fn text_output_explains_the_decision() {
    let output = Command::new(env!("CARGO_BIN_EXE_punctual"))
        .args(["--time-zone", "UTC", "decide", "--stdin", "-o", "text"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .and_then(|mut child| {
            child.stdin.take().unwrap().write_all(case(Value::Null).to_string().as_bytes())?;
            child.wait_with_output()
        })
        .unwrap();
    assert_eq!(
        String::from_utf8(output.stdout).unwrap(),
        "ns/a at 2026-03-01T11:00:05Z: starts a-29539380 for slot 2026-03-01T11:00:00Z, 5s late\n  \
         event Normal SuccessfulCreate Created job a-29539380\n  next reconcile at \
         2026-03-01T12:00:00Z, in 59m 55s\n"
    );
}

#[test]
fn a_dump_of_kubectl_is_decided_object_by_object() {
    let mut cron_job = case(Value::Null)["cronJob"].clone();
    cron_job["apiVersion"] = "batch/v1".into();
    cron_job["kind"] = "CronJob".into();
    let list = serde_json::json!({"apiVersion": "v1", "kind": "List", "items": [cron_job]});
    let output = Command::new(env!("CARGO_BIN_EXE_punctual"))
        .args([
            "--time-zone",
            "UTC",
            "decide",
            "-o",
            "text",
            "--now",
            "2026-03-01T11:00:05Z",
            "-f",
            "-",
        ])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .and_then(|mut child| {
            let text = serde_json::to_string_pretty(&list).unwrap();
            child.stdin.take().unwrap().write_all(text.as_bytes())?;
            child.wait_with_output()
        })
        .unwrap();
    let stdout = String::from_utf8(output.stdout).unwrap();
    assert!(stdout.starts_with("ns/a at 2026-03-01T11:00:05Z: starts a-29539380"), "{stdout}");
    assert!(output.status.success());
}
