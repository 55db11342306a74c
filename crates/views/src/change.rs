//! What an edit of a CronJob changes: slots gained and lost, what starts at once, and which other CronJobs run in the
//! same minutes.

use std::collections::BTreeSet;

use jiff::Timestamp;
use punctual_engine::cronjob::StartDecision;
use serde::Serialize;

use crate::field_changes::FieldChange;
use crate::snapshot::CronJobSnapshot;

/// The most slots of a CronJob that are compared: more than every minute of two months.
const SLOTS_MAX: usize = 100_000;

/// A CronJob has too many slots to compare.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0} has more than {SLOTS_MAX} slots in this time; choose a shorter one with --for")]
pub struct TooManySlots(pub String);

/// What an edit of one CronJob changes.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ChangeReport {
    /// The namespace.
    pub namespace: String,
    /// The name.
    pub name: String,
    /// `CronJob` or `ScheduledJob`.
    pub kind: &'static str,
    /// Whether the CronJob would be created.
    pub is_new: bool,
    /// The fields of the spec that change.
    pub fields: Vec<FieldChange>,
    /// The slots that change.
    pub slots: SlotDifference,
    /// The slot that would start at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub starts_at_once: Option<Timestamp>,
    /// Likely mistakes in the schedule.
    pub notes: Vec<String>,
    /// The other CronJobs that start in the same minutes.
    pub collisions: Vec<Collision>,
}

impl ChangeReport {
    /// Whether the edit changes anything.
    pub fn is_change(&self) -> bool {
        self.is_new || !self.fields.is_empty()
    }
}

/// The slots that an edit adds and removes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SlotDifference {
    /// How many slots there are without the edit.
    pub before: usize,
    /// How many slots there are with it.
    pub after: usize,
    /// The slots that only exist with the edit.
    pub gained: Vec<Timestamp>,
    /// The slots that only exist without it.
    pub lost: Vec<Timestamp>,
}

/// Another CronJob that starts in the same minutes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Collision {
    /// Its namespace and name.
    pub cron_job: String,
    /// In how many minutes both start.
    pub count: usize,
    /// The first of them.
    pub first: Timestamp,
}

/// Compares a CronJob before and after an edit that is made at `now`, until `until`. `before` is `None` if the edit
/// creates the CronJob. The caller passes the fields that differ.
pub fn compare(
    before: Option<&CronJobSnapshot>,
    after: &CronJobSnapshot,
    fields: Vec<FieldChange>,
    now: Timestamp,
    until: Timestamp,
) -> Result<ChangeReport, TooManySlots> {
    let old = before.map_or_else(|| Ok(BTreeSet::new()), |before| slots(before, now, until))?;
    let new = slots(after, now, until)?;
    let started_before = before.and_then(|before| slot_started_now(before, now));
    let starts_at_once = slot_started_now(after, now).filter(|slot| started_before != Some(*slot));
    let notes = match after.timetable() {
        Ok(timetable) => timetable.schedule().lints(now).iter().map(ToString::to_string).collect(),
        Err(error) => vec![error.to_string()],
    };
    let metadata = &after.cron_job.metadata;
    Ok(ChangeReport {
        namespace: metadata.namespace.clone(),
        name: metadata.name.clone(),
        kind: after.kind().kind(),
        is_new: before.is_none(),
        fields,
        slots: SlotDifference {
            before: old.len(),
            after: new.len(),
            gained: new.difference(&old).copied().collect(),
            lost: old.difference(&new).copied().collect(),
        },
        starts_at_once,
        notes,
        collisions: Vec::new(),
    })
}

fn slots(
    snapshot: &CronJobSnapshot,
    from: Timestamp,
    until: Timestamp,
) -> Result<BTreeSet<Timestamp>, TooManySlots> {
    let slots: BTreeSet<Timestamp> =
        snapshot.planned_slots(from, until).take(SLOTS_MAX + 1).collect();
    if slots.len() > SLOTS_MAX {
        return Err(TooManySlots(snapshot.cron_job.key().into_owned()));
    }
    Ok(slots)
}

/// Returns the slot that the engine would start at this moment.
fn slot_started_now(snapshot: &CronJobSnapshot, now: Timestamp) -> Option<Timestamp> {
    match snapshot.decide(now)?.start_decision {
        StartDecision::Due { slot }
        | StartDecision::Postponed { slot }
        | StartDecision::WaitingForPods { slot, .. } => Some(slot),
        _ => None,
    }
}

/// Returns the CronJobs of a fleet that start in the same minutes as `snapshot`, most frequent first.
pub fn find_collisions<'a>(
    snapshot: &CronJobSnapshot,
    fleet: impl Iterator<Item = &'a CronJobSnapshot>,
    now: Timestamp,
    until: Timestamp,
) -> Vec<Collision> {
    let minutes: BTreeSet<i64> = start_minutes(snapshot, now, until).collect();
    let mut collisions = Vec::new();
    for other in fleet.filter(|other| !is_same(&other.cron_job, &snapshot.cron_job)) {
        let shared: BTreeSet<i64> =
            start_minutes(other, now, until).filter(|minute| minutes.contains(minute)).collect();
        let first = shared.first().and_then(|minute| Timestamp::from_second(minute * 60).ok());
        if let Some(first) = first {
            let cron_job = other.cron_job.key().into_owned();
            collisions.push(Collision { cron_job, count: shared.len(), first });
        }
    }
    collisions.sort_by(|a, b| b.count.cmp(&a.count).then_with(|| a.cron_job.cmp(&b.cron_job)));
    collisions
}

/// Returns the minutes since 1970 in which a CronJob starts.
fn start_minutes(
    snapshot: &CronJobSnapshot,
    now: Timestamp,
    until: Timestamp,
) -> impl Iterator<Item = i64> + '_ {
    let slots = snapshot.planned_slots(now, until).take(SLOTS_MAX);
    slots.map(|slot| snapshot.effective_time(slot).as_second().div_euclid(60))
}

fn is_same(a: &punctual_api::CronJob, b: &punctual_api::CronJob) -> bool {
    a.kind == b.kind
        && a.metadata.namespace == b.metadata.namespace
        && a.metadata.name == b.metadata.name
}
