//! Generates a scenario from a seed: the CronJobs and what users do. `faults` generates the faults.
//!
//! The order of the calls of [`TestRng`] determines the scenario of a seed.

mod faults;

use std::borrow::Cow;

use jiff::{SignedDuration, Timestamp, Unit};
use punctual_testing::scenario::{
    ActionKind, Fault, FaultWindow, Millis, ProcessId, Scenario, ScenarioCronJob, ScenarioRequest,
    UserAction,
};
use punctual_testing::{ConcurrencyPolicy, TestRng};

use crate::presets::DEFAULT_MAX_PODS;

const SECOND: Millis = 1000;
const MINUTE: Millis = 60 * SECOND;

/// The number of Pods that run at a time in scenarios with room for few.
const FEW_PODS: usize = 1;
/// In these scenarios no Pod runs longer.
const SHORT_POD_MAX: Millis = 5 * SECOND;

/// Distinguishes the random numbers of requests.
const REQUESTS_SEED: u64 = 0x9e37_79b9_7f4a_7c15;

/// The number of touches while a controller's watches are delayed.
const TOUCHES: usize = 6;

/// Times shortly before a transition of a time zone or a leap day.
const TRANSITIONS: [(&str, &str); 10] = [
    ("2026-03-29T00:50:00Z", "Europe/Berlin"),
    ("2026-10-25T00:50:00Z", "Europe/Berlin"),
    ("2026-03-08T06:50:00Z", "America/New_York"),
    ("2026-11-01T05:50:00Z", "America/New_York"),
    ("2026-10-03T15:20:00Z", "Australia/Lord_Howe"),
    ("2026-04-04T14:50:00Z", "Australia/Lord_Howe"),
    ("2026-03-08T04:50:00Z", "America/Havana"),
    ("2026-12-31T23:50:00Z", "Asia/Kathmandu"),
    ("2028-02-28T23:50:00Z", "UTC"),
    ("2027-04-29T21:50:00Z", "Africa/Cairo"),
];

/// Generates the scenario of a seed.
pub fn generate(seed: u64) -> Scenario {
    // The simulation uses the seed itself; this sequence must differ from that one.
    let random = TestRng::new(seed.wrapping_mul(0x2545_f491_4f6c_dd1d) ^ 0x5bf0_3635);
    let (start, zone) = start_and_zone(&random);
    let outage = random.percent(12).then(|| random.between(2 * 60, 30 * 60) * MINUTE);
    let eventful = random.between(3, 7) * MINUTE;
    let generator = ScenarioGenerator {
        length: eventful + outage.unwrap_or_default(),
        outage,
        controllers: random.pick(&[1, 1, 2, 2, 3]).unwrap_or(1),
        start_in_minute: start.as_millisecond() % MINUTE,
        start,
        zone,
        random,
    };
    generator.generate(seed)
}

/// The number of Pods that run at a time. Some scenarios have room for few, if the Pods are short enough
/// that the queue does not grow.
fn max_pods(seed: u64, actions: &[UserAction]) -> usize {
    let is_short = |action: &UserAction| match &action.kind {
        ActionKind::Create(_, spec) | ActionKind::Replace(_, spec) => {
            spec.pod_duration <= SHORT_POD_MAX
        }
        _ => true,
    };
    if seed.is_multiple_of(2) && actions.iter().all(is_short) { FEW_PODS } else { DEFAULT_MAX_PODS }
}

/// The start of the simulation, and the zone of its CronJobs if it is near a transition.
fn start_and_zone(random: &TestRng) -> (Timestamp, Option<&'static str>) {
    let picked = random.pick(&TRANSITIONS);
    let is_near_transition = random.percent(40);
    let (text, zone) = match picked {
        Some((text, zone)) if is_near_transition => (text, Some(zone)),
        _ => ("2026-05-17T00:00:00Z", None),
    };
    let base = text.parse().unwrap_or(Timestamp::UNIX_EPOCH);
    let offset = if zone.is_some() {
        random.between(0, 6 * MINUTE)
    } else {
        random.between(0, 700 * 24 * 60) * MINUTE + random.between(0, MINUTE - 1)
    };
    let start = base.saturating_add(SignedDuration::from_millis(offset)).unwrap_or(base);
    (start, zone)
}

struct ScenarioGenerator {
    random: TestRng,
    start: Timestamp,
    /// How far into its minute the simulation starts.
    start_in_minute: Millis,
    zone: Option<&'static str>,
    length: Millis,
    controllers: usize,
    /// How long no controller runs at the end, in scenarios with an outage.
    outage: Option<Millis>,
}

impl ScenarioGenerator {
    fn generate(&self, seed: u64) -> Scenario {
        let cron_jobs = usize::try_from(self.random.between(1, 3)).unwrap_or(1);
        let mut actions: Vec<UserAction> =
            (0..cron_jobs).map(|number| self.creation(number)).collect();
        if self.random.percent(60) {
            for _ in 0..self.random.between(1, 6) {
                self.add_actions(cron_jobs, &mut actions);
            }
        }
        actions.sort_by_key(|action| action.at);
        let faults = self.faults(&actions);
        for window in &faults {
            self.add_touches(cron_jobs, window, &mut actions);
        }
        self.add_requests(seed, cron_jobs, &mut actions);
        actions.sort_by_key(|action| action.at);
        Scenario {
            seed,
            start: self.start,
            length: self.length,
            controllers: self.controllers,
            max_pods: max_pods(seed, &actions),
            actions,
            faults,
        }
    }

    fn creation(&self, number: usize) -> UserAction {
        let at = self.random.between(0, 20 * SECOND);
        UserAction { at, kind: ActionKind::Create(number, self.spec()) }
    }

    fn spec(&self) -> ScenarioCronJob {
        let random = &self.random;
        let pod_duration = match random.below(10) {
            0..5 => random.between(0, 5 * SECOND),
            5..7 => random.between(5 * SECOND, 80 * SECOND),
            _ => random.between(MINUTE, 150 * SECOND),
        };
        let policy = random.pick_or_default(&ConcurrencyPolicy::ALL);
        ScenarioCronJob {
            is_scheduled_job: random.percent(25),
            schedule: self.schedule(),
            zone: match self.zone {
                Some(zone) if random.percent(80) => Some(zone),
                _ => None,
            },
            policy,
            deadline: self.deadline(policy),
            is_suspended: random.percent(5),
            jitter: if random.percent(12) {
                i32::try_from(random.between(1, 50)).unwrap_or(1)
            } else {
                0
            },
            history: random.pick_or_default(&[
                (3, 1),
                (3, 1),
                (0, 0),
                (0, 0),
                (1, 0),
                (0, 2),
                (2, 2),
            ]),
            ttl: random.percent(30).then(|| i32::try_from(random.between(0, 15)).unwrap_or(0)),
            pod_duration,
            failing_pods_per_ten: random.pick_or_default(&[0, 0, 0, 3, 10]),
        }
    }

    fn deadline(&self, policy: ConcurrencyPolicy) -> Option<i64> {
        // Without a deadline, CatchUp would catch up for hours after an outage of hours.
        let is_required = self.outage.is_some() && policy == ConcurrencyPolicy::CatchUp;
        (is_required || self.random.percent(45)).then(|| self.random.between(5, 200))
    }

    fn schedule(&self) -> Cow<'static, str> {
        let random = &self.random;
        if random.percent(4) {
            let at = self.at(self.moment()).round(Unit::Second).unwrap_or(self.start);
            return format!("@at {at}").into();
        }
        let schedules = [
            "* * * * *",
            "* * * * *",
            "* * * * *",
            "*/2 * * * *",
            "1-59/2 * * * *",
            "*/5 * * * *",
            "@every 20s",
            "@every 1m30s",
            "0,5,10-20,30-59 * * * *",
            "* 0-12 * * *",
        ];
        random.pick(&schedules).unwrap_or("* * * * *").into()
    }

    fn at(&self, since_start: Millis) -> Timestamp {
        let offset = SignedDuration::from_millis(since_start);
        self.start.saturating_add(offset).unwrap_or(self.start)
    }

    /// Adds something that users do to an existing CronJob, often at the time of a slot.
    fn add_actions(&self, cron_jobs: usize, actions: &mut Vec<UserAction>) {
        let random = &self.random;
        let number = usize::try_from(random.below(cron_jobs as u64)).unwrap_or_default();
        let at = self.moment();
        let last = self.length - SECOND;
        let mut add = |at: Millis, kind: ActionKind| {
            actions.push(UserAction { at: at.min(last), kind });
        };
        match random.below(10) {
            0..3 => {
                let resumed_at = at + random.between(0, 3 * MINUTE);
                if resumed_at % 3 == 0 {
                    add(at, ActionKind::SuspendUntil(number, self.at(resumed_at)));
                } else {
                    add(at, ActionKind::Suspend(number, true));
                    add(resumed_at, ActionKind::Suspend(number, false));
                }
            }
            3..6 => add(at, ActionKind::Replace(number, self.spec())),
            6 => add(at, ActionKind::Delete(number)),
            7 => {
                add(at, ActionKind::Delete(number));
                let created_at = at + random.between(0, 20 * SECOND);
                add(created_at, ActionKind::Create(number, self.spec()));
            }
            8 => add(at, ActionKind::DeleteJob(number)),
            _ => add(at, ActionKind::CreateForeignJob(number, self.at(at + MINUTE))),
        }
    }

    /// Makes a controller with delayed watches reconcile, so that it acts upon stale objects.
    fn add_touches(&self, cron_jobs: usize, window: &FaultWindow, actions: &mut Vec<UserAction>) {
        let Fault::DelayWatches(ProcessId::Controller(_), _) = window.fault else { return };
        for _ in 0..TOUCHES {
            let number = usize::try_from(self.random.below(cron_jobs as u64)).unwrap_or_default();
            let at = self.random.between(window.from, window.to).min(self.length - SECOND);
            actions.push(UserAction { at, kind: ActionKind::Touch(number) });
        }
    }

    /// Adds requests for runs to some scenarios. Their random numbers are a sequence of their own, so that all else
    /// in the scenario of a seed stays as it was before there were requests.
    fn add_requests(&self, seed: u64, cron_jobs: usize, actions: &mut Vec<UserAction>) {
        let random = TestRng::new(seed.wrapping_mul(REQUESTS_SEED));
        if !random.percent(20) {
            return;
        }
        let last = self.length - SECOND;
        for _ in 0..random.between(1, 3) {
            let number = usize::try_from(random.below(cron_jobs as u64)).unwrap_or_default();
            let at = random.between(30 * SECOND, last);
            let slots_of_last = random.percent(60).then(|| random.between(MINUTE, 3 * MINUTE));
            let request = ScenarioRequest {
                slots_of_last,
                runs: random.pick_or_default(&["", "", "Failed", "All"]),
                is_always_allowed: random.percent(25),
                parallelism: i32::try_from(random.between(1, 3)).unwrap_or(1),
            };
            actions.push(UserAction { at, kind: ActionKind::RequestRuns(number, request) });
            if random.percent(15) {
                let deleted_at = (at + random.between(0, 30 * SECOND)).min(last);
                let kind = ActionKind::DeleteRequests(number);
                actions.push(UserAction { at: deleted_at, kind });
            }
        }
    }

    /// A time before the outage; half of them are near a whole minute.
    fn moment(&self) -> Millis {
        let eventful = self.length - self.outage.unwrap_or_default();
        let at = self.random.between(5 * SECOND, eventful - SECOND);
        if !self.random.percent(50) {
            return at;
        }
        let minute = (at + self.start_in_minute) / MINUTE * MINUTE - self.start_in_minute;
        (minute + self.random.between(-1500, 1500)).clamp(SECOND, eventful - SECOND)
    }
}
