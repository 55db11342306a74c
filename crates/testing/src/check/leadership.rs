//! Checks that no two controllers lead at the same time.

use std::collections::HashMap;

use super::CheckContext;
use super::cron_job_history::OPEN_END;
use crate::history::{HistoryEvent, HistoryRecord};
use crate::scenario::{Fault, Millis, ProcessId};

/// How long a process that was paused may take to notice that it lost leadership.
const WAKE_UP_MAX: Millis = 1_000;

/// A period of time, from `from` until just before `to`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Interval {
    from: Millis,
    to: Millis,
}

pub(super) fn check(context: &mut CheckContext<'_>, history: &[HistoryRecord]) {
    let mut intervals: Vec<(Interval, usize)> = Vec::new();
    for (controller, interval) in leadership_intervals(history) {
        for interval in without_pauses(context, controller, interval) {
            intervals.push((interval, controller));
        }
    }
    intervals.sort_unstable();
    // The interval with the latest end so far, and its controller.
    let mut last: Option<(Interval, usize)> = None;
    for (interval, controller) in intervals {
        if let Some((before, other)) = last
            && before.to > interval.from
            && other != controller
        {
            let text = format!(
                "controller {controller} leads while controller {other} leads until {} ms",
                before.to
            );
            context.report(interval.from, "leaders", text);
        }
        if last.is_none_or(|(before, _)| before.to <= interval.to) {
            last = Some((interval, controller));
        }
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
            intervals.push((*n, Interval { from, to: *at }));
        }
        if *leads {
            since.insert(*n, *at);
        }
    }
    intervals.extend(since.into_iter().map(|(n, from)| (n, Interval { from, to: OPEN_END })));
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
            Some(Interval { from: window.from, to: window.to + WAKE_UP_MAX })
        }
        _ => None,
    });
    let mut pauses: Vec<Interval> =
        pauses.filter(|pause| pause.from < interval.to && pause.to > interval.from).collect();
    pauses.sort_unstable();
    let mut parts = Vec::new();
    let mut from = interval.from;
    for pause in pauses {
        if pause.from > from {
            parts.push(Interval { from, to: pause.from });
        }
        from = from.max(pause.to);
    }
    if interval.to > from {
        parts.push(Interval { from, to: interval.to });
    }
    parts
}
