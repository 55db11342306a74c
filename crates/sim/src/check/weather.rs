//! When all is well, and how long what somebody knows or has asked for may be on its way.

use crate::scenario::{Fault, Millis, Scenario, Trouble};

/// What is due must be done within this time when all is well.
pub(super) const SLACK: Millis = 5_000;
/// So long after the last trouble all is well: a lease has run out, watches are back, what failed is
/// tried again.
pub(super) const RECOVERY: Millis = 30_000;
/// A call is given up after 30 seconds, but may arrive until then, and a little later.
pub(super) const ON_THE_WAY: Millis = 35_000;

/// The troubles of a world, and the calm between them.
#[derive(Debug)]
pub(super) struct Weather {
    /// Troubles that keep somebody from knowing or doing something: from, to, how much earlier
    /// than its beginning the world may look to somebody in it.
    blind: Vec<(Millis, Millis, Millis)>,
    /// When all is well.
    pub(super) calm: Vec<(Millis, Millis)>,
    /// When all is well but that perhaps no status can be written: what is due is started all the same,
    /// however often the writing has failed.
    pub(super) startable: Vec<(Millis, Millis)>,
}

impl Weather {
    pub(super) fn of(scenario: &Scenario, end: Millis) -> Weather {
        let reach =
            |trouble: &Trouble| Some((trouble.from, trouble.to, reach_back(&trouble.what)?));
        let blind = scenario.troubles.iter().filter_map(reach).collect();
        let is_mute = |trouble: &&Trouble| matches!(trouble.what, Fault::NoStatus(_));
        let others = scenario.troubles.iter().filter(|trouble| !is_mute(trouble));
        let startable = calm(others, end);
        Weather { blind, calm: calm(scenario.troubles.iter(), end), startable }
    }

    /// Whether all is well from one instant to another.
    pub(super) fn is_calm(&self, from: Millis, to: Millis) -> bool {
        self.calm.iter().any(|calm| calm.0 <= from && to <= calm.1)
    }

    /// How old what somebody acts upon at an instant may be: the time in which a change gets around,
    /// or, in trouble, all the time back to when the troubles began, since nobody need have heard.
    pub(super) fn lag(&self, at: Millis) -> Millis {
        if self.is_calm(at - SLACK, at) {
            return SLACK;
        }
        let mut since = at - ON_THE_WAY;
        loop {
            let hits =
                |(from, to, _): &&(Millis, Millis, Millis)| *from <= at && to + RECOVERY >= since;
            let back =
                self.blind.iter().filter(hits).map(|(from, _, more)| from - ON_THE_WAY - more);
            match back.min() {
                Some(earlier) if earlier < since => since = earlier,
                _ => return at - since,
            }
        }
    }
}

/// How much earlier than its beginning the world may look in a trouble; none if everybody goes on
/// seeing and doing everything. A slow call is late by its delay, which the callers add up to.
fn reach_back(fault: &Fault) -> Option<Millis> {
    match fault {
        Fault::Step(..) | Fault::Drift(..) | Fault::Compact => None,
        Fault::Stale(_, late) | Fault::Lag(_, late) => Some(*late),
        Fault::Slow(_, late) => Some(4 * late),
        _ => Some(0),
    }
}

/// When all is well: no trouble, and none that has just ended. A clock that goes a little fast does not
/// keep anybody from anything; what it shows is allowed for by whoever compares with it.
fn calm<'a>(troubles: impl Iterator<Item = &'a Trouble>, end: Millis) -> Vec<(Millis, Millis)> {
    let bad = troubles.filter(|trouble| !matches!(trouble.what, Fault::Drift(..)));
    let mut bad: Vec<_> = bad.map(|trouble| (trouble.from, trouble.to.max(trouble.from))).collect();
    // In the beginning nobody leads.
    bad.push((0, 0));
    bad.sort_unstable();
    let (mut calm, mut from) = (Vec::new(), 0);
    for (begins, ends) in bad {
        if begins > from {
            calm.push((from, begins));
        }
        from = from.max(ends + RECOVERY);
    }
    if end > from {
        calm.push((from, end));
    }
    calm
}
