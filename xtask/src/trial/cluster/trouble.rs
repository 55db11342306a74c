//! What can happen to a controller, and for how long.

use std::{fmt, time::Duration};

use jiff::Timestamp;

use super::{ability::Span, crew::NAMES, proxy::between};
use crate::dice::Dice;

/// What happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    /// Killed with -9, and started again.
    Kill,
    /// Stopped with SIGSTOP, and woken.
    Pause,
    /// No way to the server.
    Cut,
    /// A slow way to the server.
    Delay,
    /// Requests reach the server, and answers are lost.
    LostReplies,
    /// The server itself is killed, and started again.
    Server,
}

/// Something that is to happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ill {
    pub(super) kind: Kind,
    pub(super) lasts: Duration,
}

/// Something that has happened.
#[derive(Clone, Debug)]
pub(super) struct Trouble {
    pub(super) kind: Kind,
    /// Which controller; none if it was the server.
    pub(super) who: Option<usize>,
    pub(super) led: bool,
    pub(super) span: Span,
}

/// Who is hurt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target {
    Leader,
    Standby,
    /// The leader, and so many milliseconds later the other one, too.
    Both(u64),
    Server,
}

impl Target {
    /// Mostly the leader.
    pub(super) fn draw(dice: &mut Dice) -> Target {
        match dice.below(100) {
            0..2 => Target::Server,
            2..14 => Target::Standby,
            14..34 => Target::Both(dice.below(4_000)),
            _ => Target::Leader,
        }
    }
}

impl Ill {
    /// What happens to a controller.
    pub(super) fn draw(dice: &mut Dice) -> Ill {
        let (kind, range) = match dice.below(100) {
            // Whoever supervises it may be quick, or not.
            0..15 => (Kind::Kill, (0, 200)),
            15..28 => (Kind::Kill, (1_000, 8_000)),
            28..50 => (Kind::Pause, (500, 12_000)),
            50..72 => (Kind::Cut, (500, 10_000)),
            72..85 => (Kind::Delay, (1_000, 8_000)),
            _ => (Kind::LostReplies, (500, 6_000)),
        };
        Ill { kind, lasts: between(dice, range) }
    }

    /// How long the server is down.
    pub(super) fn of_server(dice: &mut Dice) -> Ill {
        Ill { kind: Kind::Server, lasts: between(dice, (0, 4_000)) }
    }
}

impl Kind {
    pub(super) const ALL: [Kind; 6] =
        [Kind::Kill, Kind::Pause, Kind::Cut, Kind::Delay, Kind::LostReplies, Kind::Server];

    /// In words.
    pub(super) fn name(self) -> &'static str {
        match self {
            Kind::Kill => "killed with -9",
            Kind::Pause => "paused with SIGSTOP",
            Kind::Cut => "cut off",
            Kind::Delay => "delayed",
            Kind::LostReplies => "replies lost",
            Kind::Server => "kube-apiserver killed",
        }
    }
}

impl Trouble {
    /// Whether it overlaps a span.
    pub(super) fn is_in(&self, span: Span) -> bool {
        self.span.from < span.to && span.from < self.span.to
    }

    /// Whoever suffers it may hold the Lease on without being of use.
    pub(super) fn may_keep_the_lease(&self) -> bool {
        matches!(self.kind, Kind::Delay | Kind::LostReplies)
    }

    /// For how long it went on.
    pub(super) fn lasted(&self) -> f64 {
        self.span.to.duration_since(self.span.from).as_secs_f64()
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let who = self.who.and_then(|who| NAMES.get(who)).copied().unwrap_or("server");
        let role = if self.led { ", which led" } else { "" };
        write!(
            f,
            "{who}{role}: {} at {} for {:.1} s",
            self.kind.name(),
            short(self.span.from),
            self.lasted()
        )
    }
}

/// The time of the day, which is enough to tell the instants of a trial apart.
pub(super) fn short(instant: Timestamp) -> String {
    instant.strftime("%H:%M:%S%.3f").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_happens_to_everybody() {
        let mut dice = Dice(1);
        let ills: Vec<Ill> = (0..1_000).map(|_| Ill::draw(&mut dice)).collect();
        for kind in Kind::ALL.into_iter().filter(|kind| *kind != Kind::Server) {
            assert!(ills.iter().filter(|ill| ill.kind == kind).count() > 50, "{kind:?}");
        }
        let longest = ills.iter().filter(|ill| ill.kind == Kind::Pause).map(|ill| ill.lasts).max();
        assert!(longest > Some(Duration::from_secs(10)), "never longer than a Lease");
        let targets: Vec<Target> = (0..1_000).map(|_| Target::draw(&mut dice)).collect();
        for target in [Target::Leader, Target::Standby, Target::Server] {
            assert!(targets.contains(&target), "{target:?}");
        }
    }
}
