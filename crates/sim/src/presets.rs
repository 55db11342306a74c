//! Scenarios with a name: the start/stop and scale tests of the design documents, and a whole year.

use std::borrow::Cow;

use jiff::Timestamp;
use punctual_testing::scenario::{
    ActionKind, CrashPoint, Fault, FaultWindow, Millis, ProcessId, Scenario, ScenarioCronJob,
    UserAction,
};
use punctual_testing::{ConcurrencyPolicy, TestRng};

const SECOND: Millis = 1000;
const MINUTE: Millis = 60 * SECOND;
/// The default of the runner.
pub(crate) const DEFAULT_MAX_PODS: usize = 110;
const DAY: Millis = 24 * 60 * MINUTE;

/// A scenario with a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Preset {
    /// Forty CronJobs whose controllers are stopped, killed and restarted repeatedly.
    Restarts,
    /// A controller that is stopped and restarted after the starting deadlines.
    PastDeadline,
    /// Five thousand CronJobs that are due in the same minute, in which the leader is killed.
    Burst,
    /// A thousand CronJobs that are due once, in the same minute, in which the leader is killed.
    SmallBurst,
    /// A year of ten thousand CronJobs with a fault every month.
    Year,
}

impl Preset {
    /// The scenario. The seed determines the details.
    pub fn scenario(self, seed: u64) -> Scenario {
        let random = TestRng::new(seed ^ 0x7e57);
        match self {
            Preset::Restarts => restarts(seed, &random),
            Preset::PastDeadline => past_deadline(seed, &random),
            Preset::Burst => burst(seed, &random, 5000, "* * * * *"),
            Preset::SmallBurst => burst(seed, &random, 1000, "2 10 * * *"),
            Preset::Year => year(seed, &random),
        }
    }
}

fn default_spec(schedule: &'static str) -> ScenarioCronJob {
    ScenarioCronJob {
        is_scheduled_job: false,
        schedule: Cow::Borrowed(schedule),
        zone: None,
        policy: ConcurrencyPolicy::Allow,
        deadline: None,
        is_suspended: false,
        jitter: 0,
        history: (1, 1),
        ttl: None,
        pod_duration: SECOND,
        failing_pods_per_ten: 0,
    }
}

/// Creates this many CronJobs after the first second.
fn creations(count: usize, spec: impl Fn(usize) -> ScenarioCronJob) -> Vec<UserAction> {
    let create =
        |number: usize| UserAction { at: SECOND, kind: ActionKind::Create(number, spec(number)) };
    (0..count).map(create).collect()
}

fn empty_scenario(seed: u64, start: &str, length: Millis) -> Scenario {
    let start = start.parse().unwrap_or(Timestamp::UNIX_EPOCH);
    Scenario {
        seed,
        start,
        length,
        controllers: 2,
        max_pods: DEFAULT_MAX_PODS,
        actions: Vec::new(),
        faults: Vec::new(),
    }
}

fn policy(number: usize) -> ConcurrencyPolicy {
    let policies = ConcurrencyPolicy::ALL;
    policies.get(number % policies.len()).copied().unwrap_or_default()
}

fn restarts(seed: u64, random: &TestRng) -> Scenario {
    let mut scenario = empty_scenario(seed, "2026-05-01T10:00:20Z", 30 * MINUTE);
    let spec =
        |number: usize| ScenarioCronJob { policy: policy(number), ..default_spec("* * * * *") };
    scenario.actions = creations(40, spec);
    let mut at = 30 * SECOND;
    while at < scenario.length - MINUTE {
        let process = ProcessId::Controller(usize::from(random.percent(50)));
        let fault = if random.percent(50) {
            Fault::Stop(process)
        } else {
            Fault::Kill(process, 0, CrashPoint::Before)
        };
        let to = at + random.between(0, 40 * SECOND);
        scenario.faults.push(FaultWindow { from: at, to, fault });
        at = to + random.between(SECOND, MINUTE);
    }
    scenario
}

fn past_deadline(seed: u64, random: &TestRng) -> Scenario {
    let mut scenario = empty_scenario(seed, "2026-05-01T10:00:20Z", 30 * MINUTE);
    scenario.controllers = 1;
    let spec = |number: usize| ScenarioCronJob {
        policy: policy(number),
        deadline: Some(random.between(5, 50)),
        ..default_spec("*/2 * * * *")
    };
    scenario.actions = creations(40, spec);
    // Stopped before every fourth minute, and restarted when some of the deadlines have passed.
    for minute in (4..28).step_by(4) {
        let from = minute * MINUTE - 25 * SECOND;
        let to = from + 5 * SECOND + random.between(5, 55) * SECOND;
        let fault = Fault::Stop(ProcessId::Controller(0));
        scenario.faults.push(FaultWindow { from, to, fault });
    }
    scenario
}

/// Kills the leader after between a fifth and four fifths of the creates.
fn burst(seed: u64, random: &TestRng, count: u32, schedule: &'static str) -> Scenario {
    let mut scenario = empty_scenario(seed, "2026-05-01T10:00:20Z", 3 * MINUTE);
    scenario.actions = creations(count as usize, |_| default_spec(schedule));
    let calls = random.between(i64::from(count) / 5, i64::from(count) * 4 / 5);
    let calls = u32::try_from(calls).unwrap_or(count);
    let fault = Fault::Kill(ProcessId::Controller(0), calls, CrashPoint::After);
    scenario.faults.push(FaultWindow { from: 99 * SECOND, to: 120 * SECOND, fault });
    scenario
}

fn year(seed: u64, random: &TestRng) -> Scenario {
    let zones =
        ["UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu"];
    let schedules = [
        "0 3 1 * *",
        "30 2 1 * *",
        "0 0 1 * *",
        "15 4 28 * *",
        "59 23 15 * *",
        "5 1 * * 0",
        "0 6 1 1,7 *",
        "0 12 29 2 *",
    ];
    let mut scenario = empty_scenario(seed, "2027-12-31T20:00:20Z", 366 * DAY);
    scenario.controllers = 1;
    let spec = |number: usize| ScenarioCronJob {
        zone: random.pick(&zones),
        policy: policy(number),
        failing_pods_per_ten: u8::from(number.is_multiple_of(10)) * 5,
        ..default_spec(random.pick(&schedules).unwrap_or("0 3 1 * *"))
    };
    scenario.actions = creations(10_000, spec);
    for month in 0..12 {
        let from = month * 30 * DAY + random.between(0, 29) * DAY + random.between(0, DAY - 1);
        let fault = random.pick(&[
            Fault::Kill(ProcessId::Controller(0), 3, CrashPoint::After),
            Fault::CrashServer(0, CrashPoint::After),
            Fault::BatchWatches(ProcessId::Controller(0), 100 * SECOND),
            Fault::Pause(ProcessId::Controller(0)),
        ]);
        let to = from + random.between(MINUTE, 60 * MINUTE);
        scenario.faults.extend(fault.map(|fault| FaultWindow { from, to, fault }));
    }
    scenario.faults.sort_by_key(|window| window.from);
    scenario
}
