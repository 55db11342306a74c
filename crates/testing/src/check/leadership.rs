//! No two controllers lead at the same time.

use std::collections::HashMap;

use super::CheckContext;
use super::cron_job_history::NEVER;
use crate::history::{HistoryEvent, HistoryRecord};
use crate::scenario::{Fault, Millis, ProcessId};

/// How long a process that was paused may take to notice that it lost leadership.
const WAKE_UP_MAX: Millis = 1_000;

/// From and to.
type Interval = (Millis, Millis);

pub(super) fn check(context: &mut CheckContext<'_>, history: &[HistoryRecord]) {
    let mut intervals: Vec<(Interval, usize)> = Vec::new();
    for (controller, interval) in leadership_intervals(history) {
        for interval in without_pauses(context, controller, interval) {
            intervals.push((interval, controller));
        }
    }
    intervals.sort_unstable();
    let mut last: Option<(Interval, usize)> = None;
    for (interval, controller) in intervals {
        if let Some((before, other)) = last
            && before.1 > interval.0
            && other != controller
        {
            let text = format!(
                "controller {controller} leads while controller {other} leads until {} ms",
                before.1
            );
            context.report(interval.0, "leaders", text);
        }
        last = last.filter(|(before, _)| before.1 > interval.1).or(Some((interval, controller)));
    }
}

/// Which controller led when.
fn leadership_intervals(history: &[HistoryRecord]) -> Vec<(usize, Interval)> {
    let mut intervals = Vec::new();
    let mut since: HashMap<usize, Millis> = HashMap::new();
    for HistoryRecord { at, event } in history {
        let HistoryEvent::LeaderChanged(ProcessId::Controller(n), leads) = event else { continue };
        // A process that gains leadership twice in a row was killed in between.
        if let Some(from) = since.remove(n)
            && !leads
        {
            intervals.push((*n, (from, *at)));
        }
        if *leads {
            since.insert(*n, *at);
        }
    }
    intervals.extend(since.into_iter().map(|(n, from)| (n, (from, NEVER))));
    intervals
}

/// The parts of an interval in which the controller was not paused.
fn without_pauses(
    context: &CheckContext<'_>,
    controller: usize,
    interval: Interval,
) -> Vec<Interval> {
    let pauses = context.scenario.faults.iter().filter_map(|window| match window.fault {
        Fault::Pause(ProcessId::Controller(n)) if n == controller => {
            Some((window.from, window.to + WAKE_UP_MAX))
        }
        _ => None,
    });
    let mut pauses: Vec<Interval> =
        pauses.filter(|pause| pause.0 < interval.1 && pause.1 > interval.0).collect();
    pauses.sort_unstable();
    let mut parts = Vec::new();
    let mut from = interval.0;
    for (starts, ends) in pauses {
        if starts > from {
            parts.push((from, starts));
        }
        from = from.max(ends);
    }
    if interval.1 > from {
        parts.push((from, interval.1));
    }
    parts
}
