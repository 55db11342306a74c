//! Whether the record is as it must be.

use std::{collections::BTreeMap, time::Duration};

use jiff::{SignedDuration, Timestamp};

use super::{
    ability::{Ability, ELECTION, Span},
    fleet::{self, Enlisted},
    record::{End, Run},
    trouble::{Kind, Trouble, short},
};

/// The server tells when something was created in whole seconds, and takes a moment for it.
const CLOCK: SignedDuration = SignedDuration::from_secs(1);
/// What was decided in time may be on its way, or asleep, for as long as others stay away.
const ON_ITS_WAY: SignedDuration = SignedDuration::from_secs(5);
/// kube-apiserver learns anew every half minute which kinds there are; before, its admission plugin
/// OwnerReferencesPermissionEnforcement refuses Jobs of kinds that it had not yet learned of when it started.
const UNMAPPED: SignedDuration = SignedDuration::from_secs(31);

/// What is judged.
pub(super) struct Evidence<'a> {
    pub(super) fleet: &'a [Enlisted],
    pub(super) runs: BTreeMap<&'a str, Vec<&'a Run>>,
    pub(super) troubles: &'a [Trouble],
    pub(super) ability: Ability,
    /// From here on nothing had to be started any more.
    pub(super) end: Timestamp,
}

/// A slot that was not run because nobody could in time, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Missed {
    pub(super) name: String,
    pub(super) slot: Timestamp,
    pub(super) why: String,
}

/// Something that must not be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fault {
    /// Which of the fleet.
    pub(super) whose: usize,
    pub(super) slot: Timestamp,
    pub(super) words: String,
}

/// Numbers of one policy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Count {
    pub(super) members: usize,
    pub(super) slots: usize,
    pub(super) runs: usize,
    pub(super) missed: usize,
}

/// What was found.
#[derive(Debug, Default)]
pub(super) struct Findings {
    pub(super) counts: BTreeMap<String, Count>,
    pub(super) twice: usize,
    pub(super) lost: usize,
    pub(super) overlaps: usize,
    pub(super) strange: usize,
    /// Past the deadline, without an excuse.
    pub(super) late: usize,
    /// Past the deadline, but decided before it.
    pub(super) late_on_its_way: usize,
    pub(super) missed: Vec<Missed>,
    /// From the slot to when its Job was seen.
    pub(super) skews: Vec<Duration>,
    pub(super) faults: Vec<Fault>,
}

/// Judges all of them.
pub(super) fn check(evidence: &Evidence<'_>) -> Findings {
    let mut findings = Findings::default();
    for (whose, enlisted) in evidence.fleet.iter().enumerate() {
        let runs = evidence.runs.get(&*enlisted.uid).map(Vec::as_slice).unwrap_or_default();
        let mut case = Case { evidence, whose, enlisted, runs, findings: &mut findings };
        case.judge();
    }
    findings
}

/// One of the fleet and its runs, in order.
struct Case<'a> {
    evidence: &'a Evidence<'a>,
    whose: usize,
    enlisted: &'a Enlisted,
    runs: &'a [&'a Run],
    findings: &'a mut Findings,
}

impl Case<'_> {
    fn judge(&mut self) {
        let count = self.count();
        count.members += 1;
        let skew = |run: &&Run| {
            Duration::try_from(run.begun.at.duration_since(run.slot)).unwrap_or_default()
        };
        self.findings.skews.extend(self.runs.iter().map(skew));
        self.count().runs += self.runs.len();
        self.twice();
        self.strange();
        self.late();
        if !self.enlisted.member.policy.may_overlap() {
            self.overlapping();
        }
        self.lost();
    }

    fn count(&mut self) -> &mut Count {
        let policy = format!("{:?}", self.enlisted.member.policy);
        self.findings.counts.entry(policy).or_default()
    }

    fn fault(&mut self, slot: Timestamp, words: String) {
        self.findings.faults.push(Fault { whose: self.whose, slot, words });
    }

    /// No slot may have two Jobs, ever.
    fn twice(&mut self) {
        let mut slots: BTreeMap<Timestamp, Vec<&str>> = BTreeMap::new();
        for run in self.runs {
            slots.entry(run.slot).or_default().push(&run.uid);
        }
        for (slot, uids) in slots.into_iter().filter(|(_, uids)| uids.len() > 1) {
            self.findings.twice += uids.len() - 1;
            self.fault(slot, format!("has {} Jobs: {}", uids.len(), uids.join(", ")));
        }
    }

    /// A Job is for a slot of the schedule that has come.
    fn strange(&mut self) {
        for run in self.runs {
            let words = if !self.enlisted.has_slot(run.slot) {
                "is no slot"
            } else if run.created < run.slot {
                "was started before its time"
            } else {
                continue;
            };
            self.findings.strange += 1;
            self.fault(run.slot, format!("{words}, but has Job {} of {}", run.name, run.created));
        }
    }

    /// Nothing starts after its deadline.
    fn late(&mut self) {
        for run in self.runs {
            let Some(deadline) = self.enlisted.deadline(run.slot) else { continue };
            let late = run.created.duration_since(deadline);
            let span = Span { from: deadline - CLOCK, to: run.begun.at };
            let mut troubles = self.evidence.troubles.iter().filter(|trouble| trouble.is_in(span));
            if late <= CLOCK {
                continue;
            }
            let is_held_up = troubles.any(|trouble| trouble.kind != Kind::Kill)
                || self.evidence.ability.slowness(span).next().is_some();
            if late <= ON_ITS_WAY && is_held_up {
                self.findings.late_on_its_way += 1;
                continue;
            }
            self.findings.late += 1;
            self.fault(run.slot, format!("was started {} s after its deadline", late.as_secs()));
        }
    }

    /// One must end before the next begins, in the order of the server.
    fn overlapping(&mut self) {
        for (earlier, later) in self.runs.iter().zip(self.runs.iter().skip(1)) {
            let ended = earlier.end.map(|(moment, _)| moment.version);
            if ended.is_none_or(|ended| ended > later.begun.version) {
                self.findings.overlaps += 1;
                self.fault(later.slot, format!("was begun while {} was at work", earlier.name));
            }
        }
    }

    /// Every slot has its Job, unless nobody could start it in time.
    fn lost(&mut self) {
        let enlisted = self.enlisted;
        for slot in enlisted.slots(self.evidence.end) {
            let deadline = enlisted.deadline(slot);
            if deadline.is_some_and(|deadline| deadline > self.evidence.end) {
                continue;
            }
            self.count().slots += 1;
            if self.runs.iter().all(|run| run.slot != slot) {
                self.judge_missing(slot);
            }
        }
    }

    fn judge_missing(&mut self, slot: Timestamp) {
        let deadline = self.enlisted.deadline(slot);
        let wait = Span { from: slot, to: deadline.unwrap_or(self.evidence.end) };
        let could = self.evidence.ability.must_have_started(wait, &self.busy(slot));
        // Without a deadline there is no excuse for going on with a later one.
        let is_skipped = deadline.is_none() && self.runs.iter().any(|run| run.slot > slot);
        if could || is_skipped {
            self.findings.lost += 1;
            self.fault(slot, "has no Job, though it could have been started".to_owned());
        } else if deadline.is_some() {
            self.count().missed += 1;
            let (name, why) = (self.enlisted.member.name.clone(), self.excuse(wait));
            self.findings.missed.push(Missed { name, slot, why });
        } else {
            // It was still to come when everything ended.
            self.count().slots -= 1;
        }
    }

    /// When a slot had to wait for other runs.
    fn busy(&self, slot: Timestamp) -> Vec<Span> {
        let waits = self.enlisted.member.policy.waits();
        let others = self.runs.iter().filter(|run| waits && run.slot != slot);
        let to = |run: &Run| run.end.map_or(self.evidence.end, |(moment, _)| moment.at);
        let others = others.map(|run| Span { from: run.begun.at, to: to(run) });
        others.chain(self.unmapped()).collect()
    }

    /// When kube-apiserver may have refused Jobs of ScheduledJobs.
    fn unmapped(&self) -> impl Iterator<Item = Span> {
        let is_concerned = self.enlisted.member.kind == fleet::Kind::ScheduledJob;
        let restarts = self.evidence.troubles.iter().filter(|trouble| trouble.kind == Kind::Server);
        let restarts = restarts.filter(move |_| is_concerned);
        restarts.map(|trouble| Span { to: trouble.span.to + UNMAPPED, ..trouble.span })
    }

    fn excuse(&self, wait: Span) -> String {
        let span = Span { from: wait.from - ELECTION, to: wait.to };
        let troubles = self.evidence.troubles.iter().filter(|trouble| trouble.is_in(span));
        let slow = self.evidence.ability.slowness(span).map(|slow| {
            let lasted = slow.lasts().as_secs_f64();
            format!("the server was slow at {} for {lasted:.1} s", short(slow.from))
        });
        let words: Vec<String> = troubles.map(ToString::to_string).chain(slow).collect();
        match words.is_empty() {
            true if self.enlisted.member.policy.waits() => "the run before it went on".to_owned(),
            true => "the Lease went to another by itself".to_owned(),
            false => words.join("; "),
        }
    }
}

/// How many runs of one ended in a way.
pub(super) fn ended(runs: &[&Run], how: End) -> usize {
    runs.iter().filter(|run| run.end.is_some_and(|(_, end)| end == how)).count()
}

#[cfg(test)]
mod tests;
