//! Histories written by hand: a CronJob that behaves, which a test then makes misbehave.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::check::{Verdict, check};
use crate::history::{Happened, Record};
use crate::scenario::{Asked, Deed, Fault, Millis, Scenario, Trouble};

pub(in crate::check) const UID: &str = "uid-c0";
const KEY: &str = "/cronjobs.batch/default/c0";
pub(in crate::check) const MINUTE: Millis = 60_000;
/// The first slot is half a minute after the start.
pub(in crate::check) const FIRST: Millis = 30_000;

/// What happened, in any order.
pub(in crate::check) struct Tale {
    pub(in crate::check) scenario: Scenario,
    pub(in crate::check) end: Millis,
    pub(in crate::check) spec: Value,
    pub(in crate::check) status: Value,
    records: Vec<(Millis, Told)>,
    /// The slots of the finished Jobs that are there.
    kept: Vec<Millis>,
}

enum Told {
    Written(String, Option<Value>),
    Other(Happened),
}

impl Tale {
    /// A world of ten minutes in which nothing has happened.
    pub(in crate::check) fn new() -> Tale {
        let scenario = Scenario {
            seed: 0,
            start: "2026-03-01T10:00:30Z".parse().unwrap(),
            length: 10 * MINUTE,
            controllers: 2,
            deeds: Vec::new(),
            troubles: Vec::new(),
        };
        let spec = json!({"schedule": "* * * * *", "concurrencyPolicy": "Allow", "suspend": false,
            "successfulJobsHistoryLimit": 3, "failedJobsHistoryLimit": 1, "jobTemplate": {"spec": {}}});
        Tale {
            scenario,
            end: 20 * MINUTE,
            spec,
            status: json!({}),
            records: Vec::new(),
            kept: Vec::new(),
        }
    }

    pub(in crate::check) fn with(mut self, field: &str, value: Value) -> Tale {
        self.spec[field] = value;
        self
    }

    pub(in crate::check) fn trouble(mut self, from: Millis, to: Millis, what: Fault) -> Tale {
        self.scenario.troubles.push(Trouble { from, to, what });
        self
    }

    pub(in crate::check) fn deed(&mut self, at: Millis, what: Asked, code: u16) {
        let deed = self.scenario.deeds.len();
        self.scenario.deeds.push(Deed { at, what });
        self.happened(at + 50, Happened::Told { deed, code });
    }

    pub(in crate::check) fn happened(&mut self, at: Millis, what: Happened) {
        self.records.push((at, Told::Other(what)));
    }

    pub(in crate::check) fn write(&mut self, at: Millis, key: &str, value: Option<Value>) {
        self.records.push((at, Told::Written(key.to_owned(), value)));
    }

    /// Writes the CronJob as it is now.
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

    /// A Job for a slot, with more than that.
    pub(in crate::check) fn job(&self, slot: Millis, more: &Value) -> Value {
        let mut job = json!({"metadata": {"name": self.job_name(slot), "uid": format!("job-{slot}"),
            "annotations": {"batch.kubernetes.io/cronjob-scheduled-timestamp": self.instant(slot).to_string()},
            "ownerReferences": [{"uid": UID, "controller": true, "kind": "CronJob"}]},
            "spec": {}, "status": {}});
        merge(&mut job, more);
        job
    }

    pub(in crate::check) fn create(&mut self, at: Millis, slot: Millis) {
        let (key, job) = (self.job_key(slot), self.job(slot, &json!({})));
        self.write(at, &key, Some(job));
    }

    /// The node runs the Pod of a Job.
    fn work(&mut self, from: Millis, to: Millis, slot: Millis, exit: Option<i32>) {
        let (pod, job) = (format!("pod-{slot}"), format!("job-{slot}"));
        let (pod, job): (Arc<str>, Arc<str>) = (pod.into(), job.into());
        self.happened(from, Happened::Began { pod: pod.clone(), job });
        self.happened(to, Happened::Ended { pod, exit });
    }

    fn has_run(&self, slot: Millis) -> bool {
        let name = format!("pod-{slot}");
        let is_of_it = |told: &Told| matches!(told, Told::Other(Happened::Ended { pod, .. }) if **pod == *name);
        self.records.iter().any(|(_, told)| is_of_it(told))
    }

    /// Ends a Job with a condition, and before that its Pod.
    pub(in crate::check) fn finish(&mut self, at: Millis, slot: Millis, ending: &str) {
        if !self.has_run(slot) {
            self.work(at - 20, at - 10, slot, Some(i32::from(ending != "Complete")));
        }
        let job = self.job(slot, &self.ended(at, slot, ending));
        let key = self.job_key(slot);
        self.write(at, &key, Some(job));
    }

    fn ended(&self, at: Millis, slot: Millis, ending: &str) -> Value {
        json!({"status": {"startTime": self.instant(slot).to_string(),
            "completionTime": self.instant(at).to_string(),
            "succeeded": i32::from(ending == "Complete"), "failed": i32::from(ending != "Complete"),
            "conditions": [{"type": ending, "status": "True"}]}})
    }

    /// Records that a slot was started.
    pub(in crate::check) fn record(&mut self, at: Millis, slot: Millis) {
        self.status["lastScheduleTime"] = json!(self.instant(slot).to_string());
        self.status["active"] =
            json!([{"name": self.job_name(slot), "uid": format!("job-{slot}")}]);
        self.store(at);
    }

    /// Counts a run that ended well, or badly.
    pub(in crate::check) fn count(&mut self, at: Millis, ended_at: Millis, counter: &str) {
        self.status["active"] = json!([]);
        let so_far = self.status[counter].as_i64().unwrap_or(0);
        self.status[counter] = json!(so_far + 1);
        if counter == "successfulRuns" {
            self.status["lastSuccessfulTime"] = json!(self.instant(ended_at).to_string());
        }
        self.store(at);
    }

    fn tell(&mut self, at: Millis, slot: Millis, reason: &str, message: &str) {
        let event = json!({"metadata": {"uid": "e"}, "involvedObject": {"uid": UID},
            "reason": reason, "message": message, "count": 1});
        self.write(at, &format!("/events/default/{slot}.{reason}"), Some(event));
    }

    /// A run of which nothing is told but that it was started and ended.
    pub(in crate::check) fn run_late(&mut self, at: Millis, slot: Millis) {
        self.create(at, slot);
        self.record(at + 50, slot);
        self.finish(at + 1_000, slot, "Complete");
        self.count(at + 1_100, at + 1_000, "successfulRuns");
        self.keep(at + 1_200, slot);
    }

    /// Keeps a Job that is complete, and removes the oldest beyond the limit.
    fn keep(&mut self, at: Millis, slot: Millis) {
        self.kept.push(slot);
        if self.kept.len() > self.spec["successfulJobsHistoryLimit"].as_u64().unwrap() as usize {
            self.remove_job(at, self.kept[0]);
        }
    }

    /// One run from its slot to its end, ten seconds later.
    pub(in crate::check) fn run(&mut self, slot: Millis) {
        let (name, job) = (self.job_name(slot), format!("job-{slot}"));
        self.create(slot + 100, slot);
        self.record(slot + 150, slot);
        self.tell(slot + 160, slot, "SuccessfulCreate", &format!("Created job {name}"));
        let pod = format!("pod-{slot}");
        let owner = json!([{"uid": job, "controller": true}]);
        let object = json!({"metadata": {"uid": pod, "ownerReferences": owner}});
        self.write(slot + 200, &format!("/pods/default/{name}"), Some(object));
        self.work(slot + 300, slot + 10_300, slot, Some(0));
        self.finish(slot + 10_400, slot, "Complete");
        self.count(slot + 10_500, slot + 10_400, "successfulRuns");
        let message = format!("Saw completed job: {name}, condition: Complete");
        self.tell(slot + 10_510, slot, "SawCompletedJob", &message);
        self.keep(slot + 10_600, slot);
    }

    /// Removes a Job with its Pod.
    pub(in crate::check) fn remove_job(&mut self, at: Millis, slot: Millis) {
        self.kept.retain(|kept| *kept != slot);
        self.write(at, &self.job_key(slot), None);
        self.write(at + 10, &format!("/pods/default/{}", self.job_name(slot)), None);
    }

    /// A CronJob that does all it has to, but for some of its slots.
    pub(in crate::check) fn behave(mut self, except: &[Millis]) -> Tale {
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

    /// Forgets what was written to keys that contain this between two instants.
    pub(in crate::check) fn forget(mut self, key: &str, from: Millis, to: Millis) -> Tale {
        self.records.retain(|(at, told)| match told {
            Told::Written(written, _) => !(written.contains(key) && (from..=to).contains(at)),
            Told::Other(_) => true,
        });
        self
    }

    /// Changes what was written to keys that contain this from an instant on.
    pub(in crate::check) fn forge(mut self, key: &str, from: Millis, change: &Value) -> Tale {
        for (at, told) in &mut self.records {
            if let Told::Written(written, Some(value)) = told
                && *at >= from
                && written.contains(key)
            {
                merge(value, change);
            }
        }
        self
    }

    fn history(mut self) -> (Scenario, Vec<Record>, Millis) {
        self.records.sort_by_key(|(at, _)| *at);
        let mut revision = 10;
        let mut told = |what| match what {
            Told::Other(what) => what,
            Told::Written(key, value) => {
                revision += 1;
                let value = value.map(|value| value.to_string().into());
                Happened::Written { revision, key: key.into(), value }
            }
        };
        let records = self.records.into_iter();
        let history = records.map(|(at, what)| Record { at, what: told(what) }).collect();
        (self.scenario, history, self.end)
    }

    pub(in crate::check) fn judged(self) -> Verdict {
        let (scenario, history, end) = self.history();
        check(&scenario, &history, end)
    }

    /// Checks that nothing is wrong.
    #[track_caller]
    pub(in crate::check) fn passes(self) {
        let verdict = self.judged();
        assert!(verdict.violations.is_empty(), "{:#?}", verdict.violations);
    }

    /// Checks that exactly these rules are broken.
    #[track_caller]
    pub(in crate::check) fn breaks(self, rules: &[&str]) {
        let verdict = self.judged();
        let mut broken: Vec<&str> = verdict.violations.iter().map(|found| found.rule).collect();
        broken.sort_unstable();
        broken.dedup();
        assert_eq!(broken, rules, "{:#?}", verdict.violations);
    }

    /// The history as it is, with a change of its records.
    pub(in crate::check) fn judged_after(self, change: impl FnOnce(&mut Vec<Record>)) -> Verdict {
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
