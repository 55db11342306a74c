//! What was promised: what users were told is so, and the disk forgets nothing.

use super::Case;
use super::life::{Life, NEVER, Run};
use super::objects::Spec;
use super::oracle::Seconds;
use crate::history::{Happened, Record};
use crate::scenario::{Asked, Millis, Wish};

pub(super) fn judge(case: &mut Case<'_>, history: &[Record]) {
    revisions(case, history);
    let scenario = case.scenario;
    for (place, deed) in scenario.deeds.iter().enumerate() {
        let Some((at, code @ 200..=202)) = case.facts.answers.get(&place).copied() else {
            continue;
        };
        if !is_kept(case, &deed.what, (deed.at, at)) {
            let text =
                format!("deed {place} was answered {code}, but cannot be seen: {:?}", deed.what);
            case.report(at, "acknowledged", text);
        }
    }
}

/// Revisions go up by one, also over restarts.
fn revisions(case: &mut Case<'_>, history: &[Record]) {
    let mut last = None;
    for Record { at, what } in history {
        let Happened::Written { revision, key, .. } = what else { continue };
        if let Some(last) = last.filter(|last: &u64| *last + 1 != *revision) {
            let text = format!("{key} is written in revision {revision}, after {last}");
            case.report(*at, "revisions", text);
        }
        last = Some(*revision);
    }
}

/// Whether what was asked for was so at some time between the asking and the answer. (A write that
/// changes nothing need not be written.)
fn is_kept(case: &Case<'_>, asked: &Asked, between: (Millis, Millis)) -> bool {
    let has = |n: usize, wanted: &dyn Fn(&Spec) -> bool| {
        lives(case, n).any(|life| had(life, between, wanted))
    };
    match asked {
        Asked::Create(n, wish) | Asked::Replace(n, wish) => {
            has(*n, &|spec| is_as_wished(spec, wish))
        }
        Asked::Touch(n) => has(*n, &|_| true),
        Asked::Suspend(n, wanted) => has(*n, &|spec| spec.is_suspended == *wanted),
        Asked::Delete(n) => {
            lives(case, *n).all(|life| life.created_at > between.1 || life.deleted_at <= between.1)
                || lives(case, *n).any(|life| is_within(life.deleted_at, between))
        }
        Asked::DeleteJob(n) => {
            let own = lives(case, *n).flat_map(|life| &life.runs);
            // Somebody else's Job may have one of its names, and be the newest.
            let stem = format!("/jobs.batch/default/c{n}-");
            let named = case.facts.strangers.iter().filter(|run| run.key.starts_with(&stem));
            own.chain(named).any(|run| went(run, between))
        }
        Asked::TakeName(n, slot) => {
            let key = key_of(*n, slot.as_second());
            let runs = case.facts.lives.iter().flat_map(|life| &life.runs);
            let mut named = runs.chain(&case.facts.strangers).filter(|run| *run.key == *key);
            named.any(|run| run.created_at <= between.1 && run.gone_at >= between.0)
        }
    }
}

fn lives<'a>(case: &'a Case<'_>, n: usize) -> impl Iterator<Item = &'a Life> {
    let name = format!("c{n}");
    case.facts.lives.iter().filter(move |life| life.name == name)
}

fn key_of(n: usize, slot: Seconds) -> String {
    format!("/jobs.batch/default/c{n}-{}", slot.div_euclid(60))
}

fn had(life: &Life, between: (Millis, Millis), wanted: &dyn Fn(&Spec) -> bool) -> bool {
    let mut then = life.stretches.iter().filter(|s| s.from <= between.1 && s.to >= between.0);
    then.any(|stretch| wanted(&stretch.spec))
}

fn is_within(at: Millis, between: (Millis, Millis)) -> bool {
    (between.0..=between.1).contains(&at)
}

/// Whether a Job was deleted in that time, or was still going from before.
fn went(run: &Run, between: (Millis, Millis)) -> bool {
    run.deleted_at != NEVER && run.deleted_at <= between.1 && run.gone_at >= between.0
}

fn is_as_wished(spec: &Spec, wish: &Wish) -> bool {
    spec.schedule == wish.schedule
        && spec.zone.as_deref() == wish.zone
        && spec.policy == wish.policy
        && spec.deadline == wish.deadline
        && spec.is_suspended == wish.is_suspended
        && spec.jitter == i64::from(wish.jitter)
}
