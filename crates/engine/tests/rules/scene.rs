//! A CronJob, its Jobs and a time; and what is done about it.

use jiff::Timestamp;
use punctual_api::{CronJob, Job, cronjob::CronJobStatus};
use punctual_engine::cronjob::{
    self, CreateError, CreateResult, Decision, EffectResult, JobView, Observed, Settled,
    StartDecision, Timetable,
};
use punctual_schedule::Zones;
use serde_json::{Value, json};

/// What comes of the create, if there is one.
#[derive(Clone)]
pub(crate) enum Create {
    Works,
    Refused(&'static str),
    Taken(Box<JobView>),
}

#[derive(Clone)]
pub(crate) struct Scene {
    cron_job: Value,
    jobs: Vec<Value>,
    create: Create,
}

/// What was done.
pub(crate) struct Done {
    pub(crate) created: Option<String>,
    pub(crate) deleted: Vec<String>,
    pub(crate) active: Vec<String>,
    /// `Reason: message` of each event.
    pub(crate) events: Vec<String>,
    pub(crate) status: CronJobStatus,
    pub(crate) verdict: StartDecision,
    pub(crate) settled: Settled,
}

/// A CronJob of 2026-01-01 with this spec.
pub(crate) fn scene(spec: Value) -> Scene {
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
    Scene { cron_job, jobs: Vec::new(), create: Create::Works }
}

fn merge(into: &mut Value, from: Value) {
    let Value::Object(from) = from else { return };
    from.into_iter().for_each(|(key, value)| into[key] = value);
}

pub(crate) fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

/// The name of the Job for a slot on a whole minute.
pub(crate) fn name(slot: &str) -> String {
    format!("job-{}", at(slot).as_second() / 60)
}

impl Scene {
    pub(crate) fn status(mut self, status: Value) -> Scene {
        merge(&mut self.cron_job["status"], status);
        self
    }

    pub(crate) fn metadata(mut self, metadata: Value) -> Scene {
        merge(&mut self.cron_job["metadata"], metadata);
        self
    }

    pub(crate) fn last(self, slot: &str) -> Scene {
        self.status(json!({ "lastScheduleTime": slot }))
    }

    /// A Job for a slot: `Complete`, `Failed`, or running if there is no ending.
    pub(crate) fn job(self, slot: &str, ending: &str) -> Scene {
        self.job_with(slot, ending, json!({}))
    }

    pub(crate) fn job_with(mut self, slot: &str, ending: &str, metadata: Value) -> Scene {
        let mut job = json!({
            "metadata": {
                "name": name(slot), "namespace": "ns", "uid": format!("uid-{}", name(slot)),
                "annotations": {"batch.kubernetes.io/cronjob-scheduled-timestamp": slot},
                "ownerReferences": [{
                    "apiVersion": "batch/v1", "kind": "CronJob", "name": "job", "uid": "cron-uid",
                    "controller": true,
                }],
            },
            "status": {"startTime": slot},
        });
        if !ending.is_empty() {
            job["status"]["conditions"] = json!([{"type": ending, "status": "True"}]);
        }
        if ending == "Complete" {
            job["status"]["completionTime"] = json!(slot);
        }
        merge(&mut job["metadata"], metadata);
        self.jobs.push(job);
        self
    }

    /// A Job for a slot that runs and is on the list.
    pub(crate) fn running(self, slot: &str) -> Scene {
        self.listed(slot).job(slot, "")
    }

    /// An entry on the list of active Jobs.
    pub(crate) fn listed(mut self, slot: &str) -> Scene {
        let entry = json!({"kind": "Job", "namespace": "ns", "name": name(slot),
            "uid": format!("uid-{}", name(slot)), "apiVersion": "batch/v1"});
        let status = &mut self.cron_job["status"];
        match status["active"].as_array_mut() {
            Some(active) => active.push(entry),
            None => status["active"] = json!([entry]),
        }
        self
    }

    pub(crate) fn create(mut self, create: Create) -> Scene {
        self.create = create;
        self
    }

    pub(crate) fn cron_job(&self) -> CronJob {
        serde_json::from_value(self.cron_job.clone()).unwrap()
    }

    pub(crate) fn timetable(&self) -> Timetable {
        Timetable::from_cron_job(&self.cron_job(), &Zones::bundled().utc()).unwrap()
    }

    pub(crate) fn views(&self) -> Vec<JobView> {
        let read = |job: &Value| serde_json::from_value::<Job>(job.clone()).unwrap();
        self.jobs.iter().map(|job| JobView::from_job(&read(job))).collect()
    }

    /// Decides and carries out. What the cache does not know is not there.
    pub(crate) fn at(&self, now: &str) -> Done {
        let (cron_job, jobs, now) = (self.cron_job(), self.views(), at(now));
        let timetable = Timetable::from_cron_job(&cron_job, &Zones::bundled().utc());
        let mut live = Vec::new();
        let plan = loop {
            let seen = Observed {
                cron_job: &cron_job,
                timetable: &timetable,
                jobs: &jobs,
                live_jobs: &live,
            };
            match cronjob::decide(&seen, now) {
                Decision::Execute(plan) => break *plan,
                Decision::ReadJobs(names) => {
                    live.extend(names.into_iter().map(|name| (name, None)))
                }
            }
        };
        let deletes = plan.jobs_to_replace.iter().map(|delete| delete.name.clone());
        let mut deleted: Vec<String> = deletes.collect();
        let mut outcomes: Vec<EffectResult> =
            deleted.iter().map(|name| EffectResult::Deleted(name.clone(), Ok(()))).collect();
        let created = plan.job_to_create.as_ref().map(|create| create.name.clone());
        outcomes.extend(created.as_ref().map(|name| EffectResult::Created(self.attempt(name))));
        let verdict = plan.start_decision.clone();
        let settled = cronjob::settle(plan, &outcomes, now);
        deleted.extend(settled.jobs_to_clean_up.iter().map(|delete| delete.name.clone()));
        let status = settled.status.clone().unwrap_or(cron_job.status);
        let event =
            |note: &punctual_engine::PendingEvent| format!("{}: {}", note.reason, note.message);
        Done {
            created: created.filter(|_| matches!(self.create, Create::Works)),
            deleted,
            active: status.active.iter().map(|entry| entry.name.clone()).collect(),
            events: settled.events.iter().map(event).collect(),
            status,
            verdict,
            settled,
        }
    }

    fn attempt(&self, name: &str) -> CreateResult {
        match &self.create {
            Create::Works => {
                CreateResult::Created { uid: format!("uid-{name}"), resource_version: "1".into() }
            }
            Create::Refused(message) => CreateResult::Failed(CreateError {
                message: (*message).into(),
                is_namespace_terminating: false,
            }),
            Create::Taken(job) => CreateResult::AlreadyExists((**job).clone()),
        }
    }
}

impl Done {
    pub(crate) fn reasons(&self) -> Vec<&str> {
        self.events.iter().filter_map(|event| event.split(':').next()).collect()
    }

    /// `status reason` of a condition.
    pub(crate) fn condition(&self, kind: &str) -> Option<String> {
        let condition =
            self.status.conditions.iter().find(|condition| condition.condition_type == kind)?;
        Some(format!("{} {}", condition.status, condition.reason))
    }

    pub(crate) fn next(&self) -> Option<String> {
        self.status.next_schedule_time.map(|time| time.to_string())
    }

    pub(crate) fn last(&self) -> Option<String> {
        self.status.last_schedule_time.map(|time| time.to_string())
    }
}
