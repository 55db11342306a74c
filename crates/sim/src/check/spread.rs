//! Jitter spreads the starts. Where in its share of the gap a slot comes is nobody's to say from outside,
//! but not all of them come at once.

use super::Case;
use super::life::{Life, Run};
use super::weather::SLACK;
use crate::scenario::Millis;

/// A start within this time of its slot is on the dot.
const ON_THE_DOT: Millis = 200;
/// What happens less often by chance does not.
const CHANCE_MIN: f64 = 1e-9;

pub(super) fn judge(case: &mut Case<'_>, life: &Life) {
    if life.stretches.iter().all(|stretch| stretch.spec.jitter == 0) {
        return;
    }
    let mut chance = 1.0;
    for run in &life.runs {
        let Some((delay, most)) = delay(case, life, run) else { continue };
        if delay > ON_THE_DOT {
            return;
        }
        chance *= ON_THE_DOT as f64 / most.max(ON_THE_DOT) as f64;
    }
    if chance < CHANCE_MIN {
        case.accuse(life, case.end, "unspread", "all runs begin with their slots, despite jitter");
    }
}

/// How long after its slot a run was started, and how long that may be at most; none where something
/// else has a say in it.
fn delay(case: &Case<'_>, life: &Life, run: &Run) -> Option<(Millis, Millis)> {
    let slot = run.slot?;
    let at = case.millis(slot);
    let spec = &life.known(run.created_at, SLACK).next()?.spec;
    let is_told = case.weather.is_calm(at - SLACK, run.created_at)
        && !case.clocks.were_wrong_before(run.created_at);
    // The gap behind a slot counts too: that is the one before the next.
    let next = case.oracle(spec)?.slots(slot, slot + 3_600).into_iter().next();
    let behind = next.map_or(Some(Millis::MAX), |next| case.jitter_max(spec, next))?;
    let most = case.jitter_max(spec, slot)?.min(behind);
    is_told.then_some((run.created_at - at, most))
}
