//! One life, from a seed.

use std::panic::{self, AssertUnwindSafe};

use jiff::{SignedDuration, Timestamp};
use punctual_api::{CronJob, Time};
use punctual_engine::cronjob::{JobResult, ScheduleSince};
use serde_json::json;

use crate::{
    checker::Checker,
    controller::{self, Fault, Memory, Turn},
    dice::Dice,
    server::Server,
};

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

pub(crate) struct Lived {
    pub(crate) started: u64,
    pub(crate) crashes: u64,
}

struct Life {
    dice: Dice,
    server: Server,
    memory: Memory,
    checker: Checker,
    now: Timestamp,
    /// From when on slots counted before an edit that nobody has seen yet.
    not_before_edit: Timestamp,
    /// The latest time at which the controller may have seen an edit, until it surely has.
    unseen_edit_until: Option<Timestamp>,
    faults: u64,
    /// What happened, for when it went wrong.
    story: Vec<String>,
}

/// Lives one life. If a promise is broken, panics with the seed and the whole story.
pub(crate) fn live(seed: u64) -> Lived {
    let mut life = Life::new(seed);
    let lived = panic::catch_unwind(AssertUnwindSafe(|| {
        for _ in 0..8 + life.dice.below(32) {
            life.step();
        }
        life.come_to_rest();
        Lived { started: life.server.log.len() as u64, crashes: life.faults }
    }));
    lived.unwrap_or_else(|_| panic!("seed {seed}:\n{}", life.story.join("\n")))
}

impl Life {
    fn new(seed: u64) -> Life {
        let mut dice = Dice(seed);
        let now: Timestamp = "2026-03-01T10:00:00Z".parse().unwrap();
        let created = now + SignedDuration::from_secs(dice.below(7_200) as i64);
        let server = Server::new(new_cron_job(&mut dice, created));
        let checker = Checker::new(created);
        Life {
            dice,
            server,
            memory: Memory::default(),
            checker,
            now: created,
            not_before_edit: created,
            unseen_edit_until: None,
            faults: 0,
            story: Vec::new(),
        }
    }

    fn step(&mut self) {
        self.pass_time();
        self.end_jobs();
        if self.dice.once_in(6) {
            self.edit();
        }
        let fault = self.fault();
        self.turn(fault);
    }

    fn pass_time(&mut self) {
        let secs = match self.dice.below(10) {
            0 => 0,
            1..6 => self.dice.below(130) as i64,
            6..8 => self.dice.below(4_000) as i64,
            8 => self.dice.below(200_000) as i64,
            // Somebody set the clock back.
            _ => -(self.dice.below(4_000) as i64),
        };
        self.now = self.now.checked_add(SignedDuration::from_secs(secs)).unwrap();
        // What comes again after a clock was set back is not in the past.
        self.checker.not_before = self.checker.not_before.min(self.now).max(self.checker.created);
    }

    /// Some running Jobs end, some vanish; of the finished, those that live on borrowed time go.
    fn end_jobs(&mut self) {
        for name in self.server.undisturbed() {
            match self.dice.below(6) {
                0 | 1 => self.server.end(&name, JobResult::Complete, self.now),
                2 => self.server.end(&name, JobResult::Failed, self.now),
                3 if self.is_recorded(&name) => {
                    let uid = self.server.jobs[&name].metadata.uid.clone();
                    self.server.delete(&name, &uid, self.now);
                }
                _ => {}
            }
        }
        let ended = self.server.jobs.values().filter(|job| job.status.is_finished());
        let expired = ended.filter(|job| job.spec.ttl_seconds_after_finished.is_some());
        let expired: Vec<_> =
            expired.map(|job| (job.metadata.name.clone(), job.metadata.uid.clone())).collect();
        for (name, uid) in expired {
            self.server.delete(&name, &uid, self.now);
        }
    }

    /// A user who deletes a Job in the instant between its creation and the write of the status
    /// asks for it to be created again; no controller could tell.
    fn is_recorded(&self, name: &str) -> bool {
        let slot = self.server.view(name).and_then(|job| job.slot).map(Time::new);
        slot <= self.server.cron_job.status.last_schedule_time
    }

    fn edit(&mut self) {
        let spec = &mut self.server.cron_job.spec;
        match self.dice.below(4) {
            0 => spec.suspend = Some(spec.suspend != Some(true)),
            1 => {
                let schedule = self.dice.pick(&SCHEDULES[..6]).to_string();
                self.edit_schedule(schedule);
            }
            2 => spec.concurrency_policy = policy(&mut self.dice),
            _ => spec.starting_deadline_seconds = new_deadline(&mut self.dice),
        }
    }

    fn edit_schedule(&mut self, schedule: String) {
        let known = self.server.cron_job.metadata.annotation(ScheduleSince::ANNOTATION);
        let known = known.and_then(|text| text.split_once(' ')).map(|(_, schedule)| schedule);
        let before = std::mem::replace(&mut self.server.cron_job.spec.schedule, schedule);
        let after = &self.server.cron_job.spec.schedule;
        if *after == before {
            return;
        }
        if known == Some(&before) {
            self.not_before_edit = self.checker.not_before;
        }
        self.checker.not_before = match known {
            // Nobody has seen the schedule that it was in between, or any before.
            Some(known) if known == after => self.not_before_edit,
            None => self.checker.not_before,
            Some(_) => self.checker.created.max(self.now),
        };
        self.checker.need_not_before = Timestamp::MAX;
        self.unseen_edit_until = Some(self.now);
    }

    fn fault(&mut self) -> Fault {
        match self.dice.below(8) {
            0..3 => Fault::None,
            3..6 => Fault::Crash(self.dice.below(4)),
            6 => Fault::LostAnswer,
            _ => Fault::Refused,
        }
    }

    fn turn(&mut self, fault: Fault) -> Turn {
        let was_running = !self.server.running().is_empty();
        let mut go = || {
            controller::turn(&mut self.server, &mut self.memory, fault, &mut self.dice, self.now)
        };
        let mut turn = go();
        if turn.again && fault == Fault::None {
            turn = Turn { has_written: true, ..go() };
        }
        self.faults += turn.faults;
        self.tell(fault);
        self.checker.check_turn(&self.server);
        self.unseen_edit_until = self.unseen_edit_until.map(|until| until.max(self.now));
        if turn.is_whole {
            if let Some(until) = self.unseen_edit_until.take() {
                self.checker.need_not_before = until.max(self.checker.created);
            }
            if fault == Fault::None {
                self.checker.check_whole_turn(&self.server, was_running, self.now);
            }
        }
        turn
    }

    fn tell(&mut self, fault: Fault) {
        let cron_job = &self.server.cron_job;
        let (spec, status) = (&cron_job.spec, &cron_job.status);
        let jobs = self.server.jobs.values().map(|job| {
            let ends: Vec<&str> =
                job.status.conditions.iter().map(|c| c.condition_type.as_str()).collect();
            let going = job.metadata.deletion_timestamp.map_or("", |_| " going");
            format!("{}{going} {}", job.metadata.name, ends.join(","))
        });
        self.story.push(format!(
            "{} {fault:?} | {} {} deadline {:?} suspend {:?} | jobs [{}] | {}",
            self.now,
            spec.schedule,
            spec.concurrency_policy,
            spec.starting_deadline_seconds,
            spec.suspend,
            jobs.collect::<Vec<_>>().join("; "),
            serde_json::to_string(status).unwrap(),
        ));
    }

    /// Nothing goes wrong any more: everything settles, and then nothing is written.
    fn come_to_rest(&mut self) {
        for name in self.server.undisturbed() {
            self.server.end(&name, JobResult::Complete, self.now);
        }
        self.server.cron_job.spec.suspend = Some(true);
        let busy = (0..20).take_while(|_| self.turn(Fault::None).has_written).count();
        assert!(busy < 20, "it never comes to rest");
        assert!(!self.turn(Fault::None).has_written, "something is written at rest");
        self.checker.check_end(&self.server);
    }
}

fn policy(dice: &mut Dice) -> String {
    dice.pick(&["Allow", "Forbid", "Replace", "CatchUp"]).into()
}

fn new_deadline(dice: &mut Dice) -> Option<i64> {
    dice.pick(&[None, None, None, Some(0), Some(30), Some(90), Some(600), Some(100_000)])
}

fn new_cron_job(dice: &mut Dice, created: Timestamp) -> CronJob {
    let mut template = json!({"spec": {"template": {"spec": {"containers": []}}}});
    if dice.once_in(3) {
        template["spec"]["ttlSecondsAfterFinished"] = json!(0);
    }
    let limits = [0, 0, 1, 3];
    let spec = json!({
        "schedule": dice.pick(&SCHEDULES),
        "concurrencyPolicy": policy(dice),
        "startingDeadlineSeconds": new_deadline(dice),
        "successfulJobsHistoryLimit": dice.pick(&limits),
        "failedJobsHistoryLimit": dice.pick(&limits),
        "jitter": dice.pick(&[0, 0, 10, 50]),
        "jobTemplate": template,
    });
    let metadata = json!({
        "name": "life", "namespace": "test", "uid": format!("cron-{}", dice.roll()),
        "creationTimestamp": Time::new(created).to_string(),
    });
    serde_json::from_value(json!({
        "apiVersion": "batch/v1", "kind": "CronJob", "metadata": metadata, "spec": spec,
    }))
    .unwrap()
}
