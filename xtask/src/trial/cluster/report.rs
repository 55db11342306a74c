//! What is printed at the end.

use std::fmt::Write as _;

use jiff::SignedDuration;

use super::{
    ability::Span,
    checker::{Evidence, Fault, Findings},
    crew::NAMES,
    trouble::{Kind, Trouble, short},
};
use punctual_e2e::load::latency::Latencies;

/// Misses beyond these are only counted.
const MISSED_SHOWN: usize = 10;
/// How much is shown around a slot that is told about.
const AROUND: SignedDuration = SignedDuration::from_secs(25);

/// The troubles by kind.
pub(super) fn troubles(troubles: &[Trouble]) -> String {
    let mut text = String::from("trouble                   times   of who led   seconds in all\n");
    for kind in Kind::ALL {
        let these: Vec<&Trouble> = troubles.iter().filter(|it| it.kind == kind).collect();
        let led = these.iter().filter(|trouble| trouble.led).count();
        let lasted = these.iter().fold(0.0, |sum, trouble| sum + trouble.lasted());
        let _ = writeln!(text, "{:24} {:6} {led:12} {lasted:16.1}", kind.name(), these.len());
    }
    text
}

/// The counts by policy, and the verdicts.
pub(super) fn findings(findings: &Findings) -> String {
    let mut text = String::from("policy     objects   slots    Jobs   missed\n");
    for (policy, count) in &findings.counts {
        let _ = writeln!(
            text,
            "{policy:10} {:7} {:7} {:7} {:8}",
            count.members, count.slots, count.runs, count.missed
        );
    }
    let Findings { twice, lost, overlaps, strange, late, late_on_its_way, .. } = findings;
    let skews = Latencies::new(findings.skews.clone());
    let _ = writeln!(
        text,
        "slots with two Jobs {twice}\nslots lost within their deadline {lost}\n\
         slots missed, as nobody could start them in time {}\n\
         Jobs beside one another where that is forbidden {overlaps}\n\
         Jobs for no slot, or before it {strange}\nJobs after their deadline {late}, and \
         {late_on_its_way} that were on their way before it\n\
         Jobs were seen {:.1?} (p50), {:.1?} (p99), {:.1?} (max) after their slots",
        findings.missed.len(),
        skews.percentile(50),
        skews.percentile(99),
        skews.max(),
    );
    text
}

/// Some of the slots that were missed, each with why.
pub(super) fn missed(findings: &Findings) -> String {
    let mut text = String::new();
    // From all over the trial rather than from the first of the fleet.
    let step = findings.missed.len().div_ceil(MISSED_SHOWN).max(1);
    for missed in findings.missed.iter().step_by(step) {
        let _ = writeln!(text, "missed: {} at {}: {}", missed.name, short(missed.slot), missed.why);
    }
    text
}

/// Every Job that there was, a line each, for whoever looks into a fault.
pub(super) fn record(evidence: &Evidence<'_>) -> String {
    let mut text = String::new();
    for enlisted in evidence.fleet {
        for run in evidence.runs.get(&*enlisted.uid).into_iter().flatten() {
            let end = run.end.map(|(moment, how)| (short(moment.at), moment.version, how));
            let (slot, begun) = (short(run.slot), short(run.begun.at));
            let (name, version) = (&run.name, run.begun.version);
            let _ =
                writeln!(text, "{begun} {name} {} slot {slot} version {version} {end:?}", run.uid);
        }
    }
    text
}

/// A fault in one line.
pub(super) fn line(evidence: &Evidence<'_>, fault: &Fault) -> String {
    let name = evidence.fleet.get(fault.whose).map(|enlisted| &*enlisted.member.name);
    format!("FAULT: {} at {}: {}", name.unwrap_or_default(), short(fault.slot), fault.words)
}

/// A fault and all that is known of what happened around it, in the order of time.
pub(super) fn fault(evidence: &Evidence<'_>, fault: &Fault) -> String {
    let Some(enlisted) = evidence.fleet.get(fault.whose) else { return fault.words.clone() };
    let member = &enlisted.member;
    let mut text = format!(
        "{} ({:?}, {:?}, every {} s, deadline {:?}) at {}: {}\n",
        member.name,
        member.kind,
        member.policy,
        member.period.as_secs(),
        member.deadline.map(|deadline| deadline.as_secs()),
        fault.slot,
        fault.words
    );
    let end = enlisted.deadline(fault.slot).unwrap_or(fault.slot) + AROUND;
    let span = Span { from: fault.slot - AROUND, to: end };
    let mut lines = moments(evidence, fault.whose, span);
    lines.sort();
    lines.iter().for_each(|(_, line)| text.push_str(line));
    text
}

fn moments(evidence: &Evidence<'_>, whose: usize, span: Span) -> Vec<(jiff::Timestamp, String)> {
    let mut lines = Vec::new();
    let mut tell = |at: jiff::Timestamp, words: String| {
        lines.push((at, format!("  {} {words}\n", short(at))));
    };
    let Some(enlisted) = evidence.fleet.get(whose) else { return Vec::new() };
    enlisted.slots(span.to).filter(|slot| *slot >= span.from).for_each(|slot| {
        tell(slot, "slot".to_owned());
    });
    let runs = evidence.runs.get(&*enlisted.uid).into_iter().flatten();
    for run in runs.filter(|run| run.begun.at <= span.to && run.begun.at >= span.from) {
        let (version, slot) = (run.begun.version, short(run.slot));
        tell(
            run.begun.at,
            format!("Job {} {} of slot {slot}, version {version}", run.name, run.uid),
        );
        if let Some((end, how)) = run.end {
            tell(end.at, format!("Job {} {} {how:?}, version {}", run.name, run.uid, end.version));
        }
    }
    for trouble in evidence.troubles.iter().filter(|trouble| trouble.is_in(span)) {
        tell(trouble.span.from, trouble.to_string());
        tell(trouble.span.to, format!("over: {trouble}"));
    }
    for slow in evidence.ability.slowness(span) {
        tell(slow.from, format!("the server is slow until {}", short(slow.to)));
    }
    for held in evidence.ability.holders(span) {
        let who = held.by.and_then(|who| NAMES.get(who)).copied().unwrap_or("nobody known");
        tell(held.span.from, format!("the Lease is held by {who}"));
    }
    lines
}
