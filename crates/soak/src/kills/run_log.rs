//! The file to which the runs of one CronJob append a line when they begin and when they end.

use anyhow::{Context, bail, ensure};
use jiff::Timestamp;
use punctual_testing::ConcurrencyPolicy;

use super::workload::MinutelyCronJob;

/// The lines of one CronJob's runs in the order in which they were written.
#[derive(Clone, Debug)]
pub(super) struct RunLog {
    /// The name of the CronJob.
    pub(super) name: String,
    pub(super) policy: ConcurrencyPolicy,
    pub(super) lines: Vec<RunLogLine>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RunLogLine {
    pub(super) mark: RunMark,
    pub(super) slot: Timestamp,
    pub(super) pod: String,
}

/// Whether a run begins or ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RunMark {
    Begin,
    End,
}

impl RunLog {
    /// Parses a file. Every line must be complete and belong to this CronJob.
    pub(super) fn parse(cron_job: &MinutelyCronJob, text: &str) -> anyhow::Result<Self> {
        let parse =
            |line: &str| RunLogLine::parse(&cron_job.name, line).with_context(|| line.to_owned());
        Ok(RunLog {
            name: cron_job.name.clone(),
            policy: cron_job.policy,
            lines: text.lines().map(parse).collect::<anyhow::Result<_>>()?,
        })
    }

    /// The number of lines with a mark and a slot.
    pub(super) fn count(&self, mark: RunMark, slot: Timestamp) -> usize {
        self.lines.iter().filter(|line| line.mark == mark && line.slot == slot).count()
    }

    /// The number of runs that began.
    pub(super) fn run_count(&self) -> usize {
        self.lines.iter().filter(|line| line.mark == RunMark::Begin).count()
    }
}

impl RunLogLine {
    /// Parses `begin NAME SLOT POD` or `end NAME SLOT POD`.
    fn parse(name: &str, line: &str) -> anyhow::Result<Self> {
        let words: Vec<&str> = line.split(' ').collect();
        let [mark, cron_job, slot, pod] = words.as_slice() else { bail!("not four words") };
        ensure!(*cron_job == name, "a line of {cron_job} in the run log of {name}");
        let mark = match *mark {
            "begin" => RunMark::Begin,
            "end" => RunMark::End,
            _ => bail!("neither begin nor end"),
        };
        Ok(RunLogLine { mark, slot: slot.parse()?, pod: (*pod).to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_a_mark_a_name_a_slot_and_a_pod() {
        let line = RunLogLine::parse("a", "end a 2026-01-01T00:01:00Z a-1-x").unwrap();
        let slot = "2026-01-01T00:01:00Z".parse().unwrap();
        assert_eq!(line, RunLogLine { mark: RunMark::End, slot, pod: "a-1-x".into() });
    }

    #[test]
    fn an_incomplete_or_foreign_line_is_an_error() {
        for line in [
            "",
            "begin",
            "begin b 2026-01-01T00:01:00Z p",
            "begin a yesterday p",
            "middle a 2026-01-01T00:01:00Z p",
            "begin a 2026-01-01T00:01:00Z p q",
        ] {
            assert!(RunLogLine::parse("a", line).is_err(), "{line}");
        }
    }
}
