//! Runs one random history of a CronJob, generated from a seed.

use std::panic::{self, AssertUnwindSafe};

use jiff::{SignedDuration, Timestamp};
use punctual_api::{CronJob, Time};
use punctual_engine::cronjob::{EffectiveSchedule, JobResult};
use punctual_testing::TestRng;
use serde_json::json;

use crate::{
    checker::{Checker, ObservedEdits},
    controller::{self, ControllerState, InjectedFault, ReconcileResult},
    ledger_checker,
    server::FakeServer,
};

/// How often a reconcile is repeated because the one before asked for it.
const RECONCILES_AGAIN_MAX: usize = 3;

const SCHEDULES: [&str; 10] = [
    "* * * * *",
    "*/5 * * * *",
    "0,1 * * * *",
    "*/7 * * * *",
    "30 * * * *",
    "0 */3 * * *",
    "@every 90s",
    "@every 20m",
    "@at 2026-03-01T12:30:00Z",
    "0 9-17 * * 1-5",
];

pub(crate) struct HistoryStats {
    /// The number of slots that were started.
    pub(crate) started: u64,
    /// The number of crashes, lost responses and rejected creates.
    pub(crate) faults: u64,
}

struct RandomHistory {
    rng: TestRng,
    server: FakeServer,
    state: ControllerState,
    checker: Checker,
    now: Timestamp,
    /// The value of `must_not_start_until` before an edit that the controller has not observed yet.
    must_not_start_before_edit: Timestamp,
    /// The latest time at which the controller may have observed an edit, until it certainly has.
    unobserved_edit_until: Option<Timestamp>,
    /// The values of the fields that edits change.
    edits: ObservedEdits,
    has_edited_schedule: bool,
    faults: u64,
    /// A line for each step, printed if a check fails.
    trace: Vec<String>,
}

/// Runs one history. If a check fails, panics with the seed and the trace.
pub(crate) fn run_history(seed: u64) -> HistoryStats {
    let mut history = RandomHistory::new(seed);
    let stats = panic::catch_unwind(AssertUnwindSafe(|| {
        for _ in 0..8 + history.rng.below(32) {
            history.step();
        }
        history.finish();
        HistoryStats { started: history.server.log.len() as u64, faults: history.faults }
    }));
    stats.unwrap_or_else(|_| panic!("seed {seed}:\n{}", history.trace.join("\n")))
}

impl RandomHistory {
    fn new(seed: u64) -> RandomHistory {
        let rng = TestRng::new(seed);
        let now: Timestamp = "2026-03-01T10:00:00Z".parse().unwrap();
        let created = now + SignedDuration::from_secs(rng.below(7_200) as i64);
        let server = FakeServer::new(random_cron_job(&rng, created));
        let checker = Checker::new(created);
        let spec = &server.cron_job.spec;
        let edits = ObservedEdits {
            deadlines: vec![spec.starting_deadline_seconds],
            policies: vec![spec.concurrency_policy.clone()],
        };
        RandomHistory {
            rng,
            server,
            state: ControllerState::default(),
            checker,
            now: created,
            must_not_start_before_edit: created,
            unobserved_edit_until: None,
            edits,
            has_edited_schedule: false,
            faults: 0,
            trace: Vec::new(),
        }
    }

    fn step(&mut self) {
        self.pass_time();
        self.finish_jobs();
        if self.rng.once_in(6) {
            self.edit();
        }
        let fault = self.random_fault();
        self.reconcile(fault);
    }

    fn pass_time(&mut self) {
        let secs = match self.rng.below(10) {
            0 => 0,
            1..6 => self.rng.below(130) as i64,
            6..8 => self.rng.below(4_000) as i64,
            8 => self.rng.below(200_000) as i64,
            // The clock is set back.
            _ => -(self.rng.below(4_000) as i64),
        };
        self.now = self.now.checked_add(SignedDuration::from_secs(secs)).unwrap();
        // After the clock is set back, slots that are ahead again may start.
        self.checker.must_not_start_until =
            self.checker.must_not_start_until.min(self.now).max(self.checker.created);
    }

    /// Finishes or deletes some active Jobs, and deletes finished Jobs whose time to live is over.
    fn finish_jobs(&mut self) {
        for name in self.server.active() {
            match self.rng.below(6) {
                0 | 1 => self.server.finish(&name, JobResult::Complete, self.now),
                2 => self.server.finish(&name, JobResult::Failed, self.now),
                3 if self.is_recorded(&name) => {
                    let uid = self.server.jobs[&name].metadata.uid.clone();
                    self.server.delete(&name, &uid, self.now);
                }
                _ => {}
            }
        }
        let finished = self.server.jobs.values().filter(|job| job.status.is_finished());
        let expired = finished.filter(|job| job.spec.ttl_seconds_after_finished.is_some());
        let expired: Vec<_> =
            expired.map(|job| (job.metadata.name.clone(), job.metadata.uid.clone())).collect();
        for (name, uid) in expired {
            self.server.delete(&name, &uid, self.now);
        }
    }

    /// Whether the slot of a Job is recorded. If a user deletes a Job before, the controller creates it
    /// again, because it cannot know that the Job existed.
    fn is_recorded(&self, name: &str) -> bool {
        let slot = self.server.view(name).and_then(|job| job.slot).map(Time::new);
        slot <= self.server.cron_job.status.last_schedule_time
    }

    fn edit(&mut self) {
        let spec = &mut self.server.cron_job.spec;
        match self.rng.below(4) {
            0 => spec.suspend = Some(spec.suspend != Some(true)),
            1 => {
                let schedule = self.rng.pick_or_default(&SCHEDULES[..6]).to_string();
                self.edit_schedule(schedule);
            }
            2 => spec.concurrency_policy = random_policy(&self.rng),
            _ => spec.starting_deadline_seconds = random_deadline(&self.rng),
        }
        let spec = &self.server.cron_job.spec;
        self.edits.deadlines.push(spec.starting_deadline_seconds);
        self.edits.policies.push(spec.concurrency_policy.clone());
    }

    fn edit_schedule(&mut self, schedule: String) {
        let recorded = self.server.cron_job.metadata.annotation(EffectiveSchedule::ANNOTATION);
        let recorded = recorded.and_then(|text| text.split_once(' ')).map(|(_, schedule)| schedule);
        let before = std::mem::replace(&mut self.server.cron_job.spec.schedule, schedule);
        let after = &self.server.cron_job.spec.schedule;
        if *after == before {
            return;
        }
        self.has_edited_schedule = true;
        if recorded == Some(&before) {
            self.must_not_start_before_edit = self.checker.must_not_start_until;
        }
        self.checker.must_not_start_until = match recorded {
            // The controller has not observed the schedules between the recorded one and this one.
            Some(recorded) if recorded == after => self.must_not_start_before_edit,
            None => self.checker.must_not_start_until,
            Some(_) => self.checker.created.max(self.now),
        };
        self.checker.need_not_start_until = Timestamp::MAX;
        self.unobserved_edit_until = Some(self.now);
    }

    fn random_fault(&mut self) -> InjectedFault {
        match self.rng.below(8) {
            0..3 => InjectedFault::None,
            3..6 => InjectedFault::Crash(self.rng.below(4)),
            6 => InjectedFault::LostResponse,
            _ => InjectedFault::Rejected,
        }
    }

    fn reconcile(&mut self, fault: InjectedFault) -> ReconcileResult {
        let was_running = !self.server.running().is_empty();
        let mut reconcile =
            || controller::reconcile(&mut self.server, &mut self.state, fault, &self.rng, self.now);
        let mut result = reconcile();
        // A slot under `Replace` waits for up to two writes: that of the status and the end of the replaced Jobs.
        for _ in 0..RECONCILES_AGAIN_MAX {
            if result.reconcile_again && fault == InjectedFault::None {
                result = ReconcileResult { has_written: true, ..reconcile() };
            }
        }
        self.faults += result.faults;
        self.add_trace(fault);
        self.checker.check_reconcile(&self.server);
        self.unobserved_edit_until = self.unobserved_edit_until.map(|until| until.max(self.now));
        if result.is_complete {
            if let Some(until) = self.unobserved_edit_until.take() {
                self.checker.need_not_start_until = until.max(self.checker.created);
            }
            if fault == InjectedFault::None {
                self.checker.check_complete_reconcile(&self.server, was_running, self.now);
            }
        }
        result
    }

    fn add_trace(&mut self, fault: InjectedFault) {
        let cron_job = &self.server.cron_job;
        let spec = &cron_job.spec;
        let jobs = self.server.jobs.values().map(|job| {
            let conditions: Vec<&str> =
                job.status.conditions.iter().map(|c| c.condition_type.as_str()).collect();
            let deleting = job.metadata.deletion_timestamp.map_or("", |_| " deleting");
            format!("{}{deleting} {}", job.metadata.name, conditions.join(","))
        });
        self.trace.push(format!(
            "{} {fault:?} | {} {} deadline {:?} suspend {:?} | jobs [{}] | {}",
            self.now,
            spec.schedule,
            spec.concurrency_policy,
            spec.starting_deadline_seconds,
            spec.suspend,
            jobs.collect::<Vec<_>>().join("; "),
            serde_json::to_string(&cron_job.status).unwrap(),
        ));
    }

    /// Reconciles without faults until nothing changes, and checks the counters.
    fn finish(&mut self) {
        for name in self.server.active() {
            self.server.finish(&name, JobResult::Complete, self.now);
        }
        self.server.cron_job.spec.suspend = Some(true);
        let busy = (0..20).take_while(|_| self.reconcile(InjectedFault::None).has_written).count();
        assert!(busy < 20, "the controller never stops writing");
        assert!(
            !self.reconcile(InjectedFault::None).has_written,
            "the controller writes without a change"
        );
        self.checker.check_end(&self.server);
        ledger_checker::check_sums(&self.server);
        ledger_checker::check_runs(&self.server);
        if !self.has_edited_schedule {
            self.checker.check_every_slot_is_counted(&self.server, &self.edits);
            ledger_checker::check_coverage(&self.server, self.checker.created);
        }
    }
}

fn random_policy(rng: &TestRng) -> String {
    rng.pick_or_default(&["Allow", "Forbid", "Replace", "CatchUp"]).into()
}

fn random_deadline(rng: &TestRng) -> Option<i64> {
    rng.pick_or_default(&[None, None, None, Some(0), Some(30), Some(90), Some(600), Some(100_000)])
}

fn random_cron_job(rng: &TestRng, created: Timestamp) -> CronJob {
    let mut template = json!({"spec": {"template": {"spec": {"containers": []}}}});
    if rng.once_in(3) {
        template["spec"]["ttlSecondsAfterFinished"] = json!(0);
    }
    let limits = [0, 0, 1, 3];
    let spec = json!({
        "schedule": rng.pick_or_default(&SCHEDULES),
        "concurrencyPolicy": random_policy(rng),
        "startingDeadlineSeconds": random_deadline(rng),
        "successfulJobsHistoryLimit": rng.pick_or_default(&limits),
        "failedJobsHistoryLimit": rng.pick_or_default(&limits),
        "jitter": rng.pick_or_default(&[0, 0, 10, 50]),
        "jobTemplate": template,
    });
    let metadata = json!({
        "name": "history", "namespace": "test", "uid": format!("cron-{}", rng.next_u64()),
        "creationTimestamp": Time::new(created).to_string(),
    });
    serde_json::from_value(json!({
        "apiVersion": "batch/v1", "kind": "CronJob", "metadata": metadata, "spec": spec,
    }))
    .unwrap()
}
