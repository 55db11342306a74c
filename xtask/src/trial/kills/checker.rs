//! Whether the diaries are as they must be. Knows no code of ours: minutes are counted here.

use std::{collections::BTreeSet, fmt};

use jiff::{SignedDuration, Timestamp};

use super::{
    diary::{Diary, Entry, Mark},
    fleet::Policy,
};

/// The slots that count.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    /// The first minute after everything was there.
    pub(super) first: Timestamp,
    /// The last minute before everything was suspended.
    pub(super) last: Timestamp,
    /// When everything was suspended. Slots outside of the minutes may have been run, once.
    pub(super) end: Timestamp,
}

/// What was found.
#[derive(Debug, Default)]
pub(super) struct Findings {
    /// Slots that had to be run, under Allow.
    pub(super) slots: usize,
    /// Runs that were begun, under any policy.
    pub(super) runs: usize,
    pub(super) duplicates: usize,
    pub(super) losses: usize,
    pub(super) overlaps: usize,
    /// In words.
    pub(super) faults: Vec<String>,
}

/// Checks all diaries.
pub(super) fn check(diaries: &[Diary], span: Span) -> Findings {
    let mut findings = Findings::default();
    for diary in diaries {
        findings.runs += diary.runs();
        findings.twice(diary);
        findings.unended(diary);
        findings.strange(diary, span);
        match diary.policy {
            Policy::Allow => findings.lost(diary, span),
            Policy::Forbid => findings.overlapping(diary),
        }
    }
    findings
}

impl Findings {
    fn fault(&mut self, diary: &Diary, slot: Timestamp, words: &str) {
        self.faults.push(format!("{} at {slot}: {words}", diary.name));
    }

    /// No slot may be begun more than once.
    fn twice(&mut self, diary: &Diary) {
        for slot in slots(diary) {
            let times = diary.count(Mark::Begin, slot);
            if times > 1 {
                self.duplicates += times - 1;
                self.fault(diary, slot, &format!("begun {times} times"));
            }
        }
    }

    /// What was begun must end once, and nothing else.
    fn unended(&mut self, diary: &Diary) {
        for slot in slots(diary) {
            let (begun, ended) = (diary.count(Mark::Begin, slot), diary.count(Mark::End, slot));
            if begun != ended {
                self.losses += begun.abs_diff(ended);
                self.fault(diary, slot, &format!("begun {begun} times, ended {ended} times"));
            }
        }
    }

    /// Every slot that counts must be begun.
    fn lost(&mut self, diary: &Diary, span: Span) {
        for slot in span.minutes() {
            self.slots += 1;
            if diary.count(Mark::Begin, slot) == 0 {
                self.losses += 1;
                self.fault(diary, slot, "never begun");
            }
        }
    }

    /// A slot is a whole minute and not in the future.
    fn strange(&mut self, diary: &Diary, span: Span) {
        for slot in slots(diary) {
            if slot.as_second().rem_euclid(60) != 0 || slot > span.end {
                self.fault(diary, slot, "is no slot");
            }
        }
    }

    /// One must end before the next begins.
    fn overlapping(&mut self, diary: &Diary) {
        let mut running: Vec<&Entry> = Vec::new();
        for entry in &diary.entries {
            match entry.mark {
                Mark::Begin if !running.is_empty() => {
                    self.overlaps += 1;
                    self.fault(diary, entry.slot, "begun while another ran");
                    running.push(entry);
                }
                Mark::Begin => running.push(entry),
                Mark::End => running.retain(|begun| begun.pod != entry.pod),
            }
        }
    }
}

impl Span {
    /// The minutes from the first to the last.
    pub(super) fn minutes(self) -> impl Iterator<Item = Timestamp> {
        let minute = SignedDuration::from_secs(60);
        std::iter::successors(Some(self.first), move |slot| slot.checked_add(minute).ok())
            .take_while(move |slot| *slot <= self.last)
    }
}

fn slots(diary: &Diary) -> BTreeSet<Timestamp> {
    diary.entries.iter().map(|entry| entry.slot).collect()
}

impl fmt::Display for Findings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Findings { slots, runs, duplicates, losses, overlaps, faults } = self;
        write!(
            f,
            "{slots} slots that had to be run, {runs} runs: {duplicates} duplicates, {losses} losses, \
             {overlaps} overlaps, {} faults",
            faults.len()
        )
    }
}

#[cfg(test)]
mod tests;
