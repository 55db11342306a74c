//! Checks the recorded Jobs of every CronJob and ScheduledJob: each slot (scheduled time) once, in
//! time and without overlap.

use std::{collections::BTreeMap, time::Duration};

use jiff::{SignedDuration, Timestamp};
use punctual_testing::ConcurrencyPolicy;

use super::{
    availability::{Availability, ELECTION},
    fault::{FaultKind, RecordedFault},
    recorded_jobs::RecordedJob,
    workload::{WorkloadKind, WorkloadObject},
};
use crate::timing::{TimeSpan, time_of_day};

/// `creationTimestamp` is in whole seconds, and a create takes a moment.
const ROUNDING: SignedDuration = SignedDuration::from_secs(1);
/// A create that was decided in time may be in flight, or its sender paused, for this long.
const IN_FLIGHT_MAX: SignedDuration = SignedDuration::from_secs(5);
/// kube-apiserver refreshes its list of kinds every half minute. Until it has done so after a restart,
/// its admission plugin OwnerReferencesPermissionEnforcement rejects Jobs of ScheduledJobs.
const KINDS_REFRESH: SignedDuration = SignedDuration::from_secs(31);

/// What is checked.
pub(super) struct CheckInput<'a> {
    pub(super) objects: &'a [WorkloadObject],
    /// The Jobs by the UID of their owner.
    pub(super) jobs: BTreeMap<&'a str, Vec<&'a RecordedJob>>,
    pub(super) faults: &'a [RecordedFault],
    pub(super) availability: Availability,
    /// When the first object was suspended. No later slot is required.
    pub(super) end: Timestamp,
}

/// A slot that did not run because no controller could start it in time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct MissedSlot {
    pub(super) name: String,
    pub(super) slot: Timestamp,
    pub(super) reason: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SlotViolation {
    /// The index of the object.
    pub(super) object: usize,
    pub(super) slot: Timestamp,
    pub(super) text: String,
}

/// The counts of one policy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct PolicyCounts {
    pub(super) objects: usize,
    pub(super) slots: usize,
    pub(super) jobs: usize,
    pub(super) missed: usize,
}

/// The result of the check.
#[derive(Debug, Default)]
pub(super) struct ClusterReport {
    pub(super) counts: BTreeMap<String, PolicyCounts>,
    pub(super) duplicates: usize,
    /// Slots without a Job although a controller could start them in time: violations.
    pub(super) lost: usize,
    pub(super) overlaps: usize,
    /// Jobs without a slot of the schedule, or created before their slot.
    pub(super) wrong_slots: usize,
    /// Jobs that were decided and created after the deadline.
    pub(super) late: usize,
    /// Jobs that were created after the deadline, which is allowed because the create may have been in
    /// flight before it.
    pub(super) late_but_allowed: usize,
    /// Slots without a Job because no controller could start them in time, which is allowed.
    pub(super) missed: Vec<MissedSlot>,
    /// The time from each slot to the first observation of its Job.
    pub(super) start_delays: Vec<Duration>,
    pub(super) violations: Vec<SlotViolation>,
}

impl CheckInput<'_> {
    /// The Jobs of an object in the order in which they were created.
    pub(super) fn jobs_of(&self, object: &WorkloadObject) -> &[&RecordedJob] {
        self.jobs.get(&*object.uid).map(Vec::as_slice).unwrap_or_default()
    }
}

/// Checks all objects.
pub(super) fn check(input: &CheckInput<'_>) -> ClusterReport {
    let mut report = ClusterReport::default();
    for (index, object) in input.objects.iter().enumerate() {
        let jobs = input.jobs_of(object);
        ObjectCheck { input, index, object, jobs, report: &mut report }.run();
    }
    report
}

/// The check of one object.
struct ObjectCheck<'a> {
    input: &'a CheckInput<'a>,
    index: usize,
    object: &'a WorkloadObject,
    jobs: &'a [&'a RecordedJob],
    report: &'a mut ClusterReport,
}

impl ObjectCheck<'_> {
    fn run(&mut self) {
        self.counts().objects += 1;
        self.counts().jobs += self.jobs.len();
        for job in self.jobs {
            let delay = job.observed.at.duration_since(job.slot);
            self.report.start_delays.push(Duration::try_from(delay).unwrap_or_default());
            self.check_slot(job);
            self.check_deadline(job);
        }
        self.check_duplicates();
        if self.object.spec.policy != ConcurrencyPolicy::Allow {
            self.check_overlaps();
        }
        self.check_losses();
    }

    fn counts(&mut self) -> &mut PolicyCounts {
        self.report.counts.entry(self.object.spec.policy.to_string()).or_default()
    }

    fn report(&mut self, slot: Timestamp, text: String) {
        self.report.violations.push(SlotViolation { object: self.index, slot, text });
    }

    /// No slot ever has two Jobs.
    fn check_duplicates(&mut self) {
        let mut uids_by_slot: BTreeMap<Timestamp, Vec<&str>> = BTreeMap::new();
        for job in self.jobs {
            uids_by_slot.entry(job.slot).or_default().push(&job.uid);
        }
        for (slot, uids) in uids_by_slot.into_iter().filter(|(_, uids)| uids.len() > 1) {
            self.report.duplicates += uids.len() - 1;
            self.report(slot, format!("has {} Jobs: {}", uids.len(), uids.join(", ")));
        }
    }

    /// A Job belongs to a slot of the schedule and is not created before it.
    fn check_slot(&mut self, job: &RecordedJob) {
        let problem = if !self.object.has_slot(job.slot) {
            "is not a slot"
        } else if job.created < job.slot {
            "was started early"
        } else {
            return;
        };
        self.report.wrong_slots += 1;
        self.report(
            job.slot,
            format!("{problem}: Job {} was created at {}", job.name, job.created),
        );
    }

    /// No Job is created after the deadline, unless its create was in flight.
    fn check_deadline(&mut self, job: &RecordedJob) {
        let Some(deadline) = self.object.deadline(job.slot) else { return };
        let delay = job.created.duration_since(deadline);
        if delay <= ROUNDING {
            return;
        }
        let span = TimeSpan { from: deadline - ROUNDING, to: job.observed.at };
        let mut faults = self.input.faults.iter().filter(|fault| fault.span.overlaps(span));
        let is_delayed = faults.any(|fault| fault.kind != FaultKind::Kill)
            || self.input.availability.slow_spans(span).next().is_some();
        if delay <= IN_FLIGHT_MAX && is_delayed {
            self.report.late_but_allowed += 1;
            return;
        }
        self.report.late += 1;
        self.report(job.slot, format!("was started {} s after its deadline", delay.as_secs()));
    }

    /// A Job ends before the next is created, in the server's order of changes.
    fn check_overlaps(&mut self) {
        for (earlier, later) in self.jobs.iter().zip(self.jobs.iter().skip(1)) {
            let end = earlier.end.map(|(observed, _)| observed.version);
            if end.is_none_or(|end| end > later.observed.version) {
                self.report.overlaps += 1;
                self.report(later.slot, format!("was started while {} was active", earlier.name));
            }
        }
    }

    /// Every slot has a Job, unless no controller could start it in time.
    fn check_losses(&mut self) {
        let object = self.object;
        for slot in object.slots(self.input.end) {
            if object.deadline(slot).is_some_and(|deadline| deadline > self.input.end) {
                continue;
            }
            self.counts().slots += 1;
            if self.jobs.iter().all(|job| job.slot != slot) {
                self.check_slot_without_job(slot);
            }
        }
    }

    fn check_slot_without_job(&mut self, slot: Timestamp) {
        let deadline = self.object.deadline(slot);
        let window = TimeSpan { from: slot, to: deadline.unwrap_or(self.input.end) };
        let was_possible = self.input.availability.must_have_started(window, &self.busy(slot));
        // Without a deadline no later slot may start first.
        let is_skipped = deadline.is_none() && self.jobs.iter().any(|job| job.slot > slot);
        if was_possible || is_skipped {
            self.report.lost += 1;
            self.report(slot, "has no Job although it could have started".to_owned());
        } else if deadline.is_some() {
            self.counts().missed += 1;
            let name = self.object.spec.name.clone();
            let reason = self.miss_reason(window);
            self.report.missed.push(MissedSlot { name, slot, reason });
        } else {
            // It was still pending at the end.
            self.counts().slots -= 1;
        }
    }

    /// When a slot could not start because of other runs or of kube-apiserver.
    fn busy(&self, slot: Timestamp) -> Vec<TimeSpan> {
        let mut busy = Vec::new();
        if self.object.spec.policy.waits() {
            for job in self.jobs.iter().filter(|job| job.slot != slot) {
                let to = job.end.map_or(self.input.end, |(observed, _)| observed.at);
                busy.push(TimeSpan { from: job.observed.at, to });
            }
        }
        if self.object.spec.kind == WorkloadKind::ScheduledJob {
            let restarts =
                self.input.faults.iter().filter(|fault| fault.kind == FaultKind::KillServer);
            busy.extend(
                restarts.map(|fault| TimeSpan { to: fault.span.to + KINDS_REFRESH, ..fault.span }),
            );
        }
        busy
    }

    fn miss_reason(&self, window: TimeSpan) -> String {
        let span = TimeSpan { from: window.from - ELECTION, to: window.to };
        let faults = self.input.faults.iter().filter(|fault| fault.span.overlaps(span));
        let slow = self.input.availability.slow_spans(span).map(|slow| {
            format!("the server was slow at {} for {:.1} s", time_of_day(slow.from), slow.seconds())
        });
        let reasons: Vec<String> = faults.map(ToString::to_string).chain(slow).collect();
        if !reasons.is_empty() {
            reasons.join("; ")
        } else if self.object.spec.policy.waits() {
            "the previous run was active".to_owned()
        } else {
            "the Lease changed its holder without a fault".to_owned()
        }
    }
}

#[cfg(test)]
mod tests;
