//! Whether runs kept out of each other's way, as their CronJob wants it.

use punctual_api::ConcurrencyPolicy::{self, CatchUp, Forbid, Replace};

use super::Case;
use super::life::{Life, Run};
use crate::scenario::Millis;

pub(super) fn judge(case: &mut Case<'_>, life: &Life) {
    for (place, run) in life.runs.iter().enumerate() {
        let earlier = life.runs.get(..place).unwrap_or_default();
        let Some(other) = earlier.iter().find(|other| is_running(other, run.created_at)) else {
            continue;
        };
        let rule = match () {
            () if is_policy(case, life, run.created_at, &[Forbid, CatchUp]) => "overlap",
            () if is_policy(case, life, run.created_at, &[Replace]) => "not-replaced",
            () => continue,
        };
        let what = format!("{} is started while {} goes on", run.name(), other.name());
        case.accuse(life, run.created_at, rule, &what);
    }
}

/// Whether a Job goes on and nobody has asked it to go.
fn is_running(run: &Run, at: Millis) -> bool {
    run.unfinished_until() > at && run.deleted_at > at
}

/// Whether everybody who may have decided something at an instant knew one of these policies.
pub(super) fn is_policy(
    case: &Case<'_>,
    life: &Life,
    at: Millis,
    policies: &[ConcurrencyPolicy],
) -> bool {
    let mut known = life.known(at, case.weather.lag(at));
    known.all(|stretch| policies.contains(&stretch.spec.policy))
}
