//! The fixture of these tests: a CronJob with its Jobs, and the result of reconciling it once.

use std::sync::Arc;

use jiff::Timestamp;
use punctual_api::slot_record::SlotRecord;
use punctual_api::{CronJob, Job, RunRequest, cronjob::CronJobStatus};
use punctual_engine::cronjob::{
    self, CreateError, CreateResult, Decision, EffectResult, FeatureGates, JobView, Observed,
    ReadRecords, RecordRetention, Settled, StartDecision, Timetable,
};
use punctual_schedule::Zones;
use serde_json::{Value, json};

/// The response of the server to a create.
#[derive(Clone)]
pub(crate) enum CreateResponse {
    Created,
    Rejected(&'static str),
    NameTaken(Box<JobView>),
}

#[derive(Clone)]
pub(crate) struct Fixture {
    cron_job: Value,
    jobs: Vec<Value>,
    create: CreateResponse,
    gates: FeatureGates,
    retention: RecordRetention,
    counts_manual_jobs: bool,
    waits_for_replaced_pods: bool,
    older_object_of_same_name: Option<Timetable>,
    pub(crate) requests: Vec<Arc<RunRequest>>,
    /// The records that the server has moved out of the status.
    archived: Vec<SlotRecord>,
}

/// The result of one reconcile.
pub(crate) struct Reconciled {
    pub(crate) created: Option<String>,
    pub(crate) deleted: Vec<String>,
    pub(crate) active: Vec<String>,
    /// `Reason: message` of each event.
    pub(crate) events: Vec<String>,
    pub(crate) status: CronJobStatus,
    pub(crate) start_decision: StartDecision,
    pub(crate) settled: Settled,
    /// The created Job, if a request asked for it.
    requested_job: Option<Value>,
}

/// A CronJob with this spec, created on 2026-01-01.
pub(crate) fn fixture(spec: Value) -> Fixture {
    let mut cron_job = json!({
        "apiVersion": "batch/v1", "kind": "CronJob",
        "metadata": {
            "name": "job", "namespace": "ns", "uid": "cron-uid",
            "creationTimestamp": "2026-01-01T00:00:00Z",
        },
        "spec": {
            "schedule": "0 * * * *",
            "successfulJobsHistoryLimit": 3,
            "failedJobsHistoryLimit": 1,
            "jobTemplate": {"spec": {"template": {"spec": {"containers": []}}}},
        },
        "status": {},
    });
    merge(&mut cron_job["spec"], spec);
    Fixture {
        cron_job,
        jobs: Vec::new(),
        create: CreateResponse::Created,
        gates: FeatureGates::default(),
        retention: RecordRetention::Archived,
        counts_manual_jobs: false,
        waits_for_replaced_pods: false,
        older_object_of_same_name: None,
        requests: Vec::new(),
        archived: Vec::new(),
    }
}

fn merge(into: &mut Value, from: Value) {
    let Value::Object(from) = from else { return };
    for (key, value) in from {
        into[key] = value;
    }
}

pub(crate) fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

/// The name of the Job for a slot without seconds.
pub(crate) fn job_name(slot: &str) -> String {
    format!("job-{}", at(slot).as_second() / 60)
}

impl Fixture {
    /// Lets Jobs that users created count for the concurrency policy.
    pub(crate) fn counting_manual_jobs(mut self) -> Fixture {
        self.counts_manual_jobs = true;
        self
    }

    /// Lets slots under `Replace` wait until the Pods of the replaced Jobs are gone.
    pub(crate) fn waiting_for_replaced_pods(mut self) -> Fixture {
        self.waits_for_replaced_pods = true;
        self
    }

    /// Lets the status keep only the newest slot records.
    pub(crate) fn newest_records(mut self, kept: usize) -> Fixture {
        self.retention = RecordRetention::Newest(kept);
        self
    }

    pub(crate) fn status(mut self, status: Value) -> Fixture {
        merge(&mut self.cron_job["status"], status);
        self
    }

    pub(crate) fn metadata(mut self, metadata: Value) -> Fixture {
        merge(&mut self.cron_job["metadata"], metadata);
        self
    }

    pub(crate) fn gvk(mut self, api_version: &str, kind: &str) -> Fixture {
        self.cron_job["apiVersion"] = json!(api_version);
        self.cron_job["kind"] = json!(kind);
        self
    }

    pub(crate) fn last_scheduled(self, slot: &str) -> Fixture {
        self.status(json!({ "lastScheduleTime": slot }))
    }

    /// Adds a Job for a slot. `result` is `Complete`, `Failed`, or empty for a running Job.
    pub(crate) fn job(self, slot: &str, result: &str) -> Fixture {
        self.job_with(slot, result, json!({}))
    }

    pub(crate) fn job_with(mut self, slot: &str, result: &str, metadata: Value) -> Fixture {
        let mut job = json!({
            "metadata": {
                "name": job_name(slot), "namespace": "ns", "uid": format!("uid-{}", job_name(slot)),
                "annotations": {"batch.kubernetes.io/cronjob-scheduled-timestamp": slot},
                "ownerReferences": [{
                    "apiVersion": "batch/v1", "kind": "CronJob", "name": "job", "uid": "cron-uid",
                    "controller": true,
                }],
            },
            "status": {"startTime": slot},
        });
        if !result.is_empty() {
            job["status"]["conditions"] = json!([{"type": result, "status": "True"}]);
        }
        if result == "Complete" {
            job["status"]["completionTime"] = json!(slot);
        }
        merge(&mut job["metadata"], metadata);
        self.jobs.push(job);
        self
    }

    /// Sets fields of the status of the Job for a slot.
    pub(crate) fn job_status(mut self, slot: &str, status: Value) -> Fixture {
        merge(&mut self.job_mut(slot)["status"], status);
        self
    }

    /// Sets the spec of the Job for a slot.
    pub(crate) fn job_spec(mut self, slot: &str, spec: Value) -> Fixture {
        self.job_mut(slot)["spec"] = spec;
        self
    }

    /// Sets fields of the metadata of the Job for a slot.
    pub(crate) fn job_metadata(mut self, slot: &str, metadata: Value) -> Fixture {
        merge(&mut self.job_mut(slot)["metadata"], metadata);
        self
    }

    /// Removes the Job for a slot.
    pub(crate) fn without_job(mut self, slot: &str) -> Fixture {
        let name = job_name(slot);
        self.jobs.retain(|job| job["metadata"]["name"] != name);
        self
    }

    fn job_mut(&mut self, slot: &str) -> &mut Value {
        let name = job_name(slot);
        self.jobs.iter_mut().find(|job| job["metadata"]["name"] == name).unwrap()
    }

    /// Adds a running Job for a slot, and its entry in `status.active`.
    pub(crate) fn active_job(self, slot: &str) -> Fixture {
        self.active_entry(slot).job(slot, "")
    }

    /// Adds an entry to `status.active`.
    pub(crate) fn active_entry(mut self, slot: &str) -> Fixture {
        let entry = json!({"kind": "Job", "namespace": "ns", "name": job_name(slot),
            "uid": format!("uid-{}", job_name(slot)), "apiVersion": "batch/v1"});
        let status = &mut self.cron_job["status"];
        match status["active"].as_array_mut() {
            Some(active) => active.push(entry),
            None => status["active"] = json!([entry]),
        }
        self
    }

    pub(crate) fn create(mut self, create: CreateResponse) -> Fixture {
        self.create = create;
        self
    }

    /// Sets the feature gates, in the syntax of the flag.
    pub(crate) fn gates(mut self, gates: &str) -> Fixture {
        self.gates = gates.parse().unwrap();
        self
    }

    /// Sets the timetable of an older object of another kind with the same name.
    pub(crate) fn older_object_of_same_name(mut self, other: &Fixture) -> Fixture {
        self.older_object_of_same_name = Some(other.timetable());
        self
    }

    /// The CronJob after a reconcile: with the written status and annotations.
    pub(crate) fn after(mut self, reconciled: &Reconciled) -> Fixture {
        self.cron_job["status"] = json!(reconciled.status);
        let settled = &reconciled.settled;
        if let Some(since) = &settled.schedule_to_record {
            self = self.annotate(cronjob::EffectiveSchedule::ANNOTATION, since.to_annotation());
        }
        if let Some(record) = settled.zone_gate_to_record {
            self = self.annotate(cronjob::ZoneGateRecord::ANNOTATION, record.to_annotation());
        }
        self
    }

    /// Adds a RunRequest for the CronJob.
    pub(crate) fn request(mut self, name: &str, spec: Value) -> Fixture {
        let mut request = json!({
            "apiVersion": "punctual.dev/v1", "kind": "RunRequest",
            "metadata": {"name": name, "namespace": "ns", "uid": format!("uid-{name}"),
                "creationTimestamp": "2026-03-01T12:30:00Z"},
            "spec": {"target": {"name": "job"}},
        });
        merge(&mut request["spec"], spec);
        self.requests.push(Arc::new(serde_json::from_value(request).unwrap()));
        self
    }

    /// Changes a RunRequest.
    pub(crate) fn change_request(
        mut self,
        name: &str,
        change: impl Fn(&mut RunRequest),
    ) -> Fixture {
        for request in self.requests.iter_mut().filter(|it| it.metadata.name == name) {
            change(Arc::make_mut(request));
        }
        self
    }

    /// Adds slot records to the archive.
    pub(crate) fn archived(mut self, records: Value) -> Fixture {
        let records: Vec<SlotRecord> = serde_json::from_value(records).unwrap();
        self.archived.extend(records);
        self
    }

    /// The state after a reconcile with requests: everything is written, and the server has archived what it does
    /// not keep in the status.
    pub(crate) fn after_all(self, reconciled: &Reconciled) -> Fixture {
        self.after_request_statuses(reconciled).after_cron_job_status(reconciled)
    }

    /// The state after a crash that followed the write of the CronJob's status.
    pub(crate) fn after_cron_job_status(self, reconciled: &Reconciled) -> Fixture {
        let mut fixture = self.after_create(reconciled).after(reconciled);
        let mut status = reconciled.status.clone();
        let newest = status.slots.iter().rfind(|record| record.is_scheduled()).cloned();
        let is_kept = |record: &SlotRecord| record.is_running() || Some(record) == newest.as_ref();
        let (kept, moved) = std::mem::take(&mut status.slots).into_iter().partition(is_kept);
        status.slots = kept;
        let moved: Vec<SlotRecord> = moved;
        fixture.archived.extend(moved);
        fixture.cron_job["status"] = json!(status);
        for job in &reconciled.settled.finalizers_to_remove {
            fixture = fixture.job_metadata_by_name(&job.name, json!({"finalizers": []}));
        }
        fixture
    }

    /// The state after a crash that followed the create of a requested Job.
    pub(crate) fn after_create(mut self, reconciled: &Reconciled) -> Fixture {
        if let Some(job) = &reconciled.requested_job {
            let mut job = job.clone();
            job["metadata"]["uid"] =
                json!(format!("uid-{}", job["metadata"]["name"].as_str().unwrap()));
            let is_known =
                self.jobs.iter().any(|it| it["metadata"]["name"] == job["metadata"]["name"]);
            if !is_known {
                self.jobs.push(job);
            }
        }
        self
    }

    fn after_request_statuses(mut self, reconciled: &Reconciled) -> Fixture {
        for update in &reconciled.settled.request_updates {
            let name = update.request.metadata.name.clone();
            self = self.change_request(&name, |request| request.status = update.status.clone());
        }
        for deleted in &reconciled.settled.requests_to_delete {
            self.requests.retain(|request| request.metadata.name != deleted.name);
        }
        self
    }

    /// Sets fields of the metadata of a Job.
    pub(crate) fn job_metadata_by_name(mut self, name: &str, metadata: Value) -> Fixture {
        for job in self.jobs.iter_mut().filter(|job| job["metadata"]["name"] == name) {
            merge(&mut job["metadata"], metadata.clone());
        }
        self
    }

    /// Ends a Job. `result` is `Complete` or `Failed`.
    pub(crate) fn end_job(mut self, name: &str, result: &str) -> Fixture {
        for job in self.jobs.iter_mut().filter(|job| job["metadata"]["name"] == name) {
            job["status"] = json!({"conditions": [{"type": result, "status": "True"}]});
        }
        self
    }

    /// A Job by its name.
    pub(crate) fn job_named(&self, name: &str) -> Value {
        let found = self.jobs.iter().find(|job| job["metadata"]["name"] == name);
        found.cloned().unwrap_or_default()
    }

    /// Suspends the CronJob.
    pub(crate) fn suspended(mut self) -> Fixture {
        self.cron_job["spec"]["suspend"] = json!(true);
        self
    }

    /// Removes a Job by its name.
    pub(crate) fn without_job_named(mut self, name: &str) -> Fixture {
        self.jobs.retain(|job| job["metadata"]["name"] != name);
        self
    }

    fn annotate(mut self, key: &str, value: String) -> Fixture {
        self.cron_job["metadata"]["annotations"][key] = json!(value);
        self
    }

    pub(crate) fn cron_job(&self) -> CronJob {
        serde_json::from_value(self.cron_job.clone()).unwrap()
    }

    pub(crate) fn timetable(&self) -> Timetable {
        Timetable::from_cron_job(&self.cron_job(), &Zones::bundled().utc(), &self.gates).unwrap()
    }

    pub(crate) fn views(&self) -> Vec<JobView> {
        let read = |job: &Value| serde_json::from_value::<Job>(job.clone()).unwrap();
        self.jobs.iter().map(|job| JobView::from_job(&read(job))).collect()
    }

    /// Decides and settles. Live reads find only a Job that takes the name of the one to create.
    pub(crate) fn reconcile_at(&self, now: &str) -> Reconciled {
        let cron_job = self.cron_job();
        let jobs = self.views();
        let now = at(now);
        let timetable = Timetable::from_cron_job(&cron_job, &Zones::bundled().utc(), &self.gates);
        let mut live = Vec::new();
        let mut read_records = Vec::new();
        let plan = loop {
            let observed = Observed {
                cron_job: &cron_job,
                timetable: &timetable,
                jobs: &jobs,
                live_jobs: &live,
                read_records: &read_records,
                requests: &self.requests,
                older_object_of_same_name: self.older_object_of_same_name.as_ref(),
                gates: self.gates,
                retention: self.retention,
                counts_manual_jobs: self.counts_manual_jobs,
                waits_for_replaced_pods: self.waits_for_replaced_pods,
            };
            match cronjob::decide(&observed, now) {
                Decision::Execute(plan) => break *plan,
                Decision::ReadJobs(names) => {
                    let found = |name: String| (name.clone(), self.live_job(&name));
                    live.extend(names.into_iter().map(found))
                }
                Decision::ReadRecords(query) => {
                    read_records.push(ReadRecords { query, records: self.archived.clone() });
                }
            }
        };
        let deletes = plan.jobs_to_replace.iter().map(|delete| delete.name.clone());
        let mut deleted: Vec<String> = deletes.collect();
        let mut results: Vec<EffectResult> =
            deleted.iter().map(|name| EffectResult::Deleted(name.clone(), Ok(()))).collect();
        let created = plan.job_to_create.as_ref().map(|create| create.name.clone());
        results
            .extend(created.as_ref().map(|name| EffectResult::Created(self.create_result(name))));
        let start_decision = plan.start_decision.clone();
        let requested_job = plan.job_to_create.as_ref().filter(|it| it.requested.is_some());
        let requested_job = requested_job.map(|create| {
            let timetable = timetable.as_ref().ok();
            let text = cronjob::build_job_manifest(&cron_job, timetable, create).unwrap();
            serde_json::from_str(&text).unwrap()
        });
        let settled = cronjob::settle(plan, &results, now);
        deleted.extend(settled.jobs_to_clean_up.iter().map(|delete| delete.name.clone()));
        let status = settled.status.clone().unwrap_or(cron_job.status);
        let event_line =
            |event: &punctual_engine::PendingEvent| format!("{}: {}", event.reason, event.message);
        Reconciled {
            created: if matches!(self.create, CreateResponse::Created) { created } else { None },
            deleted,
            active: status.active.iter().map(|entry| entry.name.clone()).collect(),
            events: settled.events.iter().map(event_line).collect(),
            status,
            start_decision,
            settled,
            requested_job,
        }
    }

    /// A live read finds only the Job that has the name of the one to create.
    fn live_job(&self, name: &str) -> Option<JobView> {
        match &self.create {
            CreateResponse::NameTaken(job) if job.name == name => Some((**job).clone()),
            _ => None,
        }
    }

    fn create_result(&self, name: &str) -> CreateResult {
        match &self.create {
            CreateResponse::Created => {
                let uid = format!("uid-{name}");
                CreateResult::Created { uid, resource_version: "1".into(), created_at: None }
            }
            CreateResponse::Rejected(message) => CreateResult::Failed(CreateError {
                message: (*message).into(),
                is_namespace_terminating: false,
            }),
            CreateResponse::NameTaken(job) => CreateResult::AlreadyExists(job.clone()),
        }
    }
}

impl Reconciled {
    pub(crate) fn reasons(&self) -> Vec<&str> {
        self.events.iter().filter_map(|event| event.split(':').next()).collect()
    }

    /// `Reason Result` of each slot record of a started slot.
    pub(crate) fn reasons_of_records(&self) -> Vec<String> {
        let started = self.status.slots.iter().filter_map(|record| {
            let result = record.result?;
            Some(format!("{} {result}", record.reason))
        });
        started.collect()
    }

    /// The message of a condition.
    pub(crate) fn message(&self, condition_type: &str) -> Option<&str> {
        let mut conditions = self.status.conditions.iter();
        let condition = conditions.find(|condition| condition.condition_type == condition_type)?;
        Some(&condition.message)
    }

    /// `status reason` of a condition.
    pub(crate) fn condition(&self, condition_type: &str) -> Option<String> {
        let condition = self
            .status
            .conditions
            .iter()
            .find(|condition| condition.condition_type == condition_type)?;
        Some(format!("{} {}", condition.status, condition.reason))
    }

    pub(crate) fn next_scheduled(&self) -> Option<String> {
        self.status.next_schedule_time.map(|time| time.to_string())
    }

    pub(crate) fn last_slot(&self) -> Option<String> {
        self.status.last_schedule_time.map(|time| time.to_string())
    }
}
