//! Controller processes: they are started, killed, asked to stop, and restarted.

use std::sync::Arc;
use std::time::Duration;

use punctual_api::CronJobKind;
use punctual_controller::{
    BurstGate, ClusterOptions, Context, CronJobOptions, Election, Fence, Metrics, run_cron_jobs,
    run_elected, run_garbage_collector, run_jobs,
};
use punctual_lease::ElectionConfig;
use punctual_schedule::Zones;
use punctual_testing::history::HistoryEvent;
use punctual_testing::scenario::{ClockOwner, Fault, Millis, ProcessId};
use tokio_util::sync::CancellationToken;

use crate::environment::SimulationEnv;
use crate::faulty_network::FaultyTransport;
use crate::simulated_clock::SimulatedClock;
use crate::simulated_server::SimulatedServer;

const WORKERS: usize = 4;
/// A process that exits by itself is restarted after this time.
const RESTART_AFTER: Millis = 1000;

/// Runs a process forever and restarts it whenever it ends.
pub(crate) async fn run_with_restarts(
    env: Arc<SimulationEnv>,
    server: Arc<SimulatedServer>,
    process: ProcessId,
) {
    loop {
        env.sleep_until(restart_at(&env, process)).await;
        env.record(HistoryEvent::Remark(format!("{process:?} starts")));
        let killed = CancellationToken::new();
        let stop = CancellationToken::new();
        let transport = FaultyTransport::new(env.clone(), server.clone(), process, killed.clone());
        let work = run_once(&env, process, transport, stop.clone());
        let stopping = async {
            env.sleep_until(next_stop(&env, process)).await;
            stop.cancel();
            std::future::pending::<()>().await;
        };
        tokio::select! {
            biased;
            () = killed.cancelled() => {}
            () = work => {}
            () = stopping => {}
        }
        env.record(HistoryEvent::Remark(format!("{process:?} ended")));
        if restart_at(&env, process) <= env.now() && !killed.is_cancelled() {
            env.sleep_until(env.now() + RESTART_AFTER).await;
        }
    }
}

/// The end of the faults that keep the process from running.
fn restart_at(env: &SimulationEnv, process: ProcessId) -> Millis {
    let now = env.now();
    let is_fatal = |fault: &Fault| match fault {
        Fault::Kill(affected, ..) | Fault::Stop(affected) => *affected == process && now > 0,
        _ => false,
    };
    let fatal = env.faults_at(now).filter(|window| is_fatal(&window.fault));
    fatal.map(|window| window.to).max().unwrap_or(now)
}

/// When the process is asked to stop next.
fn next_stop(env: &SimulationEnv, process: ProcessId) -> Millis {
    let now = env.now();
    let stops = env.scenario.faults.iter().filter(|window| window.fault == Fault::Stop(process));
    stops.map(|window| window.from).filter(|from| *from >= now).min().unwrap_or(Millis::MAX / 2)
}

/// Runs a process from one start to its end.
async fn run_once(
    env: &Arc<SimulationEnv>,
    process: ProcessId,
    transport: Arc<FaultyTransport>,
    stop: CancellationToken,
) {
    let clock = SimulatedClock::new(env.clone(), ClockOwner::Process(process));
    let context = Context {
        client: transport.client(),
        clock: clock.clone(),
        metrics: Metrics::default(),
        burst_gate: BurstGate::default(),
        fence: Fence::always_open(),
    };
    match process {
        ProcessId::Jobs => {
            let jobs = run_jobs(context.clone(), WORKERS, stop.clone());
            tokio::join!(jobs, run_garbage_collector(context, stop));
        }
        // A single controller needs no election, as in `punctual up`.
        ProcessId::Controller(_) if env.scenario.controllers == 1 => {
            run_cron_jobs(context, options(), stop).await;
        }
        ProcessId::Controller(_) => {
            let context = Context { fence: Fence::closed(clock), ..context };
            let leadership = LeadershipRecorder { env, process, fence: context.fence.clone() };
            let work = run_elected(context, election(env, process), lead, stop);
            tokio::select! {
                biased;
                // The only error is an invalid configuration, and this one is valid.
                _ = work => {}
                () = leadership.record() => {}
            }
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

/// Records the loss of leadership when dropped, also when the process is killed.
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
        kinds: vec![CronJobKind::BatchV1, CronJobKind::ScheduledJob],
        default_zone: Zones::bundled().utc(),
        workers: WORKERS,
        cluster: ClusterOptions::default(),
    }
}
