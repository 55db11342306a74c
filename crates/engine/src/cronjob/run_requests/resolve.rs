//! Chooses the slots of a RunRequest, once, when it is accepted.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use punctual_api::Time;
use punctual_api::run_request::{
    RunRequestSpec, RunSelection, SLOTS_MAX, SlotRanges, condition_reason,
};
use punctual_api::slot_record::{RunResult, SlotDecision, SlotRecord};

use super::draft::RequestDraft;
use crate::cronjob::{
    Observed, Timetable,
    job_view::{JobResult, JobView},
    ledger, pending_slots,
    plan::Plan,
    run_overrides::find_unknown_container,
    slot_records::{self, NeededRecords},
};

/// The most slots of the schedule between `from` and `to`. More are refused, so that one request cannot
/// occupy the controller.
const CONSIDERED_MAX: u64 = 100_000;

/// Why a request cannot be accepted.
struct Refusal {
    reason: &'static str,
    message: String,
}

/// Accepts a request: chooses its runs.
pub(crate) fn accept(
    observed: &Observed<'_>,
    plan: &Plan,
    draft: &mut RequestDraft,
    now: Timestamp,
) -> Result<(), NeededRecords> {
    let spec = &draft.request.spec;
    if let Some(container) = find_unknown_container(observed.cron_job, spec.overrides.as_ref()) {
        let message = format!("the template of the CronJob has no container {container:?}");
        draft.refuse(condition_reason::INVALID_OVERRIDES, &message);
        return Ok(());
    }
    let chosen = if spec.now {
        Ok(SlotRanges::from_slots([creation_slot(draft, now)]))
    } else {
        choose_slots(observed, plan, spec, now)?
    };
    match chosen {
        Err(Refusal { reason, message }) => draft.refuse(reason, &message),
        Ok(slots) => {
            let total = slots.len();
            draft.status.total = i64::try_from(total).unwrap_or(i64::MAX);
            draft.status.slots = slots;
            let message =
                if total == 1 { "1 run starts".to_owned() } else { format!("{total} runs start") };
            draft.accept(&observed.cron_job.metadata.uid, &message);
        }
    }
    Ok(())
}

/// A run besides the schedule has the creation time of its request as slot.
fn creation_slot(draft: &RequestDraft, now: Timestamp) -> Timestamp {
    let created_at = draft.request.metadata.creation_timestamp.map_or(now, Time::timestamp);
    Timestamp::from_second(created_at.as_second()).unwrap_or(created_at)
}

fn choose_slots(
    observed: &Observed<'_>,
    plan: &Plan,
    spec: &RunRequestSpec,
    now: Timestamp,
) -> Result<Result<SlotRanges, Refusal>, NeededRecords> {
    let Ok(timetable) = observed.timetable else {
        let message = "the CronJob has no valid schedule; correct it first".to_owned();
        return Ok(Err(Refusal { reason: condition_reason::NO_SCHEDULE, message }));
    };
    // Later slots are still the schedule's to decide.
    let recorded = plan.status.last_schedule_time;
    let decided_until = pending_slots::anchor(observed, plan, recorded, now);
    let Some(bounds) = Bounds::new(spec, decided_until) else {
        return Ok(Ok(SlotRanges::default()));
    };
    if bounds.count(timetable) > CONSIDERED_MAX {
        return Ok(Err(too_many(&format!("more than {CONSIDERED_MAX} slots are in the interval"))));
    }
    let selection = spec.selection();
    let needs_records = selection != RunSelection::All || timetable.interval().is_some();
    let records = if needs_records {
        let query = NeededRecords { from: bounds.from, through: bounds.through };
        slot_records::find_records(observed, &plan.status, query)?
    } else {
        Vec::new()
    };
    let runs_of_jobs: Vec<SlotRecord> = observed.jobs.iter().filter_map(record_of_job).collect();
    let records: Vec<&SlotRecord> = records.into_iter().chain(&runs_of_jobs).collect();
    let slots = bounds.slots(spec, timetable, &records);
    let chosen = select(&slots, &records, selection);
    if chosen.len() > SLOTS_MAX {
        let message =
            format!("{} slots were selected, and at most {SLOTS_MAX} can run", chosen.len());
        return Ok(Err(too_many(&message)));
    }
    Ok(Ok(SlotRanges::from_slots(chosen)))
}

fn too_many(what: &str) -> Refusal {
    let message = format!("{what}; create several requests for shorter intervals");
    Refusal { reason: condition_reason::TOO_MANY_SLOTS, message }
}

/// The first and the last instant at which a selected slot can be.
struct Bounds {
    from: Timestamp,
    through: Timestamp,
}

impl Bounds {
    /// Returns `None` if there can be no slot.
    fn new(spec: &RunRequestSpec, decided_until: Timestamp) -> Option<Bounds> {
        let (from, through) = match (spec.from, spec.to) {
            (Some(from), Some(to)) => (from.timestamp(), ledger::before(to.timestamp())),
            _ => {
                let slots = spec.slots.iter().copied().map(Time::timestamp);
                (slots.clone().min()?, slots.max()?)
            }
        };
        let through = through.min(decided_until);
        (from <= through).then_some(Bounds { from, through })
    }

    fn count(&self, timetable: &Timetable) -> u64 {
        timetable.schedule().count_in(ledger::before(self.from), self.through)
    }

    /// Returns the slots that the request names, in ascending order.
    fn slots(
        &self,
        spec: &RunRequestSpec,
        timetable: &Timetable,
        records: &[&SlotRecord],
    ) -> BTreeSet<Timestamp> {
        let is_inside = |slot: &Timestamp| *slot >= self.from && *slot <= self.through;
        if !spec.slots.is_empty() {
            return spec.slots.iter().map(|slot| slot.timestamp()).filter(is_inside).collect();
        }
        match timetable.interval() {
            // The slots of an interval follow from the run before, so only the records tell them.
            Some(interval) => slots_of_records(records, interval).filter(is_inside).collect(),
            None => {
                let slots = timetable.schedule().after(ledger::before(self.from));
                slots.take_while(|slot| *slot <= self.through).collect()
            }
        }
    }
}

fn slots_of_records<'a>(
    records: &'a [&SlotRecord],
    interval: SignedDuration,
) -> impl Iterator<Item = Timestamp> + 'a {
    let scheduled = records.iter().filter(|record| record.is_scheduled());
    scheduled.flat_map(move |record| {
        let first = record.slot.map(Time::timestamp);
        let last = record.last_slot().map(Time::timestamp);
        let next = move |slot: &Timestamp| {
            slot.checked_add(interval).ok().filter(|slot| Some(*slot) <= last)
        };
        let limit = usize::try_from(CONSIDERED_MAX).unwrap_or(usize::MAX);
        std::iter::successors(first, next).take(limit)
    })
}

/// Selects the slots that the request asks to run.
fn select(
    slots: &BTreeSet<Timestamp>,
    records: &[&SlotRecord],
    selection: RunSelection,
) -> Vec<Timestamp> {
    if selection == RunSelection::All {
        return slots.iter().copied().collect();
    }
    let covered = CoveredSlots::new(records);
    let run = slots_with_run(records, selection);
    let is_wanted = |slot: &Timestamp| covered.contains(*slot) && !run.contains(slot);
    slots.iter().copied().filter(is_wanted).collect()
}

/// The slots about which there is a record. The others are unknown: they are older than the oldest record.
#[derive(Default)]
struct CoveredSlots {
    single: BTreeSet<Timestamp>,
    /// The last slots of ranges by their first slots. Ranges do not overlap.
    ranges: BTreeMap<Timestamp, Timestamp>,
}

impl CoveredSlots {
    fn new(records: &[&SlotRecord]) -> CoveredSlots {
        let mut covered = CoveredSlots::default();
        for record in records {
            match (record.slot, record.through) {
                (Some(first), Some(last)) => {
                    covered.ranges.insert(first.timestamp(), last.timestamp());
                }
                (Some(slot), None) => {
                    covered.single.insert(slot.timestamp());
                }
                (None, _) => {}
            }
        }
        covered
    }

    fn contains(&self, slot: Timestamp) -> bool {
        let range = self.ranges.range(..=slot).next_back();
        self.single.contains(&slot) || range.is_some_and(|(_, last)| *last >= slot)
    }
}

/// Returns the slots that need no run.
fn slots_with_run(records: &[&SlotRecord], selection: RunSelection) -> BTreeSet<Timestamp> {
    let runs = records.iter().filter(|record| is_run(record, selection));
    runs.filter_map(|record| record.slot.map(Time::timestamp)).collect()
}

/// Whether a slot has a run that makes another one unnecessary.
pub(crate) fn has_run(records: &[&SlotRecord], slot: Timestamp, selection: RunSelection) -> bool {
    let mut of_slot = records.iter().filter(|record| record.slot == Some(Time::new(slot)));
    of_slot.any(|record| is_run(record, selection))
}

fn is_run(record: &SlotRecord, selection: RunSelection) -> bool {
    let is_good = matches!(record.result, Some(RunResult::Running | RunResult::Succeeded));
    record.decision == SlotDecision::Started && (selection == RunSelection::Missing || is_good)
}

/// Returns what a Job says about its slot. Clusters without an archive have no other record of it.
fn record_of_job(job: &JobView) -> Option<SlotRecord> {
    Some(SlotRecord {
        slot: Some(Time::new(job.slot?)),
        decision: SlotDecision::Started,
        result: Some(match job.result {
            None => RunResult::Running,
            Some(JobResult::Complete) => RunResult::Succeeded,
            Some(JobResult::Failed) => RunResult::Failed,
        }),
        ..SlotRecord::default()
    })
}
