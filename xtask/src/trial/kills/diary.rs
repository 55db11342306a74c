//! What the runs of one CronJob have written down, in the order in which they did.

use anyhow::{Context, bail, ensure};
use jiff::Timestamp;

use super::fleet::{CronJob, Policy};

/// All entries of a CronJob.
#[derive(Clone, Debug)]
pub(super) struct Diary {
    pub(super) name: String,
    pub(super) policy: Policy,
    pub(super) entries: Vec<Entry>,
}

/// One line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) mark: Mark,
    pub(super) slot: Timestamp,
    pub(super) pod: String,
}

/// What a run had to say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mark {
    Begin,
    End,
}

impl Diary {
    /// Every line must be whole and of this CronJob.
    pub(super) fn parse(cron_job: &CronJob, text: &str) -> anyhow::Result<Self> {
        let entry =
            |line: &str| Entry::parse(&cron_job.name, line).with_context(|| line.to_owned());
        Ok(Diary {
            name: cron_job.name.clone(),
            policy: cron_job.policy,
            entries: text.lines().map(entry).collect::<anyhow::Result<_>>()?,
        })
    }

    /// How often a slot was begun, or ended.
    pub(super) fn count(&self, mark: Mark, slot: Timestamp) -> usize {
        self.entries.iter().filter(|entry| entry.mark == mark && entry.slot == slot).count()
    }

    /// How many runs were begun.
    pub(super) fn runs(&self) -> usize {
        self.entries.iter().filter(|entry| entry.mark == Mark::Begin).count()
    }
}

impl Entry {
    /// `begin NAME SLOT POD`
    fn parse(name: &str, line: &str) -> anyhow::Result<Self> {
        let words: Vec<&str> = line.split(' ').collect();
        let [mark, of, slot, pod] = words.as_slice() else { bail!("not four words") };
        ensure!(*of == name, "a line of {of} in the diary of {name}");
        let mark = match *mark {
            "begin" => Mark::Begin,
            "end" => Mark::End,
            _ => bail!("neither begin nor end"),
        };
        Ok(Entry { mark, slot: slot.parse()?, pod: (*pod).to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_four_words() {
        let entry = Entry::parse("a", "end a 2026-01-01T00:01:00Z a-1-x").unwrap();
        let slot = "2026-01-01T00:01:00Z".parse().unwrap();
        assert_eq!(entry, Entry { mark: Mark::End, slot, pod: "a-1-x".into() });
    }

    #[test]
    fn what_is_no_line_of_this_cron_job_is_an_error() {
        for line in [
            "",
            "begin",
            "begin b 2026-01-01T00:01:00Z p",
            "begin a yesterday p",
            "middle a 2026-01-01T00:01:00Z p",
            "begin a 2026-01-01T00:01:00Z p q",
        ] {
            assert!(Entry::parse("a", line).is_err(), "{line}");
        }
    }
}
