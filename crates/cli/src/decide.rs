//! `punctual decide`: prints what the controller would do with a dumped CronJob, and why.
//!
//! All effects are assumed to succeed. `jobsOnlyOnServer` holds the Jobs that a live read finds but the
//! controller's cache does not have.

use std::collections::HashMap;

use anyhow::{Context as _, ensure};
use jiff::Timestamp;
use punctual_api::{CronJob, CronJobKind, Job};
use punctual_engine::{
    PendingEvent,
    cronjob::{
        self, CreateJob, CreateResult, Decision, EffectResult, FeatureGates, JobView, Observed,
        Plan, ReadRecords, RecordRetention, Settled, StartDecision, Timetable,
    },
};
use punctual_schedule::Zone;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    args::{DecideArgs, DecideFormat},
    clock,
    manifest::{self, Document},
    output, slots,
    stdin_lines::{self, LineAnswer},
};

const EXPECTED: &str =
    "expected an object like {\"now\":\"...\",\"cronJob\":{...},\"jobsListed\":[...]}";

/// One input line: a CronJob, its Jobs and the current time.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct DecideInput {
    now: String,
    cron_job: CronJob,
    jobs_listed: Option<Vec<Job>>,
    jobs_only_on_server: Option<Vec<Job>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct DecideOutput {
    created: Vec<String>,
    deleted: Vec<String>,
    active: Vec<String>,
    last_schedule_time: Option<String>,
    last_successful_time: Option<String>,
    events: Vec<String>,
    requeue_after_seconds: Option<f64>,
    status: punctual_api::cronjob::CronJobStatus,
}

#[derive(Serialize)]
struct DecideError {
    error: String,
}

/// The engine's decision and the result of applying it.
struct SimulatedDecision {
    now: Timestamp,
    start_decision: StartDecision,
    pending_slots: u64,
    created: Option<CreateJob>,
    deleted: Vec<String>,
    events: Vec<PendingEvent>,
    settled: Settled,
    cron_job: CronJob,
    gates: FeatureGates,
}

pub(crate) fn run(args: &DecideArgs, zone: &Zone) -> anyhow::Result<()> {
    if !args.files.is_empty() {
        return decide_dump(args, zone);
    }
    let gates = args.gates.feature_gates();
    stdin_lines::answer_each(|line| match line.and_then(|line| decide_line(&line, zone, gates)) {
        Ok(decision) => Ok(LineAnswer { text: decision.format(args.output)?, is_failure: false }),
        Err(error) => {
            let error = DecideError { error: format!("{error:#}") };
            Ok(LineAnswer { text: stdin_lines::to_json_line(&error)?, is_failure: true })
        }
    })
}

fn decide_line(line: &[u8], zone: &Zone, gates: FeatureGates) -> anyhow::Result<SimulatedDecision> {
    let input: DecideInput = serde_json::from_slice(line).context(EXPECTED)?;
    decide(input, zone, gates)
}

/// Decides about each CronJob of the files, with the Jobs of its namespace.
fn decide_dump(args: &DecideArgs, zone: &Zone) -> anyhow::Result<()> {
    let now = args.now.clone().unwrap_or_else(|| clock::now().to_string());
    let mut cron_jobs: Vec<CronJob> = Vec::new();
    let mut jobs: HashMap<String, Vec<Job>> = HashMap::new();
    for document in manifest::read(&args.files) {
        let Document { location, value, .. } = document?;
        let text = |key: &str| value.get(key).and_then(Value::as_str).unwrap_or_default();
        if CronJobKind::from_gvk(text("apiVersion"), text("kind")).is_some() {
            let cron_job = CronJob::deserialize(&value);
            cron_jobs.push(cron_job.with_context(|| location.to_string())?);
        } else if text("kind") == "Job" {
            let job = Job::deserialize(&value).with_context(|| location.to_string())?;
            jobs.entry(job.metadata.namespace.clone()).or_default().push(job);
        }
    }
    ensure!(!cron_jobs.is_empty(), "the files contain no CronJob and no ScheduledJob");
    for cron_job in cron_jobs {
        let jobs_listed = jobs.get(&cron_job.metadata.namespace).cloned();
        let input =
            DecideInput { now: now.clone(), cron_job, jobs_listed, jobs_only_on_server: None };
        output::print(&decide(input, zone, args.gates.feature_gates())?.format(args.output)?)?;
    }
    Ok(())
}

fn decide(
    input: DecideInput,
    zone: &Zone,
    gates: FeatureGates,
) -> anyhow::Result<SimulatedDecision> {
    let now = slots::parse_instant(&input.now, zone)?;
    let views = |jobs: &Option<Vec<Job>>| -> Vec<JobView> {
        jobs.iter().flatten().map(JobView::from_job).collect()
    };
    let listed = views(&input.jobs_listed);
    let server = views(&input.jobs_only_on_server);
    let timetable = Timetable::from_cron_job(&input.cron_job, zone, &gates);
    // A dump may also contain Jobs of other CronJobs, or of a deleted CronJob with the same name.
    let uid = &input.cron_job.metadata.uid;
    let own_jobs: Vec<JobView> =
        listed.iter().filter(|job| job.controller_uid == *uid).cloned().collect();
    let observed = Observed {
        cron_job: &input.cron_job,
        timetable: &timetable,
        jobs: &own_jobs,
        live_jobs: &[],
        read_records: &[],
        requests: &[],
        older_object_of_same_name: None,
        gates,
        retention: RecordRetention::Archived,
        counts_manual_jobs: false,
        waits_for_replaced_pods: false,
    };
    let existing_jobs = [listed, server].concat();
    let plan = plan(observed, &existing_jobs, now);
    Ok(apply_plan(plan, &existing_jobs, input.cron_job, gates, now))
}

/// Calls the engine until it needs no further live reads.
fn plan(observed: Observed<'_>, existing_jobs: &[JobView], now: Timestamp) -> Plan {
    let mut live: Vec<(String, Option<JobView>)> = Vec::new();
    let mut read_records: Vec<ReadRecords> = Vec::new();
    loop {
        let observed = Observed { live_jobs: &live, read_records: &read_records, ..observed };
        match cronjob::decide(&observed, now) {
            Decision::Execute(plan) => return *plan,
            Decision::ReadJobs(names) => live.extend(names.into_iter().map(|name| {
                let found = existing_jobs.iter().find(|job| job.name == name).cloned();
                (name, found)
            })),
            // The input has no archived records.
            Decision::ReadRecords(query) => {
                read_records.push(ReadRecords { query, records: Vec::new() });
            }
        }
    }
}

/// Applies the plan and assumes that every effect succeeds.
fn apply_plan(
    plan: Plan,
    existing_jobs: &[JobView],
    cron_job: CronJob,
    gates: FeatureGates,
    now: Timestamp,
) -> SimulatedDecision {
    let deletes = plan
        .jobs_to_replace
        .iter()
        .map(|delete| EffectResult::Deleted(delete.name.clone(), Ok(())));
    let mut results: Vec<EffectResult> = deletes.collect();
    let mut created = None;
    if let Some(create) = &plan.job_to_create {
        let created_result = match existing_jobs.iter().find(|job| job.name == create.name) {
            Some(job) => CreateResult::AlreadyExists(Box::new(job.clone())),
            None => {
                created = Some(create.clone());
                let uid = format!("uid-{}", create.name);
                CreateResult::Created {
                    uid,
                    resource_version: String::new(),
                    created_at: Some(now),
                }
            }
        };
        results.push(EffectResult::Created(created_result));
    }
    let start_decision = plan.start_decision.clone();
    let pending_slots = plan.pending_slots;
    let replaced: Vec<String> =
        plan.jobs_to_replace.iter().map(|delete| delete.name.clone()).collect();
    let settled = cronjob::settle(plan, &results, now);
    let cleaned_up = settled.jobs_to_clean_up.iter();
    let deleted = replaced.into_iter().chain(cleaned_up.clone().map(|delete| delete.name.clone()));
    let events =
        settled.events.iter().cloned().chain(cleaned_up.map(|delete| delete.deleted_event()));
    SimulatedDecision {
        now,
        start_decision,
        pending_slots,
        created,
        deleted: deleted.collect(),
        events: events.collect(),
        settled,
        cron_job,
        gates,
    }
}

impl SimulatedDecision {
    fn format(&self, format: DecideFormat) -> anyhow::Result<String> {
        match format {
            DecideFormat::Json => stdin_lines::to_json_line(&self.to_output()),
            DecideFormat::Text => Ok(self.to_text()),
        }
    }

    fn status(&self) -> &punctual_api::cronjob::CronJobStatus {
        self.settled.status.as_ref().unwrap_or(&self.cron_job.status)
    }

    fn to_output(&self) -> DecideOutput {
        let status = self.status();
        let format_event =
            |event: &PendingEvent| format!("{} {}", event.event_type.as_str(), event.reason);
        let seconds = |wake: Timestamp| wake.duration_since(self.now).as_secs_f64();
        DecideOutput {
            created: self.created.iter().map(|create| create.name.clone()).collect(),
            deleted: self.deleted.clone(),
            active: status.active.iter().map(|entry| entry.name.clone()).collect(),
            last_schedule_time: status.last_schedule_time.map(|time| time.to_string()),
            last_successful_time: status.last_successful_time.map(|time| time.to_string()),
            events: self.events.iter().map(format_event).collect(),
            requeue_after_seconds: self.settled.wake_at.map(seconds),
            status: status.clone(),
        }
    }

    fn to_text(&self) -> String {
        let mut text = format!("{} at {}: {}\n", self.cron_job.key(), self.now, self.explain());
        for event in &self.events {
            text.push_str(&format!("  event {event}\n"));
        }
        if let Some(wake) = self.settled.wake_at {
            let distance = slots::format_duration(wake.duration_since(self.now));
            text.push_str(&format!("  next reconcile at {wake}, in {distance}\n"));
        }
        text
    }

    fn explain(&self) -> String {
        let choice = match self.pending_slots {
            0 | 1 => String::new(),
            more => format!(", chosen by the concurrency policy from {more} pending slots"),
        };
        match &self.start_decision {
            StartDecision::Deleted => "starts nothing: the CronJob is being deleted".into(),
            StartDecision::Suspended => "starts nothing: the CronJob is suspended".into(),
            StartDecision::NoSchedule(error) => format!("starts nothing: {error}"),
            StartDecision::OneShotDisabled => {
                "starts nothing: the feature gate OneShot is off".into()
            }
            StartDecision::NotDue => match self.cron_job.spec.starting_deadline_seconds {
                Some(deadline) => {
                    format!(
                        "starts nothing: no slot is pending within the deadline of {deadline} s"
                    )
                }
                None => "starts nothing: no slot is pending".into(),
            },
            StartDecision::Blocked { slot } => {
                let policy = self.gates.concurrency_policy(&self.cron_job).as_str();
                let running = self.status().active.len();
                format!("does not start slot {slot}: {running} running, policy {policy}")
            }
            StartDecision::NameTaken { slot } => {
                format!("misses slot {slot}: an older object has the name of its Job")
            }
            StartDecision::WaitingForPods { slot, .. } => {
                format!("starts slot {slot} when the Pods of the replaced run are gone")
            }
            StartDecision::Postponed { slot } => {
                format!("records a finished run first, then starts slot {slot}")
            }
            StartDecision::Due { slot } => {
                let late = slots::format_duration(self.now.duration_since(*slot));
                match &self.created {
                    Some(create) => {
                        format!("starts {} for slot {slot}, {late} late{choice}", create.name)
                    }
                    None => format!("starts nothing: the Job of slot {slot} already exists"),
                }
            }
            StartDecision::Adopted { slot } => {
                format!("records the existing Job of slot {slot}")
            }
        }
    }
}
