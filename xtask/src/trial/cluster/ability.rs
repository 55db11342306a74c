//! Whether somebody could have started a run: worked out from what was done to the controllers and from
//! who held the Lease, and not from what they say of themselves.
//!
//! Two rules, and each alone is enough that a slot must have been started:
//!
//! - one of them was alive, awake and could reach the server for [`ELECTION`] on end before the deadline,
//!   and the other did not keep the Lease by a slow way meanwhile;
//! - one of them held the Lease and was well from [`SETTLED`] before the slot to [`REACTION`] after it.

use jiff::{SignedDuration, Timestamp};

use super::{
    crew::NAMES,
    trouble::{Kind, Trouble},
};

/// What an election may take: a Lease of 4 s that was renewed a moment ago, half a second until that is
/// noticed, the same again where two stand, and the lists that a term begins with; on a machine that is
/// busy with a whole cluster.
pub(super) const ELECTION: SignedDuration = SignedDuration::from_secs(9);
/// What a program needs before it stands for election: it looks for another controller of CronJobs for
/// five seconds.
const START: SignedDuration = SignedDuration::from_secs(7);
/// What it needs if its first question fails: ten seconds pass until it asks again.
const HURT_START: SignedDuration = SignedDuration::from_secs(17);
/// A server that was killed knows nothing of rights for a moment, and calls that failed are tried again
/// at growing distances.
const SERVER_START: SignedDuration = SignedDuration::from_secs(10);
/// What a slow server has left undone is done by then.
const OVER_SLOWNESS: SignedDuration = SignedDuration::from_secs(1);
/// Whoever leads for this long has read everything, and is over what happened before.
const SETTLED: SignedDuration = SignedDuration::from_secs(4);
/// Whoever leads starts what is due within this.
const REACTION: SignedDuration = SignedDuration::from_secs(3);

/// From an instant to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Span {
    pub(super) from: Timestamp,
    pub(super) to: Timestamp,
}

/// A term, by who held the Lease.
#[derive(Clone, Copy, Debug)]
pub(super) struct Held {
    /// None if it was nobody, or nobody knows.
    pub(super) by: Option<usize>,
    pub(super) span: Span,
}

/// What was done to whom, and who led.
#[derive(Clone, Debug)]
pub(super) struct Ability {
    /// When each was of no use, for sure or perhaps.
    unwell: [Vec<Span>; NAMES.len()],
    /// When each may have kept the other from the Lease while it was of little use.
    in_the_way: [Vec<Span>; NAMES.len()],
    held: Vec<Held>,
    /// When the server was slow for everybody.
    slow: Vec<Span>,
}

impl Span {
    fn overlaps(self, other: Span) -> bool {
        self.from < other.to && other.from < self.to
    }

    pub(super) fn common(self, other: Span) -> Option<Span> {
        let both = Span { from: self.from.max(other.from), to: self.to.min(other.to) };
        (both.from < both.to).then_some(both)
    }

    pub(super) fn lasts(self) -> SignedDuration {
        self.to.duration_since(self.from)
    }
}

impl Trouble {
    /// Whether it was killed, and another trouble came while it started again.
    fn starts_again_in(&self, other: &Trouble) -> bool {
        let start = Span { from: self.span.to, to: self.span.to + START };
        let is_same = other.who.is_none_or(|who| self.who == Some(who));
        self.kind == Kind::Kill && is_same && self.span != other.span && start.overlaps(other.span)
    }
}

impl Ability {
    /// Out of the troubles and the terms, which are in order, and of when the server was slow.
    pub(super) fn new(troubles: &[Trouble], held: Vec<Held>, slow: Vec<Span>) -> Ability {
        let after = |span: &Span| Span { to: span.to + OVER_SLOWNESS, ..*span };
        let slowed: Vec<Span> = slow.iter().map(after).collect();
        let (mut unwell, mut in_the_way) = ([slowed.clone(), slowed], [Vec::new(), Vec::new()]);
        for trouble in troubles {
            let Span { from, to } = trouble.span;
            let hurts_a_start = troubles.iter().any(|killed| killed.starts_again_in(trouble));
            let after = match trouble.kind {
                _ if hurts_a_start => HURT_START,
                Kind::Kill => START,
                Kind::Server => SERVER_START,
                _ => SignedDuration::ZERO,
            };
            let span = Span { from, to: to.checked_add(after).unwrap_or(to) };
            for (who, spans) in unwell.iter_mut().enumerate() {
                if trouble.who.is_none_or(|whom| whom == who) {
                    spans.push(span);
                }
            }
            let holder = trouble.who.and_then(|who| Some((who, in_the_way.get_mut(who)?)));
            if let Some((who, spans)) = holder.filter(|_| trouble.may_keep_the_lease()) {
                let its = held.iter().filter(|held| held.by == Some(who));
                spans.extend(its.filter_map(|held| held.span.common(span)));
            }
        }
        Ability { unwell, in_the_way, held, slow }
    }

    /// Whether somebody must have started a slot before its deadline. `busy` is when it had to wait for
    /// the run before it.
    pub(super) fn must_have_started(&self, wait: Span, busy: &[Span]) -> bool {
        (0..NAMES.len()).any(|who| self.had_time(who, wait, busy) || self.led(who, wait, busy))
    }

    /// The first rule.
    fn had_time(&self, who: usize, wait: Span, busy: &[Span]) -> bool {
        let other = NAMES.len() - 1 - who;
        let unwell = self.unwell.get(who).into_iter().flatten();
        let kept_out = self.in_the_way.get(other).into_iter().flatten();
        let mut blocked: Vec<Span> =
            unwell.chain(kept_out).chain(busy).filter_map(|span| span.common(wait)).collect();
        blocked.sort();
        blocked.push(Span { from: wait.to, to: wait.to });
        let mut free_since = wait.from;
        for span in blocked {
            if span.from.duration_since(free_since) >= ELECTION {
                return true;
            }
            free_since = free_since.max(span.to);
        }
        false
    }

    /// The second rule.
    fn led(&self, who: usize, wait: Span, busy: &[Span]) -> bool {
        let (Ok(from), Ok(to)) = (wait.from.checked_sub(SETTLED), wait.from.checked_add(REACTION))
        else {
            return false;
        };
        let (calm, action) = (Span { from, to }, Span { from: wait.from, to });
        let held = self.held.iter().filter(|held| held.by == Some(who));
        let held = held.filter_map(|held| held.span.common(calm));
        let mut unwell = self.unwell.get(who).into_iter().flatten();
        to <= wait.to
            && held.map(Span::lasts).max() == Some(calm.lasts())
            && !unwell.any(|span| span.overlaps(calm))
            && !busy.iter().any(|span| span.overlaps(action))
    }

    /// When the server was slow in a span.
    pub(super) fn slowness(&self, span: Span) -> impl Iterator<Item = Span> {
        self.slow.iter().filter_map(move |slow| slow.common(span))
    }

    /// Who held the Lease in a span.
    pub(super) fn holders(&self, span: Span) -> impl Iterator<Item = &Held> {
        self.held.iter().filter(move |held| held.span.overlaps(span))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(from: i64, to: i64) -> Span {
        let at = |second| Timestamp::from_second(second).unwrap();
        Span { from: at(from), to: at(to) }
    }

    fn trouble(kind: Kind, who: Option<usize>, from: i64, to: i64) -> Trouble {
        Trouble { kind, who, led: false, span: span(from, to) }
    }

    /// The first leads all the time.
    fn must(troubles: &[Trouble], from: i64, to: i64) -> bool {
        let held = vec![Held { by: Some(0), span: span(0, 1_000) }];
        Ability::new(troubles, held, Vec::new()).must_have_started(span(from, to), &[])
    }

    #[test]
    fn whoever_leads_and_is_well_starts_at_once() {
        assert!(must(&[], 100, 103));
        // There is no time to react.
        assert!(!must(&[], 100, 102));
        assert!(!must(&[trouble(Kind::Cut, Some(0), 98, 99)], 100, 103));
        assert!(must(&[trouble(Kind::Cut, Some(1), 98, 99)], 100, 103));
    }

    #[test]
    fn the_other_takes_over_within_the_time_of_an_election() {
        let cut = trouble(Kind::Cut, Some(0), 98, 200);
        assert!(must(std::slice::from_ref(&cut), 100, 109));
        assert!(!must(std::slice::from_ref(&cut), 100, 108));
        let short = trouble(Kind::Pause, Some(1), 104, 105);
        assert!(!must(&[cut.clone(), short.clone()], 100, 110));
        assert!(must(&[cut, short], 100, 114));
    }

    #[test]
    fn a_holder_with_a_slow_way_is_in_the_way() {
        assert!(!must(&[trouble(Kind::Delay, Some(0), 90, 120)], 100, 115));
        // It does not hold the Lease.
        assert!(must(&[trouble(Kind::Delay, Some(1), 90, 120)], 100, 115));
    }

    #[test]
    fn a_program_that_was_killed_is_back_some_time_after_its_start() {
        let both = [trouble(Kind::Kill, Some(0), 90, 100), trouble(Kind::Cut, Some(1), 90, 200)];
        assert!(!must(&both, 100, 115));
        assert!(must(&both, 100, 116));
    }

    #[test]
    fn a_start_that_is_hurt_takes_longer() {
        let kill = trouble(Kind::Kill, Some(0), 90, 95);
        let delay = trouble(Kind::Delay, Some(0), 97, 100);
        let away = trouble(Kind::Cut, Some(1), 90, 200);
        assert!(!must(&[kill.clone(), delay.clone(), away.clone()], 100, 125));
        assert!(must(&[kill, delay, away], 100, 126));
    }

    #[test]
    fn nobody_works_without_a_server() {
        assert!(!must(&[trouble(Kind::Server, None, 95, 101)], 100, 119));
        assert!(must(&[trouble(Kind::Server, None, 95, 101)], 100, 120));
    }

    #[test]
    fn a_slot_that_must_wait_need_not_start() {
        let held = vec![Held { by: Some(0), span: span(0, 1_000) }];
        let ability = Ability::new(&[], held, Vec::new());
        assert!(!ability.must_have_started(span(100, 108), &[span(99, 104)]));
        assert!(ability.must_have_started(span(100, 113), &[span(99, 104)]));
        assert!(ability.must_have_started(span(100, 105), &[span(90, 100)]));
    }
    #[test]
    fn nobody_is_asked_for_more_than_the_machine_can_do() {
        let held = vec![Held { by: Some(0), span: span(0, 1_000) }];
        let ability = Ability::new(&[], held, vec![span(98, 101)]);
        assert!(!ability.must_have_started(span(100, 110), &[]));
        assert!(ability.must_have_started(span(100, 111), &[]));
        assert!(ability.must_have_started(span(106, 109), &[]));
    }
}
