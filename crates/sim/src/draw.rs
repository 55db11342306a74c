//! A scenario out of a seed: who asks for what. What goes wrong is drawn in `troubles`.

mod troubles;

use std::borrow::Cow;

use jiff::{SignedDuration, Timestamp, Unit};
use punctual_api::ConcurrencyPolicy;

use crate::dice::Dice;
use crate::scenario::{Asked, Deed, Fault, Millis, Process, Scenario, Trouble, Wish};

const SECOND: Millis = 1000;
const MINUTE: Millis = 60 * SECOND;

/// How often users touch what somebody knows too little of.
const NUDGES: usize = 6;

/// Instants shortly before something happens to the clocks of a zone.
const TURNS: [(&str, &str); 10] = [
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

/// The scenario of a seed.
pub fn draw(seed: u64) -> Scenario {
    // The dice of the world itself begin with the same number, and are not to fall in step.
    let dice = Dice::new(seed.wrapping_mul(0x2545_f491_4f6c_dd1d) ^ 0x5bf0_3635);
    let (start, zone) = first_instant(&dice);
    let outage = dice.percent(12).then(|| dice.between(2 * 60, 30 * 60) * MINUTE);
    let eventful = dice.between(3, 7) * MINUTE;
    let mut drawing = Drawing {
        length: eventful + outage.unwrap_or_default(),
        outage,
        controllers: dice.pick(&[1, 1, 2, 2, 3]).unwrap_or(1),
        offset: start.as_millisecond() % MINUTE,
        start,
        zone,
        dice,
    };
    drawing.scenario(seed)
}

fn first_instant(dice: &Dice) -> (Timestamp, Option<&'static str>) {
    let turn = dice.pick(&TURNS).filter(|_| dice.percent(40));
    let (text, zone) = turn.unwrap_or(("2026-05-17T00:00:00Z", "UTC"));
    let base = text.parse().unwrap_or(Timestamp::UNIX_EPOCH);
    let ahead = match turn {
        Some(_) => dice.between(0, 6 * MINUTE),
        None => dice.between(0, 700 * 24 * 60) * MINUTE + dice.between(0, MINUTE - 1),
    };
    let start = base.saturating_add(SignedDuration::from_millis(ahead)).unwrap_or(base);
    (start, turn.map(|_| zone))
}

struct Drawing {
    dice: Dice,
    start: Timestamp,
    /// How far into its minute the world begins.
    offset: Millis,
    zone: Option<&'static str>,
    length: Millis,
    controllers: usize,
    /// How long no controller runs in the end, if that is part of the story.
    outage: Option<Millis>,
}

impl Drawing {
    fn scenario(&mut self, seed: u64) -> Scenario {
        let cron_jobs = usize::try_from(self.dice.between(1, 3)).unwrap_or(1);
        let mut deeds: Vec<Deed> = (0..cron_jobs).map(|which| self.creation(which)).collect();
        if self.dice.percent(60) {
            let more = self.dice.between(1, 6);
            (0..more).for_each(|_| self.meddle(cron_jobs, &mut deeds));
        }
        deeds.sort_by_key(|deed| deed.at);
        let troubles = self.troubles(&deeds);
        troubles.iter().for_each(|trouble| self.nudge(cron_jobs, trouble, &mut deeds));
        deeds.sort_by_key(|deed| deed.at);
        Scenario {
            seed,
            start: self.start,
            length: self.length,
            controllers: self.controllers,
            deeds,
            troubles,
        }
    }

    fn creation(&self, which: usize) -> Deed {
        Deed { at: self.dice.between(0, 20 * SECOND), what: Asked::Create(which, self.wish()) }
    }

    fn wish(&self) -> Wish {
        let dice = &self.dice;
        let work = match dice.below(10) {
            0..5 => dice.between(0, 5 * SECOND),
            5..7 => dice.between(5 * SECOND, 80 * SECOND),
            _ => dice.between(MINUTE, 150 * SECOND),
        };
        let any = ConcurrencyPolicy::Allow;
        let policies = [
            any,
            ConcurrencyPolicy::Forbid,
            ConcurrencyPolicy::Replace,
            ConcurrencyPolicy::CatchUp,
        ];
        let policy = dice.pick(&policies).unwrap_or(any);
        Wish {
            is_scheduled_job: dice.percent(25),
            schedule: self.schedule(),
            zone: self.zone.filter(|_| dice.percent(80)),
            policy,
            deadline: self.deadline(policy),
            is_suspended: dice.percent(5),
            jitter: if dice.percent(12) {
                i32::try_from(dice.between(1, 50)).unwrap_or(1)
            } else {
                0
            },
            history: dice
                .pick(&[(3, 1), (3, 1), (0, 0), (0, 0), (1, 0), (0, 2), (2, 2)])
                .unwrap_or((3, 1)),
            ttl: dice.percent(30).then(|| i32::try_from(dice.between(0, 15)).unwrap_or(0)),
            work,
            failures_of_ten: dice.pick(&[0, 0, 0, 3, 10]).unwrap_or(0),
        }
    }

    fn deadline(&self, policy: ConcurrencyPolicy) -> Option<i64> {
        // Whoever catches up without one does so for hours after hours without a controller.
        let must = self.outage.is_some() && policy == ConcurrencyPolicy::CatchUp;
        (must || self.dice.percent(45)).then(|| self.dice.between(5, 200))
    }

    fn schedule(&self) -> Cow<'static, str> {
        let dice = &self.dice;
        if dice.percent(4) {
            return format!(
                "@at {}",
                self.at(self.moment()).round(Unit::Second).unwrap_or(self.start)
            )
            .into();
        }
        let usual = [
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
        dice.pick(&usual).unwrap_or("* * * * *").into()
    }

    fn at(&self, since_start: Millis) -> Timestamp {
        let ahead = SignedDuration::from_millis(since_start);
        self.start.saturating_add(ahead).unwrap_or(self.start)
    }

    /// What users do to what they have made, often just when it is due.
    fn meddle(&self, cron_jobs: usize, deeds: &mut Vec<Deed>) {
        let dice = &self.dice;
        let which = usize::try_from(dice.below(cron_jobs as u64)).unwrap_or_default();
        let at = self.moment();
        let last = self.length - SECOND;
        let mut deed = |at: Millis, what: Asked| deeds.push(Deed { at: at.min(last), what });
        match dice.below(10) {
            0..3 => {
                deed(at, Asked::Suspend(which, true));
                deed(at + dice.between(0, 3 * MINUTE), Asked::Suspend(which, false));
            }
            3..6 => deed(at, Asked::Replace(which, self.wish())),
            6 => deed(at, Asked::Delete(which)),
            7 => {
                deed(at, Asked::Delete(which));
                deed(at + dice.between(0, 20 * SECOND), Asked::Create(which, self.wish()));
            }
            8 => deed(at, Asked::DeleteJob(which)),
            _ => {
                let ahead = SignedDuration::from_millis(at + MINUTE);
                deed(
                    at,
                    Asked::TakeName(which, self.start.saturating_add(ahead).unwrap_or(self.start)),
                );
            }
        }
    }

    /// Who is behind is made to look: what is known is old, and is acted upon.
    fn nudge(&self, cron_jobs: usize, trouble: &Trouble, deeds: &mut Vec<Deed>) {
        let Fault::Lag(Process::Controller(_), _) = trouble.what else { return };
        for _ in 0..NUDGES {
            let which = usize::try_from(self.dice.below(cron_jobs as u64)).unwrap_or_default();
            let at = self.dice.between(trouble.from, trouble.to).min(self.length - SECOND);
            deeds.push(Deed { at, what: Asked::Touch(which) });
        }
    }

    /// A moment before any outage, half of them about a full minute.
    fn moment(&self) -> Millis {
        let eventful = self.length - self.outage.unwrap_or_default();
        let at = self.dice.between(5 * SECOND, eventful - SECOND);
        match self.dice.percent(50) {
            true => {
                let minute = (at + self.offset) / MINUTE * MINUTE - self.offset;
                (minute + self.dice.between(-1500, 1500)).clamp(SECOND, eventful - SECOND)
            }
            false => at,
        }
    }
}
