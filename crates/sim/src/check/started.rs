//! Whether what was started was to be started: the right slots, once, in order, at the right time.

use super::life::{Life, NEVER, Run, Stretch};
use super::oracle::{Oracle, Seconds};
use super::{Case, shown};
use crate::scenario::Millis;

/// Objects have times in whole seconds.
const ROUNDING: Millis = 1_000;
/// Clocks that are further off say nothing about what is late.
pub(super) const SKEW_MAX: Millis = 600_000;

type Finding = (&'static str, String);

pub(super) fn judge(case: &mut Case<'_>, life: &Life) {
    let mut findings = Vec::new();
    for (place, run) in life.runs.iter().enumerate() {
        let Some(slot) = run.slot else {
            findings.push((run.created_at, ("wrong-slot", format!("{} has no slot", run.name()))));
            continue;
        };
        let earlier = life.runs.get(..place).unwrap_or_default();
        let found = [
            doubled(earlier, slot),
            misnamed(life, run, slot),
            misowned(life, run),
            unscheduled(case, life, run, slot),
            crowded(case, life, run, slot),
            early(case, run, slot),
            late(case, life, run, slot),
            superseded(case, earlier, run, slot),
            posthumous(case, life, run),
        ];
        findings.extend(found.into_iter().flatten().map(|finding| (run.created_at, finding)));
    }
    for (at, (rule, what)) in findings {
        case.accuse(life, at, rule, &what);
    }
}

/// No slot is started twice, whatever has become of its first Job. One thing excuses it: a user has deleted
/// that Job before anybody had written down that it was there, which nobody can tell from its never having been.
fn doubled(earlier: &[Run], slot: Seconds) -> Option<Finding> {
    let is_first = |run: &&Run| run.slot == Some(slot) && !run.is_unwanted;
    let first = earlier.iter().find(is_first)?;
    let (slot, at) = (shown(slot), first.created_at);
    Some(("doubled-slot", format!("the slot {slot} is started again; first at {at} ms")))
}

fn misnamed(life: &Life, run: &Run, slot: Seconds) -> Option<Finding> {
    let wanted = life.job_key(slot);
    (*run.key != *wanted)
        .then(|| ("wrong-slot", format!("{} should be {wanted} for {}", run.key, shown(slot))))
}

/// A Job says of what kind its owner is: who looks for another kind does not find it, and takes the Job for
/// an orphan.
fn misowned(life: &Life, run: &Run) -> Option<Finding> {
    let Run { owner_kind, .. } = run;
    let text = || format!("{} says that its owner is a {owner_kind:?}", run.name());
    (owner_kind != life.kind).then(|| ("wrong-owner", text()))
}

/// The slot is one of a schedule that whoever started it may have taken for the present one, and that
/// was not suspended, and was the schedule when the slot came.
fn unscheduled(case: &Case<'_>, life: &Life, run: &Run, slot: Seconds) -> Option<Finding> {
    let lag = case.weather.lag(run.created_at);
    let mut last = None;
    for stretch in life.known(run.created_at, lag) {
        last = Some(objection(case, life, stretch, slot)?);
    }
    let (rule, why) = last?;
    Some((rule, format!("the slot {} is started, but {why}", shown(slot))))
}

/// What speaks against starting a slot under a specification.
fn objection(case: &Case<'_>, life: &Life, stretch: &Stretch, slot: Seconds) -> Option<Finding> {
    let spec = &stretch.spec;
    if spec.is_suspended {
        return Some(("suspended-start", "the CronJob is suspended".to_owned()));
    }
    if case.oracle(spec).is_some_and(|oracle| !oracle.has(slot)) {
        let why = format!("{:?} in {:?} has no such slot", spec.schedule, spec.zone);
        return Some(("wrong-slot", why));
    }
    if slot <= life.creation {
        let why = format!("the CronJob was created at {}", shown(life.creation));
        return Some(("retroactive", why));
    }
    // The server writes down when it took an edit, by its own clock.
    let since = stretch.scheduled_since;
    let known = since + case.clocks.server(since, since).low - ROUNDING;
    let is_past = since > life.created_at && case.millis(slot) <= known;
    is_past.then(|| ("retroactive", format!("the schedule is that only since {since} ms")))
}

/// Slots of an interval are counted from the last run or the creation. So they are at its multiples,
/// unless an edit or a deadline has moved where it counts from; and then they are no closer.
fn crowded(case: &Case<'_>, life: &Life, run: &Run, slot: Seconds) -> Option<Finding> {
    let stretch = life.known(run.created_at, 0).last()?;
    let Some(Oracle::Every(distance)) = case.oracle(&stretch.spec) else { return None };
    let is_plain = |other: &Stretch| {
        other.spec.deadline.is_none() && other.spec.has_schedule_of(&stretch.spec)
    };
    if !life.stretches.iter().all(is_plain) {
        return too_close(case, life, stretch, (slot, *distance));
    }
    ((slot - life.creation) % distance != 0).then(|| {
        let text = format!("{} is not a multiple of {distance} s after the creation", shown(slot));
        ("wrong-slot", text)
    })
}

fn too_close(
    case: &Case<'_>,
    life: &Life,
    stretch: &Stretch,
    (slot, distance): (Seconds, Seconds),
) -> Option<Finding> {
    // Between runs of two schedules there is no distance to keep.
    let is_of_it =
        |run: &&Run| run.created_at > stretch.scheduled_since + case.weather.lag(run.created_at);
    let slots: Vec<Seconds> =
        life.runs.iter().filter(is_of_it).filter_map(|other| other.slot).collect();
    let is_close = |other: &&Seconds| **other < slot && slot - **other < distance;
    let other = slots.iter().find(is_close).filter(|_| slots.contains(&slot))?;
    let text = format!("{} and {} are closer than {distance} s", shown(*other), shown(slot));
    Some(("wrong-slot", text))
}

/// Nothing starts before its slot by the clock of whoever starts it.
fn early(case: &Case<'_>, run: &Run, slot: Seconds) -> Option<Finding> {
    let at = run.created_at;
    let skew = case.clocks.controllers(at - case.weather.lag(at), at);
    let by = case.millis(slot) - skew.ahead() - ROUNDING - at;
    (by > 0).then(|| ("early-start", format!("the slot {} is started too early", shown(slot))))
}

/// Nothing starts after its deadline. What was decided in time may still be on its way.
fn late(case: &Case<'_>, life: &Life, run: &Run, slot: Seconds) -> Option<Finding> {
    let (at, lag) = (run.created_at, case.weather.lag(run.created_at));
    let skew = case.clocks.controllers(at - lag, at);
    if skew.size() > SKEW_MAX {
        return None;
    }
    let mut latest = None;
    for stretch in life.known(at, lag) {
        let allowed = case.jitter_max(&stretch.spec, slot)?
            + stretch.spec.deadline?.saturating_mul(1000).min(NEVER);
        latest = latest.max(Some(case.millis(slot) + allowed));
    }
    let by = at - latest? - lag - skew.behind();
    (by > 0)
        .then(|| ("late-start", format!("the slot {} is started after its deadline", shown(slot))))
}

/// No slot is started after a later one, whatever the policy, unless both were on their way at once.
fn superseded(case: &Case<'_>, earlier: &[Run], run: &Run, slot: Seconds) -> Option<Finding> {
    let before = run.created_at - case.weather.lag(run.created_at);
    let is_later = |other: &&Run| other.slot > Some(slot) && other.created_at < before;
    let later = earlier.iter().find(is_later)?;
    let text = format!("the slot {} is started after {}", shown(slot), later.name());
    Some(("superseded", text))
}

/// Nothing starts once the CronJob is deleted and everybody knows.
fn posthumous(case: &Case<'_>, life: &Life, run: &Run) -> Option<Finding> {
    let by = run.created_at - case.weather.lag(run.created_at) - life.deleted_at;
    (by > 0).then(|| ("gone", format!("{} is started after its CronJob was deleted", run.name())))
}
