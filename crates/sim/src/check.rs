//! Whether what happened is what had to happen.
//!
//! A history is read into lives of CronJobs once (`facts`); every file of rules then looks at them.
//! Nothing here is shared with what is judged: schedules have their own reader (`oracle`), objects
//! their own few fields (`objects`).
//!
//! The rules are strict where all is well and lenient where it is not: while a trouble goes on, and
//! for a while after it, somebody may act upon what is no longer so (`weather`), and clocks may be
//! wrong (`clocks`). What must never happen whatever goes wrong has no such allowance: a slot that
//! is run twice, two runs at once under Forbid, a revision that is lost.

mod clocks;
mod counted;
mod events;
mod facts;
mod gone;
mod kept;
mod leaders;
mod life;
mod lost;
mod missed;
mod objects;
mod oracle;
mod overlap;
mod promises;
mod quiet;
mod running;
mod spread;
mod started;
mod weather;

use std::collections::HashMap;

use self::clocks::Clocks;
use self::facts::Facts;
use self::life::Life;
use self::objects::Spec;
use self::oracle::{Oracle, Seconds};
use self::weather::Weather;
use crate::history::Record;
use crate::scenario::{Millis, Scenario};

/// Something that must not be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// When it was so.
    pub at: Millis,
    /// The rule, by a short name that stays.
    pub rule: &'static str,
    /// What is wrong, for people.
    pub text: String,
}

/// What the checker found.
#[derive(Clone, Debug, Default)]
pub struct Verdict {
    /// All that must not be, in the order of time.
    pub violations: Vec<Violation>,
    /// Slots that had their chance, and so had to be run.
    pub slots: u64,
    /// Jobs that were created for slots.
    pub runs: u64,
    /// Slots without a Job, whatever the reason: expired, superseded, forbidden or suspended.
    pub unrun: u64,
    /// CronJobs that there were.
    pub lives: u64,
    /// Schedules that the checker cannot read, so that their slots were not judged.
    pub unread: u64,
}

/// Judges a history of a world that was stopped at `end`.
pub fn check(scenario: &Scenario, history: &[Record], end: Millis) -> Verdict {
    let facts = Facts::read(scenario, history);
    let mut case = Case::new(scenario, &facts, end);
    promises::judge(&mut case, history);
    leaders::judge(&mut case, history);
    running::judge(&mut case, history);
    quiet::judge(&mut case, history);
    events::judge(&mut case);
    gone::judge(&mut case);
    for life in &facts.lives {
        started::judge(&mut case, life);
        overlap::judge(&mut case, life);
        lost::judge(&mut case, life);
        counted::judge(&mut case, life);
        missed::judge(&mut case, life);
        kept::judge(&mut case, life);
        spread::judge(&mut case, life);
    }
    case.close()
}

/// What every rule looks at, and what it adds to.
struct Case<'a> {
    scenario: &'a Scenario,
    facts: &'a Facts,
    end: Millis,
    weather: Weather,
    clocks: Clocks,
    /// The start of the world, in milliseconds since 1970.
    epoch: i64,
    oracles: HashMap<(&'a str, Option<&'a str>), Option<Oracle>>,
    verdict: Verdict,
}

impl<'a> Case<'a> {
    fn new(scenario: &'a Scenario, facts: &'a Facts, end: Millis) -> Case<'a> {
        let mut case = Case {
            scenario,
            facts,
            end,
            weather: Weather::of(scenario, end),
            clocks: Clocks::of(scenario),
            epoch: scenario.start.as_millisecond(),
            oracles: HashMap::new(),
            verdict: Verdict::default(),
        };
        for (at, key) in &facts.unreadable {
            case.report(*at, "unreadable", format!("{key} cannot be read"));
        }
        case.read_schedules();
        case.verdict.lives = count(&facts.lives);
        case.verdict.runs = facts.lives.iter().map(|life| count(&life.runs)).sum();
        case
    }

    /// Reads every schedule once.
    fn read_schedules(&mut self) {
        // A day more on both sides: jitter asks for the slot before.
        let range = (self.second(-86_400_000), self.second(self.end + 86_400_000));
        let stretches = self.facts.lives.iter().flat_map(|life| &life.stretches);
        for Spec { schedule, zone, .. } in stretches.map(|stretch| &stretch.spec) {
            let name = (schedule.as_str(), zone.as_deref());
            let read = || Oracle::read(schedule, zone.as_deref(), range);
            self.oracles.entry(name).or_insert_with(read);
        }
        self.verdict.unread =
            self.oracles.values().filter(|oracle| oracle.is_none()).count() as u64;
    }

    fn oracle<'b>(&'b self, spec: &'b Spec) -> Option<&'b Oracle> {
        self.oracles.get(&(spec.schedule.as_str(), spec.zone.as_deref()))?.as_ref()
    }

    /// An instant since 1970, on the clock of the world.
    fn millis(&self, at: Seconds) -> Millis {
        at.saturating_mul(1000).saturating_sub(self.epoch)
    }

    /// The last whole second at or before an instant.
    fn second(&self, at: Millis) -> Seconds {
        (at + self.epoch).div_euclid(1000)
    }

    fn report(&mut self, at: Millis, rule: &'static str, text: String) {
        self.verdict.violations.push(Violation { at, rule, text });
    }

    /// Reports something about a CronJob.
    fn accuse(&mut self, life: &Life, at: Millis, rule: &'static str, what: &str) {
        self.report(at, rule, format!("{} ({}): {what}", life.name, life.uid));
    }

    /// The most that jitter may put a slot off; none if nobody has looked far enough.
    fn jitter_max(&self, spec: &Spec, slot: Seconds) -> Option<Millis> {
        const FAR: Seconds = 2 * 86_400;
        match spec.jitter {
            0 => Some(0),
            percent => Some(self.oracle(spec)?.gap_before(slot, FAR)? * 10 * percent),
        }
    }

    fn close(mut self) -> Verdict {
        self.verdict.violations.sort_by_key(|violation| violation.at);
        self.verdict
    }
}

fn count<T>(of: &[T]) -> u64 {
    of.len() as u64
}

/// A slot as people read it.
fn shown(slot: Seconds) -> String {
    jiff::Timestamp::from_second(slot).map_or_else(|_| slot.to_string(), |slot| slot.to_string())
}

#[cfg(test)]
mod tests;
