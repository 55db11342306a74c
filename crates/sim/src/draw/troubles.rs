//! What goes wrong, out of a seed.

use super::{Drawing, MINUTE, SECOND};
use crate::scenario::{Deed, Fault, Moment, Process, Trouble, Who, Wrong};

impl Drawing {
    pub(super) fn troubles(&self, deeds: &[Deed]) -> Vec<Trouble> {
        let count = self.dice.pick(&[0, 1, 1, 2, 2, 3, 4, 6]).unwrap_or(1);
        let mut troubles: Vec<Trouble> = (0..count).map(|_| self.trouble(deeds)).collect();
        let more: Vec<Trouble> =
            troubles.iter().filter_map(|trouble| self.worse(trouble)).collect();
        troubles.extend(more);
        troubles.extend(self.long_outage());
        troubles.sort_by_key(|trouble| trouble.from);
        troubles
    }

    /// Hours without any controller.
    fn long_outage(&self) -> Vec<Trouble> {
        let Some(lasts) = self.outage else { return Vec::new() };
        let (from, to) = (self.length - lasts, self.length);
        let kill = |which| {
            let what = Fault::Kill(Process::Controller(which), 0, Moment::Before);
            Trouble { from, to, what }
        };
        (0..self.controllers).map(kill).collect()
    }

    fn trouble(&self, deeds: &[Deed]) -> Trouble {
        let what = self.fault();
        // What users ask for is what the server is to lose, or must not.
        let is_of_server = matches!(what, Fault::Crash(..) | Fault::DiskFull);
        let deed = self.dice.pick(deeds).filter(|_| is_of_server && self.dice.percent(40));
        let from = deed.map_or_else(|| self.moment(), |deed| deed.at);
        let lasts = match &what {
            // Some are away for longer than a slot.
            Fault::Kill(..) | Fault::Crash(..) | Fault::Stop(_) | Fault::DiskFull
                if self.dice.percent(40) =>
            {
                self.dice.between(MINUTE, 3 * MINUTE)
            }
            Fault::Kill(..) | Fault::Crash(..) | Fault::Stop(_) => {
                self.dice.between(1, 60 * SECOND)
            }
            Fault::Pause(_) | Fault::DiskFull => self.dice.between(SECOND, 90 * SECOND),
            Fault::Step(..) => 1,
            _ => self.dice.between(SECOND, 4 * MINUTE),
        };
        Trouble { from, to: (from + lasts).min(self.length), what }
    }

    /// What goes wrong with a trouble that makes it worse.
    fn worse(&self, trouble: &Trouble) -> Option<Trouble> {
        let dice = &self.dice;
        let what = match trouble.what {
            // Who has to begin its watches anew while the past is being forgotten has to list.
            Fault::Compact => Fault::CutWatches(self.process(), dice.between(SECOND, 10 * SECOND)),
            // Who has to try again reads what it watches too late.
            Fault::Lag(process, _) => Fault::NoStatus(process),
            _ => return None,
        };
        let to = dice.between(trouble.from + 1, trouble.to);
        dice.percent(50).then_some(Trouble { from: trouble.from, to, what })
    }

    fn process(&self) -> Process {
        match self.dice.percent(75) {
            true => Process::Controller(
                usize::try_from(self.dice.below(self.controllers as u64)).unwrap_or_default(),
            ),
            false => Process::Jobs,
        }
    }

    fn fault(&self) -> Fault {
        let dice = &self.dice;
        let process = self.process();
        let moments = [Moment::Before, Moment::After, Moment::AfterCreate];
        let moment = dice.pick(&moments).unwrap_or(Moment::After);
        let count = if moment == Moment::AfterCreate { 2 } else { 12 };
        match dice.below(24) {
            0..4 => Fault::Kill(process, small(dice.between(0, count)), moment),
            4 => Fault::Pause(process),
            5 => Fault::Stop(process),
            6 => Fault::Cut(process),
            7..11 => Fault::Lossy(process, self.wrong(), small(dice.between(20, 600))),
            11 => Fault::Slow(process, dice.between(10, 20 * SECOND)),
            12..14 => Fault::Stale(process, dice.between(SECOND, 3 * MINUTE)),
            14 => Fault::CutWatches(process, dice.between(100, 5 * SECOND)),
            15 => Fault::Compact,
            16..18 => Fault::Crash(small(dice.between(0, count)), moment),
            18 => Fault::DiskFull,
            19 => Fault::NoStatus(process),
            20..23 => Fault::Lag(process, dice.between(5 * SECOND, 3 * MINUTE)),
            _ => self.wrong_clock(process),
        }
    }

    fn wrong(&self) -> Wrong {
        let wrongs = [
            Wrong::Lost,
            Wrong::Unheard,
            Wrong::Hangs,
            Wrong::Twice,
            Wrong::Late,
            Wrong::Refused(409),
            Wrong::Refused(429),
            Wrong::Refused(500),
            Wrong::Refused(503),
            Wrong::DoneAnd500,
        ];
        self.dice.pick(&wrongs).unwrap_or(Wrong::Lost)
    }

    fn wrong_clock(&self, process: Process) -> Fault {
        let dice = &self.dice;
        let who = if dice.percent(70) { Who::Process(process) } else { Who::Server };
        match dice.below(4) {
            0 => Fault::Drift(who, dice.between(-500, 500)),
            1 => Fault::Step(who, dice.between(-2 * SECOND, 2 * SECOND)),
            2 => Fault::Step(who, dice.between(-5 * MINUTE, 5 * MINUTE)),
            _ => Fault::Step(who, dice.between(-120 * MINUTE, 120 * MINUTE)),
        }
    }
}

fn small(number: i64) -> u32 {
    u32::try_from(number).unwrap_or_default()
}
