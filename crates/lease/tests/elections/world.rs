//! Candidates with clocks of their own around one Lease, in true time that none of them knows.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;
use punctual_lease::{Action, Config, Elector, Mono, Read, Written};

use crate::dice::Dice;
use crate::server::{Answer, Server};

/// True time, in microseconds.
pub(crate) type Instant = u64;

pub(crate) const SECOND: Instant = 1_000_000;

/// What may go wrong; 0 is never, else once in so many times.
#[derive(Clone, Copy)]
pub(crate) struct Faults {
    pub(crate) loss: u64,
    pub(crate) pause: u64,
    pub(crate) end: u64,
    /// Clocks run at 1 ± so many millionths.
    pub(crate) rate_ppm: u64,
    pub(crate) latency: Instant,
}

struct Candidate {
    elector: Elector,
    /// Which process it is; what was meant for an earlier one does not reach it.
    life: u64,
    is_alive: bool,
    /// It does nothing before that, but its clock runs.
    paused_until: Instant,
    /// Its requests are all lost before that.
    cut_until: Instant,
    clock_start: u64,
    clock_ppm: u64,
    /// It stands still, so that no renewal can be told from another by its time.
    wall: Timestamp,
}

enum Event {
    /// The candidate asks its elector what to do.
    Poll {
        who: usize,
        life: u64,
    },
    /// A request reaches the server; the answer, if it is not lost, comes at that time.
    Arrive {
        who: usize,
        life: u64,
        request: Action,
        answer_at: Option<Instant>,
    },
    Answer {
        who: usize,
        life: u64,
        answer: Answer,
    },
    /// A new process takes the place of an old one.
    Start {
        who: usize,
    },
}

pub(crate) struct World {
    pub(crate) now: Instant,
    server: Server,
    pub(crate) counts: Counts,
    dice: Dice,
    faults: Faults,
    config: Config,
    candidates: Vec<Candidate>,
    events: BTreeMap<(Instant, u64), Event>,
    scheduled: u64,
    lives: u64,
    last_leader: Option<u64>,
}

/// What happened, to show that it was not nothing.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    pub(crate) events: u64,
    pub(crate) terms: u64,
    pub(crate) conflicts: u64,
    pub(crate) losses: u64,
    pub(crate) pauses: u64,
    pub(crate) cuts: u64,
    pub(crate) deaths: u64,
    pub(crate) releases: u64,
}

impl Counts {
    pub(crate) fn plus(self, other: Self) -> Self {
        Self {
            events: self.events + other.events,
            terms: self.terms + other.terms,
            conflicts: self.conflicts + other.conflicts,
            losses: self.losses + other.losses,
            pauses: self.pauses + other.pauses,
            cuts: self.cuts + other.cuts,
            deaths: self.deaths + other.deaths,
            releases: self.releases + other.releases,
        }
    }
}

impl World {
    pub(crate) fn new(seed: u64, config: Config, faults: Faults) -> Self {
        let mut dice = Dice(seed);
        let count = 2 + dice.below(2) as usize;
        let mut world = Self {
            now: 0,
            server: Server::default(),
            counts: Counts::default(),
            dice,
            faults,
            config,
            candidates: Vec::new(),
            events: BTreeMap::new(),
            scheduled: 0,
            lives: 0,
            last_leader: None,
        };
        for who in 0..count {
            let newcomer = world.newcomer();
            world.candidates.push(newcomer);
            world.poll_at(who, world.now);
        }
        world
    }

    /// Lets the next thing happen.
    pub(crate) fn step(&mut self) {
        let ((at, _), event) = self.events.pop_first().expect("somebody always waits");
        self.now = at;
        self.counts.events += 1;
        self.misfortune();
        match event {
            Event::Poll { who, life } => self.wake(who, life),
            Event::Arrive { who, life, request, answer_at } => {
                let answer = self.server.handle(request);
                let is_conflict = matches!(answer, Answer::Written(Written::Conflict));
                self.counts.conflicts += u64::from(is_conflict);
                if let Some(at) = answer_at {
                    self.schedule(at, Event::Answer { who, life, answer });
                }
            }
            Event::Answer { who, life, answer } => self.answer(who, life, answer),
            Event::Start { who } => {
                self.candidates[who] = self.newcomer();
                self.poll_at(who, self.now);
            }
        }
        self.note_term();
    }

    /// Who leads at this very moment, stopped or not.
    pub(crate) fn leaders(&self) -> Vec<usize> {
        let leads = |who: &usize| {
            let candidate = &self.candidates[*who];
            candidate.is_alive && candidate.elector.is_leader(candidate.local(self.now))
        };
        (0..self.candidates.len()).filter(leads).collect()
    }

    pub(crate) fn kill(&mut self, who: usize) {
        self.candidates[who].is_alive = false;
        self.counts.deaths += 1;
    }

    /// Other faults from now on; the clocks go on as they are.
    pub(crate) fn calm(&mut self, faults: Faults) {
        self.faults = faults;
    }

    fn newcomer(&mut self) -> Candidate {
        self.lives += 1;
        let name = format!("c{}", self.lives);
        let spread = 2 * self.faults.rate_ppm;
        let offset = self.dice.below(spread + 1);
        // The extremes are where it would go wrong.
        let offset = self.dice.pick(&[0, offset, spread]);
        Candidate {
            elector: Elector::new(self.config, name).unwrap(),
            life: self.lives,
            is_alive: true,
            paused_until: 0,
            cut_until: 0,
            clock_start: self.dice.below(1000 * SECOND),
            clock_ppm: 1_000_000 - self.faults.rate_ppm + offset,
            wall: Timestamp::from_second(self.dice.below(4_000_000_000) as i64).unwrap(),
        }
    }

    fn schedule(&mut self, at: Instant, event: Event) {
        self.scheduled += 1;
        self.events.insert((at.max(self.now), self.scheduled), event);
    }

    fn poll_at(&mut self, who: usize, at: Instant) {
        let life = self.candidates[who].life;
        self.schedule(at, Event::Poll { who, life });
    }

    /// Polls a candidate if it still lives, and later if it is stopped.
    fn wake(&mut self, who: usize, life: u64) {
        let candidate = &self.candidates[who];
        if candidate.life != life || !candidate.is_alive {
            return;
        }
        match candidate.paused_until {
            until if until > self.now => self.schedule(until, Event::Poll { who, life }),
            _ => self.poll(who),
        }
    }

    fn answer(&mut self, who: usize, life: u64, answer: Answer) {
        let candidate = &mut self.candidates[who];
        if candidate.life != life || !candidate.is_alive {
            return;
        }
        if candidate.paused_until > self.now {
            let until = candidate.paused_until;
            return self.schedule(until, Event::Answer { who, life, answer });
        }
        let now = candidate.local(self.now);
        match answer {
            Answer::Read(read) => candidate.elector.on_observed(read, now),
            Answer::Written(written) => candidate.elector.on_write(written, now),
        }
        self.poll(who);
    }

    fn poll(&mut self, who: usize) {
        let dice = self.dice.roll() as u32;
        let candidate = &mut self.candidates[who];
        let now = candidate.local(self.now);
        match candidate.elector.poll(now, candidate.wall, dice) {
            Action::Sleep(until) => {
                assert!(until > now, "a sleep that is over is a busy loop");
                let at = candidate.true_time(until);
                self.poll_at(who, at);
            }
            Action::Released => {
                candidate.is_alive = false;
                self.restart(who);
            }
            request => self.send(who, request),
        }
    }

    /// A request takes its way: there and back, lost on either, or there long after all hope.
    fn send(&mut self, who: usize, request: Action) {
        let life = self.candidates[who].life;
        let arrive_at = self.now + 1 + self.dice.below(self.faults.latency);
        let answer_at = arrive_at + 1 + self.dice.below(self.faults.latency);
        if self.candidates[who].cut_until <= self.now && !self.happens(self.faults.loss) {
            let answer_at = Some(answer_at);
            return self.schedule(arrive_at, Event::Arrive { who, life, request, answer_at });
        }
        self.counts.losses += 1;
        let timeout_at = self.now + self.config.request_timeout().as_micros() as u64;
        let answer = match request {
            Action::Get => Answer::Read(Read::Failed),
            _ => Answer::Written(Written::Unknown),
        };
        self.schedule(timeout_at, Event::Answer { who, life, answer });
        let arrive_at = match self.dice.below(3) {
            0 => return,
            1 => arrive_at,
            _ => self.now + self.dice.below(20 * SECOND),
        };
        self.schedule(arrive_at, Event::Arrive { who, life, request, answer_at: None });
    }

    fn misfortune(&mut self) {
        let who = self.dice.below(self.candidates.len() as u64) as usize;
        if self.happens(self.faults.pause) {
            self.candidates[who].paused_until = self.now + self.dice.below(8 * SECOND);
            self.counts.pauses += 1;
        }
        if self.happens(self.faults.pause) {
            self.candidates[who].cut_until = self.now + self.dice.below(8 * SECOND);
            self.counts.cuts += 1;
        }
        if self.happens(self.faults.end) && self.candidates[who].is_alive {
            match self.dice.below(3) {
                0 => self.server.touch(),
                1 => {
                    self.kill(who);
                    self.restart(who);
                }
                _ => self.release(who),
            }
        }
    }

    fn release(&mut self, who: usize) {
        if self.candidates[who].paused_until <= self.now {
            self.candidates[who].elector.release();
            self.counts.releases += 1;
            self.poll(who);
        }
    }

    fn restart(&mut self, who: usize) {
        let at = self.now + self.dice.below(8 * SECOND);
        self.schedule(at, Event::Start { who });
    }

    fn happens(&mut self, once_in: u64) -> bool {
        once_in > 0 && self.dice.once_in(once_in)
    }

    fn note_term(&mut self) {
        let leader = self.leaders().first().map(|who| self.candidates[*who].life);
        if leader.is_some() && leader != self.last_leader {
            self.last_leader = leader;
            self.counts.terms += 1;
        }
    }
}

impl Candidate {
    fn local(&self, at: Instant) -> Mono {
        Duration::from_micros(self.clock_start + at * self.clock_ppm / 1_000_000)
    }

    /// The first instant at which its clock shows that time.
    fn true_time(&self, local: Mono) -> Instant {
        let passed = local.as_nanos().div_ceil(1000) as u64 - self.clock_start;
        (passed * 1_000_000).div_ceil(self.clock_ppm)
    }
}
