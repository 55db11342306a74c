//! Worlds that are not drawn: the start/stop and scale tests of the design documents, and a year.

use std::borrow::Cow;

use jiff::Timestamp;
use punctual_api::ConcurrencyPolicy;

use crate::dice::Dice;
use crate::scenario::{Asked, Deed, Fault, Millis, Moment, Process, Scenario, Trouble, Wish};

const SECOND: Millis = 1000;
const MINUTE: Millis = 60 * SECOND;
const DAY: Millis = 24 * 60 * MINUTE;

/// A world with a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Play {
    /// Forty CronJobs, and the controllers are stopped, killed and started again and again.
    Restarts,
    /// The controller is stopped, and started after the deadlines.
    PastDeadline,
    /// Five thousand CronJobs in the same minute, and the leader is killed in the midst of them.
    Crowd,
    /// A year of ten thousand CronJobs, with an accident or two a month.
    Year,
}

impl Play {
    /// The world.
    pub fn scenario(self, seed: u64) -> Scenario {
        let dice = Dice::new(seed ^ 0x7e57);
        match self {
            Play::Restarts => restarts(seed, &dice),
            Play::PastDeadline => past_deadline(seed, &dice),
            Play::Crowd => crowd(seed, &dice),
            Play::Year => year(seed, &dice),
        }
    }
}

fn usual(schedule: &'static str) -> Wish {
    Wish {
        is_scheduled_job: false,
        schedule: Cow::Borrowed(schedule),
        zone: None,
        policy: ConcurrencyPolicy::Allow,
        deadline: None,
        is_suspended: false,
        jitter: 0,
        history: (1, 1),
        ttl: None,
        work: SECOND,
        failures_of_ten: 0,
    }
}

/// So many CronJobs, created within the first seconds.
fn created(count: usize, wish: impl Fn(usize) -> Wish) -> Vec<Deed> {
    let deed = |which: usize| Deed { at: SECOND, what: Asked::Create(which, wish(which)) };
    (0..count).map(deed).collect()
}

fn world(seed: u64, start: &str, length: Millis) -> Scenario {
    let start = start.parse().unwrap_or(Timestamp::UNIX_EPOCH);
    Scenario { seed, start, length, controllers: 2, deeds: Vec::new(), troubles: Vec::new() }
}

fn policy(which: usize) -> ConcurrencyPolicy {
    match which % 4 {
        0 => ConcurrencyPolicy::Allow,
        1 => ConcurrencyPolicy::Forbid,
        2 => ConcurrencyPolicy::Replace,
        _ => ConcurrencyPolicy::CatchUp,
    }
}

fn restarts(seed: u64, dice: &Dice) -> Scenario {
    let mut scenario = world(seed, "2026-05-01T10:00:20Z", 30 * MINUTE);
    scenario.deeds = created(40, |which| Wish { policy: policy(which), ..usual("* * * * *") });
    let mut at = 30 * SECOND;
    while at < scenario.length - MINUTE {
        let process = Process::Controller(usize::from(dice.percent(50)));
        let what = match dice.percent(50) {
            true => Fault::Stop(process),
            false => Fault::Kill(process, 0, Moment::Before),
        };
        let to = at + dice.between(0, 40 * SECOND);
        scenario.troubles.push(Trouble { from: at, to, what });
        at = to + dice.between(SECOND, MINUTE);
    }
    scenario
}

fn past_deadline(seed: u64, dice: &Dice) -> Scenario {
    let mut scenario = world(seed, "2026-05-01T10:00:20Z", 30 * MINUTE);
    scenario.controllers = 1;
    let wish = |which: usize| Wish {
        policy: policy(which),
        deadline: Some(dice.between(5, 50)),
        ..usual("*/2 * * * *")
    };
    scenario.deeds = created(40, wish);
    // Stopped before each fourth minute, and started when some deadlines are over and others are not.
    for minute in (4..28).step_by(4) {
        let from = minute * MINUTE - 25 * SECOND;
        let to = from + 5 * SECOND + dice.between(5, 55) * SECOND;
        let what = Fault::Stop(Process::Controller(0));
        scenario.troubles.push(Trouble { from, to, what });
    }
    scenario
}

fn crowd(seed: u64, dice: &Dice) -> Scenario {
    let mut scenario = world(seed, "2026-05-01T10:00:20Z", 3 * MINUTE);
    scenario.deeds = created(5000, |_| usual("* * * * *"));
    let calls = u32::try_from(dice.between(1000, 4000)).unwrap_or(1000);
    let kill = Fault::Kill(Process::Controller(0), calls, Moment::After);
    scenario.troubles.push(Trouble { from: 99 * SECOND, to: 120 * SECOND, what: kill });
    scenario
}

fn year(seed: u64, dice: &Dice) -> Scenario {
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
    let mut scenario = world(seed, "2027-12-31T20:00:20Z", 366 * DAY);
    scenario.controllers = 1;
    let wish = |which: usize| Wish {
        zone: dice.pick(&zones),
        policy: policy(which),
        failures_of_ten: u8::from(which.is_multiple_of(10)) * 5,
        ..usual(dice.pick(&schedules).unwrap_or("0 3 1 * *"))
    };
    scenario.deeds = created(10_000, wish);
    for month in 0..12 {
        let from = month * 30 * DAY + dice.between(0, 29) * DAY + dice.between(0, DAY - 1);
        let what = dice.pick(&[
            Fault::Kill(Process::Controller(0), 3, Moment::After),
            Fault::Crash(0, Moment::After),
            Fault::Stale(Process::Controller(0), 100 * SECOND),
            Fault::Pause(Process::Controller(0)),
        ]);
        let to = from + dice.between(MINUTE, 60 * MINUTE);
        scenario.troubles.extend(what.map(|what| Trouble { from, to, what }));
    }
    scenario.troubles.sort_by_key(|trouble| trouble.from);
    scenario
}
