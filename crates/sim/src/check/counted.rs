//! Whether the status tells what happened: counters and times that only grow, and that are right in
//! the end.

use jiff::Timestamp;
use punctual_api::ConcurrencyPolicy::Replace;

use super::life::{Life, NEVER, Run};
use super::objects::{Ending, StatusText};
use super::weather::SLACK;
use super::{Case, shown};
use crate::scenario::Millis;

pub(super) fn judge(case: &mut Case<'_>, life: &Life) {
    let mut findings = shrinking(life);
    if let Some((_, last)) = life.statuses.last().filter(|_| life.is_there_at_the_end()) {
        let at_the_end = [
            active(life, last),
            held(life),
            last_schedule(life, last),
            last_success(case, life, last),
            counters(case, life, last),
            next(life, last),
        ];
        findings.extend(at_the_end.into_iter().flatten().map(|what| (case.end, what)));
    }
    for (at, what) in findings {
        case.accuse(life, at, "status", &what);
    }
}

/// What must not go back.
fn shrinking(life: &Life) -> Vec<(Millis, String)> {
    let pairs = life.statuses.iter().zip(life.statuses.iter().skip(1));
    pairs.flat_map(|((_, old), (at, new))| shrunk(old, new).map(|what| (*at, what))).collect()
}

fn shrunk(old: &StatusText, new: &StatusText) -> impl Iterator<Item = String> + use<> {
    let times = [
        ("lastScheduleTime", old.last_schedule_time, new.last_schedule_time),
        ("lastSuccessfulTime", old.last_successful_time, new.last_successful_time),
        ("lastMissedTime", old.last_missed_time, new.last_missed_time),
    ];
    let counters = [
        ("successfulRuns", old.successful_runs, new.successful_runs),
        ("failedRuns", old.failed_runs, new.failed_runs),
        ("missedRuns", old.missed_runs, new.missed_runs),
    ];
    let times = times.into_iter().filter(|(_, old, new)| new < old).map(|(name, ..)| name);
    let counters = counters.into_iter().filter(|(_, old, new)| new < old).map(|(name, ..)| name);
    times.chain(counters).map(|name| format!("{name} goes back"))
}

/// The list of running Jobs is what runs.
fn active(life: &Life, status: &StatusText) -> Option<String> {
    let running = life.runs.iter().filter(|run| run.unfinished_until() == NEVER);
    let mut running: Vec<&str> = running.map(Run::name).collect();
    let mut listed: Vec<&str> = status.active.iter().map(|entry| &*entry.name).collect();
    running.sort_unstable();
    listed.sort_unstable();
    (running != listed).then(|| format!("active is {listed:?}, but {running:?} go on"))
}

/// No Job waits in vain: for us to let it go, or to be gone.
fn held(life: &Life) -> Option<String> {
    let waits = |run: &&Run| {
        run.gone_at == NEVER && (run.deleted_at < NEVER || (run.is_held && run.end.is_some()))
    };
    let run = life.runs.iter().find(waits)?;
    Some(format!("{} has ended or was deleted, and is still held", run.name()))
}

/// The last slot that is recorded is the last that was started. (Slots that were missed or given up
/// are recorded elsewhere.) A Job that a user deleted may never have been seen.
fn last_schedule(life: &Life, status: &StatusText) -> Option<String> {
    let most = life.runs.iter().filter_map(|run| run.slot).max();
    let wanted = life.runs.iter().filter(|run| !run.is_unwanted);
    let least = wanted.filter_map(|run| run.slot).max();
    let said = status.last_schedule_time.map(Timestamp::as_second);
    (said < least || said > most)
        .then(|| format!("lastScheduleTime is {:?}, not {:?}", said.map(shown), most.map(shown)))
}

/// The last success is the latest of those that had to be seen, or of those that could be.
fn last_success(case: &Case<'_>, life: &Life, status: &StatusText) -> Option<String> {
    let ends = |run: &Run| run.end.filter(|end| end.ending == Ending::Complete)?.completed;
    let most = life.runs.iter().filter_map(ends).max();
    let certain = life.runs.iter().filter(|run| !may_be_unseen(case, life, run));
    let least = certain.filter_map(ends).max();
    let said = status.last_successful_time;
    (said < least || said > most).then(|| format!("lastSuccessfulTime is {said:?}, not {most:?}"))
}

/// Every run is counted once. One that was deleted may be gone before anybody has seen its end.
fn counters(case: &Case<'_>, life: &Life, status: &StatusText) -> Option<String> {
    let count = |ending| {
        let ended = |run: &&Run| run.end.is_some_and(|end| end.ending == ending);
        let all = life.runs.iter().filter(ended).count();
        let unseen = life.runs.iter().filter(ended).filter(|run| may_be_unseen(case, life, run));
        let least = all.saturating_sub(unseen.count());
        (i64::try_from(least).unwrap_or(0), i64::try_from(all).unwrap_or(0))
    };
    let told = [
        ("successfulRuns", status.successful_runs, count(Ending::Complete)),
        // Misses count as failures.
        (
            "failedRuns without the missed",
            status.failed_runs - status.missed_runs,
            count(Ending::Failed),
        ),
    ];
    let is_wrong =
        |(_, said, (least, most)): &&(&str, i64, (i64, i64))| said < least || said > most;
    let (name, said, (least, most)) = told.iter().find(is_wrong)?;
    Some(format!("{name} is {said}, not {least} to {most}"))
}

/// Whether the end of a run may have gone unseen: a user deleted it, or it ended just when it was
/// replaced.
pub(super) fn may_be_unseen(case: &Case<'_>, life: &Life, run: &Run) -> bool {
    run.is_unwanted || may_be_replaced(case, life, run)
}

/// Whether a run may have been deleted to make room for another while it went on. (One that has ended is
/// not deleted for that, whoever has not heard of its end: the version it would have to have is another
/// by then.) Where all is well, the other one then comes at once, unless its name is taken.
pub(super) fn may_be_replaced(case: &Case<'_>, life: &Life, run: &Run) -> bool {
    if run.deleted_at == NEVER {
        return false;
    }
    let lag = case.weather.lag(run.deleted_at);
    let made_room =
        |other: &Run| (run.deleted_at..=run.deleted_at + lag).contains(&other.created_at);
    let is_calm = case.weather.is_calm(run.deleted_at - SLACK, run.deleted_at + SLACK);
    run.deleted_at <= run.ended_at()
        && life.known(run.deleted_at, lag).any(|stretch| stretch.spec.policy == Replace)
        && (!is_calm
            || life.runs.iter().any(made_room)
            || is_name_taken(case, life, run.deleted_at))
}

/// Whether somebody else's Job may have the name of a slot.
fn is_name_taken(case: &Case<'_>, life: &Life, at: Millis) -> bool {
    let stem = format!("/jobs.batch/{}/{}-", life.namespace, life.name);
    let mut foreign = case.facts.foreign(life);
    foreign.any(|run| run.created_at <= at && at <= run.gone_at && run.key.starts_with(&stem))
}

fn next(life: &Life, status: &StatusText) -> Option<String> {
    let is_suspended = life.last_spec()?.is_suspended;
    let next = status.next_schedule_time.filter(|_| is_suspended)?;
    Some(format!("nextScheduleTime is {next} although the CronJob is suspended"))
}
