//! A Pod on the simulated node: its supervisor and its program. Its command gives its duration and
//! failure rate.

use std::sync::Arc;

use punctual_api::Pod;
use punctual_client::Clock as _;
use punctual_runner::{
    ContainerRecord, PodPhase, PodState, ReasonAndMessage, RunState, Termination,
};
use punctual_testing::history::HistoryEvent;
use punctual_testing::scenario::Millis;
use tokio::sync::watch;

use crate::environment::SimulationEnv;
use crate::simulated_clock::SimulatedClock;

/// The longest time from the start of a supervisor to the start of its program, and from the end of
/// the program to that of the supervisor.
const SUPERVISOR_DELAY_MAX: Millis = 50;
/// The grace period of a Pod that has none of its own.
const DEFAULT_GRACE_SECONDS: u64 = 30;
/// The exit codes of a program that a signal ended.
const TERMINATED: i32 = 143;
const KILLED: i32 = 137;

/// A prepared Pod.
pub(crate) struct VirtualPod {
    env: Arc<SimulationEnv>,
    clock: Arc<SimulatedClock>,
    uid: Arc<str>,
    job: Arc<str>,
    container: String,
    grace_seconds: u64,
    program: Program,
    /// `None` before the first start.
    state: watch::Sender<Option<PodState>>,
    stop_request: watch::Sender<Option<StopRequest>>,
    /// The number of supervisors that run: one at most unless the runner breaks its contract.
    supervisors: watch::Sender<u32>,
}

/// What a Pod's only container does.
#[derive(Clone, Copy, Debug)]
struct Program {
    duration: Millis,
    exit_code: i32,
    /// How long it runs after SIGTERM; `None` if it ignores the signal.
    ends_after_term: Option<Millis>,
}

#[derive(Clone, Copy, Debug)]
struct StopRequest {
    requested_at: Millis,
    /// The end of the grace period.
    kill_at: Millis,
}

/// How and when a program ends.
#[derive(Clone, Copy, Debug)]
struct ProgramEnd {
    at: Millis,
    exit_code: i32,
    was_stopped: bool,
}

impl Program {
    /// Reads the command `run MILLISECONDS FAILURES_OF_TEN`. The UID of the Job decides whether it fails
    /// and how it reacts to a stop, so that the result does not depend on the order of events.
    fn new(pod: &Pod, job: &str) -> Program {
        let command = pod.spec.containers.first().map(|main| main.command.as_slice());
        let argument = |index: usize| command.and_then(|words| words.get(index));
        let duration = argument(1).and_then(|word| word.parse().ok()).unwrap_or_default();
        let failures = argument(2).and_then(|word| word.parse::<u32>().ok()).unwrap_or_default();
        let hash = job.bytes().fold(7_u32, |sum, byte| sum.wrapping_mul(31) + u32::from(byte));
        let ends_after_term = match hash / 10 % 4 {
            0 => None,
            1 => Some(Millis::from(hash / 40 % 5000)),
            _ => Some(0),
        };
        Program { duration, exit_code: i32::from(hash % 10 < failures), ends_after_term }
    }

    /// The end of a program that was started at this time. If it ends by itself at the time of a signal,
    /// it is not stopped.
    fn end(&self, started_at: Millis, stop_request: Option<StopRequest>) -> ProgramEnd {
        let exit_code = self.exit_code;
        let own = ProgramEnd { at: started_at + self.duration, exit_code, was_stopped: false };
        let Some(StopRequest { requested_at, kill_at }) = stop_request else { return own };
        let killed = ProgramEnd { at: kill_at, exit_code: KILLED, was_stopped: true };
        let terminated = self.ends_after_term.map(|delay| ProgramEnd {
            at: requested_at + delay,
            exit_code: TERMINATED,
            was_stopped: true,
        });
        let ends = [Some(own), terminated, Some(killed)].into_iter().flatten();
        ends.min_by_key(|end| end.at).unwrap_or(own)
    }
}

impl VirtualPod {
    pub(crate) fn new(
        env: Arc<SimulationEnv>,
        clock: Arc<SimulatedClock>,
        pod: &Pod,
    ) -> VirtualPod {
        let owner = pod.metadata.owner_references.first();
        let job = owner.map(|owner| owner.uid.as_str()).unwrap_or_default();
        let grace = pod.spec.termination_grace_period_seconds;
        let main = pod.spec.containers.first();
        VirtualPod {
            env,
            clock,
            uid: pod.metadata.uid.as_str().into(),
            job: job.into(),
            container: main.map(|main| main.name.clone()).unwrap_or_default(),
            grace_seconds: grace
                .and_then(|seconds| u64::try_from(seconds).ok())
                .unwrap_or(DEFAULT_GRACE_SECONDS),
            program: Program::new(pod, job),
            state: watch::Sender::new(None),
            stop_request: watch::Sender::new(None),
            supervisors: watch::Sender::new(0),
        }
    }

    pub(crate) fn grace_seconds(&self) -> u64 {
        self.grace_seconds
    }

    pub(crate) fn state(&self) -> Option<PodState> {
        self.state.borrow().clone()
    }

    /// The changes of the state from now on.
    pub(crate) fn subscribe(&self) -> watch::Receiver<Option<PodState>> {
        self.state.subscribe()
    }

    /// Whether a supervisor is running.
    pub(crate) fn is_running(&self) -> bool {
        *self.supervisors.borrow() > 0
    }

    /// Waits until no supervisor is running.
    pub(crate) async fn exited(&self) {
        // The sender lives as long as `self`.
        let _ = self.supervisors.subscribe().wait_for(|running| *running == 0).await;
    }

    /// Stops the Pod within a grace period, or shortens the grace period of a stop in progress.
    pub(crate) fn stop(&self, grace_seconds: u64) {
        let now = self.env.now();
        let grace = Millis::try_from(grace_seconds).unwrap_or(Millis::MAX / 4_000) * 1000;
        self.stop_request.send_modify(|request| {
            let before = request.unwrap_or(StopRequest { requested_at: now, kill_at: Millis::MAX });
            *request = Some(StopRequest { kill_at: before.kill_at.min(now + grace), ..before });
        });
    }

    /// Starts a supervisor. It starts the program even if that was started before: the runner has to
    /// prevent that, and the checker must be able to see it.
    pub(crate) fn start(self: Arc<VirtualPod>, stop_within: Option<u64>) {
        if let Some(grace_seconds) = stop_within {
            self.stop(grace_seconds);
        }
        self.supervisors.send_modify(|running| *running += 1);
        tokio::spawn(self.supervise());
    }

    async fn supervise(self: Arc<VirtualPod>) {
        self.delay().await;
        if self.stop_request.borrow().is_none() {
            self.run_program().await;
        } else {
            self.end_without_start();
        }
        self.delay().await;
        self.supervisors.send_modify(|running| *running -= 1);
    }

    async fn delay(&self) {
        let duration = self.env.random.between(0, SUPERVISOR_DELAY_MAX);
        self.env.sleep_until(self.env.now() + duration).await;
    }

    async fn run_program(&self) {
        let started_at = self.env.now();
        let start_time = self.clock.now();
        let started = HistoryEvent::PodStarted { pod: self.uid.clone(), job: self.job.clone() };
        self.env.record(started);
        let pid = 1;
        self.set_state(PodPhase::Running, RunState::Running { pid, started_at: start_time });
        let mut stop_requests = self.stop_request.subscribe();
        let end = loop {
            let end = self.program.end(started_at, *stop_requests.borrow_and_update());
            tokio::select! {
                biased;
                () = self.env.sleep_until(end.at) => break end,
                _ = stop_requests.changed() => {}
            }
        };
        let ProgramEnd { exit_code, was_stopped, .. } = end;
        self.env.record(HistoryEvent::PodEnded { pod: self.uid.clone(), exit_code, was_stopped });
        let reason = if exit_code == 0 { "Completed" } else { "Error" };
        self.set_ended(exit_code, ReasonAndMessage::new(reason, ""), Some(start_time));
    }

    /// Ends a Pod that was stopped before its program was started.
    fn end_without_start(&self) {
        let message = "The container could not be located when the pod was terminated";
        self.set_ended(KILLED, ReasonAndMessage::new("ContainerStatusUnknown", message), None);
    }

    fn set_ended(
        &self,
        exit_code: i32,
        reason: ReasonAndMessage,
        started_at: Option<jiff::Timestamp>,
    ) {
        let phase = if exit_code == 0 { PodPhase::Succeeded } else { PodPhase::Failed };
        let ReasonAndMessage { reason, message } = reason;
        let termination = Termination {
            exit_code,
            signal: 0,
            reason,
            message,
            started_at,
            finished_at: self.clock.now(),
        };
        self.set_state(phase, RunState::Terminated(termination));
    }

    fn set_state(&self, phase: PodPhase, current: RunState) {
        let started_at = self.state.borrow().as_ref().map(|state| state.started_at);
        let record = ContainerRecord {
            name: self.container.clone(),
            is_init: false,
            current,
            last_termination: None,
            restarts: 0,
        };
        self.state.send_replace(Some(PodState {
            supervisor_pid: 1,
            started_at: started_at.unwrap_or_else(|| self.clock.now()),
            phase,
            stop_reason: None,
            containers: vec![record],
            warnings: Vec::new(),
        }));
    }
}
