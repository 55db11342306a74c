//! The processes of the system: they are started, killed, asked to stop, and restarted.

use std::sync::Arc;
use std::time::Duration;

use punctual_api::CronJobKind;
use punctual_client::WatchSource;
use punctual_controller::{
    BurstGate, ClusterOptions, Context, CronJobOptions, Election, FeatureGates, Fence, LeaseAccess,
    Metrics, SharedWatches, run_cron_jobs, run_elected, run_garbage_collector, run_jobs,
};
use punctual_lease::ElectionConfig;
use punctual_runner::{Runner, RunnerOptions};
use punctual_schedule::Zones;
use punctual_testing::history::HistoryEvent;
use punctual_testing::scenario::{ClockOwner, Fault, Millis, ProcessId};
use tokio_util::sync::CancellationToken;

use crate::environment::SimulationEnv;
use crate::faulty_network::FaultyTransport;
use crate::process_faults::ProcessFaults;
use crate::simulated_clock::SimulatedClock;
use crate::simulated_node::{self, SimulatedNode};
use crate::simulated_runtime::SimulatedRuntime;
use crate::simulated_server::SimulatedServer;

const WORKERS: usize = 4;
/// A process that exits by itself is restarted after this time.
const RESTART_AFTER: Millis = 1000;

/// A process that is restarted whenever it ends.
pub(crate) struct SimulatedProcess {
    pub(crate) env: Arc<SimulationEnv>,
    pub(crate) server: Arc<SimulatedServer>,
    pub(crate) node: Arc<SimulatedNode>,
    pub(crate) process: ProcessId,
}

impl SimulatedProcess {
    /// Runs forever.
    pub(crate) async fn run_with_restarts(self) {
        let env = &self.env;
        loop {
            env.sleep_until(self.restart_at()).await;
            env.record(HistoryEvent::Remark(format!("{:?} starts", self.process)));
            let killed = CancellationToken::new();
            let stop = CancellationToken::new();
            let faults = ProcessFaults::new(env.clone(), self.process, killed.clone());
            let stopping = async {
                env.sleep_until(self.next_stop()).await;
                stop.cancel();
                std::future::pending::<()>().await;
            };
            tokio::select! {
                biased;
                () = killed.cancelled() => {}
                () = self.run_once(faults, stop.clone()) => {}
                () = stopping => {}
            }
            env.record(HistoryEvent::Remark(format!("{:?} ended", self.process)));
            if self.restart_at() <= env.now() && !killed.is_cancelled() {
                env.sleep_until(env.now() + RESTART_AFTER).await;
            }
        }
    }

    /// The end of the faults that keep the process from running.
    fn restart_at(&self) -> Millis {
        let now = self.env.now();
        let is_fatal = |fault: &Fault| match fault {
            Fault::Kill(affected, ..) | Fault::Stop(affected) => {
                *affected == self.process && now > 0
            }
            _ => false,
        };
        let fatal = self.env.faults_at(now).filter(|window| is_fatal(&window.fault));
        fatal.map(|window| window.to).max().unwrap_or(now)
    }

    /// When the process is asked to stop next.
    fn next_stop(&self) -> Millis {
        let now = self.env.now();
        let windows = self.env.scenario.faults.iter();
        let stops = windows.filter(|window| window.fault == Fault::Stop(self.process));
        let later = stops.map(|window| window.from).filter(|from| *from >= now);
        later.min().unwrap_or(Millis::MAX / 2)
    }

    /// Runs the process from one start to its end.
    async fn run_once(&self, faults: Arc<ProcessFaults>, stop: CancellationToken) {
        let clock = SimulatedClock::new(self.env.clone(), ClockOwner::Process(self.process));
        let transport = FaultyTransport::new(self.env.clone(), self.server.clone(), faults.clone());
        let context = Context {
            shared_watches: None,
            client: transport.client(),
            clock: clock.clone(),
            metrics: Metrics::default(),
            burst_gate: BurstGate::default(),
            fence: Fence::always_open(),
        };
        match self.process {
            ProcessId::JobsAndPods => self.run_jobs_and_pods(context, faults, stop).await,
            // A single controller needs no election, as in `punctual up`.
            ProcessId::Controller(_) if self.env.scenario.controllers == 1 => {
                run_cron_jobs(context, options(), stop).await;
            }
            ProcessId::Controller(_) => {
                let context = Context { fence: Fence::closed(clock), ..context };
                self.run_for_election(context, stop).await;
            }
        }
    }

    /// Runs the Job controller, the garbage collector and the runner, as in `punctual up`.
    async fn run_jobs_and_pods(
        &self,
        context: Context,
        faults: Arc<ProcessFaults>,
        stop: CancellationToken,
    ) {
        let watches = SharedWatches::new(context.client.clone());
        let options = RunnerOptions {
            client: context.client.clone(),
            watches: WatchSource::Shared(watches.clone()),
            clock: context.clock.clone(),
            node_name: simulated_node::NAME.to_owned(),
            max_pods: self.env.scenario.max_pods,
            on_pod_started: None,
        };
        let runtime = SimulatedRuntime::new(self.env.clone(), self.node.clone(), faults);
        // The only error is a node whose Pods cannot be listed, and this one never fails.
        let Ok(runner) = Runner::new(options, Arc::new(runtime)).await else { return };
        let context = Context { shared_watches: Some(watches), ..context };
        let jobs = run_jobs(context.clone(), WORKERS, stop.clone());
        let garbage_collector = run_garbage_collector(context, stop.clone());
        tokio::join!(jobs, garbage_collector, runner.run(stop));
    }

    async fn run_for_election(&self, context: Context, stop: CancellationToken) {
        let env = &self.env;
        let fence = context.fence.clone();
        let leadership = LeadershipRecorder { env, process: self.process, fence };
        let work = run_elected(context, election(env, self.process), lead, stop);
        tokio::select! {
            biased;
            // The only error is an invalid configuration, and this one is valid.
            _ = work => {}
            () = leadership.record() => {}
        }
    }
}

/// The configuration of a candidate. Each start of a process has an identity of its own.
fn election(env: &Arc<SimulationEnv>, process: ProcessId) -> Election {
    let random = env.clone();
    Election {
        namespace: "default".to_owned(),
        name: "punctual".to_owned(),
        identity: format!("{process:?} since {}", env.now()),
        config: durations(env),
        random: Arc::new(move || (random.random.next_u64() >> 32) as u32),
        access: LeaseAccess::default(),
    }
}

/// Mostly a longer retry period than the default, which makes the simulation faster.
fn durations(env: &SimulationEnv) -> ElectionConfig {
    if env.scenario.seed.is_multiple_of(4) {
        ElectionConfig::default()
    } else {
        ElectionConfig { retry_period: Duration::from_secs(5), ..ElectionConfig::default() }
    }
}

/// Records when a process gains and loses leadership.
struct LeadershipRecorder<'a> {
    env: &'a SimulationEnv,
    process: ProcessId,
    fence: Fence,
}

impl LeadershipRecorder<'_> {
    async fn record(self) {
        loop {
            self.fence.wait_open().await;
            let _guard = LeadershipGuard { env: self.env, process: self.process };
            self.env.record(HistoryEvent::LeaderChanged(self.process, true));
            self.fence.wait_closed().await;
        }
    }
}

/// Records the loss of leadership when dropped, even if the process is killed.
struct LeadershipGuard<'a> {
    env: &'a SimulationEnv,
    process: ProcessId,
}

impl Drop for LeadershipGuard<'_> {
    fn drop(&mut self) {
        self.env.record(HistoryEvent::LeaderChanged(self.process, false));
    }
}

/// The work of a leadership term.
async fn lead(context: Context, stop: CancellationToken) {
    run_cron_jobs(context, options(), stop).await;
}

fn options() -> CronJobOptions {
    CronJobOptions {
        run_requests: true,
        kinds: vec![CronJobKind::BatchV1, CronJobKind::ScheduledJob],
        default_zone: Zones::bundled().utc(),
        gates: FeatureGates::default(),
        workers: WORKERS,
        cluster: ClusterOptions::default(),
    }
}
