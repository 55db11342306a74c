//! No two controllers act at once.

use std::collections::HashMap;

use super::Case;
use super::life::NEVER;
use crate::history::{Happened, Record};
use crate::scenario::{Fault, Millis, Process};

/// A process that was stopped and goes on has so long to find out that it does not lead any more.
const AWAKENING: Millis = 1_000;

type Span = (Millis, Millis);

pub(super) fn judge(case: &mut Case<'_>, history: &[Record]) {
    let mut spans: Vec<(Span, usize)> = Vec::new();
    for (controller, span) in reigns(history) {
        spans.extend(awake(case, controller, span).into_iter().map(|span| (span, controller)));
    }
    spans.sort_unstable();
    let mut last: Option<(Span, usize)> = None;
    for (span, controller) in spans {
        if let Some((before, other)) =
            last.filter(|(before, other)| before.1 > span.0 && *other != controller)
        {
            let text =
                format!("controller {controller} leads while {other} does until {} ms", before.1);
            case.report(span.0, "leaders", text);
        }
        last = last.filter(|(before, _)| before.1 > span.1).or(Some((span, controller)));
    }
}

/// Who was allowed to act from when to when.
fn reigns(history: &[Record]) -> Vec<(usize, Span)> {
    let mut reigns = Vec::new();
    let mut since: HashMap<usize, Millis> = HashMap::new();
    for Record { at, what } in history {
        let Happened::Leads(Process::Controller(n), leads) = what else { continue };
        // Whoever begins anew without having ceased was dead in between.
        if let Some(from) = since.remove(n).filter(|_| !leads) {
            reigns.push((*n, (from, *at)));
        }
        if *leads {
            since.insert(*n, *at);
        }
    }
    reigns.extend(since.into_iter().map(|(n, from)| (n, (from, NEVER))));
    reigns
}

/// A reign without the times in which the process could do nothing at all.
fn awake(case: &Case<'_>, controller: usize, reign: Span) -> Vec<Span> {
    let asleep = case.scenario.troubles.iter().filter_map(|trouble| match trouble.what {
        Fault::Pause(Process::Controller(n)) if n == controller => {
            Some((trouble.from, trouble.to + AWAKENING))
        }
        _ => None,
    });
    let mut asleep: Vec<Span> = asleep.filter(|nap| nap.0 < reign.1 && nap.1 > reign.0).collect();
    asleep.sort_unstable();
    let (mut awake, mut from) = (Vec::new(), reign.0);
    for (begins, ends) in asleep {
        if begins > from {
            awake.push((from, begins));
        }
        from = from.max(ends);
    }
    if reign.1 > from {
        awake.push((from, reign.1));
    }
    awake
}
