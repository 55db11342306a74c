//! Whether every slot that had its chance was run, and in good time.
//!
//! A slot has its chance when, after it came and before its deadline passed or the next slot took its
//! place, all was well for a while and nothing that its policy respects was running. Then its Job has
//! to be there by the end of that while. Under CatchUp no slot takes the place of another: whenever
//! nothing runs, the oldest waits for nothing.

use punctual_api::ConcurrencyPolicy;

use super::life::{Life, NEVER, Stretch};
use super::oracle::{Oracle, Seconds};
use super::started::SKEW_MAX;
use super::weather::SLACK;
use super::{Case, shown};
use crate::scenario::Millis;

/// A slot so soon after an edit may be treated by what was there before.
const SETTLING: Millis = 60_000;

pub(super) fn judge(case: &mut Case<'_>, life: &Life) {
    let mut findings = Vec::new();
    let (mut judged, mut unrun) = (0, 0);
    for stretch in life.stretches.iter().filter(|stretch| !stretch.spec.is_suspended) {
        if let Some(Oracle::Every(distance)) = case.oracle(&stretch.spec) {
            findings.extend(pause(case, life, stretch, *distance));
            continue;
        }
        for window in windows(case, life, stretch) {
            unrun += u64::from(life.run_for(window.slot).is_none());
            let Some(chance) = chance(case, life, stretch, &window) else { continue };
            judged += 1;
            findings.extend(lost(case, life, stretch, &window, chance));
        }
    }
    case.verdict.slots += judged;
    case.verdict.unrun += unrun;
    for (at, rule, what) in findings {
        case.accuse(life, at, rule, &what);
    }
}

/// When a slot may be started.
struct Window {
    slot: Seconds,
    from: Millis,
    to: Millis,
}

/// The slots of a stretch and when they may be started, whichever clock is looked at.
fn windows(case: &Case<'_>, life: &Life, stretch: &Stretch) -> Vec<Window> {
    let Some(oracle) = case.oracle(&stretch.spec) else { return Vec::new() };
    let to = stretch.to.min(case.end);
    let slots = oracle.slots(case.second(stretch.from), case.second(to));
    let nexts = slots.iter().skip(1).map(|next| case.millis(*next)).chain([NEVER]);
    let is_judged = |slot: Seconds| match stretch.from == life.created_at {
        true => slot > life.creation,
        false => case.millis(slot) >= stretch.from + SETTLING,
    };
    let windows = slots.iter().zip(nexts).filter(|(slot, _)| is_judged(**slot));
    windows.filter_map(|(slot, next)| window(case, stretch, *slot, next)).collect()
}

fn window(case: &Case<'_>, stretch: &Stretch, slot: Seconds, next: Millis) -> Option<Window> {
    let spec = &stretch.spec;
    let at = case.millis(slot);
    let next = if spec.policy == ConcurrencyPolicy::CatchUp { NEVER } else { next };
    let deadline = spec.deadline.map_or(NEVER, |deadline| at + deadline.saturating_mul(1000));
    let to = stretch.to.min(case.end).min(next).min(deadline);
    let skew = case.clocks.controllers(at - SKEW_MAX, to);
    if skew.size() > SKEW_MAX {
        return None;
    }
    let from = at + case.jitter_max(spec, slot)? + skew.behind();
    let to = stretch.to.min(case.end).min(next.min(deadline) - skew.ahead());
    Some(Window { slot, from, to })
}

/// The end of the first while in which a slot had to be started.
fn chance(case: &Case<'_>, life: &Life, stretch: &Stretch, window: &Window) -> Option<Millis> {
    let respects =
        matches!(stretch.spec.policy, ConcurrencyPolicy::Forbid | ConcurrencyPolicy::CatchUp);
    let calm = good_times(case, stretch).iter();
    let calm = calm.map(|calm| (calm.0.max(window.from), calm.1.min(window.to)));
    calm.filter_map(|(from, to)| {
        let from = if respects { idle_from(life, from) } else { from };
        (from + SLACK <= to).then_some(from + SLACK)
    })
    .next()
}

/// When a slot can be started. Who waits for another run to end hears of it when the failed write is tried
/// again, and what is to be replaced must be in the status first.
fn good_times<'a>(case: &'a Case<'_>, stretch: &Stretch) -> &'a [(Millis, Millis)] {
    match stretch.spec.policy {
        ConcurrencyPolicy::Allow => &case.weather.startable,
        _ => &case.weather.calm,
    }
}

/// The first instant from which nothing runs for a while.
fn idle_from(life: &Life, mut from: Millis) -> Millis {
    // Runs are in the order of their creation, so those that count come one after the other.
    for run in &life.runs {
        if run.created_at < from + SLACK && run.unfinished_until() > from {
            from = run.unfinished_until();
        }
    }
    from
}

/// That a slot was not started, or, if all was well ever since it came, not in good time.
fn lost(
    case: &Case<'_>,
    life: &Life,
    stretch: &Stretch,
    window: &Window,
    chance: Millis,
) -> Option<(Millis, &'static str, String)> {
    let run = life.run_for(window.slot);
    let started_at = run.map_or(NEVER, |run| run.created_at);
    if started_at <= chance || is_taken(case, life, window) {
        return None;
    }
    if was_ahead(case, life, window.slot, chance) {
        return None;
    }
    let slot = shown(window.slot);
    if run.is_none() {
        return Some((
            chance,
            "lost-slot",
            format!("the slot {slot} had its chance and was not run"),
        ));
    }
    // After a trouble it may be in the middle of waiting to try again.
    let slot_at = case.millis(window.slot);
    let mut good = good_times(case, stretch).iter();
    let is_late = good.any(|good| good.0 <= slot_at && chance <= good.1);
    is_late.then(|| {
        let text = format!("the slot {slot} was started at {started_at} ms, not by {chance} ms");
        (chance, "tardy-slot", text)
    })
}

/// Whether somebody else's Job had the name, so that the slot was given up.
fn is_taken(case: &Case<'_>, life: &Life, window: &Window) -> bool {
    let key = life.job_key(window.slot);
    let mut holders = case.facts.foreign(life).filter(|run| *run.key == *key);
    holders.any(|run| run.created_at <= window.to && run.gone_at >= window.from - SKEW_MAX)
}

/// Whether by a clock that was ahead the slot was written off or overtaken before its time. Without
/// such a clock this is no excuse.
fn was_ahead(case: &Case<'_>, life: &Life, slot: Seconds, by: Millis) -> bool {
    let status = life.status_at(by).filter(|_| case.clocks.were_wrong_before(by));
    let known = status.and_then(|status| status.last_schedule_time.max(status.last_missed_time));
    let edited = life.stretches.iter().rev().find(|stretch| stretch.from <= by);
    // The server may have taken the edit for a later one.
    let is_before_edit = edited.is_some_and(|stretch| {
        let since = stretch.scheduled_since;
        case.millis(slot) <= since + case.clocks.server(since, since).ahead()
    });
    known.is_some_and(|known| known.as_second() >= slot) || is_before_edit
}

/// An interval without a run for longer than two of them, while all was well and nothing ran.
fn pause(
    case: &Case<'_>,
    life: &Life,
    stretch: &Stretch,
    distance: Seconds,
) -> Option<(Millis, &'static str, String)> {
    let spec = &stretch.spec;
    // Jitter and clocks move a run within its interval; a short deadline may be too short for both.
    let longest = 3 * distance * 1000 + 2 * SLACK;
    if spec.deadline.is_some_and(|deadline| deadline * 1000 <= longest) {
        return None;
    }
    let is_exact = !case.clocks.were_wrong_before(stretch.to.min(case.end));
    let respects =
        spec.policy == ConcurrencyPolicy::Forbid || spec.policy == ConcurrencyPolicy::CatchUp;
    for calm in case.weather.calm.iter().filter(|_| is_exact) {
        let mut from = calm.0.max(stretch.from);
        let to = calm.1.min(stretch.to).min(case.end);
        for run in &life.runs {
            let until =
                if respects { run.unfinished_until().max(run.created_at) } else { run.created_at };
            if run.created_at <= from + longest {
                from = from.max(until);
            }
        }
        if from + longest < to {
            let what = format!("nothing was started from {from} ms on, every {distance} s");
            return Some((from + longest, "lost-slot", what));
        }
    }
    None
}
