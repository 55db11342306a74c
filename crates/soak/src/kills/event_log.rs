//! The event log of a CronJob: a file to which each run appends a line when it begins and when it ends.

use anyhow::{Context, bail, ensure};
use jiff::Timestamp;
use punctual_testing::ConcurrencyPolicy;

use super::workload::MinutelyCronJob;

/// The beginnings and ends of one CronJob's runs in the order in which they were written.
#[derive(Clone, Debug)]
pub(super) struct RunEventLog {
    /// The name of the CronJob.
    pub(super) name: String,
    pub(super) policy: ConcurrencyPolicy,
    pub(super) events: Vec<RunEvent>,
}

/// The beginning or the end of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RunEvent {
    pub(super) kind: RunEventKind,
    pub(super) slot: Timestamp,
    pub(super) pod: String,
}

/// Whether a run begins or ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RunEventKind {
    Begin,
    End,
}

impl RunEventLog {
    /// Parses a file. Every line must be complete and belong to this CronJob.
    pub(super) fn parse(cron_job: &MinutelyCronJob, text: &str) -> anyhow::Result<Self> {
        let parse =
            |line: &str| RunEvent::parse(&cron_job.name, line).with_context(|| line.to_owned());
        Ok(RunEventLog {
            name: cron_job.name.clone(),
            policy: cron_job.policy,
            events: text.lines().map(parse).collect::<anyhow::Result<_>>()?,
        })
    }

    /// The number of events of a kind for a slot (scheduled time).
    pub(super) fn count(&self, kind: RunEventKind, slot: Timestamp) -> usize {
        self.events.iter().filter(|event| event.kind == kind && event.slot == slot).count()
    }

    /// The number of runs that began.
    pub(super) fn run_count(&self) -> usize {
        self.events.iter().filter(|event| event.kind == RunEventKind::Begin).count()
    }
}

impl RunEvent {
    /// Parses `begin NAME SLOT POD` or `end NAME SLOT POD`.
    fn parse(name: &str, line: &str) -> anyhow::Result<Self> {
        let words: Vec<&str> = line.split(' ').collect();
        let [kind, cron_job, slot, pod] = words.as_slice() else { bail!("not four words") };
        ensure!(*cron_job == name, "a line of {cron_job} in the event log of {name}");
        let kind = match *kind {
            "begin" => RunEventKind::Begin,
            "end" => RunEventKind::End,
            _ => bail!("neither begin nor end"),
        };
        Ok(RunEvent { kind, slot: slot.parse()?, pod: (*pod).to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_a_kind_a_name_a_slot_and_a_pod() {
        let line = RunEvent::parse("a", "end a 2026-01-01T00:01:00Z a-1-x").unwrap();
        let slot = "2026-01-01T00:01:00Z".parse().unwrap();
        assert_eq!(line, RunEvent { kind: RunEventKind::End, slot, pod: "a-1-x".into() });
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
            assert!(RunEvent::parse("a", line).is_err(), "{line}");
        }
    }
}
