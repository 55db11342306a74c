//! Checks whether a history satisfies the guarantees of the system.
//!
//! `Observations` reads a history into one record per CronJob; each file of rules then examines it.
//! The checker shares no code with the system: `oracle` evaluates schedules and `objects` parses the
//! few fields that the rules need.
//!
//! The rules are strict in calm periods and lenient during faults and for some time after them, because
//! a process may act upon stale objects (`calm_periods`) or read a wrong clock (`clock_skew`). Some rules
//! are never lenient: no slot runs twice, no two runs overlap under Forbid, no revision is lost.

mod acknowledged_writes;
mod calm_periods;
mod clock_skew;
mod concurrency;
mod cron_job_history;
mod event_messages;
mod garbage_collection;
mod history_limits;
mod idle;
mod jitter;
mod leadership;
mod lost_slots;
mod missed_slots;
mod objects;
mod observations;
mod pod_lifecycles;
mod pods;
mod requests;
mod skipped_slots;
mod slot_records;
mod starts;
mod status;
mod suspensions;

use std::collections::HashMap;

use self::calm_periods::CalmPeriods;
use self::clock_skew::ClockSkews;
use self::cron_job_history::CronJobHistory;
use self::objects::ObservedSpec;
use self::observations::Observations;
use crate::history::HistoryRecord;
use crate::oracle::{ScheduleOracle, UnixSeconds};
use crate::scenario::{Millis, Scenario};

/// A broken guarantee.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// When it occurred.
    pub at: Millis,
    /// The stable short name of the rule.
    pub rule: &'static str,
    /// A description for people.
    pub text: String,
}

/// A violation that is not yet attributed to a CronJob: time, rule, description.
type Finding = (Millis, &'static str, String);

/// The result of a check.
#[derive(Clone, Debug, Default)]
pub struct CheckReport {
    /// The violations in order of time.
    pub violations: Vec<Violation>,
    /// Slots that had to be run.
    pub slots: u64,
    /// Jobs that were created for slots.
    pub runs: u64,
    /// Slots without a Job for any reason: expired, superseded, forbidden or suspended.
    pub not_run: u64,
    /// Runs that were requested.
    pub requested_runs: u64,
    /// Slot records that were checked.
    pub slot_records: u64,
    /// The number of CronJobs.
    pub cron_jobs: u64,
    /// Schedules that the oracle does not support, so that their slots were not checked.
    pub unsupported_schedules: u64,
}

/// Checks the history of a simulation that ended at `end`.
pub fn check(scenario: &Scenario, history: &[HistoryRecord], end: Millis) -> CheckReport {
    let observations = Observations::read(scenario, history);
    let mut context = CheckContext::new(scenario, &observations, end);
    acknowledged_writes::check(&mut context, history);
    leadership::check(&mut context, history);
    let processes = pods::processes(history);
    pods::check(&mut context, &processes);
    pod_lifecycles::check(&mut context, &processes);
    idle::check(&mut context, history);
    event_messages::check(&mut context);
    garbage_collection::check(&mut context);
    requests::check(&mut context);
    for cron_job in &observations.cron_jobs {
        starts::check(&mut context, cron_job);
        concurrency::check(&mut context, cron_job);
        lost_slots::check(&mut context, cron_job);
        status::check(&mut context, cron_job);
        missed_slots::check(&mut context, cron_job);
        skipped_slots::check(&mut context, cron_job);
        slot_records::check(&mut context, cron_job);
        suspensions::check(&mut context, cron_job);
        history_limits::check(&mut context, cron_job);
        jitter::check(&mut context, cron_job);
    }
    context.into_report()
}

/// What every rule examines, and the report that it adds to.
struct CheckContext<'a> {
    scenario: &'a Scenario,
    observations: &'a Observations,
    end: Millis,
    calm_periods: CalmPeriods,
    clocks: ClockSkews,
    /// The start of the simulation in milliseconds since 1970.
    epoch: i64,
    oracles: HashMap<(&'a str, Option<&'a str>), Option<ScheduleOracle>>,
    report: CheckReport,
}

impl<'a> CheckContext<'a> {
    fn new(
        scenario: &'a Scenario,
        observations: &'a Observations,
        end: Millis,
    ) -> CheckContext<'a> {
        let mut context = CheckContext {
            scenario,
            observations,
            end,
            calm_periods: CalmPeriods::from_scenario(scenario, end),
            clocks: ClockSkews::from_scenario(scenario),
            epoch: scenario.start.as_millisecond(),
            oracles: HashMap::new(),
            report: CheckReport::default(),
        };
        for (at, key) in &observations.unreadable {
            context.report(*at, "unreadable", format!("{key} cannot be parsed"));
        }
        context.parse_schedules();
        context.report.cron_jobs = count(&observations.cron_jobs);
        let cron_jobs = observations.cron_jobs.iter();
        context.report.runs = cron_jobs.map(|cron_job| count(&cron_job.runs)).sum();
        context
    }

    /// Parses every schedule once.
    fn parse_schedules(&mut self) {
        // One more day at both ends, because jitter depends on the previous slot.
        let range = self.second(-86_400_000)..=self.second(self.end + 86_400_000);
        let periods = self.observations.cron_jobs.iter().flat_map(|cron_job| &cron_job.periods);
        for ObservedSpec { schedule, zone, .. } in periods.map(|period| &period.spec) {
            let key = (schedule.as_str(), zone.as_deref());
            let parse = || ScheduleOracle::parse(schedule, zone.as_deref(), range.clone());
            self.oracles.entry(key).or_insert_with(parse);
        }
        self.report.unsupported_schedules =
            self.oracles.values().filter(|oracle| oracle.is_none()).count() as u64;
    }

    fn oracle<'b>(&'b self, spec: &'b ObservedSpec) -> Option<&'b ScheduleOracle> {
        self.oracles.get(&(spec.schedule.as_str(), spec.zone.as_deref()))?.as_ref()
    }

    /// Converts seconds since 1970 to the time of the simulation.
    fn millis(&self, at: UnixSeconds) -> Millis {
        at.saturating_mul(1000).saturating_sub(self.epoch)
    }

    /// The last whole second at or before a time of the simulation.
    fn second(&self, at: Millis) -> UnixSeconds {
        (at + self.epoch).div_euclid(1000)
    }

    fn report(&mut self, at: Millis, rule: &'static str, text: String) {
        self.report.violations.push(Violation { at, rule, text });
    }

    /// Reports a violation of a CronJob.
    fn report_for(
        &mut self,
        cron_job: &CronJobHistory,
        at: Millis,
        rule: &'static str,
        text: &str,
    ) {
        self.report(at, rule, format!("{} ({}): {text}", cron_job.name, cron_job.uid));
    }

    /// The longest delay of a slot by jitter; none if the previous slot is too far away to be found.
    fn jitter_max(&self, spec: &ObservedSpec, slot: UnixSeconds) -> Option<Millis> {
        const SEARCH_MAX: UnixSeconds = 2 * 86_400;
        match spec.jitter {
            0 => Some(0),
            percent => Some(self.oracle(spec)?.gap_before(slot, SEARCH_MAX)? * 10 * percent),
        }
    }

    fn into_report(mut self) -> CheckReport {
        self.report.violations.sort_by_key(|violation| violation.at);
        self.report
    }
}

fn count<T>(items: &[T]) -> u64 {
    items.len() as u64
}

/// A slot as RFC 3339 text.
fn format_slot(slot: UnixSeconds) -> String {
    jiff::Timestamp::from_second(slot).map_or_else(|_| slot.to_string(), |slot| slot.to_string())
}

#[cfg(test)]
mod tests;
