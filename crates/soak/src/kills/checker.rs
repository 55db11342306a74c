//! Checks the run logs. It shares no code with the program: the slots are whole minutes.

use std::{collections::BTreeSet, fmt};

use jiff::{SignedDuration, Timestamp};
use punctual_testing::ConcurrencyPolicy;

use super::run_log::{RunLog, RunLogLine, RunMark};

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

/// Checks all run logs.
pub(super) fn check(run_logs: &[RunLog], checked: CheckedMinutes) -> KillsReport {
    let mut report = KillsReport::default();
    for run_log in run_logs {
        report.runs += run_log.run_count();
        for slot in run_log.lines.iter().map(|line| line.slot).collect::<BTreeSet<_>>() {
            report.check_slot(run_log, slot, checked.end);
        }
        if run_log.policy == ConcurrencyPolicy::Forbid {
            report.check_overlaps(run_log);
        } else {
            report.check_losses(run_log, checked);
        }
    }
    report
}

impl KillsReport {
    fn report(&mut self, run_log: &RunLog, slot: Timestamp, text: &str) {
        self.violations.push(format!("{} at {slot}: {text}", run_log.name));
    }

    /// A slot is a whole minute that is not in the future. It begins once and ends once.
    fn check_slot(&mut self, run_log: &RunLog, slot: Timestamp, end: Timestamp) {
        let begun = run_log.count(RunMark::Begin, slot);
        let ended = run_log.count(RunMark::End, slot);
        if begun > 1 {
            self.duplicates += begun - 1;
            self.report(run_log, slot, &format!("began {begun} times"));
        }
        if begun != ended {
            self.losses += begun.abs_diff(ended);
            self.report(run_log, slot, &format!("began {begun} times, ended {ended} times"));
        }
        if slot.as_second().rem_euclid(60) != 0 || slot > end {
            self.report(run_log, slot, "is not a slot");
        }
    }

    /// Every checked minute must have a run.
    fn check_losses(&mut self, run_log: &RunLog, checked: CheckedMinutes) {
        for slot in checked.slots() {
            self.slots += 1;
            if run_log.count(RunMark::Begin, slot) == 0 {
                self.losses += 1;
                self.report(run_log, slot, "never began");
            }
        }
    }

    /// A run must end before the next begins.
    fn check_overlaps(&mut self, run_log: &RunLog) {
        let mut active: Vec<&RunLogLine> = Vec::new();
        for line in &run_log.lines {
            if line.mark == RunMark::End {
                active.retain(|begun| begun.pod != line.pod);
                continue;
            }
            if !active.is_empty() {
                self.overlaps += 1;
                self.report(run_log, line.slot, "began while another run was active");
            }
            active.push(line);
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
