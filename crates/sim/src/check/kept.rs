//! Which finished Jobs are kept, and that none goes before it is counted.

use super::Case;
use super::counted::may_be_replaced;
use super::life::{Life, NEVER, Run};
use super::objects::{Ending, Spec};
use crate::scenario::Millis;

type Finding = (Millis, &'static str, String);

pub(super) fn judge(case: &mut Case<'_>, life: &Life) {
    let mut findings = surplus(case, life);
    findings.extend(life.runs.iter().filter_map(|run| overdue(case, run)));
    findings.extend(life.runs.iter().filter_map(|run| unasked(case, life, run)));
    // What goes with its CronJob is nobody's choice.
    let finished = life.runs.iter().filter(|run| run.end.is_some() && !run.is_unwanted);
    let removed = finished.filter(|run| run.deleted_at < life.deleted_at);
    for run in removed.filter(|run| !may_be_replaced(case, life, run)) {
        findings.extend(uncounted(life, run));
        if !run.has_ttl {
            findings.extend(too_early(case, life, run));
        }
    }
    for (at, rule, what) in findings {
        case.accuse(life, at, rule, &what);
    }
}

fn limit(spec: &Spec, ending: Ending) -> usize {
    match ending {
        Ending::Complete => spec.limits.0,
        Ending::Failed => spec.limits.1,
    }
}

fn has_ended(run: &Run, ending: Ending, by: Millis) -> bool {
    run.end.is_some_and(|end| end.ending == ending && end.at <= by)
}

/// In the end no more are left than are wanted.
fn surplus(case: &Case<'_>, life: &Life) -> Vec<Finding> {
    let Some(spec) = life.last_spec().filter(|_| life.is_there_at_the_end()) else {
        return Vec::new();
    };
    let kept = |ending| {
        let runs = life.runs.iter().filter(|run| run.gone_at == NEVER);
        runs.filter(|run| has_ended(run, ending, case.end)).count()
    };
    let endings = [Ending::Complete, Ending::Failed].into_iter();
    let too_many = endings.filter(|ending| kept(*ending) > limit(spec, *ending));
    let text =
        |ending| format!("{} {ending:?} Jobs are left of {}", kept(ending), limit(spec, ending));
    too_many.map(|ending| (case.end, "history", text(ending))).collect()
}

/// What has a time to live goes when that is over, which it is in the end by any clock that is right.
fn overdue(case: &Case<'_>, run: &Run) -> Option<Finding> {
    let is_told = !case.clocks.were_wrong_before(case.end);
    let is_left = run.has_ttl && run.end.is_some() && run.gone_at == NEVER;
    (is_told && is_left).then(|| {
        (case.end, "time-to-live", format!("{} has outlived its time to live", run.name()))
    })
}

/// What goes on is deleted only to make room, and only if its slot is recorded: until then its name is
/// all that keeps the slot from being started again.
fn unasked(case: &Case<'_>, life: &Life, run: &Run) -> Option<Finding> {
    let at = run.deleted_at;
    if at >= life.deleted_at.min(run.ended_at()) || run.is_unwanted {
        return None;
    }
    if !may_be_replaced(case, life, run) {
        return Some((at, "killed", format!("{} is deleted though it goes on", run.name())));
    }
    let recorded = life.status_at(at)?.last_schedule_time.map(|time| time.as_second());
    (recorded < run.slot).then(|| {
        (at, "unrecorded", format!("{} is replaced before its slot is recorded", run.name()))
    })
}

/// A Job that goes is recorded, off the list of the running, and among the counted.
fn uncounted(life: &Life, run: &Run) -> Option<Finding> {
    // With a time to live it is marked first, and held until it is recorded.
    let at = if run.has_ttl { run.gone_at } else { run.deleted_at };
    let status = life.status_at(at).filter(|_| at < life.deleted_at)?;
    let is_listed = status.active.iter().any(|entry| entry.uid == run.uid);
    let is_recorded = status.last_schedule_time.map(|time| time.as_second()) >= run.slot;
    (is_listed || !is_recorded).then(|| {
        (at, "uncounted", format!("{} goes before the status has recorded it", run.name()))
    })
}

/// A Job is removed for the limit only if there are more than that, and it is the oldest of them.
fn too_early(case: &Case<'_>, life: &Life, run: &Run) -> Option<Finding> {
    let ending = run.end?.ending;
    let (at, lag) = (run.deleted_at, case.weather.lag(run.deleted_at));
    let there = |by: Millis| {
        let alike = life.runs.iter().filter(move |other| has_ended(other, ending, by));
        alike.filter(move |other| other.deleted_at > at - lag && other.uid != run.uid)
    };
    let least = life.known(at, lag).map(|stretch| limit(&stretch.spec, ending)).min()?;
    if there(at).count() < least {
        let what = format!("{} is removed though no more than {least} are there", run.name());
        return Some((at, "history", what));
    }
    // Those that had ended for a while, and are still there.
    let age = |run: &Run| (run.started.is_none(), run.started, run.name().to_owned());
    let older = there(at - lag).filter(|other| other.deleted_at > at + lag);
    let older = older.into_iter().find(|other| age(other) < age(run))?;
    let what = format!("{} is removed before {}, which is older", run.name(), older.name());
    Some((at, "history", what))
}
