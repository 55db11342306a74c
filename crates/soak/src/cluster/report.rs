//! Formats the results of the cluster test: faults, counts by policy, missed slots (scheduled
//! times), and the events around each violation.
//!
//! A missed slot did not run because no controller could start it in time, which is allowed. A lost slot
//! did not run although a controller could start it: a violation.

use std::fmt::Write as _;

use jiff::{SignedDuration, Timestamp};
use punctual_e2e::load::latency::Latencies;

use super::{
    checker::{CheckInput, ClusterReport, SlotViolation},
    controller_processes::NAMES,
    fault::{FaultKind, RecordedFault},
    workload::WorkloadObject,
};
use crate::timing::{TimeSpan, time_of_day};

/// The maximum number of missed slots that are printed.
const MISSED_SHOWN_MAX: usize = 10;
/// Events are printed from this long before a violation until this long after it.
const CONTEXT_DURATION: SignedDuration = SignedDuration::from_secs(25);

/// A table of the faults by kind.
pub(super) fn format_faults(faults: &[RecordedFault]) -> String {
    let mut text = String::from("fault                     count    of leader    total seconds\n");
    for kind in FaultKind::ALL {
        let of_kind: Vec<_> = faults.iter().filter(|fault| fault.kind == kind).collect();
        let of_leader = of_kind.iter().filter(|fault| fault.was_leader).count();
        let seconds = of_kind.iter().fold(0.0, |sum, fault| sum + fault.span.seconds());
        let name = kind.description();
        let _ = writeln!(text, "{name:24} {:6} {of_leader:12} {seconds:16.1}", of_kind.len());
    }
    text
}

/// The counts by policy and by kind of violation.
pub(super) fn format_counts(report: &ClusterReport) -> String {
    let mut text = String::from("policy     objects   slots    Jobs   missed\n");
    for (policy, counts) in &report.counts {
        let _ = writeln!(
            text,
            "{policy:10} {:7} {:7} {:7} {:8}",
            counts.objects, counts.slots, counts.jobs, counts.missed
        );
    }
    let ClusterReport { duplicates, lost, overlaps, wrong_slots, late, late_but_allowed, .. } =
        report;
    let delays = Latencies::new(report.start_delays.clone());
    let _ = writeln!(
        text,
        "slots with two Jobs {duplicates}\nslots lost within their deadline {lost}\n\
         slots missed because no controller could start them in time {}\n\
         overlapping Jobs where the policy forbids them {overlaps}\n\
         Jobs without a slot, or before it {wrong_slots}\nJobs after their deadline {late}, and \
         {late_but_allowed} whose create may have been in flight before it\n\
         Jobs were observed {:.1?} (p50), {:.1?} (p99), {:.1?} (max) after their slots",
        report.missed.len(),
        delays.percentile(50),
        delays.percentile(99),
        delays.max(),
    );
    text
}

/// Some of the missed slots with their reasons.
pub(super) fn format_missed(report: &ClusterReport) -> String {
    let mut text = String::new();
    // Spread over the whole test.
    let step = report.missed.len().div_ceil(MISSED_SHOWN_MAX).max(1);
    for missed in report.missed.iter().step_by(step) {
        let slot = time_of_day(missed.slot);
        let _ = writeln!(text, "missed: {} at {slot}: {}", missed.name, missed.reason);
    }
    text
}

/// Every Job on a line of its own, for the analysis of a violation.
pub(super) fn format_jobs(input: &CheckInput<'_>) -> String {
    let mut text = String::new();
    for job in input.objects.iter().flat_map(|object| input.jobs_of(object)) {
        let end = job.end.map(|(at, end)| (time_of_day(at.at), at.version, end));
        let _ = writeln!(
            text,
            "{} {} {} slot {} version {} {end:?}",
            time_of_day(job.observed.at),
            job.name,
            job.uid,
            time_of_day(job.slot),
            job.observed.version
        );
    }
    text
}

/// A violation in one line.
pub(super) fn format_violation(input: &CheckInput<'_>, violation: &SlotViolation) -> String {
    let object = input.objects.get(violation.object);
    let name = object.map(|object| &*object.spec.name).unwrap_or_default();
    format!("VIOLATION: {name} at {}: {}", time_of_day(violation.slot), violation.text)
}

/// A violation and the events around it in order of time.
pub(super) fn explain_violation(input: &CheckInput<'_>, violation: &SlotViolation) -> String {
    let SlotViolation { object, slot, text } = violation;
    let Some(object) = input.objects.get(*object) else { return text.clone() };
    let spec = &object.spec;
    let mut explanation = format!(
        "{} ({:?}, {}, every {} s, deadline {:?}) at {slot}: {text}\n",
        spec.name,
        spec.kind,
        spec.policy,
        spec.period.as_secs(),
        spec.deadline.map(|deadline| deadline.as_secs()),
    );
    let end = object.deadline(*slot).unwrap_or(*slot) + CONTEXT_DURATION;
    let mut events =
        events_within(input, object, TimeSpan { from: *slot - CONTEXT_DURATION, to: end });
    events.sort();
    for (at, event) in events {
        let _ = writeln!(explanation, "  {} {event}", time_of_day(at));
    }
    explanation
}

fn events_within(
    input: &CheckInput<'_>,
    object: &WorkloadObject,
    span: TimeSpan,
) -> Vec<(Timestamp, String)> {
    let mut events = Vec::new();
    let slots = object.slots(span.to).filter(|slot| *slot >= span.from);
    events.extend(slots.map(|slot| (slot, "slot".to_owned())));
    for job in input.jobs_of(object) {
        if job.observed.at < span.from || job.observed.at > span.to {
            continue;
        }
        let name = format!("Job {} {}", job.name, job.uid);
        let slot = time_of_day(job.slot);
        let version = job.observed.version;
        events.push((job.observed.at, format!("{name} of slot {slot}, version {version}")));
        if let Some((at, end)) = job.end {
            events.push((at.at, format!("{name} {end:?}, version {}", at.version)));
        }
    }
    for fault in input.faults.iter().filter(|fault| fault.span.overlaps(span)) {
        events.push((fault.span.from, fault.to_string()));
        events.push((fault.span.to, format!("end of {fault}")));
    }
    for slow in input.availability.slow_spans(span) {
        events.push((slow.from, format!("the server is slow until {}", time_of_day(slow.to))));
    }
    for hold in input.availability.lease_holds(span) {
        let holder = hold.controller.and_then(|number| NAMES.get(number)).unwrap_or(&"none");
        events.push((hold.span.from, format!("the Lease is held by {holder}")));
    }
    events
}
