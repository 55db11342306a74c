//! Once nothing is due, nothing is written, and nobody looks at the clock all the time.

use super::Case;
use crate::history::{Happened, LAST_WHILE, Record};
use crate::scenario::{Asked, Millis, Wish};

/// So long the last start, and later the last end, may take to be written down everywhere.
const SETTLING: Millis = 30_000;
/// So often clocks are looked at in the [`LAST_WHILE`] of a quiet world.
const LOOKS_MAX: u64 = 3_000;

pub(super) fn judge(case: &mut Case<'_>, history: &[Record]) {
    let from = quiet_from(case);
    for Record { at, what } in history.iter().filter(|record| record.at > from) {
        restless(case, *at, what);
        let Happened::Written { key, value, revision } = what else { continue };
        let is_renewal = key.starts_with("/leases.coordination.k8s.io/");
        let is_expiry = key.starts_with("/events/") && value.is_none();
        if !is_renewal && !is_expiry {
            let text = format!("{key} is written in revision {revision} when all is quiet");
            case.report(*at, "quiescence", text);
        }
    }
}

/// Leases are renewed and watches are kept; that takes a few looks a second.
fn restless(case: &mut Case<'_>, at: Millis, what: &Happened) {
    let Happened::Looked(count) = what else { return };
    if quiet_from(case) < at - LAST_WHILE && *count > LOOKS_MAX {
        let text = format!("the clock was looked at {count} times in the last {LAST_WHILE} ms");
        case.report(at, "restless", text);
    }
}

/// When the last run is over and was seen off, by the slowest clock.
fn quiet_from(case: &Case<'_>) -> Millis {
    let wishes = || case.scenario.deeds.iter().filter_map(|deed| wish(&deed.what));
    let work = wishes().map(|wish| wish.work).max().unwrap_or(0);
    let ttl = wishes().filter_map(|wish| wish.ttl).max().unwrap_or(0);
    let skew = case.clocks.all(0, case.end).size();
    case.scenario.suspended_at() + 2 * SETTLING + work + 1000 * Millis::from(ttl) + 2 * skew
}

fn wish(asked: &Asked) -> Option<&Wish> {
    match asked {
        Asked::Create(_, wish) | Asked::Replace(_, wish) => Some(wish),
        _ => None,
    }
}
