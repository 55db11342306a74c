//! Simulates candidates with separate clocks and one Lease. No candidate can read the true time.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;
use punctual_lease::{
    ElectionConfig, Elector, ElectorAction, LeaseReadResult, LeaseWriteResult, MonotonicTime,
};
use punctual_testing::TestRng;

use crate::server::{LeaseResponse, LeaseServer};

/// True time, in microseconds.
pub(crate) type TrueTime = u64;

pub(crate) const SECOND: TrueTime = 1_000_000;

/// The faults to inject. A rate is 0 (never) or n (once in n times).
#[derive(Clone, Copy)]
pub(crate) struct ElectionFaults {
    /// Rate of lost requests or responses.
    pub(crate) loss: u64,
    /// Rate of pauses and of disconnections.
    pub(crate) pause: u64,
    /// Rate of crashes, releases and edits of the Lease.
    pub(crate) disruption: u64,
    /// The largest deviation of a clock's rate, in millionths.
    pub(crate) rate_ppm: u64,
    pub(crate) latency: TrueTime,
}

struct SimulatedCandidate {
    elector: Elector,
    /// The number of the process. Events of earlier processes are ignored.
    process: u64,
    is_alive: bool,
    /// The process does nothing before this time, but its clock advances.
    paused_until: TrueTime,
    /// All requests before this time are lost.
    disconnected_until: TrueTime,
    clock_start: u64,
    clock_ppm: u64,
    /// The wall clock does not advance, so that renewals have equal records.
    wall: Timestamp,
}

enum SimulationEvent {
    /// Polls the elector of a candidate.
    Poll {
        index: usize,
        process: u64,
    },
    /// A request reaches the server. Its response, unless lost, reaches the candidate at `respond_at`.
    Arrive {
        index: usize,
        process: u64,
        request: ElectorAction,
        respond_at: Option<TrueTime>,
    },
    Respond {
        index: usize,
        process: u64,
        response: LeaseResponse,
    },
    /// A new process replaces an old one.
    Start {
        index: usize,
    },
}

pub(crate) struct ElectionSimulation {
    pub(crate) now: TrueTime,
    server: LeaseServer,
    pub(crate) counts: EventCounts,
    rng: TestRng,
    faults: ElectionFaults,
    config: ElectionConfig,
    candidates: Vec<SimulatedCandidate>,
    events: BTreeMap<(TrueTime, u64), SimulationEvent>,
    scheduled: u64,
    processes: u64,
    last_leader: Option<u64>,
}

/// Counts of events, which prove that the simulation exercised them.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct EventCounts {
    pub(crate) events: u64,
    pub(crate) terms: u64,
    pub(crate) conflicts: u64,
    pub(crate) lost_requests: u64,
    pub(crate) pauses: u64,
    pub(crate) disconnections: u64,
    pub(crate) crashes: u64,
    pub(crate) releases: u64,
}

impl EventCounts {
    pub(crate) fn add(self, other: Self) -> Self {
        Self {
            events: self.events + other.events,
            terms: self.terms + other.terms,
            conflicts: self.conflicts + other.conflicts,
            lost_requests: self.lost_requests + other.lost_requests,
            pauses: self.pauses + other.pauses,
            disconnections: self.disconnections + other.disconnections,
            crashes: self.crashes + other.crashes,
            releases: self.releases + other.releases,
        }
    }
}

impl ElectionSimulation {
    pub(crate) fn new(seed: u64, config: ElectionConfig, faults: ElectionFaults) -> Self {
        let rng = TestRng::new(seed);
        let count = 2 + rng.below(2) as usize;
        let mut simulation = Self {
            now: 0,
            server: LeaseServer::default(),
            counts: EventCounts::default(),
            rng,
            faults,
            config,
            candidates: Vec::new(),
            events: BTreeMap::new(),
            scheduled: 0,
            processes: 0,
            last_leader: None,
        };
        for index in 0..count {
            let start_process = simulation.start_process();
            simulation.candidates.push(start_process);
            simulation.poll_at(index, simulation.now);
        }
        simulation
    }

    /// Executes the next event.
    pub(crate) fn step(&mut self) {
        let ((at, _), event) = self.events.pop_first().expect("at least one event is scheduled");
        self.now = at;
        self.counts.events += 1;
        self.inject_faults();
        match event {
            SimulationEvent::Poll { index, process } => self.poll_if_running(index, process),
            SimulationEvent::Arrive { index, process, request, respond_at } => {
                let response = self.server.handle(request);
                let is_conflict =
                    matches!(response, LeaseResponse::Written(LeaseWriteResult::Conflict));
                self.counts.conflicts += u64::from(is_conflict);
                if let Some(at) = respond_at {
                    self.schedule(at, SimulationEvent::Respond { index, process, response });
                }
            }
            SimulationEvent::Respond { index, process, response } => {
                self.respond(index, process, response)
            }
            SimulationEvent::Start { index } => {
                self.candidates[index] = self.start_process();
                self.poll_at(index, self.now);
            }
        }
        self.count_term();
    }

    /// Returns the candidates that lead now, including paused ones.
    pub(crate) fn leaders(&self) -> Vec<usize> {
        let leads = |index: &usize| {
            let candidate = &self.candidates[*index];
            candidate.is_alive && candidate.elector.is_leader(candidate.local(self.now))
        };
        (0..self.candidates.len()).filter(leads).collect()
    }

    pub(crate) fn crash(&mut self, index: usize) {
        self.candidates[index].is_alive = false;
        self.counts.crashes += 1;
    }

    /// Changes the faults from now on. The clock rates stay.
    pub(crate) fn set_faults(&mut self, faults: ElectionFaults) {
        self.faults = faults;
    }

    fn start_process(&mut self) -> SimulatedCandidate {
        self.processes += 1;
        let name = format!("c{}", self.processes);
        let spread = 2 * self.faults.rate_ppm;
        let offset = self.rng.below(spread + 1);
        // The extremes are the most likely to cause errors.
        let offset = self.rng.pick_or_default(&[0, offset, spread]);
        SimulatedCandidate {
            elector: Elector::new(self.config, name).unwrap(),
            process: self.processes,
            is_alive: true,
            paused_until: 0,
            disconnected_until: 0,
            clock_start: self.rng.below(1000 * SECOND),
            clock_ppm: 1_000_000 - self.faults.rate_ppm + offset,
            wall: Timestamp::from_second(self.rng.below(4_000_000_000) as i64).unwrap(),
        }
    }

    fn schedule(&mut self, at: TrueTime, event: SimulationEvent) {
        self.scheduled += 1;
        self.events.insert((at.max(self.now), self.scheduled), event);
    }

    fn poll_at(&mut self, index: usize, at: TrueTime) {
        let process = self.candidates[index].process;
        self.schedule(at, SimulationEvent::Poll { index, process });
    }

    /// Polls a candidate if its process runs, or after its pause.
    fn poll_if_running(&mut self, index: usize, process: u64) {
        let candidate = &self.candidates[index];
        if candidate.process != process || !candidate.is_alive {
            return;
        }
        match candidate.paused_until {
            until if until > self.now => {
                self.schedule(until, SimulationEvent::Poll { index, process })
            }
            _ => self.poll(index),
        }
    }

    fn respond(&mut self, index: usize, process: u64, response: LeaseResponse) {
        let candidate = &mut self.candidates[index];
        if candidate.process != process || !candidate.is_alive {
            return;
        }
        if candidate.paused_until > self.now {
            let until = candidate.paused_until;
            return self.schedule(until, SimulationEvent::Respond { index, process, response });
        }
        let now = candidate.local(self.now);
        match response {
            LeaseResponse::Read(read) => candidate.elector.on_observed(read, now),
            LeaseResponse::Written(written) => candidate.elector.on_write(written, now),
        }
        self.poll(index);
    }

    fn poll(&mut self, index: usize) {
        let rng = self.rng.next_u64() as u32;
        let candidate = &mut self.candidates[index];
        let now = candidate.local(self.now);
        match candidate.elector.poll(now, candidate.wall, rng) {
            ElectorAction::Sleep(until) => {
                assert!(until > now, "a sleep must end in the future");
                let at = candidate.true_time(until);
                self.poll_at(index, at);
            }
            ElectorAction::Released => {
                candidate.is_alive = false;
                self.restart(index);
            }
            request => self.send(index, request),
        }
    }

    /// Sends a request. It is answered, loses its request or its response, or arrives long after its
    /// timeout.
    fn send(&mut self, index: usize, request: ElectorAction) {
        let process = self.candidates[index].process;
        let arrive_at = self.now + 1 + self.rng.below(self.faults.latency);
        let respond_at = arrive_at + 1 + self.rng.below(self.faults.latency);
        if self.candidates[index].disconnected_until <= self.now
            && !self.is_injected(self.faults.loss)
        {
            let respond_at = Some(respond_at);
            return self.schedule(
                arrive_at,
                SimulationEvent::Arrive { index, process, request, respond_at },
            );
        }
        self.counts.lost_requests += 1;
        let timeout_at = self.now + self.config.request_timeout().as_micros() as u64;
        let response = match request {
            ElectorAction::Get => LeaseResponse::Read(LeaseReadResult::Failed),
            _ => LeaseResponse::Written(LeaseWriteResult::Unknown),
        };
        self.schedule(timeout_at, SimulationEvent::Respond { index, process, response });
        let arrive_at = match self.rng.below(3) {
            0 => return,
            1 => arrive_at,
            _ => self.now + self.rng.below(20 * SECOND),
        };
        self.schedule(
            arrive_at,
            SimulationEvent::Arrive { index, process, request, respond_at: None },
        );
    }

    fn inject_faults(&mut self) {
        let index = self.rng.below(self.candidates.len() as u64) as usize;
        if self.is_injected(self.faults.pause) {
            self.candidates[index].paused_until = self.now + self.rng.below(8 * SECOND);
            self.counts.pauses += 1;
        }
        if self.is_injected(self.faults.pause) {
            self.candidates[index].disconnected_until = self.now + self.rng.below(8 * SECOND);
            self.counts.disconnections += 1;
        }
        if self.is_injected(self.faults.disruption) && self.candidates[index].is_alive {
            match self.rng.below(3) {
                0 => self.server.edit_metadata(),
                1 => {
                    self.crash(index);
                    self.restart(index);
                }
                _ => self.release(index),
            }
        }
    }

    fn release(&mut self, index: usize) {
        if self.candidates[index].paused_until <= self.now {
            self.candidates[index].elector.release();
            self.counts.releases += 1;
            self.poll(index);
        }
    }

    fn restart(&mut self, index: usize) {
        let at = self.now + self.rng.below(8 * SECOND);
        self.schedule(at, SimulationEvent::Start { index });
    }

    fn is_injected(&mut self, once_in: u64) -> bool {
        once_in > 0 && self.rng.once_in(once_in)
    }

    fn count_term(&mut self) {
        let leader = self.leaders().first().map(|index| self.candidates[*index].process);
        if leader.is_some() && leader != self.last_leader {
            self.last_leader = leader;
            self.counts.terms += 1;
        }
    }
}

impl SimulatedCandidate {
    fn local(&self, at: TrueTime) -> MonotonicTime {
        Duration::from_micros(self.clock_start + at * self.clock_ppm / 1_000_000)
    }

    /// Returns the first true time at which the candidate's clock shows `local`.
    fn true_time(&self, local: MonotonicTime) -> TrueTime {
        let passed = local.as_nanos().div_ceil(1000) as u64 - self.clock_start;
        (passed * 1_000_000).div_ceil(self.clock_ppm)
    }
}
