//! Builds histories: a CronJob with regular runs, which a test then changes to violate a rule.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::check::{CheckReport, check};
use crate::history::{HistoryEvent, HistoryRecord};
use crate::scenario::{ActionKind, Fault, FaultWindow, Millis, Scenario, UserAction};

pub(in crate::check) const UID: &str = "uid-c0";
const KEY: &str = "/cronjobs.batch/default/c0";
pub(in crate::check) const MINUTE: Millis = 60_000;
/// The first slot, half a minute after the start.
pub(in crate::check) const FIRST: Millis = 30_000;

/// A history under construction. Records may be added in any order.
pub(in crate::check) struct HistoryBuilder {
    pub(in crate::check) scenario: Scenario,
    pub(in crate::check) end: Millis,
    pub(in crate::check) spec: Value,
    pub(in crate::check) status: Value,
    records: Vec<(Millis, BuilderRecord)>,
    /// The slots of the finished Jobs that exist.
    kept_slots: Vec<Millis>,
}

enum BuilderRecord {
    Written(String, Option<Value>),
    Other(HistoryEvent),
}

impl HistoryBuilder {
    /// An empty history of ten minutes.
    pub(in crate::check) fn new() -> HistoryBuilder {
        let scenario = Scenario {
            seed: 0,
            start: "2026-03-01T10:00:30Z".parse().unwrap(),
            length: 10 * MINUTE,
            controllers: 2,
            max_pods: 110,
            actions: Vec::new(),
            faults: Vec::new(),
        };
        let spec = json!({"schedule": "* * * * *", "concurrencyPolicy": "Allow", "suspend": false,
            "successfulJobsHistoryLimit": 3, "failedJobsHistoryLimit": 1, "jobTemplate": {"spec": {}}});
        HistoryBuilder {
            scenario,
            end: 20 * MINUTE,
            spec,
            status: json!({}),
            records: Vec::new(),
            kept_slots: Vec::new(),
        }
    }

    pub(in crate::check) fn with_spec(mut self, field: &str, value: Value) -> HistoryBuilder {
        self.spec[field] = value;
        self
    }

    pub(in crate::check) fn fault(
        mut self,
        from: Millis,
        to: Millis,
        fault: Fault,
    ) -> HistoryBuilder {
        self.scenario.faults.push(FaultWindow { from, to, fault });
        self
    }

    pub(in crate::check) fn action(&mut self, at: Millis, kind: ActionKind, code: u16) {
        let action = self.scenario.actions.len();
        self.scenario.actions.push(UserAction { at, kind });
        self.add(at + 50, HistoryEvent::Response { action, code });
    }

    pub(in crate::check) fn add(&mut self, at: Millis, event: HistoryEvent) {
        self.records.push((at, BuilderRecord::Other(event)));
    }

    pub(in crate::check) fn write(&mut self, at: Millis, key: &str, value: Option<Value>) {
        self.records.push((at, BuilderRecord::Written(key.to_owned(), value)));
    }

    /// Writes the CronJob with the current spec and status.
    pub(in crate::check) fn store(&mut self, at: Millis) {
        let object = json!({"metadata": {"name": "c0", "uid": UID,
            "creationTimestamp": "2026-03-01T10:00:31Z"}, "spec": self.spec, "status": self.status});
        self.write(at, KEY, Some(object));
    }

    pub(in crate::check) fn delete(&mut self, at: Millis) {
        self.write(at, KEY, None);
    }

    pub(in crate::check) fn instant(&self, at: Millis) -> Timestamp {
        self.scenario.at(at - at.rem_euclid(1000))
    }

    pub(in crate::check) fn job_name(&self, slot: Millis) -> String {
        format!("c0-{}", self.instant(slot).as_second() / 60)
    }

    pub(in crate::check) fn job_key(&self, slot: Millis) -> String {
        format!("/jobs.batch/default/{}", self.job_name(slot))
    }

    /// The Job of a slot, merged with more fields.
    pub(in crate::check) fn job(&self, slot: Millis, more: &Value) -> Value {
        let mut job = json!({"metadata": {"name": self.job_name(slot), "uid": format!("job-{slot}"),
            "annotations": {"batch.kubernetes.io/cronjob-scheduled-timestamp": self.instant(slot).to_string()},
            "ownerReferences": [{"uid": UID, "controller": true, "kind": "CronJob"}]},
            "spec": {}, "status": {}});
        merge(&mut job, more);
        job
    }

    pub(in crate::check) fn create(&mut self, at: Millis, slot: Millis) {
        let key = self.job_key(slot);
        let job = self.job(slot, &json!({}));
        self.write(at, &key, Some(job));
    }

    /// Adds the process of a Job's Pod.
    fn run_pod(&mut self, from: Millis, to: Millis, slot: Millis, exit_code: i32) {
        let pod: Arc<str> = format!("pod-{slot}").into();
        let job = format!("job-{slot}").into();
        self.add(from, HistoryEvent::PodStarted { pod: pod.clone(), job });
        self.add(to, HistoryEvent::PodEnded { pod, exit_code, was_stopped: false });
    }

    fn has_run(&self, slot: Millis) -> bool {
        let name = format!("pod-{slot}");
        let is_end = |record: &BuilderRecord| match record {
            BuilderRecord::Other(HistoryEvent::PodEnded { pod, .. }) => **pod == *name,
            _ => false,
        };
        self.records.iter().any(|(_, record)| is_end(record))
    }

    /// Ends a Job with this condition, and its Pod before that.
    pub(in crate::check) fn finish(&mut self, at: Millis, slot: Millis, result: &str) {
        if !self.has_run(slot) {
            self.run_pod(at - 20, at - 10, slot, i32::from(result != "Complete"));
        }
        let job = self.job(slot, &self.ended(at, slot, result));
        let key = self.job_key(slot);
        self.write(at, &key, Some(job));
    }

    fn ended(&self, at: Millis, slot: Millis, result: &str) -> Value {
        json!({"status": {"startTime": self.instant(slot).to_string(),
            "completionTime": self.instant(at).to_string(),
            "succeeded": i32::from(result == "Complete"), "failed": i32::from(result != "Complete"),
            "conditions": [{"type": result, "status": "True"}]}})
    }

    /// Records that a slot was started.
    pub(in crate::check) fn record(&mut self, at: Millis, slot: Millis) {
        self.count_skipped_before(slot);
        self.status["lastScheduleTime"] = json!(self.instant(slot).to_string());
        self.status["active"] =
            json!([{"name": self.job_name(slot), "uid": format!("job-{slot}")}]);
        self.store(at);
    }

    /// Counts the slots since the last recorded one. With a deadline they are missed instead.
    fn count_skipped_before(&mut self, slot: Millis) {
        let recorded = self.status["lastScheduleTime"].as_str();
        let recorded: Timestamp = match recorded {
            Some(recorded) => recorded.parse().unwrap(),
            None => self.instant(FIRST - MINUTE),
        };
        let minutes = (self.instant(slot).as_second() - recorded.as_second()) / 60;
        if minutes > 1 && self.spec["startingDeadlineSeconds"].is_null() {
            let so_far = self.status["skippedRuns"].as_i64().unwrap_or(0);
            self.status["skippedRuns"] = json!(so_far + minutes - 1);
        }
    }

    /// Increments a counter of the status for a run that ended.
    pub(in crate::check) fn count(&mut self, at: Millis, ended_at: Millis, counter: &str) {
        self.status["active"] = json!([]);
        let so_far = self.status[counter].as_i64().unwrap_or(0);
        self.status[counter] = json!(so_far + 1);
        if counter == "successfulRuns" {
            self.status["lastSuccessfulTime"] = json!(self.instant(ended_at).to_string());
        }
        self.store(at);
    }

    fn add_event(&mut self, at: Millis, slot: Millis, reason: &str, message: &str) {
        let event = json!({"metadata": {"uid": "e"}, "involvedObject": {"uid": UID},
            "reason": reason, "message": message, "count": 1});
        self.write(at, &format!("/events/default/{slot}.{reason}"), Some(event));
    }

    /// A run without events that starts at this time.
    pub(in crate::check) fn run_late(&mut self, at: Millis, slot: Millis) {
        self.create(at, slot);
        self.record(at + 50, slot);
        self.finish(at + 1_000, slot, "Complete");
        self.count(at + 1_100, at + 1_000, "successfulRuns");
        self.keep_job(at + 1_200, slot);
    }

    /// Keeps a complete Job and removes the oldest beyond the history limit.
    fn keep_job(&mut self, at: Millis, slot: Millis) {
        self.kept_slots.push(slot);
        if self.kept_slots.len()
            > self.spec["successfulJobsHistoryLimit"].as_u64().unwrap() as usize
        {
            self.remove_job(at, self.kept_slots[0]);
        }
    }

    /// A run from its slot to its end ten seconds later, with its events.
    pub(in crate::check) fn run(&mut self, slot: Millis) {
        let name = self.job_name(slot);
        let job = format!("job-{slot}");
        self.create(slot + 100, slot);
        self.record(slot + 150, slot);
        self.add_event(slot + 160, slot, "SuccessfulCreate", &format!("Created job {name}"));
        let owner = json!([{"uid": job, "controller": true}]);
        let mut pod = json!({"metadata": {"uid": format!("pod-{slot}"), "ownerReferences": owner}});
        let pod_key = format!("/pods/default/{name}");
        self.write(slot + 200, &pod_key, Some(pod.clone()));
        self.run_pod(slot + 300, slot + 10_300, slot, 0);
        let terminated = json!({"state": {"terminated": {"exitCode": 0}}});
        pod["status"] = json!({"phase": "Succeeded", "containerStatuses": [terminated]});
        self.write(slot + 10_350, &pod_key, Some(pod));
        self.finish(slot + 10_400, slot, "Complete");
        self.count(slot + 10_500, slot + 10_400, "successfulRuns");
        let message = format!("Saw completed job: {name}, condition: Complete");
        self.add_event(slot + 10_510, slot, "SawCompletedJob", &message);
        self.keep_job(slot + 10_600, slot);
    }

    /// Removes a Job with its Pod.
    pub(in crate::check) fn remove_job(&mut self, at: Millis, slot: Millis) {
        self.kept_slots.retain(|kept_slots| *kept_slots != slot);
        self.write(at, &self.job_key(slot), None);
        self.write(at + 10, &format!("/pods/default/{}", self.job_name(slot)), None);
    }

    /// Adds a run for every slot except these.
    pub(in crate::check) fn with_regular_runs(mut self, except: &[Millis]) -> HistoryBuilder {
        self.store(1_000);
        for slot in (0..11).map(|n| FIRST + n * MINUTE).filter(|slot| !except.contains(slot)) {
            self.run(slot);
        }
        self.suspend();
        self
    }

    pub(in crate::check) fn suspend(&mut self) {
        self.spec["suspend"] = json!(true);
        self.store(self.scenario.length + MINUTE);
    }

    /// Removes the writes to keys that contain this text between two times.
    pub(in crate::check) fn drop_writes(
        mut self,
        key: &str,
        from: Millis,
        to: Millis,
    ) -> HistoryBuilder {
        self.records.retain(|(at, record)| match record {
            BuilderRecord::Written(written, _) => {
                !(written.contains(key) && (from..=to).contains(at))
            }
            BuilderRecord::Other(_) => true,
        });
        self
    }

    /// Merges a change into the writes to keys that contain this text from a time on.
    pub(in crate::check) fn patch_writes(
        mut self,
        key: &str,
        from: Millis,
        change: &Value,
    ) -> HistoryBuilder {
        for (at, record) in &mut self.records {
            if let BuilderRecord::Written(written, Some(value)) = record
                && *at >= from
                && written.contains(key)
            {
                merge(value, change);
            }
        }
        self
    }

    fn history(mut self) -> (Scenario, Vec<HistoryRecord>, Millis) {
        self.records.sort_by_key(|(at, _)| *at);
        let mut revision = 10;
        let mut to_event = |record| match record {
            BuilderRecord::Other(event) => event,
            BuilderRecord::Written(key, value) => {
                revision += 1;
                let value = value.map(|value| value.to_string().into());
                HistoryEvent::Written { revision, key: key.into(), value }
            }
        };
        let records = self.records.into_iter();
        let history =
            records.map(|(at, record)| HistoryRecord { at, event: to_event(record) }).collect();
        (self.scenario, history, self.end)
    }

    pub(in crate::check) fn check(self) -> CheckReport {
        let (scenario, history, end) = self.history();
        check(&scenario, &history, end)
    }

    /// Asserts that there are no violations.
    #[track_caller]
    pub(in crate::check) fn has_no_violations(self) {
        let report = self.check();
        assert!(report.violations.is_empty(), "{:#?}", report.violations);
    }

    /// Asserts that exactly these rules are violated.
    #[track_caller]
    pub(in crate::check) fn violates(self, rules: &[&str]) {
        let report = self.check();
        let mut violated: Vec<&str> = report.violations.iter().map(|found| found.rule).collect();
        violated.sort_unstable();
        violated.dedup();
        assert_eq!(violated, rules, "{:#?}", report.violations);
    }

    /// The report after a change of the records.
    pub(in crate::check) fn check_after(
        self,
        change: impl FnOnce(&mut Vec<HistoryRecord>),
    ) -> CheckReport {
        let (scenario, mut history, end) = self.history();
        change(&mut history);
        check(&scenario, &history, end)
    }
}

fn merge(into: &mut Value, change: &Value) {
    match (into, change) {
        (Value::Object(into), Value::Object(change)) => {
            for (field, value) in change {
                merge(into.entry(field).or_insert(Value::Null), value);
            }
        }
        (into, change) => *into = change.clone(),
    }
}
