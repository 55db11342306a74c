//! The clocks of processes: the true time, as wrong as the scenario wants it.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use punctual_controller::Clock;
use punctual_server::ServerEnv;

use crate::scenario::{Fault, Millis, Process, Trouble, Who};
use crate::stage::Stage;

/// Nobody sleeps for longer without looking at the clock.
const REST_MAX: Millis = 3_600_000;

/// The clock of one process. It stands still while the process is paused, as for a program that is
/// stopped between any two instructions.
pub(crate) struct ProcessClock {
    stage: Arc<Stage>,
    courses: Vec<Course>,
}

/// Something that makes a clock wrong.
#[derive(Clone, Copy, Debug)]
struct Course {
    from: Millis,
    to: Millis,
    how: How,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum How {
    Stands,
    IsPut(Millis),
    Gains(i64),
}

impl ProcessClock {
    pub(crate) fn new(stage: Arc<Stage>, who: Who) -> Arc<ProcessClock> {
        let courses = stage.scenario.troubles.iter().filter_map(|t| Course::of(t, who)).collect();
        Arc::new(ProcessClock { stage, courses })
    }

    /// What the process takes for the present: earlier than that while it is stopped.
    fn seen(&self) -> Millis {
        let now = self.stage.now();
        self.stage.look(now);
        let stops = self.courses.iter().filter(|course| course.how == How::Stands);
        let stopped = stops.filter(|course| course.from <= now && now < course.to);
        stopped.map(|course| course.from).min().unwrap_or(now)
    }

    fn gained(&self, seen: Millis) -> Millis {
        let gains = self.courses.iter().map(|course| match course.how {
            How::Gains(millionths) => {
                (seen.clamp(course.from, course.to) - course.from) * millionths / 1_000_000
            }
            _ => 0,
        });
        gains.sum()
    }

    fn put(&self, seen: Millis) -> Millis {
        let steps = self.courses.iter().map(|course| match course.how {
            How::IsPut(by) if course.from <= seen => by,
            _ => 0,
        });
        steps.sum()
    }

    fn is_stopped(&self) -> bool {
        self.seen() != self.stage.now()
    }

    /// How long until the clock changes its course.
    fn until_edge(&self) -> Duration {
        let now = self.stage.now();
        let edges = self.courses.iter().flat_map(|course| [course.from, course.to]);
        let ahead = edges.filter(|edge| *edge > now).map(|edge| edge - now).min();
        Duration::from_millis(ahead.unwrap_or(REST_MAX).min(REST_MAX).unsigned_abs())
    }
}

impl Course {
    fn of(trouble: &Trouble, who: Who) -> Option<Course> {
        let how = match trouble.what {
            Fault::Pause(process) if who == Who::Process(process) => How::Stands,
            Fault::Step(whose, by) if whose == who => How::IsPut(by),
            Fault::Drift(whose, millionths) if whose == who => How::Gains(millionths),
            _ => return None,
        };
        Some(Course { from: trouble.from, to: trouble.to, how })
    }
}

impl Clock for ProcessClock {
    fn now(&self) -> Timestamp {
        let seen = self.seen();
        self.stage.scenario.at(seen + self.gained(seen) + self.put(seen))
    }

    fn monotonic(&self) -> Duration {
        let seen = self.seen();
        Duration::from_millis((seen + self.gained(seen)).unsigned_abs())
    }

    fn delay_until_monotonic(&self, at: Duration) -> Duration {
        let ahead = self.until_edge();
        match self.is_stopped() {
            true => ahead,
            false => at.saturating_sub(self.monotonic()).min(ahead),
        }
    }

    fn delay_until(&self, at: Option<Timestamp>) -> Duration {
        let ahead = self.until_edge();
        let Some(at) = at.filter(|_| !self.is_stopped()) else { return ahead };
        let rest = at.duration_since(Clock::now(self));
        Duration::try_from(rest).unwrap_or_default().min(ahead)
    }
}

impl ServerEnv for ProcessClock {
    fn now(&self) -> Timestamp {
        Clock::now(self)
    }

    fn fill_random(&self, bytes: &mut [u8]) {
        for chunk in bytes.chunks_mut(8) {
            let random = self.stage.dice.roll().to_le_bytes();
            chunk.iter_mut().zip(random).for_each(|(byte, random)| *byte = random);
        }
    }
}

/// Whether a process is stopped at a time, and until when.
pub(crate) fn stopped_until(stage: &Stage, process: Process, at: Millis) -> Option<Millis> {
    let stops = stage.troubles_at(at).filter(|trouble| trouble.what == Fault::Pause(process));
    stops.map(|trouble| trouble.to).max()
}
