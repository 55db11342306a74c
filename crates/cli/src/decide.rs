//! `punctual decide`: what the controller would do about a dumped CronJob, and why.
//!
//! The effects succeed here, and a Job that is only on the server is what a live read finds.

use jiff::Timestamp;
use punctual_api::{CronJob, Job};
use punctual_engine::{
    Note,
    cronjob::{
        self, Attempt, CreateJob, Decision, JobView, Observed, Outcome, Plan, Settled, Timetable,
        Verdict,
    },
};
use punctual_schedule::Zone;
use serde::{Deserialize, Serialize};

use crate::{
    args::{DecideArgs, DecideFormat},
    slots, stdin_lines,
};

/// A CronJob, its Jobs and a time.
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

/// What was decided and what came of it.
struct SimulatedDecision {
    now: Timestamp,
    verdict: Verdict,
    unmet: u64,
    created: Option<CreateJob>,
    deleted: Vec<String>,
    notes: Vec<Note>,
    settled: Settled,
    cron_job: CronJob,
}

pub(crate) fn run(args: &DecideArgs, zone: &Zone) -> anyhow::Result<()> {
    stdin_lines::answer_each(|line| {
        match (line.and_then(|line| decide(&line, zone)), args.output) {
            (Ok(decided), DecideFormat::Json) => stdin_lines::to_json_line(&decided.to_output()),
            (Ok(decided), DecideFormat::Text) => Ok(decided.to_text()),
            (Err(error), _) => stdin_lines::to_json_line(&DecideError { error }),
        }
    })
}

fn decide(line: &[u8], zone: &Zone) -> Result<SimulatedDecision, String> {
    let input: DecideInput = serde_json::from_slice(line).map_err(|error| {
        format!("expected an object like {{\"now\":\"...\",\"cronJob\":{{...}},\"jobsListed\":[...]}}: {error}")
    })?;
    let now = slots::parse_instant(&input.now, zone)?;
    let views = |jobs: &Option<Vec<Job>>| -> Vec<JobView> {
        jobs.iter().flatten().map(JobView::of).collect()
    };
    let (listed, server) = (views(&input.jobs_listed), views(&input.jobs_only_on_server));
    let timetable = Timetable::of(&input.cron_job, zone);
    // A dump may have the Jobs of others as well, or of a CronJob that had this name before.
    let uid = &input.cron_job.metadata.uid;
    let ours: Vec<JobView> =
        listed.iter().filter(|job| job.controller_uid == *uid).cloned().collect();
    let plan = plan(&input.cron_job, &timetable, &ours, &server, now);
    Ok(apply_plan(plan, &[listed, server].concat(), input.cron_job, now))
}

/// Asks until the cache and the live reads are enough.
fn plan(
    cron_job: &CronJob,
    timetable: &Result<Timetable, cronjob::Trouble>,
    jobs: &[JobView],
    server: &[JobView],
    now: Timestamp,
) -> Plan {
    let mut live: Vec<(String, Option<JobView>)> = Vec::new();
    loop {
        match cronjob::decide(&Observed { cron_job, timetable, jobs, live: &live }, now) {
            Decision::Act(plan) => return *plan,
            Decision::Read(names) => live.extend(names.into_iter().map(|name| {
                let found = server.iter().find(|job| job.name == name).cloned();
                (name, found)
            })),
        }
    }
}

/// Does as the plan says, in a input where everything works.
fn apply_plan(
    plan: Plan,
    known: &[JobView],
    cron_job: CronJob,
    now: Timestamp,
) -> SimulatedDecision {
    let deletes = plan.deletes.iter().map(|delete| Outcome::Deleted(delete.name.clone(), Ok(())));
    let mut outcomes: Vec<Outcome> = deletes.collect();
    let mut created = None;
    if let Some(create) = &plan.create {
        let attempt = match known.iter().find(|job| job.name == create.name) {
            Some(job) => Attempt::Exists(job.clone()),
            None => {
                created = Some(create.clone());
                let (uid, resource_version) = (format!("uid-{}", create.name), String::new());
                Attempt::Done { uid, resource_version }
            }
        };
        outcomes.push(Outcome::Created(attempt));
    }
    let (verdict, unmet) = (plan.verdict.clone(), plan.unmet);
    let replaced: Vec<String> = plan.deletes.iter().map(|delete| delete.name.clone()).collect();
    let settled = cronjob::settle(plan, &outcomes, now);
    let cleaned = settled.clean_up.iter();
    let deleted = replaced.into_iter().chain(cleaned.clone().map(|delete| delete.name.clone()));
    let notes = settled.notes.iter().cloned().chain(cleaned.map(|delete| delete.deleted_note()));
    SimulatedDecision {
        now,
        verdict,
        unmet,
        created,
        deleted: deleted.collect(),
        notes: notes.collect(),
        settled,
        cron_job,
    }
}

impl SimulatedDecision {
    fn status(&self) -> &punctual_api::cronjob::CronJobStatus {
        self.settled.status.as_ref().unwrap_or(&self.cron_job.status)
    }

    fn to_output(&self) -> DecideOutput {
        let status = self.status();
        let event = |note: &Note| format!("{} {}", note.kind.as_str(), note.reason);
        let seconds = |wake: Timestamp| wake.duration_since(self.now).as_secs_f64();
        DecideOutput {
            created: self.created.iter().map(|create| create.name.clone()).collect(),
            deleted: self.deleted.clone(),
            active: status.active.iter().map(|entry| entry.name.clone()).collect(),
            last_schedule_time: status.last_schedule_time.map(|time| time.to_string()),
            last_successful_time: status.last_successful_time.map(|time| time.to_string()),
            events: self.notes.iter().map(event).collect(),
            requeue_after_seconds: self.settled.wake_at.map(seconds),
            status: status.clone(),
        }
    }

    fn to_text(&self) -> String {
        let mut text = format!("{} at {}: {}\n", self.cron_job.key(), self.now, self.explain());
        for note in &self.notes {
            text.push_str(&format!("  event {note}\n"));
        }
        if let Some(wake) = self.settled.wake_at {
            let distance = slots::distance(wake.duration_since(self.now));
            text.push_str(&format!("  looks again at {wake}, in {distance}\n"));
        }
        text
    }

    fn explain(&self) -> String {
        let waiting = match self.unmet {
            0 | 1 => String::new(),
            more => format!(", the one of {more} waiting that the policy chooses"),
        };
        match &self.verdict {
            Verdict::Deleted => "starts nothing, for it is being deleted".into(),
            Verdict::Suspended => "starts nothing, for it is suspended".into(),
            Verdict::Trouble(trouble) => format!("starts nothing: {trouble}"),
            Verdict::NotDue => match self.cron_job.spec.starting_deadline_seconds {
                Some(deadline) => {
                    format!("starts nothing, for no slot within its deadline of {deadline} s waits")
                }
                None => "starts nothing, for no slot waits".into(),
            },
            Verdict::Blocked { slot } => {
                let policy = self.cron_job.concurrency_policy().as_str();
                let running = self.status().active.len();
                format!("does not start the slot of {slot}: {running} running, policy {policy}")
            }
            Verdict::Postponed { slot } => {
                format!("records a run that nobody has recorded, then starts the slot of {slot}")
            }
            Verdict::Due { slot } => {
                let late = slots::distance(self.now.duration_since(*slot));
                match &self.created {
                    Some(create) => {
                        format!(
                            "starts {} for the slot of {slot}, {late} after it{waiting}",
                            create.name
                        )
                    }
                    None => format!("finds the Job of the slot of {slot} already there"),
                }
            }
            Verdict::Adopted { slot } => {
                format!("records the Job that is already there for the slot of {slot}")
            }
        }
    }
}
