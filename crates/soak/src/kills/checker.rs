//! Checks the event logs: each slot (scheduled time, here a whole minute) ran exactly once. It shares
//! no code with the program.

use std::{collections::BTreeSet, fmt};

use jiff::{SignedDuration, Timestamp};
use punctual_testing::ConcurrencyPolicy;

use super::event_log::{RunEvent, RunEventKind, RunEventLog};

/// The minutes in which every CronJob must run. Slots outside of them may run once.
#[derive(Clone, Copy, Debug)]
pub(super) struct CheckedMinutes {
    /// The first minute after all CronJobs were created.
    pub(super) first: Timestamp,
    /// The last minute before all CronJobs were suspended.
    pub(super) last: Timestamp,
    /// When all CronJobs were suspended.
    pub(super) end: Timestamp,
}

/// The result of the check.
#[derive(Debug, Default)]
pub(super) struct KillsReport {
    /// Slots that had to run, under Allow.
    pub(super) slots: usize,
    /// Runs that began, under any policy.
    pub(super) runs: usize,
    pub(super) duplicates: usize,
    pub(super) losses: usize,
    pub(super) overlaps: usize,
    /// Descriptions of all violations.
    pub(super) violations: Vec<String>,
}

/// Checks all event logs.
pub(super) fn check(event_logs: &[RunEventLog], checked: CheckedMinutes) -> KillsReport {
    let mut report = KillsReport::default();
    for event_log in event_logs {
        report.runs += event_log.run_count();
        for slot in event_log.events.iter().map(|event| event.slot).collect::<BTreeSet<_>>() {
            report.check_slot(event_log, slot, checked.end);
        }
        if event_log.policy == ConcurrencyPolicy::Forbid {
            report.check_overlaps(event_log);
        } else {
            report.check_losses(event_log, checked);
        }
    }
    report
}

impl KillsReport {
    fn report(&mut self, event_log: &RunEventLog, slot: Timestamp, text: &str) {
        self.violations.push(format!("{} at {slot}: {text}", event_log.name));
    }

    /// A slot is a whole minute that is not in the future. It begins once and ends once.
    fn check_slot(&mut self, event_log: &RunEventLog, slot: Timestamp, end: Timestamp) {
        let begun = event_log.count(RunEventKind::Begin, slot);
        let ended = event_log.count(RunEventKind::End, slot);
        if begun > 1 {
            self.duplicates += begun - 1;
            self.report(event_log, slot, &format!("began {begun} times"));
        }
        if begun != ended {
            self.losses += begun.abs_diff(ended);
            self.report(event_log, slot, &format!("began {begun} times, ended {ended} times"));
        }
        if slot.as_second().rem_euclid(60) != 0 || slot > end {
            self.report(event_log, slot, "is not a slot");
        }
    }

    /// Every checked minute must have a run.
    fn check_losses(&mut self, event_log: &RunEventLog, checked: CheckedMinutes) {
        for slot in checked.slots() {
            self.slots += 1;
            if event_log.count(RunEventKind::Begin, slot) == 0 {
                self.losses += 1;
                self.report(event_log, slot, "never began");
            }
        }
    }

    /// A run must end before the next begins.
    fn check_overlaps(&mut self, event_log: &RunEventLog) {
        let mut active: Vec<&RunEvent> = Vec::new();
        for event in &event_log.events {
            if event.kind == RunEventKind::End {
                active.retain(|begun| begun.pod != event.pod);
                continue;
            }
            if !active.is_empty() {
                self.overlaps += 1;
                self.report(event_log, event.slot, "began while another run was active");
            }
            active.push(event);
        }
    }
}

impl CheckedMinutes {
    fn slots(self) -> impl Iterator<Item = Timestamp> {
        let minute = SignedDuration::from_secs(60);
        std::iter::successors(Some(self.first), move |slot| slot.checked_add(minute).ok())
            .take_while(move |slot| *slot <= self.last)
    }
}

impl fmt::Display for KillsReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let KillsReport { slots, runs, duplicates, losses, overlaps, violations } = self;
        write!(
            f,
            "{slots} slots that had to run, {runs} runs: {duplicates} duplicates, {losses} losses, \
             {overlaps} overlaps, {} violations",
            violations.len()
        )
    }
}

#[cfg(test)]
mod tests;
