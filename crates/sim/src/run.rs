//! Runs one scenario in the simulator and checks what happened.

use std::cell::RefCell;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::panic::{self, AssertUnwindSafe, catch_unwind};

use punctual_testing::check::{CheckReport, Violation, check};
use punctual_testing::history::{History, HistoryEvent};
use punctual_testing::scenario::Scenario;

use crate::simulation::simulate;

thread_local! {
    /// Panics of this thread. The runtime catches those of tasks, so they are collected here.
    static PANICS: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

/// Collects panics instead of printing them. Must be called once, before the first run.
pub fn catch_panics() {
    panic::set_hook(Box::new(|panic| {
        PANICS.with_borrow_mut(|panics| panics.push(panic.to_string()));
    }));
}

/// The result of one simulation.
pub struct SimulationRun {
    /// What happened.
    pub history: History,
    /// What the checker found.
    pub report: CheckReport,
}

/// Simulates a scenario and checks its history. A panic is a violation.
pub fn run_scenario(scenario: &Scenario) -> SimulationRun {
    PANICS.with_borrow_mut(Vec::clear);
    // Nothing of a simulation that panicked is used again.
    let simulated = catch_unwind(AssertUnwindSafe(|| simulate(scenario)));
    let (history, mut report) = match simulated {
        Ok(Ok(history)) => {
            let report = check(scenario, &history, scenario.end());
            (history, report)
        }
        Ok(Err(error)) => (History::new(), failed_report("no-runtime", error.to_string())),
        Err(_) => (History::new(), failed_report("panic", "the simulation panicked".to_owned())),
    };
    for text in PANICS.with_borrow_mut(std::mem::take) {
        report.violations.push(Violation { at: scenario.length, rule: "panic", text });
    }
    SimulationRun { history, report }
}

fn failed_report(rule: &'static str, text: String) -> CheckReport {
    let violation = Violation { at: 0, rule, text };
    CheckReport { violations: vec![violation], ..CheckReport::default() }
}

/// A hash of a history, to compare two runs of one seed.
pub fn digest(history: &History) -> u64 {
    let mut hasher = DefaultHasher::new();
    for record in history {
        record.at.hash(&mut hasher);
        match &record.event {
            HistoryEvent::Written { revision, key, value } => {
                (revision, key, value).hash(&mut hasher);
            }
            other => format!("{other:?}").hash(&mut hasher),
        }
    }
    hasher.finish()
}

impl SimulationRun {
    /// The number of changes that the disk stored.
    pub fn writes(&self) -> u64 {
        let is_write = |event: &HistoryEvent| matches!(event, HistoryEvent::Written { .. });
        self.history.iter().filter(|record| is_write(&record.event)).count() as u64
    }
}
